"""Generation through AppTest: every step's digits are those of the core's own generation, cached or not."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import cost, live, toy, worked
from core.generation import GenerationStep, generate
from core.live.model import MAX_CHARACTERS
from core.model import decoder_of
from core.stage import At
from core.stages.generation import mistakes
from core.trace import Trace
from tests.ui.on_page import (
    CACHE,
    GENERATION,
    REFUSED,
    SENTENCE,
    SOURCES,
    TOY_SIZES,
    everything,
    expected,
    messages,
    opened,
    payloads,
    pressed,
    scope,
    steps_of,
    trace_of,
    values,
)
from tests.waiting import LONGEST, join
from ui import sources
from ui.bench import Bench, address
from ui.furniture import generation_run
from ui.shell.numbers import quantity
from ui.sources import LONGEST_CONTEXT


def assert_step(at: AppTest, step: GenerationStep, *, batch: int = 0, head: int = 0) -> int:
    """Every frame of the first two equations holds the step's digits; rows beyond those written are zeros not shown."""
    trace, frames = step.trace, [frame for found in payloads(at)[:2] for frame in found["frames"]]
    assert trace is not None
    for frame in frames:
        seen = values(frame)
        if frame["filled"] is not None:
            assert not seen[frame["filled"]:].any()
            seen, frame["rows"]["size"] = seen[:frame["filled"]], frame["filled"]
        np.testing.assert_array_equal(seen, expected(trace, frame, batch, head), frame["name"])
    return len(frames)


@pytest.mark.parametrize("page", [GENERATION, CACHE])
@pytest.mark.parametrize("example", ["single_head", "d3_lab"])
def test_an_example_without_a_vocabulary_shows_the_block_and_says_so(page: str, example: str) -> None:
    at = opened(page, lang="en", example=example)
    assert not at.exception
    assert len(at.info) == 1
    assert_step(at, steps_of(worked.block())[1])
    assert at.session_state["example"] == example


@pytest.mark.parametrize("page", [GENERATION, CACHE])
@pytest.mark.parametrize("source", ["block", "block_shared", "toy"])
def test_every_step_can_be_made_and_looked_at_again(page: str, source: str, model: live.Live) -> None:
    parts, (batch, head) = SOURCES[source]
    at = opened(page, lang="en", **parts)
    steps = steps_of(trace_of(source, model))
    pressed(at, "run-over")
    assert payloads(at) == []
    for step in steps[:4]:
        pressed(at, "run-step")
        assert_step(at, step, batch=batch, head=head)
    for place in (1, 3, 2):
        at.slider(key="_place").set_value(place).run()
        assert not at.exception
        assert_step(at, steps[place - 1], batch=batch, head=head)


def test_the_run_ends_where_the_positions_end_and_says_so() -> None:
    at = opened(GENERATION, lang="en", example="block")
    steps = steps_of(worked.block())
    while not at.button(key="run-step").disabled:
        pressed(at, "run-step")
    assert_step(at, steps[-1])
    assert at.button(key="run-go").disabled
    assert any(str(worked.block().config.max_positions) in text.value and "ends here" in text.value
               for text in at.caption)
    assert any("cat" in text.value for text in at.markdown)
    assert "no step reads it any more" in everything(at)
    assert "It is read in the next step" not in everything(at)
    at.slider(key="_place").set_value(1).run()
    assert "It is read in the next step" in everything(at)


def test_shapes_of_a_step_are_in_the_letters_of_the_strip_and_no_count_is_empty() -> None:
    """D0 §11.2: the new token's Q is one row, and QKᵀ one row over all T keys."""
    at = opened(GENERATION, lang="en", example="block")
    table = next(text.value for text in at.markdown if "shape in this step" in text.value)
    assert "[B,H,1,Dh] = 1×2×1×2" in table
    assert "[B,H,1,T] = 1×2×1×5" in table
    assert "|  |" not in table
    at.slider(key="_place").set_value(1).run()
    table = next(text.value for text in at.markdown if "shape in this step" in text.value)
    assert "[B,H,T,T] = 1×2×4×4" in table


