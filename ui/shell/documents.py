"""The documents that the course is built from: a letter in the code, a name on screen, the full title on pointing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from core import notation
from ui.shell.i18n import N_, _


class Document(NamedTuple):
    """What a document is called on screen, its title, and what it is about (English texts for `_()`)."""

    name: str
    title: str
    about: str


DOCUMENTS: Mapping[str, Document] = {
    "D0": Document(N_("Matrices"), N_("Matrices and dimensions of the Transformer, in full"),
                   N_("every matrix from token ids to logits, prefill, decode and cache")),
    "D1": Document(N_("Quick start"), N_("A quick start into the Transformer architecture"),
                   N_("from text to a decoder block, MHA, GQA, MQA and RoPE")),
    "D3": Document(N_("Three tokens"), N_("Attention, worked by hand with three tokens"),
                   N_("attention put back into the network, and how to read code by shapes")),
}


def named(place: str) -> str:
    """A place in a document, "D0 §6", as it is called on screen: "Matrices §6"."""
    code, _space, section = place.partition(" ")
    found = DOCUMENTS[code]
    return _("{document} {section}").format(document=_(found.name), section=section).strip()


def card(place: str) -> str:
    """The full title of the document that a place is in, with what it is about."""
    found = DOCUMENTS[place.partition(" ")[0]]
    return f"{_(found.name)}: {_(found.title)}; {_(found.about)}"


def notation_name(code: str) -> str:
    """What a notation is called: by its document, or by the library whose letters they are."""
    name = notation.NOTATIONS[code]
    return named(name) if name in DOCUMENTS else name
