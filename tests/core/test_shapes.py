"""Shapes along the main line: those of D0 §13 and D1 §11.1, and what equal numbers hide."""

from __future__ import annotations

import torch

from core import shapes
from core.config import ModelConfig
from core.model import Decoder
from core.shapes import Inputs
from core.trace import Trace


def _filled(code: str) -> dict[str, tuple[int, ...]]:
    model = shapes.MODELS[code]
    assert model.inputs is not None
    present = shapes.sizes(model.config, model.inputs)
    return {("kT" if tensor.transposed else tensor.names[0]): shapes.fill(tensor.axes, present)
            for tensor in shapes.tensors()}


def test_the_walk_of_d0_section_13() -> None:
    assert _filled("d0") == {"tokens": (2, 4), "in": (2, 4, 8), "q": (2, 2, 4, 4), "k": (2, 2, 4, 4),
                             "kT": (2, 2, 4, 4), "scaled": (2, 2, 4, 4), "hidden": (2, 4, 32), "logits": (2, 4, 10000)}


def test_the_walk_of_d1_section_11() -> None:
    found = _filled("llama-2-7b")
    assert found["in"] == (1, 2048, 4096)
    assert found["q"] == (1, 32, 2048, 128)
    assert found["scaled"] == (1, 32, 2048, 2048)
    assert found["hidden"] == (1, 2048, 11008)


def test_equal_numbers_of_different_meaning_are_found() -> None:
    """D0 §13: q, Kᵀ and the scores are all [2,2,4,4]."""
    model = shapes.MODELS["d0"]
    assert model.inputs is not None
    groups = dict(shapes.alike(shapes.sizes(model.config, model.inputs)))
    assert list(groups) == [(2, 2, 4, 4)]
    assert {(tensor.names, tensor.transposed) for tensor in groups[2, 2, 4, 4]} == {
        (("q", "context"), False), (("k", "v"), False), (("k",), True), (("scaled", "weights"), False)}


def test_shapes_that_differ_in_their_numbers_are_not_called_alike() -> None:
    config = ModelConfig.from_width(width=12, heads=4, kv_heads=2, ffn_width=20, vocab=30, layers=1, max_positions=5,
                                    positions="none")
    assert not shapes.alike(shapes.sizes(config, Inputs(batch=1, tokens=5)))


def test_the_shapes_are_those_of_a_model_that_is_built() -> None:
    config = ModelConfig.from_width(width=12, heads=4, kv_heads=2, ffn_width=20, vocab=30, layers=1, max_positions=5,
                                    positions="none")
    trace = Trace()
    Decoder(config)(torch.randint(30, (2, 5)), trace=trace)
    present = shapes.sizes(config, Inputs(batch=2, tokens=5))
    for tensor in shapes.tensors():
        for short in tensor.names:
            made = trace[short if short in trace else f"blocks.0.{short}"]
            assert tuple((made.mT if tensor.transposed else made).shape) == shapes.fill(tensor.axes, present), tensor
