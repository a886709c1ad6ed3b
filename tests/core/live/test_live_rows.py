"""Embedding rows of the live model: one word in two sentences, and a program that carries few rows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from core import rows, snippets_embedding
from core.live import Live
from tests.core.test_snippets import run


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


def test_the_program_of_a_large_table_carries_only_the_rows_that_occur(smollm: Live, tmp_path: Path,
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    trace = smollm.trace("the bank by the river")
    program = snippets_embedding.embedding(trace)
    assert sum(array.nbytes for array in program.arrays.values()) < 50_000
    assert torch.equal(run(program, tmp_path, monkeypatch), trace["embed"])
