"""The folded sections of the tokens page."""

from __future__ import annotations

import streamlit as st

from core.stages.tokens import mistakes as slips
from core.stages.tokens import vocabularies
from core.stages.tokens.texts import Merged, Plain, pieces_of
from ui.furniture import prose
from ui.shell.i18n import _
from ui.stages.tokens import choices
from ui.stages.tokens.subject import Tokens, visible


def meaning(shown: Tokens) -> None:
    """What stands round an id in the vocabulary: nothing that is like it."""
    text = shown.text
    if not isinstance(text, Merged):
        return
    piece = text.pre_tokens[shown.place[0] if shown.place else 0].pieces[0]
    st.markdown(_("The tokenizer's table says which bytes an id stands for, and nothing else. Ids next to one another "
                  "were learnt one after the other; what they stand for need have nothing in common. Around id {id}:"
                  ).format(id=piece.id))
    near = vocabularies.neighbours(text.tokenizer, piece.id)
    prose.table([str(token) for token, _label in near], [[prose.literal(label) for _id, label in near]])
    st.markdown(_("For the model the meaning of a token begins with its row of E, on the next page; the blocks then "
                  "compute it from everything that stands before it."))


def lengths(shown: Tokens) -> None:
    """The same text cut in three ways."""
    text = shown.text
    if not isinstance(text, Merged):
        return
    names = {"characters": _("characters"), "words": _("words of this text"), "bpe": _("byte-level BPE of the model")}
    rows = vocabularies.compared(text.text, len(pieces_of(text.pre_tokens)), text.tokenizer.size)
    prose.table([_("cut into"), _("tokens"), _("vocabulary")],
                 [[names[row.kind], f"{row.tokens:,}", f"{row.vocabulary:,}"] for row in rows])
    st.caption(_("Characters make long rows of ids; words make short ones, but any new word is unknown. Pieces made of "
                 "bytes have both advantages: frequent text takes few tokens, and any text can still be written."))


def mistakes(shown: Tokens) -> None:
    """What goes wrong with the tokens of a model, and what characters and words cannot give back."""
    if isinstance(shown.text, Merged):
        _taken_apart(shown.text)
    else:
        _lost(shown.text)


def _taken_apart(text: Merged) -> None:
    labels = {"space": _("Forgetting the space"), "decode": _("Turning tokens into text one by one")}
    kind = choices.SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    if kind == "space":
        found = slips.spellings(text.tokenizer, text.pre_tokens)
        prose.table([_("word"), _("ids without the space"), _("ids with it")],
                     [[prose.literal(entry.word), str(list(entry.ids)), str(list(entry.spaced))]
                      for entry in found])
        st.markdown(_("With and without the space before it a word has other ids, and so another row of E. A prompt "
                      "that ends with a space asks the model to go on after an unusual token."))
        return
    decoded = slips.one_by_one(text.tokenizer, text.tokenizer.encode(text.text).ids)
    prose.table([_("right: all at once"), _("wrong: one by one, then joined")],
                 [[prose.literal(visible(part)) for part in (decoded.whole, decoded.joined)]])
    st.markdown(_("Tokens that are no text by themselves, since a character is spread over several: {count}. Shown one "
                  "by one, as a streaming server would, they come out as replacement characters.").format(
                      count=decoded.torn)
                if decoded.torn else
                _("In this text every token is whole characters, so it makes no difference. Try Chinese or emoji."))


def _lost(text: Plain) -> None:
    pairs = slips.given_back(text)
    prose.table([_("the text"), _("made of the ids again")],
                 [[prose.literal(visible(part)) for part in pair] for pair in pairs])
    st.markdown(_("The first text comes back. The second, which goes on after two spaces with words that the "
                  "vocabulary lacks, does not: unknown pieces are gone for good, and where words are cut so is the "
                  "white space between them. Byte-level BPE loses nothing.") if len(pairs) > 1 else
                _("The text does not come back: unknown pieces are gone for good, and where words are cut so is the "
                  "white space between them. Byte-level BPE loses nothing."))


def vocabulary(shown: Tokens) -> None:
    """Every piece with its id."""
    if isinstance(shown.text, Merged):
        return
    entries = [*map(visible, shown.text.tokenizer.vocabulary), _("(unknown)")]
    prose.table([_("id"), _("piece")], [[str(token), prose.literal(piece)] for token, piece in enumerate(entries)])
