"""What the tests of the pages share: opening one, reading what it was sent, what the core says it should hold."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Expander

from core import derive, live, toy, worked
from core.generation import GenerationStep, generate
from core.model import decoder_of
from core.stages.sharing import shared
from core.toy import ToySizes
from core.trace import NAMES, Trace, template
from tests.waiting import LONGEST
from ui.bench import address
from ui.bench.limits import DEFAULT_EXAMPLE
from ui.shell.syllabus import STAGES, stage

ROOT = Path(__file__).parents[2]
SENTENCE = "The cat sat on the mat because it was tired."
PROJECTIONS, SCORES, MASK, MIXING, SHARING = (
    f"pages/attention/{name}.py" for name in ("projections", "scores", "mask", "mixing", "sharing"))
STEPPED = GENERATION, CACHE = "pages/inference/generation.py", "pages/inference/kv_cache.py"
PAGES = [entry.page for entry in STAGES if (ROOT / entry.page).exists()]
BUILT = [entry.slug for entry in STAGES if entry.page in PAGES]
OWN = {entry.slug: entry.own for entry in STAGES if entry.own}


def opened(page: str = SCORES, **address_parts: str) -> AppTest:
    """The page after its first run, opened with these parameters in the address.

    AppTest knows a page before the first run by its file's name alone, which is its slug here.
    """
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=LONGEST)
    for key, value in address_parts.items():
        at.query_params[key] = value
    return at.run() if page == PAGES[0] else at.switch_page(page).run()


def sections(at: AppTest) -> dict[str, Expander]:
    """The folded sections that the page declares, by the key that opens them."""
    found = ((re.search(r"open-[\w-]+$", section.proto.id), section) for section in at.expander)
    return {match[0]: section for match, section in found if match}


def unfold(at: AppTest) -> list[str]:
    """Open every section of the page, and those that come into sight with it; returns their keys.

    Each must have something in it.
    """
    opened: list[str] = []
    while more := [key for key in sections(at) if key not in opened]:
        for key in more:
            at.session_state[key] = True
        at.run()
        assert not at.exception
        opened += more
    assert [key for key, section in sections(at).items() if not section.children] == []
    return opened


def arrived(**address_parts: str) -> AppTest:
    """What a deep link shows on its first run."""
    return opened(PAGES[0], **address_parts)


def payloads(at: AppTest) -> list[dict[str, Any]]:
    """What each equation on the page was sent."""
    sent = [json.loads(found.proto.json) for found in at.get("bidi_component")]
    return [one[0] for one in sent if isinstance(one, list)]


def values(frame: dict[str, Any]) -> np.ndarray:
    """The numbers of a frame as displayed."""
    raw = np.frombuffer(base64.b64decode(frame["values"]), "<f4")
    return raw.reshape(frame["rows"]["size"], frame["cols"]["size"])


def shown(at: AppTest, name: str, key: int = 0) -> np.ndarray:
    """The numbers of the frame with that trace name in an equation of the page, as the tensor's own slice."""
    frame = next(frame for frame in payloads(at)[key]["frames"] if frame["name"] == name)
    return values(frame).T if frame["transposed"] else values(frame)


def frames(at: Any, key: int = 0) -> dict[str, np.ndarray]:
    """The numbers of an equation's frames by name."""
    return {frame["name"]: values(frame) for frame in payloads(at)[key]["frames"]}


def flat(array: Any) -> np.ndarray:
    """A tensor (n, m, w) with its matrices one below another."""
    return np.asarray(array).reshape(-1, array.shape[-1])


def expected(trace: Trace, frame: dict[str, Any], batch: int, head: int) -> np.ndarray:
    """The part of the trace that the frame says it shows."""
    matrix = derive.slice_of(trace, frame["name"], batch, head).numpy()
    matrix = matrix.T if frame["transposed"] else matrix
    rows, cols = frame["rows"], frame["cols"]
    if rows["places"] is not None:  # rows brought together
        matrix = matrix[rows["places"]]
    return matrix[rows["offset"]:rows["offset"] + rows["size"], cols["offset"]:cols["offset"] + cols["size"]]


def assert_shows(at: AppTest, trace: Trace, *, batch: int = 0, head: int = 0) -> int:
    """Every frame with a trace name holds exactly the trace's digits; returns how many there were."""
    count = 0
    for payload in payloads(at):
        for frame in payload["frames"]:
            try:
                template(frame["name"])
            except KeyError:
                continue
            seen = values(frame)
            if frame["filled"] is not None:  # a cache: what is not written yet is zeros, which are not drawn
                assert not seen[frame["filled"]:].any()
                seen, frame["rows"]["size"] = seen[:frame["filled"]], frame["filled"]
            np.testing.assert_array_equal(seen, expected(trace, frame, batch, head), frame["name"])
            count += 1
    return count


def messages(at: AppTest) -> list[str]:
    """Everything that tells of a problem."""
    return [element.value for element in (*at.error, *at.warning, *at.info)]


def everything(at: AppTest) -> str:
    """Every text on the page."""
    kinds = (at.markdown, at.caption, at.error, at.warning, at.info, at.header, at.subheader, at.code)
    texts = [str(element.value) for kind in kinds for element in kind]
    labels = [str(getattr(widget, "label", "")) for kind in (at.toggle, at.button, at.number_input, at.expander)
              for widget in kind]
    return "\n".join(texts + labels)


