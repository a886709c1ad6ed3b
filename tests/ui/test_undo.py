"""Undo, redo and reset go through what was chosen and edited, and through nothing else."""

from __future__ import annotations

from core import live, worked
from tests.ui.on_page import MASK, SCORES, assert_shows, chip, lit, opened, scope, shown, throw, thrown

EDIT = {"q": {(0, 0, 0, 0): 2.5}}


def test_undo_and_redo_go_back_and_forth_through_edits_masks_and_chips() -> None:
    at = opened(MASK, lang="en", v="3")
    assert not {"undo", "redo", "reset"} & {button.key for button in at.button}
    throw(at, "mask", "window")
    chip(at, "matrices")
    assert "mask" not in at.query_params
    for back, kind, example in (("undo", "window", "block"), ("undo", "causal", "block"), ("redo", "window", "block"),
                                ("redo", "none", "matrices")):
        at.button(key=back).click().run()
        assert not at.exception
        assert (thrown(at, "mask"), lit(at)) == (kind, example)
    assert at.button(key="redo").disabled


def test_an_undone_edit_is_gone_and_comes_back() -> None:
    at = opened(SCORES, lang="en", v="3")
    at.session_state["_session"].bench.edits = {"block": {"blocks.0.q": {(0, 0, 0, 0): 2.5}}}
    at.run()
    edited = worked.block().edited({"blocks.0.q": {(0, 0, 0, 0): 2.5}})
    assert_shows(at, edited)
    at.button(key="undo").click().run()
    assert_shows(at, worked.block())
    assert "edits" not in at.query_params
    at.button(key="redo").click().run()
    assert_shows(at, edited)
    at.number_input(key="head").set_value(2).run()  # what is looked at is no step of its own
    assert at.button(key="redo").disabled
    at.button(key="undo").click().run()
    assert_shows(at, worked.block(), head=1)


def test_sizes_of_the_toy_are_undone_too() -> None:
    at = opened(SCORES, lang="en", v="3", source="toy", T="3")
    at.number_input(key="T").set_value(6).run()
    at.button(key="undo").click().run()
    assert not at.exception
    assert at.number_input(key="T").value == 3
    assert shown(at, "blocks.0.scores").shape == (3, 3)


def test_reset_brings_the_example_back_as_it_was_built() -> None:
    at = opened(SCORES, lang="en", v="3", sample="a dog", mask="none", edits=scope("block", **EDIT))
    at.button(key="reset").click().run()
    assert not at.exception
    assert_shows(at, worked.block())
    assert not {"sample", "mask", "edits"} & set(at.query_params)
    assert at.button(key="reset").disabled
    at.button(key="undo").click().run()
    assert at.query_params["sample"] == "a dog"


def test_undo_brings_back_a_sentence_too_and_no_default_is_written(model: live.Live) -> None:
    at = opened(SCORES, lang="en", v="3", source="live", text="One two")
    at.text_area(key="text").set_value("Three four five").run()
    at.button(key="undo").click().run()
    assert at.text_area(key="text").value == "One two"
    assert_shows(at, model.trace("One two"))
    assert set(at.query_params) == {"lang", "v", "source", "text"}


def test_a_button_pressed_twice_is_no_going_back_in_the_history() -> None:
    """The second press comes with the address of before the first; so it must not be taken for a link."""
    at = opened(SCORES, lang="en", v="3")
    for value in (2.5, 3.5, 4.5):
        at.session_state["_session"].bench.edits = {"block": {"blocks.0.q": {(0, 0, 0, 0): value}}}
        at.run()
    old = at.query_params["edits"]
    at.button(key="undo").click().run()
    at.query_params["edits"] = old
    at.button(key="undo").click().run()
    assert_shows(at, worked.block().edited({"blocks.0.q": {(0, 0, 0, 0): 2.5}}))
    for _press in range(2):
        at.button(key="redo").click().run()
    assert_shows(at, worked.block().edited({"blocks.0.q": {(0, 0, 0, 0): 4.5}}))
