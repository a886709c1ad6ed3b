"""Embedding rows of the live model: one word in two sentences, and a program that carries few rows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from core.live import Live
from core.stage import At
from core.stages import embedding
from core.stages.embedding import rows
from tests.core.test_snippets import run
from ui.bench.limits import DEFAULT_TEXT
from ui.stages.embedding.choices import SECOND_SENTENCE


def test_one_word_in_two_sentences_of_the_live_model(smollm: Live) -> None:
    """D3 §2: id and row never change with the context, the hidden state does at every layer."""
    texts = "She sat on the bank of the river", "He took money from the bank"
    traces = [smollm.trace(text) for text in texts]
    places = [trace.tokens.index("␣bank") for trace in traces]
    found = rows.alike(traces[0], places[0], traces[1], places[1])
    assert found.same_id
    assert len(found.cosines) == smollm.config.layers + 1
    assert found.cosines[0] == pytest.approx(1)
    assert all(cosine < 1 - 1e-4 for cosine in found.cosines[1:])


def test_the_sentences_on_screen_differ_before_the_word_that_they_share(smollm: Live) -> None:
    """What comes after a word changes nothing of it: the model is causal."""
    one, other = smollm.trace(DEFAULT_TEXT), smollm.trace(SECOND_SENTENCE)
    here, there = next(iter(rows.shared(one, other).values()))
    assert one.tokens[here] == "␣it"
    assert one.tokens[:here] != other.tokens[:there]
    found = rows.alike(one, here, other, there)
    assert found.same_before is False
    assert found.cosines[-1] < 0.9
    after = rows.alike(one, here, smollm.trace("The cat sat on the mat because it began to rain"), here)
    assert after.same_before is True
    assert after.cosines == pytest.approx([1] * len(after.cosines))


def test_the_program_of_a_large_table_carries_only_the_rows_that_occur(smollm: Live, tmp_path: Path,
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    trace = smollm.trace("the bank by the river")
    program = embedding.program(At(trace))
    assert sum(array.nbytes for array in program.arrays.values()) < 50_000
    assert torch.equal(run(program, tmp_path, monkeypatch), trace["embed"])