def scope(name: str, **cells: dict[tuple[int, ...], float]) -> str:
    """Edits of block 0 as the address carries them."""
    return address.pack_edits({name: {f"blocks.0.{short}": places for short, places in cells.items()}})


TOY = {"source": "toy", "B": "2", "T": "5", "D": "12", "H": "3", "Hkv": "1", "L": "3", "seed": "7", "layer": "2",
       "head": "3", "b": "2"}
TOY_SIZES = ToySizes(batch=2, tokens=5, width=12, heads=3, kv_heads=1, layers=3)
MANY = {"source": "toy", "B": "2", "T": "5", "D": "16", "H": "8", "Hkv": "4", "L": "2", "layer": "2", "b": "2",
        "head": "4", "seed": "3"}


def many() -> Trace:
    """The trace of `MANY`."""
    return toy.toy(ToySizes(batch=2, tokens=5, width=16, heads=8, kv_heads=4, layers=2), 3)


SOURCES: dict[str, tuple[dict[str, str], tuple[int, int]]] = {
    "single_head": ({"example": "single_head"}, (0, 0)),
    "matrices": ({"example": "matrices"}, (0, 0)),
    "block": ({"example": "block", "head": "2"}, (0, 1)),
    "block_shared": ({"example": "block_shared", "head": "2"}, (0, 1)),
    "grouped": ({"example": "grouped", "head": "3"}, (0, 2)),
    "toy": (TOY, (1, 2)),
    "live": ({"source": "live", "text": SENTENCE, "layer": "4", "head": "5"}, (0, 4)),
}


def trace_of(source: str, model: live.Live) -> Trace:
    """The numbers of a source, straight from the core."""
    if source == "toy":
        return toy.toy(TOY_SIZES, 7)
    return model.trace(SENTENCE) if source == "live" else worked.EXAMPLES[source]()


def steps_of(trace: Trace, count: int = 20, **choices: Any) -> list[GenerationStep]:
    """The core's own generation from the ids of a trace, with its parameters."""
    ids = trace["tokens"]
    room = min(count, trace.config.max_positions - ids.shape[1] + 1)
    return list(generate(decoder_of(trace), ids, **{"max_tokens": room, "trace": True, **choices}))


class OnScreen(NamedTuple):
    """What a page must show: the numbers, the batch entry and head, whether it shows its own example instead."""

    trace: Trace
    batch: int
    head: int
    elsewhere: bool


def on_screen(page: str, source: str, model: live.Live) -> OnScreen:
    """What a page opens with on a source, straight from the core."""
    here, trace, (parts, (batch, head)) = stage(Path(page).stem), trace_of(source, model), SOURCES[source]
    needs = "logits" if page in STEPPED else here.needs if here.needs in NAMES else f"blocks.0.{here.needs}"
    elsewhere = needs not in trace or (page in STEPPED and source in worked.EXAMPLES
                                       and not worked.EXAMPLES[source].whole)
    if elsewhere:
        trace = worked.EXAMPLES[here.own or DEFAULT_EXAMPLE]()
        batch, head = 0, min(head, trace.config.heads - 1)
    elif page == MASK and source in ("single_head", "matrices"):  # as an old address opens it, with D0 §7's mask
        trace = worked.EXAMPLES[source](mask="causal")
    elif page == SHARING:  # one layer, with another number of KV heads where the example says so
        kv_heads = worked.OPENING_KV_HEADS.get(trace.source, trace.config.kv_heads)
        trace = shared.share(trace, int(parts.get("layer", "1")) - 1, kv_heads, "mean").trace
    if page in STEPPED:
        made = steps_of(trace, 2)[1]  # the first decode step
        assert made.trace is not None
        trace = made.trace
    return OnScreen(trace, batch, head, elsewhere)


REFUSED = {
    "empty": "",
    "only spaces": "     ",
    "only line breaks": "\n \t\n",
    "characters without a token": "a\x04\x1f b",
    "100,000 characters": "word " * 20_000,
    "more tokens than a page follows": "one two three " * 60,
}
TAKEN = {
    "right to left": "السلام עליכם",
    "emoji": "🦊👩\u200d👩\u200d👧 ok",
    "markup": "<script>alert(1)</script> **bold** $x$ `code`",
    "line breaks and tabs": "a\n\n\tb\r\n",
}


def chip(at: AppTest, name: str) -> AppTest:
    """The page after a chip was pressed."""
    return at.button_group(key="_example").set_value(name).run()


def lit(at: AppTest) -> str:
    """The chip of what is on screen."""
    found: str = at.session_state["_example"]
    return found


def pressed(at: AppTest, key: str) -> AppTest:
    """The page after a button was pressed."""
    found = at.button(key=key).click().run()
    assert not found.exception
    return found


def throw(at: AppTest, key: str, code: str) -> AppTest:
    """The page after a switch of its equation was thrown: what the browser says then becomes the parameter's value."""
    at.session_state[key] = code
    at.run()
    assert not at.exception
    return at


def thrown(at: AppTest, key: str) -> str:
    """The code that a switch of the first equation has."""
    return next(str(one["value"]) for one in payloads(at)[0]["switches"] if one["key"] == key)
