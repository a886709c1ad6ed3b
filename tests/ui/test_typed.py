"""What is typed into equations and how it comes to the bench: once, in order, to the slice that it was typed on."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from core.toy import ToySizes, toy
from core.trace import Trace
from ui.bench import edits, location, session
from ui.equation.views import View

TOY = toy(ToySizes(batch=2, tokens=3, width=8, heads=4, kv_heads=2, ffn_width=3, vocab=7, layers=1), 3)
X, Q, BIAS = "blocks.0.in", "blocks.0.q", "blocks.0.bq"


class State(dict[str, Any]):
    """What Streamlit's has besides a dictionary."""

    to_dict = dict[str, Any].copy


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> State:
    """The session's state, without Streamlit."""
    held, params = State(), State()

    def replace(address: dict[str, str]) -> None:
        params.clear()
        params.update(address)

    monkeypatch.setattr(location, "_replace", replace)
    for module in (edits, location, session):
        monkeypatch.setattr(module, "st", SimpleNamespace(session_state=held, query_params=params))
    return held


def typed(seq: int, value: float | None, cell: str = "0,0", name: str = X, rev: int = 0) -> dict[str, object]:
    """A change as the browser sends it."""
    return {"seq": seq, "rev": rev, "name": name, "cell": cell, "value": value}


def run(key: str = "one", head: int = 0, batch: int = 0, trace: Trace = TOY) -> Callable[[], None]:
    """A run of the page that draws one equation; returns what is called when the browser answers."""
    view = View(trace, layer=0, batch=batch, head=head, editable=True)
    edits.revision(key, batch, head)
    frames = [view.frame(name, name, editable=True) for name in (X, Q) if name in trace]
    return edits.edits_taker(key, "toy", trace, frames, view.place)


def send(state: dict[str, Any], take: Callable[[], None], *changes: object, key: str = "one") -> None:
    state[key] = {"edits": {"changes": list(changes)}}
    take()


def test_changes_are_put_in_once_and_in_order(state: dict[str, Any]) -> None:
    take = run()
    send(state, take, typed(2, 6.0), typed(1, 5.0), typed(3, 7.0, "1,2"))
    assert edits.all_edits() == {"toy": {X: {(0, 0, 0): 6.0, (0, 1, 2): 7.0}}}
    edits.all_edits()["toy"][X][0, 0, 0] = 1.0
    send(state, take, typed(2, 6.0), typed(3, 7.0, "1,2"), typed(4, 8.0, "2,0"))  # the first two are known
    assert edits.all_edits() == {"toy": {X: {(0, 0, 0): 1.0, (0, 1, 2): 7.0, (0, 2, 0): 8.0}}}
    assert edits.revision("one", 0, 0) == (0, 0, 4)


def test_a_change_without_a_number_takes_the_edit_back(state: dict[str, Any]) -> None:
    take = run()
    send(state, take, typed(1, 5.0), typed(2, 6.0, "0,1"), typed(3, None))
    assert edits.all_edits() == {"toy": {X: {(0, 0, 1): 6.0}}}
    send(state, take, typed(4, None, "0,1"))
    assert edits.all_edits() == {"toy": {}}


def test_two_equations_of_one_tensor_take_nothing_from_each_other(state: dict[str, Any]) -> None:
    first, second = run("one"), run("two")
    send(state, first, typed(1, 5.0), key="one")
    send(state, second, typed(1, 6.0, "1,1"), key="two")
    send(state, first, typed(1, 5.0), typed(2, 7.0, "2,2"), key="one")
    assert edits.all_edits() == {"toy": {X: {(0, 0, 0): 5.0, (0, 1, 1): 6.0, (0, 2, 2): 7.0}}}


