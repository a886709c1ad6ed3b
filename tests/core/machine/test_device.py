"""Which device is picked, and that the operations stay on the device of what they are given."""

import pytest
import torch

from core import embedding, feed_forward, norms, ops, rope
from core.errors import UnknownOption
from core.machine import device


def test_the_cpu_is_always_there_and_the_variable_chooses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device.available()[-1] == "cpu"
    monkeypatch.setenv(device.VARIABLE, "cpu")
    assert device.pick() == torch.device("cpu")


def test_without_the_variable_the_first_device_present_is_picked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(device.VARIABLE, raising=False)
    assert device.pick().type == device.available()[0]


def test_a_device_that_is_not_here_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(device.VARIABLE, "abacus")
    with pytest.raises(UnknownOption) as caught:
        device.pick()
    assert caught.value.value == "abacus"
    assert "cpu" in caught.value.known


def test_operations_stay_on_the_device_of_their_operands() -> None:
    """The meta device holds no data, so anything that silently moved to the CPU would fail or come back from it."""
    def new(*shape: int) -> torch.Tensor:
        return torch.empty(shape, device="meta")

    q, k, v = new(2, 4, 3, 8), new(2, 2, 5, 8), new(2, 2, 5, 6)
    allowed = torch.empty((2, 5), dtype=torch.bool, device="meta")
    results = [
        *ops.attend(q, k, v, mask=ops.padding_mask(allowed)),
        ops.merge_heads(q), ops.split_heads(new(2, 3, 8), 2), ops.project(new(2, 3, 8), new(8, 4), new(4)),
        rope.rotate(q, torch.arange(3)), norms.layer_norm(q, new(8), new(8)), norms.rms_norm(q, new(8)),
        feed_forward.swiglu(new(3, 8), new(8, 4), new(8, 4), new(4, 8)),
        feed_forward.feed_forward(new(3, 8), new(8, 4), None, new(4, 8), None, "gelu"),
    ]
    assert {result.device.type for result in results} == {"meta"}
    assert results[4].shape == (2, 4, 3, 6)


def test_one_hot_products_stay_on_the_device_of_the_table() -> None:
    table = torch.arange(6.0).reshape(3, 2)
    assert embedding.one_hot_product(table, torch.tensor([2, 0])).device == table.device