@pytest.mark.parametrize("slip", mistakes.KINDS)
@pytest.mark.parametrize("place", [2, 3, 4, 5])
def test_a_mistake_says_what_becomes_of_the_next_token(slip: str, place: int) -> None:
    at = opened(GENERATION, lang="en", example="block", slip=slip)
    at.session_state["open-wrong"] = True
    while not at.button(key="run-step").disabled:
        pressed(at, "run-step")
    at.slider(key="_place").set_value(place).run()
    step = steps_of(worked.block())[place - 1]
    assert step.trace is not None
    if slip == "restarted" and worked.block().config.positions == "none":
        assert "so nothing changes here" in everything(at)
        return
    found = mistakes.consequence(At(step.trace), slip)
    right, wrong = (f"`{worked.BLOCK_VOCABULARY[token]}`" for token in (found.right, found.wrong))
    said = next(text.value for text in at.markdown if "likeliest next token" in text.value)
    assert right in said
    assert (f"it is {wrong}" in said) == (right != wrong)
    assert ("the logits that it is chosen from differ" in said) == (right == wrong and found.difference > 0)
    assert ("The logits stay the same" in said) == (found.difference == 0)


def test_both_times_are_explained_where_the_cache_does_not_pay() -> None:
    at = opened(GENERATION, lang="en", example="block")
    at.session_state["open-compare"] = True
    at.run()
    assert "With the cache it took" in everything(at)
    at.slider(key="_place").set_value(1).run()
    assert "read no row from the cache" in everything(at)
    at = opened(GENERATION, lang="en", example="block", cache="false")
    at.session_state["open-compare"] = True
    at.run()
    assert "With the cache it took" not in everything(at)


def test_the_check_of_the_cache_is_against_the_text_read_at_once() -> None:
    at = opened(CACHE, lang="en", example="block")
    step = steps_of(worked.block())[1]
    whole = Trace()
    decoder_of(worked.block()).stream(step.text, trace=whole)
    size = max(float(whole[f"blocks.0.{letter}"].abs().max()) for letter in "kv")
    line = next(text.value for text in at.caption if text.value.startswith("Check"))
    assert "read at once without one" in line
    assert f"up to {size:.2f}" in line


def test_run_goes_on_by_itself_until_it_is_done_or_stopped() -> None:
    parts, (batch, head) = SOURCES["toy"]
    at = opened(GENERATION, lang="en", new="256", **parts)
    pressed(at, "run-go")
    assert at.button(key="run-step").disabled
    pressed(at, "run-stop")
    made = at.slider(key="_place").max
    assert not at.button(key="run-step").disabled
    assert made > 2
    steps = steps_of(toy.toy(TOY_SIZES, 7), 256)
    assert_step(at, steps[int(made) - 1], batch=batch, head=head)
    at.run()
    assert at.slider(key="_place").max == made, "it went on after Stop"


def test_other_settings_make_the_same_steps_again() -> None:
    at = opened(GENERATION, lang="en", v="3", made="3", at="2")
    at.number_input(key="temperature").set_value(1.5)
    at.number_input(key="draw").set_value(3)
    at.number_input(key="chunk").set_value(3).run()
    steps = steps_of(worked.block(), chunk=3, temperature=1.5, seed=3)
    assert_step(at, steps[1])  # as many steps, and the same one looked at
    assert at.query_params["made"] == "3"
    pressed(at, "run-step")
    assert_step(at, steps[3])


def test_without_the_cache_the_whole_text_is_read_each_time() -> None:
    at = opened(GENERATION, lang="en", example="block", cache="false")
    steps = steps_of(worked.block(), use_cache=False)
    assert [frame["rows"]["size"] for frame in payloads(at)[0]["frames"] if frame["id"] == "q"] == [5]
    assert_step(at, steps[1])
    at = opened(CACHE, lang="en", example="block", cache="false")
    assert not at.exception
    assert payloads(at) == []
    assert len(at.info) == 1


