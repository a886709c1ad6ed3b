"""Generation: each step says what it did, and the tokens are those of reading the whole text again every time."""

from __future__ import annotations

import gc
import itertools
import math
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from core import kept, sampling
from core.errors import SettingOutOfRange, ShapeError, SizeOutOfRange, TokenOutOfRange
from core.generation import GenerationStep, compare, generate
from core.model import Decoder
from tests.core.test_model import LAWS, SIZES, close, label, random_decoder, random_ids
from tests.core.test_transformers import pair

LONG: dict[str, Any] = {"max_positions": 40}
MODELS = [{**choices, **LONG} for choices in (*LAWS, {**SIZES, "sliding_window": 5, "kv_heads": 1},
                                              {**SIZES, "norm": "layer", "norm_place": "post", "kv_heads": 6})]
SAMPLED: dict[str, Any] = {"temperature": 1.5, "top_k": 9, "top_p": 0.95, "min_p": 0.01, "seed": 5}


def tokens_of(steps: list[GenerationStep]) -> list[list[int]]:
    """The chosen tokens, one list for each text."""
    return torch.stack([step.token for step in steps if step.token is not None], dim=1).tolist()


def by_rereading(decoder: Decoder, ids: Tensor, count: int, allowed: Tensor | None = None) -> list[list[int]]:
    """Greedy tokens, each from a forward of the whole text without cache, padding and batch: one text at a time."""
    result = []
    for row in range(len(ids)):
        text = ids[row:row + 1] if allowed is None else ids[row:row + 1, allowed[row]]
        start = text.shape[1]
        for _ in range(count):
            text = torch.cat([text, decoder(text)[:, -1].argmax(-1, keepdim=True)], dim=1)
        result.append(text[0, start:].tolist())
    return result


@pytest.mark.parametrize("choices", MODELS, ids=label)
@pytest.mark.parametrize("chunk", [None, 1, 3, 4, 40])
def test_greedy_tokens_are_those_of_rereading_everything(choices: dict[str, Any], chunk: int | None) -> None:
    decoder, ids = random_decoder(**choices), random_ids(2, 7)
    expected = by_rereading(decoder, ids, 8)
    assert tokens_of(list(generate(decoder, ids, max_tokens=8, chunk=chunk))) == expected
    assert tokens_of(list(generate(decoder, ids, max_tokens=8, chunk=chunk, use_cache=False))) == expected


@pytest.mark.parametrize("choices", MODELS, ids=label)
@pytest.mark.parametrize("lengths", [[7, 4], [1, 7], [3, 3]], ids=str)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("chunk", [None, 2])
def test_texts_of_different_length_go_on_as_each_would_alone(
    choices: dict[str, Any], lengths: list[int], side: str, chunk: int | None,
) -> None:
    """E7 and G13: the next token follows the last real one, on whichever side the padding is. A window counts columns,
    padding included, so that with padding between a text and its continuation it is another model."""
    if "sliding_window" in choices and side == "right":
        choices = {**choices, "sliding_window": None}
    decoder, ids = random_decoder(**choices), random_ids(2, 7)
    allowed = torch.tensor([[(7 - n <= i) if side == "left" else (i < n) for i in range(7)] for n in lengths])
    expected = by_rereading(decoder, ids, 6, allowed)
    for use_cache in (True, False):
        steps = list(generate(decoder, ids, max_tokens=6, allowed=allowed, chunk=chunk, use_cache=use_cache))
        assert tokens_of(steps) == expected
        assert steps[-1].positions[:, -1].tolist() == [n + 4 for n in lengths]


def test_greedy_tokens_are_those_of_transformers() -> None:
    theirs, ours = pair("llama")
    assert isinstance(theirs, LlamaForCausalLM)
    ids = random_ids(2, 5, seed=8)
    out = theirs.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=11, do_sample=False, pad_token_id=0,
                          eos_token_id=None)
    assert tokens_of(list(generate(ours, ids, max_tokens=11))) == out[:, 5:].tolist()


