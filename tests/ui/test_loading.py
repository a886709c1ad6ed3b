"""Several models on one server: so many at a time, and none goes that loads or is computed with."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.live import registry
from core.live.model import Live
from core.live.turns import Turns
from ui import sources
from ui.sources import Loader, Loaders

PATIENCE = 30.0  # seconds after which another thread is taken to be lost
NAMES = ("one", "two", "three")


class Models:
    """In place of `core.live.load`: a model comes when the test lets it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._let = {name: threading.Event() for name in NAMES}

    def load(self, name: str, progress: Any) -> Live:
        self.asked.append(name)
        assert self._let[name].wait(PATIENCE)
        nothing: Any = None  # neither weights nor tokenizer are needed
        return Live(name, nothing, nothing, nothing, fingerprint=name, turns=Turns(1))

    def let(self, loader: Loader) -> None:
        """Have the model of this loader come, and wait until it is there."""
        thread = loader._thread
        assert thread is not None
        self._let[loader.name].set()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert loader.model() is not None


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    made = Models()
    monkeypatch.setattr(sources.live, "load", made.load)
    monkeypatch.setattr(registry, "own", lambda: {name: Path(name) for name in NAMES})
    yield made
    for event in made._let.values():
        event.set()


def test_a_third_model_waits_while_two_are_loading(models: Models) -> None:
    loaders = Loaders(most=2)
    one, two, three = (loaders.of(name) for name in NAMES)
    assert [loader.model() for loader in (one, two, three)] == [None] * 3
    stages = [found.stage for loader in (one, two, three) if (found := loader.progress())]
    assert stages == ["read", "read", "room"]
    assert models.asked == ["one", "two"]
    models.let(one)  # idle now: it makes room for whoever asks
    assert three.progress() is None  # so that the page asks again
    assert three.model() is None
    assert three.holds
    assert not one.holds
    assert two.holds
    models.let(two)
    models.let(three)
    assert two.model() is not None
    assert models.asked == ["one", "two", "three"]


def test_a_model_that_is_computed_with_is_not_taken_away(models: Models) -> None:
    loaders = Loaders(most=2)
    one, two, three = (loaders.of(name) for name in NAMES)
    for loader in (one, two):
        assert loader.model() is None
        models.let(loader)
    model, other = one.model(), two.model()
    assert model is not None
    assert other is not None
    with model.turn():
        with other.turn():
            assert three.model() is None
            assert not three.holds
        assert one.model() is model
        assert three.model() is None  # the other one is idle now and goes, though it was asked for last
        assert three.holds
        assert not two.holds
    assert one.model() is model


def test_the_one_asked_for_longest_ago_makes_room(models: Models) -> None:
    loaders = Loaders(most=2)
    for name in ("one", "two"):
        assert loaders.of(name).model() is None
        models.let(loaders.of(name))
    assert loaders.of("one").holds  # asked for again
    assert loaders.of("three").model() is None
    assert [loaders.of(name).holds for name in NAMES] == [True, False, True]


def test_a_loader_is_the_same_for_all_who_ask_for_its_model(models: Models) -> None:
    loaders = Loaders(most=2)
    assert loaders.of("one") is loaders.of("one")
    assert loaders.of("one").model() is None
    for number in range(10):  # names that hold nothing do not pile up
        loaders.of(f"nobody {number}")
    assert len(loaders._by_name) == 4
    assert loaders.of("one").holds


def test_a_forward_makes_a_model_busy_whatever_happens_in_it(models: Models) -> None:
    loader = Loaders(most=2).of("one")
    assert loader.model() is None
    models.let(loader)
    model = loader.model()
    assert model is not None
    assert not model.busy
    with model.turn():
        assert model.busy
        assert not loader.idle
    with pytest.raises(RuntimeError), model.turn():
        raise RuntimeError
    assert not model.busy
    assert loader.idle
