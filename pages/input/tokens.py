"""Tokens: from a text to a row of ids, one merge after the other."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import worked
from core.live.merges import Merger
from core.questions import Question
from core.stages.tokens import practice, programs
from core.stages.tokens.tokenizers import ToyTokenizer, spans
from ui import bench as bench_module
from ui.bench import Bench, choices
from ui.components import merging
from ui.components.merging import Part
from ui.furniture import code, formulas, header, notices, prose, sections, share, strip
from ui.furniture.exercise import Exercise
from ui.shell import frame
from ui.shell.i18n import _
from ui.sources import Resolved
from ui.stages import tokens
from ui.stages.tokens import Merged, Plain


@st.fragment
def lab() -> None:
    """Everything that changes with the text, a pin or a switch of this page."""
    bench, resolved = frame.look()
    strip_at, formula_at = st.container(), st.container()
    shown = tokens.read(resolved)
    with strip_at:
        strip.shape_strip("tokens", tokens.sizes(shown, resolved))
    if isinstance(shown, Merged):
        _merged(bench, resolved, shown, formula_at)
    else:
        _plain(bench, resolved, shown, formula_at)
    bench_module.finish()


def _drawn(parts: list[Part], telling: int, asked: Question | None, *, unknowns: bool) -> tuple[int, int] | None:
    """Draw the tokens; returns the pinned place (part, step)."""
    sizes = [len(part.merges) for part in parts]
    opening = (telling, sizes[telling]) if parts else None
    place = bench_module.place_for("part", sizes, opening)
    merging.merging(parts, key="merging", strings=merging.default_strings(_), place=place,
                    asked=asked.row if asked else None, unknowns=unknowns,
                    on_change=bench_module.place_taker("merging", "part", sizes))
    return place


# Live: byte-level BPE.


def _merged(bench: Bench, resolved: Resolved, shown: Merged, formula_at: DeltaGenerator) -> None:
    pre_tokens = shown.pre_tokens
    exercise = Exercise("tokens-question", ("live", shown.text),
                        lambda number: practice.question(pre_tokens, number),
                        lambda asked, answer: practice.judge(pre_tokens, asked, answer))
    asked = exercise.question
    _examples()
    place = _drawn(merging.merged(pre_tokens), tokens.telling(pre_tokens), asked, unknowns=False)
    with formula_at:
        _merge_formula(shown, None if asked else place)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict_count(shown, exercise))
    _look_for_merged(shown)
    for title, key, body in (
        (_("A number without a meaning"), "meaning", lambda: _meaning(shown, place)),
        (_("Characters, words, or something between"), "lengths", lambda: _lengths(shown)),
        (_("Common mistakes"), "wrong", lambda: _mistakes(shown)),
        (_("The program"), "code", lambda: code.program(
            programs.tokens(pre_tokens), [Merger.pre_tokens, Merger._merges], key="tokens")),
        (_("Share and save"), "share", lambda: share.share(bench, resolved.trace, key="tokens", names=("tokens",))),
    ):
        sections.folded(title, key, body)
    pieces = practice.pieces_of(pre_tokens)
    ids = shown.model.encode(shown.text).ids
    same = sum(piece.id == token for piece, token in zip(pieces, ids, strict=False))
    st.caption(_("Check: the merges made here against the tokenizer that the model is used with. Equal ids: {same} of "
                 "{count}.").format(same=same, count=len(ids)))


def _examples() -> None:
    labels = {"d1": _("Chinese and English"), "emoji": _("emoji and accents"), "spaces": _("spaces and line breaks"),
              "digits": _("digits"), "rare": _("rare words")}
    with st.container(horizontal=True, vertical_alignment="center", key="controls"):
        st.caption(_("Try"), width="content")
        for key, text in worked.TEXTS.items():
            st.button(labels[key], key=f"try-{key}", on_click=choices.TEXT.put, args=(text,), type="tertiary")


def _merge_formula(shown: Merged, place: tuple[int, int] | None) -> None:
    symbols = r"(a, b) = \operatorname{arg\,min}\; \mathrm{rank}(a, b),\qquad a\;b \to ab"
    if place is None:
        formulas.formula(symbols, "")
        return
    part = shown.pre_tokens[place[0]]
    ranks = r" \to ".join(str(merge.rank) for merge in part.merges[:place[1]]) or "-"
    ids = r",\,".join(str(piece.id) for piece in part.pieces)
    formulas.formula(symbols, rf"\mathrm{{rank}}:\; {ranks} \qquad \mathrm{{id}}:\; {ids}")


def _predict_count(shown: Merged, exercise: Exercise) -> None:
    def named(question: Question) -> str:
        return prose.literal(tokens.visible(shown.pre_tokens[question.row].text))

    exercise.draw(
        lambda asked: _("How many tokens does {text} become? It shows ? until you answer.").format(text=named(asked)),
        lambda asked: _("{text} becomes {count}.").format(text=named(asked), count=int(asked.answer)),
        {"bytes": _("That is its number of bytes, before any merge."),
         "characters": _("That is its number of characters. Merges do not care where characters or words end.")})


def _look_for_merged(shown: Merged) -> None:
    facts = practice.facts(shown.pre_tokens)
    if facts is None:
        return
    pieces = practice.pieces_of(shown.pre_tokens)
    sentences = [
        _("Characters: {characters}. Bytes: {bytes}. Merges: {merges}. Tokens that are left: {tokens}.").format(
            characters=facts.characters, bytes=facts.bytes, merges=facts.merges, tokens=facts.tokens),
        _("Merging starts from bytes, so every text can be written, and nothing is ever unknown. Of all pairs that "
          "stand side by side the one that comes first in the list of merges is joined, again and again. The list was "
          "learnt once, by counting; here it is only followed."),
        _("The longest token is {label}; its length in characters is {count}.").format(
            label=prose.literal(pieces[facts.longest_at].label), count=facts.longest),
    ]
    if facts.spaced:
        sentences.append(_("Tokens that begin with a space, shown as ␣: {count}. The space belongs to the word after "
                           "it.").format(count=len(facts.spaced)))
    if facts.parts:
        sentences.append(_("Tokens that hold only a part of a character, hatched: {count}. A token is not a word, and "
                           "not even always a character.").format(count=len(facts.parts)))
    for token, places in facts.repeats.items():
        sentences.append(_("Id {id} occurs {count} times: the same piece has the same id wherever it stands.").format(
            id=token, count=len(places)))
    prose.look_for(sentences)


def _meaning(shown: Merged, place: tuple[int, int] | None) -> None:
    tokenizer = shown.model.tokenizer
    piece = shown.pre_tokens[place[0] if place else 0].pieces[0]
    st.markdown(_("The tokenizer's table says which bytes an id stands for, and nothing else. Ids next to one another "
                  "were learnt one after the other; what they stand for need have nothing in common. Around id {id}:"
                  ).format(id=piece.id))
    near = practice.neighbours(tokenizer, piece.id)
    prose.table([str(token) for token, _label in near], [[prose.literal(label) for _id, label in near]])
    st.markdown(_("What a token means to the model begins with its row of E, on the next page, and is made by the "
                  "blocks from everything before it."))


def _lengths(shown: Merged) -> None:
    names = {"characters": _("characters"), "words": _("words of this text"), "bpe": _("byte-level BPE of the model")}
    rows = practice.compared(shown.text, len(practice.pieces_of(shown.pre_tokens)),
                                    shown.model.tokenizer.size)
    prose.table([_("cut into"), _("tokens"), _("vocabulary")],
                 [[names[row.kind], f"{row.tokens:,}", f"{row.vocabulary:,}"] for row in rows])
    st.caption(_("Characters make long rows of ids; words make short ones, but any new word is unknown. Pieces of "
                 "bytes are short for what is frequent and still cover everything."))


def _mistakes(shown: Merged) -> None:
    labels = {"space": _("Forgetting the space"), "decode": _("Turning tokens into text one by one")}
    kind = tokens.SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    tokenizer = shown.model.tokenizer
    if kind == "space":
        found = practice.spellings(tokenizer, shown.pre_tokens)
        prose.table([_("word"), _("ids without the space"), _("ids with it")],
                     [[prose.literal(entry.word), str(list(entry.ids)), str(list(entry.spaced))]
                      for entry in found])
        st.markdown(_("With and without the space before it a word has other ids, and so another row of E. A prompt "
                      "that ends with a space asks the model to go on after an unusual token."))
        return
    decoded = practice.one_by_one(tokenizer, shown.model.encode(shown.text).ids)
    prose.table([_("right: all at once"), _("wrong: one by one, then joined")],
                 [[prose.literal(tokens.visible(text)) for text in (decoded.whole, decoded.joined)]])
    st.markdown(_("Tokens that are no text by themselves, since a character is spread over several: {count}. Shown one "
                  "by one, as a streaming server would, they come out as replacement characters.").format(
                      count=decoded.torn)
                if decoded.torn else
                _("In this text every token is whole characters, so it makes no difference. Try Chinese or emoji."))


# Worked and Toy: characters or words.


def _plain(bench: Bench, resolved: Resolved, shown: Plain, formula_at: DeltaGenerator) -> None:
    cut = shown.cut
    exercise = Exercise("tokens-question", (bench.source, shown.text, shown.tokenizer.kind),
                        lambda number: practice.id_question(cut, number),
                        lambda asked, answer: practice.judge_id(asked, answer))
    asked = exercise.question if len(cut) else None
    place = _drawn(merging.plain(cut, tokens.visible), min(1, len(cut) - 1), asked, unknowns=True)
    with formula_at:
        chosen = None if asked or place is None else cut.ids[place[0]]
        numbers = "" if chosen is None or place is None else rf"\mathrm{{ids}}_{{{place[0] + 1}}} = {chosen}"
        formulas.formula(r"\mathrm{ids}_t = \mathrm{number}(\mathrm{piece}_t)", numbers)
    if len(cut):
        sections.folded(_("Predict, then reveal"), "predict", lambda: _predict_id(shown, exercise))
    _look_for_plain(resolved, shown)
    for title, key, body in (
        (_("The vocabulary"), "vocabulary", lambda: _vocabulary(shown)),
        (_("Common mistakes"), "wrong", lambda: _lost(shown)),
        (_("The program"), "code", lambda: code.program(
            programs.simple(shown.tokenizer, shown.text), [ToyTokenizer.encode, spans], key="tokens")),
        (_("Share and save"), "share", lambda: share.share(bench, resolved.trace, key="tokens", names=("tokens",))),
    ):
        sections.folded(title, key, body)
    st.caption(_("Check: each id looked up in the vocabulary again. Pieces that come back: {same} of {count}; unknown: "
                 "{unknown}.").format(same=practice.read_back(shown.tokenizer, cut), count=len(cut),
                                      unknown=len(cut.unknown)))


def _predict_id(shown: Plain, exercise: Exercise) -> None:
    exercise.draw(
        lambda asked: _("Which id does token {n} get? Look it up in the vocabulary below.").format(n=asked.row + 1),
        lambda asked: _("Token {n} has id {id}.").format(n=asked.row + 1, id=int(asked.answer)),
        {"place": _("That is its place in the text. The id is its place in the vocabulary.")})


def _look_for_plain(resolved: Resolved, shown: Plain) -> None:
    cut, tokenizer = shown.cut, shown.tokenizer
    sentences = [
        _("Tokens: {count}. Vocabulary: {size} entries, the unknown counted. The id of a token is its place in that "
          "list, from zero. The number says nothing about what the token means.").format(
              count=len(cut), size=tokenizer.size),
        _("Not in the vocabulary: {count}. Each of them gets the id {id} of the unknown, and what it was is "
          "lost.").format(count=len(cut.unknown), id=tokenizer.unknown)
        if cut.unknown else
        _("All of them are in the vocabulary. Type a word that is not, and see what becomes of it."),
        _("Cut into characters the row of ids is long; cut into words it is short, but every new word is unknown. "
          "Choose Live for what real models do between the two: byte-level BPE, merge by merge."),
    ]
    if tokens.feeds(shown, resolved):
        sentences.append(_("The table E of the next page has {rows} rows, for ids up to {last}: there is none for the "
                           "id {id} of the unknown, so a text with an unknown word goes no further.").format(
                               rows=resolved.trace.config.vocab, last=resolved.trace.config.vocab - 1,
                               id=tokenizer.unknown))
    if resolved.source == "toy":
        sentences.append(_("The toy's own ids are drawn at random and stand for no text; the later pages show those."))
    prose.look_for(sentences)


def _vocabulary(shown: Plain) -> None:
    entries = [*map(tokens.visible, shown.tokenizer.vocabulary), _("(unknown)")]
    prose.table([_("id"), _("piece")], [[str(token), prose.literal(piece)] for token, piece in enumerate(entries)])


def _lost(shown: Plain) -> None:
    pairs = tokens.given_back(shown)
    prose.table([_("the text"), _("made of the ids again")],
                 [[prose.literal(tokens.visible(text)) for text in pair] for pair in pairs])
    st.markdown(_("The first text comes back. The second, which goes on after two spaces with words that the "
                  "vocabulary lacks, does not: unknown pieces are gone for good, and where words are cut so is the "
                  "white space between them. Byte-level BPE loses nothing.") if len(pairs) > 1 else
                _("The text does not come back: unknown pieces are gone for good, and where words are cut so is the "
                  "white space between them. Byte-level BPE loses nothing."))


_bench, _resolved = frame.look()
header.page_header("tokens", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
lab()