def test_edited_parameters_make_another_run() -> None:
    edits = {"blocks.0.wk": {(0, 1): 3.0}, "w_vocab": {(0, 7): 9.0}}
    at = opened(GENERATION, lang="en", example="block", edits=address.pack_edits({"block": edits}))
    assert_step(at, steps_of(worked.block().edited(edits))[1])
    at = opened(GENERATION, lang="en", example="block", edits=scope("block", q={(0, 0, 0, 0): 9.0}))
    assert_step(at, steps_of(worked.block())[1])  # a computed number is computed again


def test_an_overflow_ends_the_run_with_a_message() -> None:
    for lang in ("en", "zh"):
        at = opened(GENERATION, lang=lang, example="block", edits=_overflow())
        assert not at.exception
        assert len(at.error) == 1


def _overflow() -> str:
    return address.pack_edits({"block": {"w_vocab": {(0, 0): 3e38, (1, 0): 3e38, (2, 0): 3e38, (3, 0): 3e38}}})


# Live.


@pytest.mark.parametrize("kind", [kind for kind in REFUSED if kind != "more tokens than a page follows"])
def test_a_text_that_cannot_be_read_leaves_the_run_on_screen(kind: str, model: live.Live) -> None:
    said = []
    for lang in ("en", "zh"):
        at = opened(GENERATION, lang=lang, source="live", text=SENTENCE)
        before = payloads(at)[0]["frames"]
        at.text_area(key="text").set_value(REFUSED[kind]).run()
        assert not at.exception
        (error,) = at.error
        said.append(error.value)
        assert payloads(at)[0]["frames"] == before
    assert said[0] != said[1]


def test_a_longer_text_than_views_follow_is_read_in_pieces_and_a_too_long_one_refused(model: live.Live) -> None:
    at = opened(GENERATION, lang="en", source="live", text="word " * 150)
    assert messages(at) == []
    assert payloads(at) == []  # it waits for the first step
    assert at.number_input(key="layer").max == model.config.layers
    pressed(at, "run-step")
    assert payloads(at)[0]["frames"][0]["rows"]["size"] == 128
    at.text_area(key="text").set_value("word " * (LONGEST_CONTEXT + 1)).run()
    assert f"{LONGEST_CONTEXT}" in at.error[0].value
    at.text_area(key="text").set_value("x" * (MAX_CHARACTERS + 1)).run()
    assert f"{MAX_CHARACTERS}" in at.error[0].value


def test_beyond_the_window_of_keys_the_sum_over_the_others_is_sent_too(model: live.Live) -> None:
    at = opened(GENERATION, lang="en", source="live", text="word " * 150, layer="3", head="5")
    pressed(at, "run-step")
    pressed(at, "run-step")
    equation = next(payload for payload in payloads(at) if payload["rules"] and payload["rules"][0]["out"] == "context")
    weights, v, context = (values(frame).astype(np.float64) for frame in equation["frames"])
    (rule,), (_, width) = equation["rules"], context.shape
    assert 0 < weights.shape[1] < equation["frames"][0]["cols"]["total"] == equation["frames"][1]["rows"]["total"]
    before, after = (np.frombuffer(base64.b64decode(rule[side]), "<f4").reshape(-1, width)
                     for side in ("before", "after"))
    np.testing.assert_allclose(before + weights @ v + after, context, atol=1e-6)
    assert np.abs(before).max() > 0
    # Softmax weights may sum to exactly 1, which is printed as a whole number, or to its neighbour in float32.
    assert set(equation["frames"][0]["row_notes"]) <= {"sum of all: 1", "sum of all: 1.000"}


