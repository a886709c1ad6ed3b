"""Parameters: each is declared once, and whatever stands in an address or a file is held to its declaration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from tests.ui.on_page import PAGES, messages, opened
from ui import stages
from ui.bench import parameters
from ui.bench.parameters import Choice, Decimals, Parameter, Real, Switch, Text, Whole, declared, meaning

stages.load()
ALL: list[Parameter[Any]] = list(declared())
PAGE_OF = {Path(page).stem: page for page in PAGES}
UNKNOWN = "no-such-code"


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "_DECLARED", {})


def on_page(page: str, **address: str) -> AppTest:
    """The page after a run that finds these parameters in the address."""
    at = opened(page, lang="en")
    for key, value in address.items():
        at.query_params[key] = value
    return at.run()


@pytest.mark.usefixtures("registry")
def test_a_key_is_declared_once_and_the_same_declaration_again_is_no_second_one() -> None:
    first = Whole("deep", 1, low=1, high=2, stage="scores")
    assert Whole("deep", 1, low=1, high=2, stage="scores") == first
    assert list(declared()) == [first]
    other = Switch("deep", True, stage="mask")  # another page's key
    assert (meaning("deep", "scores"), meaning("deep", "mask"), meaning("deep", "heads")) == (first, other, None)
    with pytest.raises(ValueError, match="declared twice"):
        Whole("deep", 2, low=1, high=2, stage="scores")
    with pytest.raises(ValueError, match="declared twice"):
        Whole("deep", 1, low=1, high=2)


@given(st.text(max_size=40) | st.sampled_from(["", "1e400", "-1", "NaN", "∞", "9" * 400, "0x10", "True", "١"]))
def test_no_text_raises_and_what_is_read_is_sound(raw: str) -> None:
    for parameter in ALL:
        found = parameter.read(raw)
        assert found is None or parameter.accepts(found), parameter
        assert parameter.accepts(parameter.default), parameter


@pytest.mark.usefixtures("registry")
def test_numbers_and_texts_are_held_to_their_range() -> None:
    whole = Whole("w", 1, low=-2, high=7, stage="scores")
    assert [whole.read(raw) for raw in ("-2", "7", "3.0", "\u22121", "8", "-3", "2.5", "")] == [
        -2, 7, 3, -1, None, None, None, None]
    real = Real("r", 0.0, low=0.0, high=5.0, stage="scores")
    assert [real.read(raw) for raw in ("0", "2.5", "5.1", "nan")] == [0.0, 2.5, None, None]
    text = Text("t", "x", longest=3, stage="scores")
    assert [text.read(raw) for raw in ("", "abc", "abcd")] == [None, "abc", None]
    choice = Choice("c", "own", codes=Decimals(2, 40), stage="scores")
    assert [choice.read(raw) for raw in ("own", "2", "40", "41", "1", "٣", "")] == [
        "own", "2", "40", None, None, None, None]


CHOICES = [one for one in ALL if isinstance(one, Choice) and one.stage]


@pytest.mark.parametrize("choice", CHOICES, ids=lambda one: f"{one.stage}-{one.key}")
def test_an_unknown_code_of_a_page_s_own_key_is_dropped_with_a_notice(choice: Choice) -> None:
    at = on_page(PAGE_OF[choice.stage], **{choice.key: UNKNOWN})
    assert not at.exception
    assert ["does not exist here" in warning.value for warning in at.warning] == [True]
    assert choice.key not in at.query_params


def test_a_code_that_the_same_key_has_on_another_page_only_is_dropped_too() -> None:
    assert len(on_page(PAGE_OF["heads"], slip="reshaped").warning) == 1
    assert messages(on_page(PAGE_OF["matmul"], slip="reshaped")) == []


@pytest.mark.parametrize(("stage", "section", "address"), [
    ("matmul", "ways", {"left": "6,2,3", "right": "6,3,2", "product": "1e400"}),
    ("embedding", "wrong", {"source": "toy", "slip": "outside", "outside": "1e400"})])
def test_an_endless_number_with_its_section_open_is_dropped_with_a_notice(
    stage: str, section: str, address: dict[str, str],
) -> None:
    at = opened(PAGE_OF[stage], lang="en")
    at.session_state[f"open-{section}"] = True
    for key, value in address.items():
        at.query_params[key] = value
    at.run()
    assert not at.exception
    assert len(at.warning) == 1


def test_the_program_of_a_product_with_a_single_number_is_shown() -> None:
    at = opened(PAGES[0], lang="en", left="[]", right="2,3")
    at.session_state["open-code"] = True
    at.switch_page(PAGE_OF["matmul"]).run()
    assert not at.exception
    assert any("# a [], b [2, 3]" in element.value for element in at.code)
