"""The PyTorch program of the page on embeddings; see `core.snippets`."""

from __future__ import annotations

import torch

from core import programs
from core.programs import Program
from core.trace import Trace

ONE_HOT_NUMBERS = 100_000  # up to that many numbers the one-hot product is made as well


def embedding(trace: Trace) -> Program:
    """From ids to the rows that enter the first block, positions added where they are; `result` (B, T, D). Of a table
    with more rows than there are ids only those that occur are given; the others are never read."""
    ids, table = trace["tokens"], trace["embedding"]
    vocab, width = table.shape
    used = torch.unique(ids)
    if len(used) < vocab:
        inputs = {"ids": ids, "used": used, "rows": table[used]}
        body = [f"table = torch.zeros({vocab}, {width})  # (V, D)", "table[used] = rows  # those that these ids read"]
    else:
        inputs, body = {"ids": ids, "table": table}, ["# table (V, D)"]
    body += ["# ids (B, T)", "result = table[ids]  # (B, T, D): one row for each id"]
    if ids.numel() * vocab <= ONE_HOT_NUMBERS:
        body += [f"one_hot = torch.nn.functional.one_hot(ids, {vocab}).float()  # (B, T, V)",
                 "assert torch.equal(one_hot @ table, result)  # the same, with V times the work"]
    body += programs.edited_lines(trace, "embed", "result")
    if "pos_embed" in trace:
        inputs["positions"], inputs["places"] = trace["positions"], trace["position_table"]
        body += ["added = places[positions]  # (B, T, D)", *programs.edited_lines(trace, "pos_embed", "added"),
                 "result = result + added"]
    body += [*programs.edited_lines(trace, "blocks.0.in", "result"), "print(result)"]
    return programs.program_of("embedding", inputs, body)
