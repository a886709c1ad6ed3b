"""Numbers that overflow float32, or vanish in it, in every place that a learner can edit: everything that the pages ask
of the core still answers. What cannot be compared says so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import pytest

from core import decoding, derive, worked
from core.check import Check
from core.errors import SamplingError, WorkbenchError
from core.generation import compare, generate
from core.model import decoder_of
from core.stage import At, Stage
from core.stages import STAGES, heads, mask, order, projections, rope, scores
from core.stages.embedding import rows
from core.stages.generation import candidates, mistakes
from core.stages.heads import index_map, multihead_attention
from core.stages.mixing import blend
from core.stages.order import reorder
from core.stages.projections import fused
from core.stages.rope import meetings, rotation
from core.stages.sharing import shared
from core.trace import Trace

EXTREMES = (3.4e38, -3.4e38, 1e20, 1e-45)
MAKE = worked.EXAMPLES


def edited(example: str, value: float) -> Iterator[tuple[str, Trace]]:
    """The example with this value in one place of each tensor that was given and can be edited."""
    trace = MAKE[example]()
    for name in trace.names():
        tensor = trace[name]
        if trace.is_given(name) and tensor.is_floating_point() and name not in ("mask", "position_table"):
            at = tuple(min(1, size - 1) for size in tensor.shape)
            if name == "embedding":
                at = (int(trace["tokens"][0, 0]), 0)
            yield name, trace.edited({name: {at: value}})


@pytest.mark.parametrize("value", EXTREMES)
@pytest.mark.parametrize("example", MAKE)
def test_every_cell_has_its_numbers_and_every_step_its_check(example: str, value: float) -> None:
    for _name, trace in edited(example, value):
        for name in trace.names():
            if name not in trace.steps or trace.is_given(name):
                continue
            check = trace.check_step(name)
            if check is not None:
                assert not math.isnan(check.difference)
                assert not math.isnan(check.size)
            else:
                assert not trace[name].isfinite().any()
            for index in itertools.islice(itertools.product(*map(range, trace[name].shape)), 12):
                derive.cell(trace, name, index)
        found = trace.check(0)
        assert found is None or not math.isnan(found.difference)


@pytest.mark.parametrize("value", EXTREMES)
@pytest.mark.parametrize("example", MAKE)
def test_facts_mistakes_and_questions_stand_on_any_numbers(example: str, value: float) -> None:
    for _name, trace in edited(example, value):
        ask_about_attention(trace)
        ask_about_heads(trace)
        ask_about_places(trace)


def ask_all(stage: Stage, at: At) -> None:
    """All that a stage offers, with its settings as they are."""
    stage.facts(at)
    stage.program(at)
    for mistake in stage.MISTAKES.values():
        mistake(at)
    for kind in stage.QUESTIONS.values():
        asked = kind.ask(at, 1)
        if asked is not None:
            kind.judge(at, asked, asked.answer, 3)


def ask_about_attention(trace: Trace) -> None:
    at, last = At(trace), trace["blocks.0.scaled"].shape[2] - 1
    ask_all(STAGES["mask"], at)
    for place in mask.PLACES:
        mask.masking(at, place).extent(0, 0)
    for shift in mask.SHIFTS:
        mask.overflows(at, last, float(shift))
    if "blocks.0.scores" in trace:
        ask_all(STAGES["scores"], at)
        scores.facts(at, of="scores")
    if "blocks.0.context" in trace:
        ask_all(STAGES["mixing"], at)
        scores.first_token(at)
        blend.blend(blend.row_of(at, last), {0: 0.5})
        blend.plane(at)


def with_kind(attempt: object) -> None:
    """A mistake of that kind, where the core knows it."""
    try:
        attempt()  # type: ignore[operator]
    except WorkbenchError:
        return


def ask_about_heads(trace: Trace) -> None:
    block, config = "blocks.0.", trace.config
    if block + "q_proj" in trace:
        ask_all(STAGES["projections"], At(trace))
        projections.parts(At(trace))
        fused.compare(At(trace))
        for letter in "qkv":
            index_map.own_blocks(trace, 0, letter)
            for mistake in projections.MISTAKES.values():
                mistake(At(trace), letter=letter)
    if block + "concat" in trace:
        index_map.one_head(trace, 0)
        ask_all(STAGES["sharing"], At(trace))
        with_kind(lambda: multihead_attention.parity(trace, 0))
        for count in shared.choices(config.heads):
            shared.share(trace, 0, count)
    if block + "q_proj" in trace and block + "concat" in trace:
        ask_all(STAGES["heads"], At(trace))
        heads.splitting(At(trace))
    if block + "wo" in trace:
        index_map.contributions(trace, 0)
        index_map.added(trace, 0, 0, 0)
        index_map.rows_moved(trace, 0, 0)


def ask_about_places(trace: Trace) -> None:
    if "embed" in trace:
        rows.look_up(trace["embedding"], trace["tokens"])
        rows.repeats(trace["tokens"], trace["embed"])
        ask_all(STAGES["embedding"], At(trace))
    if "blocks.0.q_proj" in trace:
        for hiding, positions in itertools.product(("none", "causal"), reorder.possible(trace, 0)):
            setting = {"mask": hiding, "positions": positions}
            order.facts(At(trace), **setting)
            order.program(At(trace), **setting)
            for mistake in order.MISTAKES.values():
                mistake(At(trace), **setting)
    if trace.config.positions == "rope" and "blocks.0.scores" in trace:
        how = rotation.settings(trace.config)
        for moved in (0, 100):
            rotation.under(trace, 0, how, moved)["blocks.0.scores"]
        ask_all(STAGES["rope"], At(trace))
        rope.decoded(At(trace))
        met = meetings.meetings(trace, 0, 0, 0, 1, 0, 0)
        meetings.curves(trace, 0, 0, 0, met)
        meetings.pairings(trace, 0, 0, 0)
        meetings.drift(trace, 0, 5)


@pytest.mark.parametrize("value", EXTREMES)
@pytest.mark.parametrize("example", ["block", "block_shared"])
def test_a_generation_goes_on_or_says_that_nothing_can_be_drawn(example: str, value: float) -> None:
    for _name, trace in edited(example, value):
        decoder = decoder_of(trace)
        try:
            steps = list(generate(decoder, trace["tokens"], max_tokens=3, trace=True))
        except SamplingError:
            continue
        for before, after in itertools.pairwise(steps):
            assert before.trace is not None
            assert after.trace is not None
            decoding.left_for_next(before.trace, after.trace, 0)
        for step in steps:
            assert step.trace is not None
            assert step.sampling is not None
            assert step.token is not None
            compare(decoder, step)
            whole = Trace()
            decoder.stream(step.text, trace=whole)
            found: Check | None = decoding.against_at_once(step.trace, whole, 0)
            assert found is None or not math.isnan(found.difference)
            candidates.candidates(step.sampling, 0, int(step.token[0]))
            for kind in mistakes.MISTAKES:
                mistakes.consequence(At(step.trace), kind)
            ask_all(STAGES["generation"], At(step.trace))
            ask_all(STAGES["kv_cache"], At(step.trace))


def test_what_overflowed_on_one_side_only_is_an_infinite_difference() -> None:
    """R5: with 3.4e38 in WV nothing finite may be left of a head's V; where something is, the largest difference is of
    that, and ∞ where float32 overflowed and float64 did not."""
    trace = worked.single_head().edited({"blocks.0.wv": {(0, 0): 3.4e38}, "blocks.0.in": {(0, 0, 0): 4.0}})
    assert trace["blocks.0.v_proj"][0, 0, 0] == math.inf
    check = trace.check_step("blocks.0.v_proj")
    assert check is not None
    assert check.difference == math.inf
    overflown = worked.single_head().edited(
        {"blocks.0.in": {(0, row, 0): 3.4e38 for row in range(3)}, "blocks.0.wk": {(0, 0): 3.4e38, (0, 1): 3.4e38}})
    assert not overflown["blocks.0.k"].isfinite().any()
    assert overflown.check_step("blocks.0.k") is None  # ∞ is copied, in float64 as well
