"""Conversations as the model was taught them: the checkpoint's own template, run in a sandbox.

A template is a Jinja program that writes messages and control tokens (`<|im_start|>`) into one text. The names of
control tokens that it writes become those tokens; the same names in a message that somebody typed stay text.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any, NoReturn, Self

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from core.errors import UnknownOption
from core.live.errors import ChatRefused, ChatUnavailable

ROLES = ("system", "user", "assistant")
_PRIVATE_USE = range(0xF0000, 0xFFFFE)  # more characters than any text that is accepted has


@dataclass(frozen=True)
class Dialog:
    """What a checkpoint says about conversations.

    `template` is Jinja; `names` are the control tokens that it may ask for (`bos_token`); `stop_ids` end a text.
    """

    template: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    stop_ids: tuple[int, ...] = ()

    def to_json(self) -> str:
        """As text, for the cache."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Inverse of `to_json`."""
        raw = json.loads(text)
        return cls(raw["template"], raw["names"], tuple(raw["stop_ids"]))


def render(
    dialog: Dialog, messages: Sequence[Mapping[str, str]], controls: Iterable[str], *, answer: bool = True,
) -> list[str]:
    """Messages ({"role", "content"}) as pieces of one text: text, the name of a control token, text, and so on.

    With `answer`, the text ends where the model's answer begins. Raises ChatUnavailable without a template,
    ChatRefused when the template fails or refuses the messages, UnknownOption for an unknown role.
    """
    if dialog.template is None:
        raise ChatUnavailable
    names = sorted(controls, key=len, reverse=True)
    disguise = _disguise(names, [dialog.template, *(message["content"] for message in messages)])
    guarded = [{"role": _role(m["role"]), "content": _guard(m["content"], names, disguise)} for m in messages]
    text = _run(dialog, guarded, answer)
    pieces = re.split("(" + "|".join(map(re.escape, names)) + ")", text) if names else [text]
    return [piece.translate({ord(hidden): char for char, hidden in disguise.items()}) for piece in pieces]


def _role(role: str) -> str:
    if role not in ROLES:
        raise UnknownOption("role", role, ROLES)
    return role


def _disguise(names: Iterable[str], texts: Iterable[str]) -> dict[str, str]:
    """First characters of control names → characters that occur nowhere in `texts` and stand in for them."""
    used, firsts = set().union(*texts), {name[0] for name in names}
    free = (chr(code) for code in _PRIVATE_USE if chr(code) not in used)
    return dict(zip(sorted(firsts), islice(free, len(firsts)), strict=True))


def _guard(text: str, names: Sequence[str], disguise: Mapping[str, str]) -> str:
    """`text` in which every control name is disguised, also one that it only begins and the template might end."""
    whole, end = tuple(names), len(text.rstrip())
    longest = max(map(len, names), default=0)

    def begins_a_name(at: int) -> bool:
        rest = text[at:min(end, at + longest)]
        return rest.startswith(whole) or (at + longest > end and any(name.startswith(rest) for name in names))

    return "".join(disguise[char] if char in disguise and begins_a_name(at) else char for at, char in enumerate(text))


def _run(dialog: Dialog, messages: Sequence[Mapping[str, str]], answer: bool) -> str:
    try:
        template = _environment().from_string(dialog.template or "")
        return template.render(messages=messages, add_generation_prompt=answer, **dialog.names)
    except Exception as error:  # a template is a program, and may fail in any way
        raise ChatRefused(str(error)) from error


def _environment() -> ImmutableSandboxedEnvironment:
    """What templates are written for: the names and settings that `transformers` gives them."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return environment


def _to_json(value: Any, ensure_ascii: bool = False, **settings: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **settings)


def _refuse(why: str) -> NoReturn:
    raise TemplateError(why)
