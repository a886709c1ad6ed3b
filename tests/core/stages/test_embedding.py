"""Rows looked up: equal to the one-hot product, equal for equal ids, with positions added or not, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core import worked
from core.errors import ShapeError, TokenOutOfRange, UnknownOption
from core.stage import At
from core.stages import embedding
from core.stages.embedding import mistakes, rows
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core import reference
from tests.core.test_snippets import decoder_trace, run
from tests.core.test_worked import NUMBERS

TABLE = torch.tensor([[0.0, 1], [2, 3], [4, 5], [6, 7]])
SIZES = ToySizes(batch=2, tokens=6, width=8, heads=2, kv_heads=2, ffn_width=4, vocab=5, layers=2)


def test_the_documents_sizes() -> None:
    """D0 §3: ids [2,4] into [10000,8]; D1 §2: 32000 × 4096 at T=10."""
    sizes, shapes = NUMBERS["D0_sizes"], NUMBERS["D0_sizes"]["shapes"]
    found = rows.work(sizes["B"], sizes["T"], sizes["N_vocab"], sizes["D"])
    assert found.table == int(np.prod(shapes["E"])) == 80_000
    assert found.read == int(np.prod(shapes["X"])) == 64
    assert found.multiplications == 640_000
    assert found.by_zero == 640_000 - 64
    large = NUMBERS["D1_embedding"]
    found = rows.work(large["B"], large["S"], large["vocab"], large["H"], torch.float16)
    assert found.table == 131_072_000
    assert found.table_bytes == 262_144_000
    assert found.read == int(np.prod(large["X"])) == 40_960
    assert found.multiplications == 1_310_720_000
    with pytest.raises(ShapeError):
        rows.work(1, 0, 2, 2)


@given(st.integers(1, 9), st.integers(1, 5), st.lists(st.integers(0, 99), min_size=6, max_size=6), st.integers(0, 99))
def test_both_ways_give_the_same_rows(vocab: int, width: int, ids: list[int], seed: int) -> None:
    table = torch.randn(vocab, width, generator=torch.Generator().manual_seed(seed))
    batch = (torch.tensor(ids) % vocab).reshape(2, 3)
    found = rows.look_up(table, batch)
    assert found.difference == 0
    assert torch.equal(found.rows, torch.stack([torch.stack([table[i] for i in line]) for line in batch.tolist()]))
    assert torch.equal(found.one_hot, torch.nn.functional.one_hot(batch, vocab).float())
    work = rows.work(2, 3, vocab, width)
    assert int(found.one_hot.sum()) * width == work.multiplications - work.by_zero  # the multiplications by 1


def test_an_id_without_a_row() -> None:
    """A1: 4 is refused, −1 too, where NumPy gives the last row."""
    for token, row in ((4, None), (-1, (6.0, 7.0)), (-4, (0.0, 1.0)), (-5, None)):
        found = mistakes.outside(TABLE, token)
        assert found.error is not None
        assert (found.error.token, found.error.vocab) == (token, 4)
        with pytest.raises(IndexError) as caught:
            torch.nn.functional.embedding(torch.tensor([token]), TABLE)
        assert found.torch_error == str(caught.value)
        assert found.numpy_row == row
        with pytest.raises(TokenOutOfRange):
            rows.look_up(TABLE, torch.tensor([[token]]))
    assert mistakes.outside(TABLE, 3) == (None, None, (6.0, 7.0))


@pytest.mark.parametrize(("size", "beyond"), [(151936, (293, 290)), (152064, (421, 418))])
def test_rows_that_no_token_uses(size: int, beyond: tuple[int, int]) -> None:
    """A2: Qwen's tables, 151643 tokens and 3 special ones."""
    found = mistakes.padded(size, 151643, 3)
    assert (found.beyond_base, found.beyond_all) == beyond


def test_equal_ids_have_equal_rows() -> None:
    ids = torch.tensor([[3, 1, 3], [2, 1, 3]])
    found = rows.repeats(ids, TABLE[ids])
    assert [(entry.id, entry.places) for entry in found] == [(3, ((0, 0), (0, 2), (1, 2))), (1, ((0, 1), (1, 1)))]
    assert all(entry.equal for entry in found)
    moved = rows.repeats(ids, rows.place(TABLE[ids], "sinusoidal").total)
    assert [entry.equal for entry in moved] == [False, True]  # 1 stands at the same place both times