def test_a_change_goes_to_the_slice_that_it_was_typed_on(state: dict[str, Any]) -> None:
    run(head=1)
    take = run(head=3, batch=1)
    (rev, since, _seq) = edits.revision("one", 1, 3)
    assert (rev, since) == (1, 1)
    send(state, take, typed(1, 5.0, name=Q, rev=0), typed(2, 6.0, name=Q, rev=1))
    assert edits.all_edits() == {"toy": {Q: {(0, 1, 0, 0): 5.0, (1, 3, 0, 0): 6.0}}}


def test_what_arrives_together_with_a_reset_is_reset_too_and_what_comes_later_stays(state: dict[str, Any]) -> None:
    take = run()
    send(state, take, typed(1, 5.0))
    edits.discard_edits("toy")
    send(state, take, typed(1, 5.0), typed(2, 6.0, "0,1"))
    assert edits.all_edits() == {}
    send(state, run(), typed(2, 6.0, "0,1"), typed(3, 7.0, "0,2"))  # its revision is that before the reset
    assert edits.all_edits() == {"toy": {X: {(0, 0, 2): 7.0}}}


@pytest.mark.parametrize("change", [
    typed(1, 5.0, "0,8"), typed(1, 5.0, "3,0"), typed(1, 5.0, name="tokens"), typed(1, 5.0, name="mask"),
    typed(1, 5.0, rev=1), typed(1, float("nan")), {"seq": 1}, None])
def test_what_does_not_fit_is_dropped_and_the_rest_is_taken(state: dict[str, Any], change: object) -> None:
    send(state, run(), change, typed(2, 6.0))
    assert edits.all_edits() == {"toy": {X: {(0, 0, 0): 6.0}}}


def test_nothing_is_taken_where_nothing_can_be_edited(state: dict[str, Any]) -> None:
    edits.revision("one")
    view = View(TOY, layer=0, batch=0, head=0, editable=True)
    send(state, edits.edits_taker("one", None, TOY, [view.frame(X, X, editable=True)], view.place), typed(1, 5.0))
    assert edits.all_edits() == {}
    send(state, run("other"), "nonsense", key="other")
    assert edits.all_edits() == {}


def request(state: dict[str, Any], **address: str) -> bool:
    """Whether a run of the page takes the edits in this address for news."""
    location.st.query_params.clear()
    location.st.query_params.update(lang="en", **address)
    return location.arrived("edits")


def end_of_run(written: dict[str, str]) -> None:
    """What a run writes last, and what it then keeps."""
    location.write(written)
    location.note_widgets()


def test_an_address_from_before_ours_had_reached_the_browser_says_nothing(state: dict[str, Any]) -> None:
    assert request(state, edits="linked")
    end_of_run({"edits": "linked"})
    state["scores"] = {"edits": 1}
    assert not request(state, edits="linked")
    end_of_run({"edits": "typed"})
    state["scores"] = {"edits": 2}  # sent before the browser had the address with what was typed
    assert not request(state, edits="linked")
    end_of_run({"edits": "typed twice"})
    state["scores"] = {"edits": 3}
    assert not request(state, edits="typed")
    end_of_run({"edits": "typed thrice"})
    assert not request(state, edits="typed thrice")


def test_back_and_a_link_are_news(state: dict[str, Any]) -> None:
    assert request(state)
    end_of_run({"edits": ""})
    state["scores"] = {"edits": 1}
    assert not request(state)
    end_of_run({"edits": "typed"})
    assert request(state)  # Back, before anything else was done: nothing on the page has changed
    end_of_run({"edits": "typed"})
    assert not request(state, edits="typed")
    end_of_run({"edits": "typed"})
    state["scores"] = {"edits": 2}
    assert request(state, edits="elsewhere")  # nothing that this session wrote


def test_a_button_that_springs_back_is_nothing_that_was_done(state: dict[str, Any]) -> None:
    assert request(state, edits="typed")
    state["reset"] = True
    end_of_run({"edits": ""})
    state["reset"] = False
    assert request(state, edits="typed")  # Back after the button
