"""The PyTorch program of the page on the cache; see `core.programs`."""

from __future__ import annotations

from core.programs import Program, program_of
from core.stage import At


def program(at: At) -> Program:
    """Filling a cache row by row: memory for all rows is taken at once, and each pass writes behind a counter; K and V
    of a layer in `result` (2, B, Hkv, T, Dh)."""
    kept = "_all" if at.block + "k_all" in at.trace else ""
    inputs = {letter: at.trace[f"{at.block}{letter}{kept}"].float() for letter in "kv"}
    batch, heads, rows, width = inputs["k"].shape
    config = at.trace.config
    body = ["# k, v (B, Hkv, T, Dh): the rows in the order in which they were computed",
            f"store = torch.zeros(2, {batch}, {heads}, {rows}, {width})  # one layer; the model has {config.layers}",
            f"for t in range({rows}):  # the prompt's rows may also be written at once",
            "    store[0, :, :, t], store[1, :, :, t] = k[:, :, t], v[:, :, t]",
            f"per_token = 2 * {config.layers} * {batch} * {heads} * {width} * store.element_size()",
            f"assert {config.layers} * store.nbytes == per_token * {rows}  # 2 L B T Hkv Dh s",
            "result = store", "print(result)"]
    return program_of("cache", inputs, body)
