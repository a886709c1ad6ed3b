"""A student without a browser: speaks Streamlit's protocol over a websocket, as its frontend does.

A run is asked for with a `BackMsg` that holds the state of the widgets, and answered with `ForwardMsg`s up to one that
says the script has finished. An element's id, its fragment and what it shows are taken from those.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import time
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

DONE = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}
PATIENCE = 60  # seconds for an answer


class Shown(NamedTuple):
    """An element that has a key: its id, the fragment it belongs to ("" for none), and what it was sent."""

    id: str
    fragment: str
    element: Any


class Student:
    """One session. `elements` are those on the page by their keys, `errors` what went wrong so far."""

    def __init__(self, address: str, path: str) -> None:
        self._address, (self._page, _, self._query) = address, path.partition("?")
        self._widgets: dict[str, WidgetState] = {}
        self._script = ""
        self._socket: ClientConnection | None = None
        self.elements: dict[str, Shown] = {}
        self.errors: list[str] = []

    async def arrive(self) -> float:
        """Connect and open the page; the seconds until it stands."""
        place = urlsplit(self._address)
        self._socket = await connect(f"ws://{place.netloc}/_stcore/stream", subprotocols=["streamlit"],  # type: ignore[list-item]
                                     max_size=None, compression=None)
        return await self._run("")

    async def leave(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            await self._socket.close()

    async def change(self, key: str, **value: Any) -> float:
        """Set a widget, with the field of `WidgetState` that it has; the seconds until the run has finished."""
        shown = self.elements[key]
        state = self._widgets.setdefault(shown.id, WidgetState(id=shown.id))
        for field, content in value.items():
            if isinstance(content, list):
                getattr(state, field).data[:] = content
            else:
                setattr(state, field, content)
        self._bind(shown, content)
        return await self._run(shown.fragment)

    async def press(self, key: str) -> float:
        """Press a button; the seconds until the run has finished."""
        seconds = await self.change(key, trigger_value=True)
        self._widgets.pop(self.elements[key].id, None)  # a press counts once
        return seconds

    def _bind(self, shown: Shown, content: Any) -> None:
        """The frontend writes the value of a bound widget into the address before it asks for a run."""
        inner = getattr(shown.element, shown.element.WhichOneof("type"))
        key = getattr(inner, "query_param_key", "")
        if key:
            parameters = dict(parse_qsl(self._query)) | {key: content[0] if isinstance(content, list) else str(content)}
            self._query = urlencode(parameters)

    @property
    def equation(self) -> str:
        """The key of the first equation on the page."""
        return next(key for key, shown in self.elements.items()
                    if shown.element.WhichOneof("type") == "bidi_component" and self.sent(key))

    def sent(self, key: str) -> dict[str, Any]:
        """What the equation with that key was sent; nothing for another component."""
        sent: Any = json.loads(self.elements[key].element.bidi_component.json)
        return dict(sent[0]) if isinstance(sent, list) else {}

    async def edit(self, key: str, number: float, turn: int) -> float:
        """Type a number into the first cell of the first frame that can be edited, as the equation reports it."""
        return await self.change(key, json_value=json.dumps(edited(self.sent(key), number, turn)))

    async def _run(self, fragment: str) -> float:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash, state.fragment_id = self._query, self._script, fragment
        if not self._script:
            state.page_name = self._page
        state.context_info.url = f"{self._address}/{self._page}"
        state.context_info.locale, state.context_info.timezone = "en-US", "UTC"
        state.widget_states.widgets.extend(self._widgets.values())
        assert self._socket is not None
        began = time.perf_counter()
        await self._socket.send(message.SerializeToString())
        async with asyncio.timeout(PATIENCE):
            while not self._take(ForwardMsg.FromString(await self._socket.recv(decode=False))):
                pass
        return time.perf_counter() - began

    def _take(self, message: ForwardMsg) -> bool:
        """Take one message in; True for the last one of a run."""
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._script = message.new_session.page_script_hash
        elif kind == "navigation":
            self._script = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._element(message)
        elif kind == "script_finished":
            if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                self.errors.append("the script did not compile")
            return message.script_finished in DONE
        return False

    def _element(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        inner = getattr(element, element.WhichOneof("type"))
        if element.WhichOneof("type") == "exception":
            self.errors.append(inner.message)
        id = getattr(inner, "id", "")
        if id.startswith("$$ID-"):
            self.elements[id.split("-", 2)[2]] = Shown(id, message.delta.fragment_id, element)


def edited(payload: dict[str, Any], number: float, turn: int) -> dict[str, Any]:
    """The state that an equation reports when this number is typed into the first cell of its first frame that can be
    edited, as the `turn`-th edit of the session."""
    name = first_editable(payload)["name"]
    change = {"seq": turn, "rev": payload["rev"], "name": name, "cell": "0,0", "value": number}
    return {"edits": {"changes": [change]}}


def first_editable(payload: dict[str, Any]) -> dict[str, Any]:
    """The first frame of an equation that can be edited."""
    found: dict[str, Any] = next(frame for frame in payload["frames"] if frame["editable"])
    return found


def first_number(payload: dict[str, Any]) -> float:
    """The number in the first cell of that frame."""
    number: float = struct.unpack_from("<f", base64.b64decode(first_editable(payload)["values"]))[0]
    return number
