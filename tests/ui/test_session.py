"""What a session holds: one object; a state of the bench is resolved once, and examples can be brought along."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import worked
from core.trace import Trace
from tests.ui.on_page import PROJECTIONS, SCORES, opened, scope, shown
from ui import bench
from ui.bench import MaskChoice, parameters
from ui.bench.session import KEY, MOST_EXAMPLES, Cell, Kept, Session
from ui.shell import example_words
from ui.shell.syllabus import STAGES

EDIT = scope("block", q={(0, 0, 0, 0): 2.5})


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many traces were made, by their source."""
    made: Counter[str] = Counter()
    begin = Trace.__init__

    def counted(self: Trace, *arguments: object, **named: object) -> None:
        begin(self, *arguments, **named)
        made[self.source] += 1

    monkeypatch.setattr(Trace, "__init__", counted)
    return made


def held(at: AppTest) -> Session:
    """What the session of a test holds."""
    found: Session = at.session_state[KEY]
    return found


def test_what_streamlit_keeps_beside_the_widgets_is_one_object() -> None:
    at = opened(SCORES, lang="en", example="block", edits=EDIT, pin="scores.1.1")
    inner = {key for key in at.session_state if key.startswith("_")}
    boxes, texts = {"_example", "_notation"}, {"_language", "_letters"}  # two choices, and the language of texts
    assert inner == {KEY} | boxes | texts
    assert held(at).bench.edits == {"block": {"blocks.0.q": {(0, 0, 0, 0): 2.5}}}
    assert held(at).bench.pin == Cell("scores", 1, 1)


@pytest.mark.parametrize("parts", [{"edits": EDIT}, {"mask": "window", "reach": "2"}])
def test_a_state_of_the_bench_makes_one_trace_and_none_when_nothing_changed(
    parts: dict[str, str], built: Counter[str],
) -> None:
    opened(SCORES, lang="en", example="block")  # the example itself is made once for all sessions
    built.clear()
    at = opened(SCORES, lang="en", example="block", **parts)
    assert built["block"] == 1
    at.run()
    assert built["block"] == 1
    held(at).bench.pin = Cell("scores", 1, 1)
    at.run()
    assert built["block"] == 1
    held(at).bench.edits.setdefault("block", {})["blocks.0.k"] = {(0, 0, 0, 0): -1.0}
    at.run()
    assert built["block"] == 2
    assert shown(at, "blocks.0.k")[0, 0] == -1.0


def test_the_traces_that_are_kept_are_the_last_few() -> None:
    kept, trace = Kept(2), worked.single_head()
    for key in ("a", "b"):
        assert kept.put((key,), trace) is trace
    assert kept.get(("a",)) is trace  # now the newest
    kept.put(("c",), trace)
    assert (kept.get(("a",)), kept.get(("b",)), kept.get(("c",))) == (trace, None, trace)


def test_an_example_of_one_s_own_is_on_the_menu_and_many_push_out_the_oldest() -> None:
    at = opened(SCORES, lang="en")
    for number in range(MOST_EXAMPLES + 1):
        held(at).bring(worked.Example(f"own {number}", worked.EXAMPLES["grouped"].build))
    at.run()
    names = [name for name in at.button_group(key="_example").options if name.startswith("own ")]
    assert names == [f"own {number + 1}" for number in range(MOST_EXAMPLES)]
    at.button_group(key="_example").set_value(f"own {MOST_EXAMPLES}").run()
    assert not at.exception
    torch.testing.assert_close(torch.tensor(shown(at, "blocks.0.q")), worked.grouped()["blocks.0.q"][0, 0])
    with pytest.raises(ValueError, match="there is a worked example"):
        held(at).bring(worked.Example("block", worked.EXAMPLES["grouped"].build))


@pytest.mark.parametrize(("parts", "mask"), [
    ({}, MaskChoice()), ({"mask": "causal", "hidden": "3"}, MaskChoice("causal", 1)),
    ({"mask": "window", "reach": "3", "hidden": "2"}, MaskChoice("window", 3)),
    ({"mask": "prefix", "hidden": "2"}, MaskChoice("prefix", 2)),
    ({"mask": "both", "reach": "3", "hidden": "4"}, MaskChoice("both", 4))])
def test_a_mask_comes_with_the_number_that_its_kind_counts(
    parts: dict[str, str], mask: MaskChoice, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parameters, "st", SimpleNamespace(session_state={}, query_params=parts))
    assert bench.current().mask == mask


@pytest.mark.parametrize("name", worked.EXAMPLES)
def test_every_example_has_a_title_and_an_origin(name: str) -> None:
    assert example_words.title(name)
    assert example_words.origin(name)
    assert name in bench.examples()


@pytest.mark.parametrize("name", worked.EXAMPLES)
def test_an_example_is_what_it_says_of_itself(name: str) -> None:
    example = worked.EXAMPLES[name]
    trace = example()
    masks = {"none": torch.zeros(()), "causal": worked.EXAMPLES[name](mask="causal")["mask"]}
    torch.testing.assert_close(trace["mask"], masks[example.mask].expand_as(trace["mask"]), rtol=0, atol=0)
    assert not example.whole or ("logits" in trace and "tokens" in trace)
    if example.words and "tokens" in trace:
        assert trace.tokens == [example.words[token] for token in trace["tokens"][0].tolist()]


def test_the_examples_that_pages_open_with_exist() -> None:
    assert {stage.own for stage in STAGES} - {""} <= set(worked.EXAMPLES)


@pytest.mark.parametrize(("page", "key", "chosen", "said"), [
    (SCORES, "lang", "zh", None), (SCORES, "source", "toy", None), (SCORES, "mask", "window", None),
    (PROJECTIONS, "role", "k", None), (SCORES, "source", "toy", "no code"), (SCORES, "mask", "window", "no code")])
def test_a_choice_of_which_the_browser_says_nothing_that_can_be_stays_as_it_was(
    page: str, key: str, chosen: str, said: str | None,
) -> None:
    """As when a run is overtaken by another before the browser has heard of it."""
    at = opened(page, **{"lang": "en", key: chosen})
    assert at.session_state[key] == chosen
    at.session_state[key] = said
    at.run()
    assert not at.exception
    assert at.session_state[key] == chosen
    assert at.query_params[key] == chosen