# What a step says.


@pytest.mark.parametrize("window", [None, 4])
def test_each_step_says_what_it_computed_and_what_it_reused(window: int | None) -> None:
    decoder, ids = random_decoder(**{**SIZES, **LONG, "sliding_window": window}), random_ids(2, 7)
    steps = list(generate(decoder, ids, max_tokens=4, chunk=3))
    assert [step.kind for step in steps] == ["prefill"] * 3 + ["decode"] * 3
    assert [step.index for step in steps] == list(range(6))
    new, before = [3, 3, 1, 1, 1, 1], [0, 3, 6, 7, 8, 9]
    for step, n, length in zip(steps, new, before, strict=True):
        held = length if window is None else min(length, window - 1)
        assert step.inputs.shape == (2, n)
        assert torch.equal(step.inputs, step.text[:, -n:])
        assert step.positions.tolist() == [list(range(length, length + n))] * 2
        assert (step.length_before, step.length_after) == (length, length + n)
        assert step.computed_rows == {"q": n, "k": n, "v": n}
        assert step.reused_rows == {"q": 0, "k": held, "v": held}
        assert step.shapes == {"q": (2, 6, n, 4), "k": (2, 2, held + n, 4), "v": (2, 2, held + n, 4),
                               "scores": (2, 6, n, held + n)}
        assert step.seconds >= 0
        assert step.trace is None
    assert [step.token is None for step in steps] == [True, True, False, False, False, False]
    assert [step.sampling is None for step in steps] == [True, True, False, False, False, False]
    for earlier, later in itertools.pairwise(steps[2:]):
        assert torch.equal(later.inputs[:, 0], earlier.token)


def test_without_a_cache_every_step_computes_the_whole_text() -> None:
    decoder, ids = random_decoder(**MODELS[0]), random_ids(1, 5)
    steps = list(generate(decoder, ids, max_tokens=3, use_cache=False, chunk=2))
    assert [step.kind for step in steps] == ["prefill", "decode", "decode"]
    assert [step.inputs.shape[1] for step in steps] == [5, 6, 7]
    assert all(step.reused_rows["k"] == step.length_after == 0 for step in steps)
    assert [step.shapes["scores"] for step in steps] == [(1, 6, n, n) for n in (5, 6, 7)]


@pytest.mark.parametrize("choices", MODELS, ids=label)
def test_the_logits_of_a_step_are_those_of_the_whole_text(choices: dict[str, Any]) -> None:
    decoder, ids = random_decoder(**choices), random_ids(2, 6)
    allowed = torch.tensor([[False] * 2 + [True] * 4, [True] * 6])
    for step in generate(decoder, ids, max_tokens=5, allowed=allowed):
        close(step.logits, decoder(step.text, allowed=step.allowed)[:, -1], 1e-5)
        result = compare(decoder, step)
        assert result.difference <= 1e-5 * max(1.0, result.size)
        assert result.cached_seconds == step.seconds
        assert result.uncached_seconds > 0