@pytest.mark.parametrize("kind", rows.KINDS)
def test_what_positions_add(kind: str) -> None:
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    table = torch.arange(20.0).reshape(5, 4)
    found = rows.place(x, kind, table)
    expected = {"learned": table[:3].numpy(),
                "sinusoidal": np.array([reference.sinusoidal(t, 4) for t in range(3)])}.get(kind)
    if expected is None:
        assert found.added is None
        assert torch.equal(found.total, x)
    else:
        assert found.added is not None
        np.testing.assert_allclose(found.added.numpy(), expected, atol=1e-6)
        np.testing.assert_allclose(found.total.numpy(), x.numpy() + expected, atol=1e-6)
    assert found.acts_on == {"none": "nothing", "rope": "queries and keys", "relative": "scores"}.get(kind, "rows")


@pytest.mark.parametrize("table", [None, torch.zeros(2, 4), torch.zeros(5, 3)])
def test_a_learned_table_that_does_not_fit_is_refused(table: torch.Tensor | None) -> None:
    with pytest.raises(ShapeError):
        rows.place(torch.zeros(1, 3, 4), "learned", table)


def test_a_kind_of_positions_that_there_is_not_is_refused() -> None:
    with pytest.raises(UnknownOption):
        rows.place(torch.zeros(1, 3, 4), "alibi")


def test_the_same_token_grows_apart_with_its_context() -> None:
    one = toy(SIZES, 4)
    other = one.edited({"embedding": {(int(one["tokens"][0, 0]), 0): 3.0}})
    place = next(t for t in range(1, 6) if one["tokens"][0, t] != one["tokens"][0, 0])
    found = rows.alike(one, place, other, place)
    assert found.stages == ("embed", "blocks.1.in", "blocks.1.out")
    assert found.same_id
    assert found.same_before
    assert rows.alike(one, place, one, place - 1).same_before is False
    assert found.cosines[0] == pytest.approx(1)
    for name, cosine in zip(found.stages, found.cosines, strict=True):
        a, b = (trace[name][0, place].double().numpy() for trace in (one, other))
        assert cosine == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-12)
    assert found.cosines[-1] < 1 - 1e-6
    with pytest.raises(ShapeError):
        rows.alike(one, 0, worked.block(), 0)
    learned = toy(SIZES, 4, positions="learned")
    assert rows.alike(learned, 0, learned, 1).stages == ("embed", "blocks.0.in", "blocks.1.in", "blocks.1.out")


def test_questions_about_rows() -> None:
    trace = worked.block()
    for number in range(12):
        asked = embedding.ask(At(trace), number)
        assert asked.answer == float(trace["embedding"][trace["tokens"][0, asked.row], asked.column])
        assert embedding.judge(At(trace), asked, asked.answer, 3) == "right"
    other = toy(SIZES, 4, positions="learned")
    second = At(other, batch=1)
    asked = next(question for n in range(8) for question in [embedding.ask(second, n)]
                 if question.row < 5 and other["tokens"][1, question.row] != question.row)
    at = asked.row, asked.column
    for value, verdict in ((other["embedding"][at], "place"), (other["blocks.0.in"][1][at], "with_position"),
                           (-other["embed"][1][at], "sign"), (torch.tensor(99.0), "wrong")):
        assert embedding.judge(second, asked, float(value), 3) == verdict