def test_a_chat_is_the_model_s_own_template(model: live.Live) -> None:
    at = opened(GENERATION, lang="en", source="live", text="Hi", chat="true")
    assert messages(at) == []
    ids = torch.tensor([model.chat([{"role": "user", "content": "Hi"}]).encoding.ids])
    step = list(generate(model.decoder, ids, max_tokens=3, trace=True, stop_ids=model.stop_ids))[1]
    assert_step(at, step)
    at.toggle(key="chat").set_value(False).run()
    ids = torch.tensor([model.encode("Hi").ids])
    assert_step(at, list(generate(model.decoder, ids, max_tokens=3, trace=True))[1])


def test_the_live_cache_is_checked_when_asked_and_differs_by_rounding_only(model: live.Live) -> None:
    at = opened(CACHE, lang="en", source="live", text=SENTENCE)
    assert "read at once without one" not in everything(at)  # that takes a forward of the whole text
    pressed(at, "at-once-go")
    line = next(text.value for text in at.caption if "read at once without one" in text.value)
    found = re.search(r"difference: (\S+), among values up to (\d+\.\d+)", line)
    assert found
    assert float(found[1]) < 1e-4 * float(found[2])


def test_one_session_s_run_is_not_another_s(model: live.Live) -> None:
    one = opened(GENERATION, lang="en", example="block")
    other = opened(GENERATION, lang="en", example="block_shared")
    pressed(one, "run-step")
    assert_step(other, steps_of(worked.block(1))[1])
    pressed(other, "run-over")
    assert_step(one.run(), steps_of(worked.block())[2])


def test_the_run_is_the_same_on_both_pages() -> None:
    at = opened(GENERATION, lang="en", example="block")
    pressed(at, "run-step")
    at.switch_page(CACHE).run()
    assert not at.exception
    assert_step(at, steps_of(worked.block())[2])


@pytest.mark.parametrize("source", ["toy", "live"])
def test_arithmetic_is_written_as_on_the_page_on_costs(source: str, model: live.Live) -> None:
    """The matrix products of the first step, all tokens of the prompt: "2.40 GFLOP", not "2.40e9"."""
    at = opened(GENERATION, lang="en", **SOURCES[source][0])
    at.session_state["open-table"] = True
    at.run()
    trace = trace_of(source, model)
    batch, tokens = trace["tokens"].shape
    flops = cost.flops(trace.config, batch, tokens, head_tokens=1)["total"]
    (table,) = [text.value for text in at.markdown if "FLOP by formula" in text.value]
    assert f"| {quantity(flops, 'FLOP')} |" in table
    assert not re.search(r"\de\d", table)


def test_a_second_run_of_the_page_does_not_enter_a_step_that_is_being_made() -> None:
    """Another language or page starts a run of the script while the fragment's tick is still inside the generator."""
    run = generation_run.Run(sources.prompt(Bench(example="block")), generation_run.Settings())
    begun, go_on = threading.Event(), threading.Event()
    steps = list(run._generate())

    def slowly() -> Iterator[GenerationStep]:
        begun.set()
        assert go_on.wait(LONGEST)
        yield from steps

    run._coming = slowly()
    first = threading.Thread(target=run.advance)
    first.start()
    assert begun.wait(LONGEST)
    run.advance()
    assert run.steps == []
    go_on.set()
    join(first)
    assert run.steps == steps[:1]


def test_steps_that_came_for_a_run_that_stands_open_no_later_one() -> None:
    at = opened(GENERATION, lang="en", source="toy", made="4")
    assert at.query_params["made"] == "4"
    at.query_params["made"] = "5"  # as Back brings an older address of the same run
    at.run()
    at.session_state["source"] = "worked"
    at.run()
    assert not at.exception
    assert "made" not in at.query_params


def test_a_whole_number_of_steps_may_be_written_with_a_point() -> None:
    assert opened(GENERATION, lang="en", made="3.0").query_params["made"] == "3"