def test_all_steps_of_a_generation_keep_what_is_computed_from_them_in_one_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many steps are looked at, and how often: the numbers come back the same to the last bit."""
    decoder = random_decoder(**MODELS[0])
    free = [step.trace for step in generate(decoder, random_ids(2, 4), max_tokens=6, trace=True)]
    monkeypatch.setattr(kept, "COMPUTED_BYTES", 4000)
    bound = [step.trace for step in generate(decoder, random_ids(2, 4), max_tokens=6, trace=True)]
    computed = 0
    for _look in range(2):
        for one, other in zip(free, bound, strict=True):
            assert one is not None
            assert other is not None
            for name in one.names():
                assert torch.equal(one[name], other[name]), name
            held = [trace.nbytes - sum(t.nbytes for t in trace.stream) for trace in bound if trace is not None]
            assert sum(held) <= 4000
            computed += one.nbytes
    assert computed > 8 * 4000, "the bound would not have been reached"


def test_a_chunk_that_chose_nothing_has_nothing_to_compare() -> None:
    decoder = random_decoder(**MODELS[0])
    with pytest.raises(ShapeError):
        compare(decoder, next(generate(decoder, random_ids(1, 6), max_tokens=2, chunk=3)))


@pytest.mark.parametrize("choices", MODELS, ids=label)
def test_traces_of_every_step(choices: dict[str, Any]) -> None:
    """Each recomputes its pass from what it holds, also after the generation has gone on."""
    decoder, ids = random_decoder(**choices), random_ids(2, 6)
    steps = list(generate(decoder, ids, max_tokens=5, chunk=4, trace=True, label="<{}>".format, source="here"))
    for step in steps:
        trace = step.trace
        assert trace is not None
        assert trace.source == "here"
        assert trace.tokens == [f"<{token}>" for token in step.inputs[0].tolist()]
        assert trace.key_tokens == [f"<{token}>" for token in step.text[0, -len(trace.key_tokens):].tolist()]
        for letter, name in (("q", "q"), ("k", "k_all"), ("v", "v_all"), ("scores", "scores")):
            assert tuple(trace[f"blocks.1.{name}"].shape) == step.shapes[letter]
        check = trace.check(1)
        assert check is not None
        assert check.difference <= 1e-5 * max(1.0, check.size)
        if step.logits is not None:
            close(trace["logits"][:, -1], step.logits, 1e-5)


def test_an_uncached_trace_has_no_cached_rows() -> None:
    steps = list(generate(random_decoder(**MODELS[0]), random_ids(1, 4), max_tokens=2, use_cache=False, trace=True))
    for step in steps:
        assert step.trace is not None
        assert "blocks.0.k_past" not in step.trace
        assert step.trace.sizes["T"] == step.text.shape[1]


# Sampling.


def test_the_same_seed_gives_the_same_tokens_with_and_without_a_cache() -> None:
    decoder, ids = random_decoder(**MODELS[0]), random_ids(2, 5)

    def run(**changes: Any) -> list[list[int]]:
        return tokens_of(list(generate(decoder, ids, max_tokens=12, **{**SAMPLED, **changes})))

    first = run()
    assert run() == first == run(use_cache=False) == run(chunk=2)
    assert run(seed=6) != first
    assert tokens_of(list(generate(decoder, ids, max_tokens=12))) != first


def test_the_token_is_drawn_from_the_distribution_that_the_step_shows() -> None:
    decoder, ids = random_decoder(**MODELS[0]), random_ids(2, 5)
    for step in generate(decoder, ids, max_tokens=12, **SAMPLED):
        assert step.sampling is not None
        assert step.token is not None
        assert step.settings == (1.5, 9, 0.95, 0.01)
        assert torch.equal(step.sampling.logits, step.logits)
        assert step.token.tolist() == sampling.draw(step.sampling, step.u).tolist()
        below = [float(step.sampling.probabilities[b, :t].double().sum()) for b, t in enumerate(step.token.tolist())]
        for b, t in enumerate(step.token.tolist()):
            p = float(step.sampling.probabilities[b, t])
            assert p > 0
            assert below[b] - 1e-6 <= step.u[b] <= below[b] + p + 1e-6


# Stopping.


def test_a_text_that_comes_to_a_stop_id_repeats_it_and_all_of_them_end_it() -> None:
    decoder, ids = random_decoder(**MODELS[0]), random_ids(2, 5)
    free = tokens_of(list(generate(decoder, ids, max_tokens=10, **SAMPLED)))
    stop = {free[0][2], free[1][4]}
    ends = [next(i for i, token in enumerate(row) if token in stop) for row in free]
    steps = list(generate(decoder, ids, max_tokens=10, stop_ids=stop, **SAMPLED))
    got = tokens_of(steps)
    assert len(got[0]) == max(ends) + 1 < 10
    for row, end, expected in zip(got, ends, free, strict=True):
        assert row[:end + 1] == expected[:end + 1]
        assert set(row[end:]) == {row[end]}
    assert steps[-1].done.all()
    assert not steps[0].done.all()


def test_whoever_stops_asking_stops_it_and_keeps_what_was_given() -> None:
    decoder, ids = random_decoder(**MODELS[0]), random_ids(1, 5)
    running = generate(decoder, ids, max_tokens=30, trace=True)
    kept = [next(running) for _ in range(4)]
    texts = [step.text.clone() for step in kept]
    given = [step.trace["blocks.1.k_past"].clone() for step in kept if step.trace]
    next(running)
    running.close()
    assert list(running) == []
    for step, text, past in zip(kept, texts, given, strict=True):
        assert torch.equal(step.text, text)
        assert step.trace is not None
        assert torch.equal(step.trace["blocks.1.k_past"], past)
    assert tokens_of(kept) == by_rereading(decoder, ids, 4)


def test_the_run_keeps_no_step_alive() -> None:
    running = generate(random_decoder(**MODELS[0]), random_ids(1, 5), max_tokens=20, trace=True)
    seen = [weakref.ref(next(running)) for _ in range(5)]
    gc.collect()
    assert [ref() for ref in seen] == [None] * 5


def test_a_turn_is_taken_for_each_forward_and_never_while_the_caller_thinks() -> None:
    lock, taken = threading.Lock(), []

    @contextmanager
    def turn() -> Iterator[None]:
        with lock:
            taken.append(1)
            yield

    decoder = random_decoder(**MODELS[0])
    for count, step in enumerate(generate(decoder, random_ids(1, 6), max_tokens=3, chunk=2, turn=turn), start=1):
        assert len(taken) == count
        assert not lock.locked()
        if step.logits is not None:
            compare(decoder, step, turn)
            taken.pop()
    assert len(taken) == 5


def test_the_last_positions_are_used_and_none_beyond() -> None:
    decoder, ids = random_decoder(**LAWS[1]), random_ids(1, 6)
    assert len(list(generate(decoder, ids, max_tokens=4))) == 4  # 9 positions: the last token is not read
    with pytest.raises(SizeOutOfRange) as caught:
        generate(decoder, ids, max_tokens=5)
    assert (caught.value.field, caught.value.high) == ("max_tokens", 4)


# What is refused, before anything is computed.


@pytest.mark.parametrize(("settings", "error"), [
    ({"max_tokens": 0}, SizeOutOfRange), ({"max_tokens": True}, SizeOutOfRange), ({"max_tokens": 2.0}, SizeOutOfRange),
    ({"chunk": 0}, SizeOutOfRange), ({"chunk": -1}, SizeOutOfRange), ({"temperature": -1}, SettingOutOfRange),
    ({"top_p": math.nan}, SettingOutOfRange), ({"ids": torch.zeros(1, 0, dtype=torch.long)}, ShapeError),
    ({"ids": torch.zeros(3, dtype=torch.long)}, ShapeError),
    ({"ids": torch.zeros(1, 50, dtype=torch.long)}, ShapeError),
    ({"allowed": torch.ones(1, 3, dtype=torch.bool)}, ShapeError), ({"allowed": torch.ones(1, 4)}, ShapeError),
    ({"allowed": torch.zeros(1, 4, dtype=torch.bool)}, ShapeError)], ids=str)
def test_what_cannot_work_is_refused_at_the_call(settings: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        generate(random_decoder(**MODELS[0]), **{"ids": random_ids(1, 4), "max_tokens": 3, **settings})


def test_a_token_outside_the_table_is_refused_by_the_first_step() -> None:
    with pytest.raises(TokenOutOfRange):
        next(generate(random_decoder(**MODELS[0]), torch.tensor([[1, 99]]), max_tokens=3))