PROGRAMS: dict[str, Callable[[], Trace]] = {
    "block": worked.block, "word_order": worked.word_order,
    "word_order, sinusoidal": lambda: worked.word_order("sinusoidal"),
    "toy": lambda: toy(SIZES, 4), "large": lambda: toy(SIZES._replace(width=64, vocab=64), 4, positions="learned"),
    "edited": lambda: worked.block().edited({"embed": {(0, 1, 2): 0.5}, "pos_embed": {(0, 2, 1): -1.0},
                                             "blocks.0.in": {(0, 3, 3): 9.0}, "embedding": {(1, 0): 7.0}}),
    "decoder": lambda: decoder_trace(positions="learned", norm="layer"),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_the_program_gives_the_pages_numbers(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = PROGRAMS[kind]()
    result = run(embedding.program(At(trace)), tmp_path, monkeypatch)
    torch.testing.assert_close(result, trace["blocks.0.in"], atol=1e-6, rtol=0)


def test_the_first_id_stands_once_more_at_the_end() -> None:
    assert rows.first_again(torch.tensor([[3, 1], [2, 0]]), 1).tolist() == [[2, 0, 2]]


def test_what_two_texts_share_is_found_at_its_last_place() -> None:
    one, other = toy(SIZES, 4), toy(SIZES, 5)
    ids, others = (trace["tokens"][0].tolist() for trace in (one, other))
    found = rows.shared(one, other)
    assert set(found) == set(ids) & set(others)
    for token, (place, at) in found.items():
        assert (ids[place], others[at]) == (token, token)
        assert token not in ids[place + 1:] + others[at + 1:]


@pytest.mark.parametrize("width", [2, 6, 8, 576])
def test_waves_are_columns_of_the_table_and_as_long_as_they_say(width: int) -> None:
    found = rows.waves(width)
    wanted = np.array([reference.sinusoidal(t, width) for t in range(rows.WAVE_POSITIONS)])
    np.testing.assert_allclose(found.values.numpy(), wanted[:, list(found.columns)], atol=1e-6)
    for column, length in zip(found.columns, found.lengths, strict=True):
        assert column % 2 == 0
        assert math.sin(length * 10000 ** (-column / width)) == pytest.approx(0, abs=1e-9)
        assert length == pytest.approx(2 * math.pi / 10000 ** (-column / width))
    assert list(found.lengths) == sorted(found.lengths)


def test_the_place_in_place_of_the_id() -> None:
    found = mistakes.by_place(TABLE, torch.tensor([[3, 1, 0]]))
    assert found.right.tolist() == [[[6.0, 7.0], [2.0, 3.0], [0.0, 1.0]]]
    assert found.wrong is not None
    assert found.wrong.tolist() == [[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]]
    assert found.largest(0, 0) == 6
    beyond = mistakes.by_place(TABLE, torch.zeros(1, 5, dtype=torch.long))
    with pytest.raises(IndexError) as caught:
        TABLE[torch.arange(5)]
    assert (beyond.wrong, beyond.error) == (None, str(caught.value))


def test_the_examples_are_the_documents() -> None:
    d0, d1 = NUMBERS["D0_sizes"], NUMBERS["D1_embedding"]
    assert rows.EXAMPLES["d0"] == (d0["B"], d0["T"], d0["N_vocab"], d0["D"])
    assert rows.EXAMPLES["d1"] == (d1["B"], d1["S"], d1["vocab"], d1["H"])


def test_positions_of_a_trace() -> None:
    trace = worked.block()
    assert torch.equal(rows.placed(trace, "learned").total, trace["blocks.0.in"])
    with pytest.raises(ShapeError):
        rows.placed(toy(SIZES, 4), "learned")


def test_facts_are_of_one_batch_entry() -> None:
    """What stands twice in another text, or once in each, is not told of this one."""
    trace = toy(SIZES, 4)
    for batch in range(2):
        ids = trace["tokens"][batch].tolist()
        found = embedding.facts(At(trace, batch=batch), positions="rope")
        assert found.ids == tuple(ids)
        assert found.different == len(set(ids))
        assert found.work == rows.work(1, 6, 5, 8)
        assert found.repeated == {token: tuple(place for place, other in enumerate(ids) if other == token)
                                  for token in ids if ids.count(token) > 1}
        assert found.acts_on == "queries and keys"
    assert embedding.facts(At(worked.block())).acts_on == "rows"
    with pytest.raises(UnknownOption):
        embedding.facts(At(trace), positions="alibi")


def test_an_id_outside_is_refused_in_place_of_the_last() -> None:
    trace = worked.block()
    with pytest.raises(IndexError) as caught:
        torch.nn.functional.embedding(torch.tensor([-1]), trace["embedding"])
    found = embedding.MISTAKES["outside"](At(trace))
    assert (found.wrong, found.error) == (None, str(caught.value))
    inside = embedding.MISTAKES["outside"](At(trace), token=5)
    assert inside.wrong is not None
    assert torch.equal(inside.wrong[0, -1], trace["embedding"][5])
    assert torch.equal(inside.right[0], trace["embed"][0])
