"""What only the tokens page draws: a text as tokens, how a model's merges arrived at them, or a plain cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from core import worked
from core.live.merges import Merger
from core.questions import Question
from core.stages import tokens
from core.stages.tokens import CutFacts, MergeFacts, vocabularies
from core.stages.tokens.texts import Merged, Plain, pieces_of
from core.tokenizers import ToyTokenizer, spans
from ui import bench as bench_module
from ui.bench.choices import TEXT
from ui.furniture import code, formulas, prose, share
from ui.furniture.exercise import Exercise
from ui.shell.i18n import _
from ui.stages.tokens import merging
from ui.stages.tokens.subject import Tokens, feeds, read, telling, visible


def controls(shown: Tokens) -> None:
    """The text and how it is cut, or texts for the live model to try."""
    shown.text = text = read(shown.bench, shown.resolved)
    if isinstance(text, Merged):
        _examples()
        shown.exercise = _exercise(shown, "count", ("live", text.text))
    elif len(text.cut):
        shown.exercise = _exercise(shown, "id", (shown.bench.source, text.text, text.tokenizer.kind))


def _exercise(shown: Tokens, kind: str, place: tuple[object, ...]) -> Exercise:
    ask, judge = tokens.QUESTIONS[kind]

    def make(number: int) -> Question:
        question = ask(shown.at, number, text=shown.text)
        assert question is not None
        return question

    return Exercise("tokens-question", place, make, lambda question, answer: judge(
        shown.at, question, answer, shown.bench.decimals, text=shown.text))


def _examples() -> None:
    labels = {"d1": _("Chinese and English"), "emoji": _("emoji and accents"), "spaces": _("spaces and line breaks"),
              "digits": _("digits"), "rare": _("rare words")}
    with st.container(horizontal=True, vertical_alignment="center", key="controls"):
        st.caption(_("Try"), width="content")
        for key, text in worked.TEXTS.items():
            st.button(labels[key], key=f"try-{key}", type="tertiary", on_click=bench_module.choose,
                      args=({TEXT.key: text},))


def draw(shown: Tokens) -> None:
    """The tokens, and under those of a model the merges of one part."""
    text, asked = shown.text, shown.asked
    if isinstance(text, Merged):
        parts, opening = merging.merged(text.pre_tokens), telling(text.pre_tokens)
    else:
        parts, opening = merging.plain(text.cut, visible), min(1, len(text.cut) - 1)
    sizes = [len(part.merges) for part in parts]
    shown.place = bench_module.place_for("part", sizes, (opening, sizes[opening]) if parts else None)
    merging.merging(parts, key="merging", strings=merging.default_strings(_), place=shown.place,
                    asked=asked.row if asked else None, unknowns=not shown.is_merged,
                    on_change=bench_module.place_taker("merging", "part", sizes))


def formula(shown: Tokens) -> None:
    """The rule of the tokens in symbols, and what is pinned in digits while no question is open."""
    text, place = shown.text, None if shown.asked else shown.place
    if isinstance(text, Merged):
        _merge_formula(text, place)
        return
    numbers = "" if place is None else rf"\mathrm{{ids}}_{{{place[0] + 1}}} = \mathrm{{id}}\,{text.cut.ids[place[0]]}"
    formulas.formula(r"\mathrm{ids}_t = \mathrm{number}(\mathrm{piece}_t)", numbers)


def _merge_formula(text: Merged, place: tuple[int, int] | None) -> None:
    symbols = r"(a, b) = \operatorname{arg\,min}\; \mathrm{rank}(a, b),\qquad a\;b \to ab"
    if place is None:
        formulas.formula(symbols, "")
        return
    part = text.pre_tokens[place[0]]
    ranks = r" \to ".join(str(merge.rank) for merge in part.merges[:place[1]]) or "-"
    ids = r",\,".join(str(piece.id) for piece in part.pieces)
    formulas.formula(symbols, rf"\mathrm{{rank}}:\; {ranks} \qquad \mathrm{{id}}:\; {ids}")


def predict(shown: Tokens) -> None:
    """How many tokens a part becomes, or which id a piece gets."""
    if shown.exercise is None:
        return
    if isinstance(shown.text, Merged):
        _predict_count(shown.text, shown.exercise)
    else:
        _predict_id(shown.exercise)


def _predict_count(text: Merged, exercise: Exercise) -> None:
    def named(question: Question) -> str:
        return prose.literal(visible(text.pre_tokens[question.row].text))

    exercise.draw(
        lambda asked: _("How many tokens does {text} become? It shows ? until you answer.").format(text=named(asked)),
        lambda asked: _("{text} becomes {count}.").format(text=named(asked), count=int(asked.answer)),
        {"bytes": _("That is its number of bytes, before any merge."),
         "characters": _("That is its number of characters. Merges do not care where characters or words end.")})


def _predict_id(exercise: Exercise) -> None:
    exercise.draw(
        lambda asked: _("Which id does token {n} get? Look it up in the vocabulary below.").format(n=asked.row + 1),
        lambda asked: _("Token {n} has id {id}.").format(n=asked.row + 1, id=int(asked.answer)),
        {"place": _("That is its place in the text. The id is its place in the vocabulary.")})


def look_for(shown: Tokens) -> list[str]:
    """What is worth noticing in the tokens of this text."""
    text, facts = shown.text, tokens.facts(shown.at, text=shown.text)
    if isinstance(text, Merged):
        return _of_merges(text, facts) if isinstance(facts, MergeFacts) else []
    return _of_cut(shown, text, facts) if isinstance(facts, CutFacts) else []


def _of_merges(text: Merged, facts: MergeFacts) -> list[str]:
    pieces = pieces_of(text.pre_tokens)
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
    return sentences


def _of_cut(shown: Tokens, text: Plain, facts: CutFacts) -> list[str]:
    sentences = [
        _("Tokens: {count}. Vocabulary: {size} entries, the unknown counted. The id of a token is its place in that "
          "list, from zero. The number says nothing about what the token means.").format(
              count=facts.tokens, size=facts.vocabulary),
        _("Not in the vocabulary: {count}. Each of them gets the id {id}, which stands for everything unknown, and its "
          "own text is lost.").format(count=len(facts.unknown), id=facts.unknown_id)
        if facts.unknown else
        _("All of them are in the vocabulary. Type a word that is not, and see what becomes of it."),
        _("Cut into characters the row of ids is long; cut into words it is short, but every new word is unknown. "
          "Choose live for what real models do between the two: byte-level BPE, merge by merge."),
    ]
    longest = bench_module.examples()[shown.bench.example].longest
    if shown.resolved.source == "worked" and text.tokenizer.kind == "characters":
        sentences.append(_("The text is cut into characters on this page only: E has a row for each word, so the next "
                           "pages go on with the words."))
    elif feeds(text, shown.resolved) and len(text.cut) > longest:
        sentences.append(_("The next pages take up to {count} tokens of this example. A longer text goes no further: "
                           "those pages show the example's own text instead.").format(count=longest))
    if feeds(text, shown.resolved):
        sentences.append(_("The table E of the next page has {rows} rows, for ids up to {last}: there is none for the "
                           "id {id} of the unknown, so a text with an unknown word goes no further.").format(
                               rows=shown.resolved.trace.config.vocab, last=shown.resolved.trace.config.vocab - 1,
                               id=facts.unknown_id))
    if shown.resolved.source == "toy":
        sentences.append(_("The toy's own ids are drawn at random and stand for no text; the later pages show those."))
    return sentences


def program(shown: Tokens) -> None:
    """The program from the text to its ids, in plain Python."""
    ran: Sequence[Callable[..., Any]] = (Merger.pre_tokens, Merger._merges) if shown.is_merged else (
        ToyTokenizer.encode, spans)
    code.program(tokens.program(shown.at, text=shown.text), ran, key="tokens")


def shared(shown: Tokens) -> None:
    """The link, the state file and the ids."""
    share.share(shown.bench, shown.resolved.trace, key="tokens", names=("tokens",))


def check(shown: Tokens) -> None:
    """The merges against the tokenizer, or each id looked up again."""
    text = shown.text
    if isinstance(text, Merged):
        ids = text.tokenizer.encode(text.text).ids
        same = sum(piece.id == token for piece, token in zip(pieces_of(text.pre_tokens), ids, strict=False))
        st.caption(_("Check: the merges made here against the tokenizer that the model is used with. Equal ids: {same} "
                     "of {count}.").format(same=same, count=len(ids)))
    else:
        same = vocabularies.read_back(text.tokenizer, text.cut)
        st.caption(_("Check: each id looked up in the vocabulary again. Pieces that come back: {same} of {count}; "
                     "unknown: {unknown}.").format(same=same, count=len(text.cut), unknown=len(text.cut.unknown)))
