"""Facts, questions and the program of the page on tokens."""

from __future__ import annotations

import contextlib
import io
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import tokenizers, worked
from core.live import Live
from core.live.errors import TextNotCovered
from core.live.merges import Merger
from core.stage import At
from core.stages import tokens
from core.stages.tokens import mistakes, texts, vocabularies
from core.stages.tokens.texts import Merged, Plain
from core.toy import ToySizes, toy

ANYWHERE = At(worked.block())  # the text is given
TEXT = "the cat saw the dog, 我喜欢学习 😀 the end"


@pytest.fixture(scope="module")
def merger(smollm: Live) -> Merger:
    return Merger.of(smollm.tokenizer.vocabulary)


def merged(model: Live, merger: Merger, text: str) -> Merged:
    return Merged(text, merger.pre_tokens(text), model.tokenizer)


def plain(tokenizer: tokenizers.ToyTokenizer, text: str) -> Plain:
    return Plain(text, tokenizer.encode(text), tokenizer)


def test_facts_about_a_text(smollm: Live, merger: Merger) -> None:
    found = tokens.facts(ANYWHERE, text=merged(smollm, merger, TEXT))
    encoding = smollm.tokenizer.encode(TEXT)
    data = [smollm.tokenizer.token_bytes(i) for i in encoding.ids]
    assert isinstance(found, tokens.MergeFacts)
    assert (found.characters, found.bytes, found.tokens) == (len(TEXT), len(TEXT.encode()), len(encoding))
    assert found.longest == max(end - start for start, end in encoding.offsets)
    assert found.parts == tuple(n for n, token in enumerate(data) if "\ufffd" in token.decode(errors="replace"))
    assert found.parts
    again = smollm.tokenizer.encode(" the").ids[0]
    assert found.repeats[again] == tuple(n for n, i in enumerate(encoding.ids) if i == again)
    assert len(found.repeats[again]) == 2  # the first "the" has no space before it, and is another token
    assert found.spaced == tuple(n for n, token in enumerate(data) if token[:1] == b" ")
    assert found.merges == sum(len(token) for token in data) - len(data)  # each merge leaves one symbol fewer
    assert tokens.facts(ANYWHERE, text=merged(smollm, merger, "")) is None


def test_questions_about_counts(smollm: Live, merger: Merger) -> None:
    text = merged(smollm, merger, TEXT)
    asked = [tokens.ask_count(ANYWHERE, n, text=text) for n in range(len(text.pre_tokens))]
    questions = [question for question in asked if question is not None]
    assert questions[0].answer > 1
    assert {question.row for question in questions} == set(range(len(text.pre_tokens)))
    chinese = next(question for question in questions if "我" in text.pre_tokens[question.row].text)
    for answer, verdict in ((chinese.answer, "right"), (16, "bytes"), (6, "characters"), (99, "wrong")):
        assert tokens.judge_count(ANYWHERE, chinese, answer, 3, text=text) == verdict
    assert tokens.ask_id(ANYWHERE, 0, text=text) is None
    assert tokens.ask_count(ANYWHERE, 0, text=merged(smollm, merger, "")) is None


@settings(max_examples=60)
@given(text=st.one_of(st.text(max_size=30), st.sampled_from([TEXT, "quotes ' and \" and \\ \n\t", "{braces}"])))
def test_the_program_gives_the_ids(smollm: Live, merger: Merger, text: str) -> None:
    with contextlib.suppress(TextNotCovered):
        expected = smollm.tokenizer.encode(text).ids
        code = tokens.program(ANYWHERE, text=merged(smollm, merger, text)).code
        assert "import" not in code
        names: dict[str, object] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "program.py", "exec"), names)
        assert names["result"] == list(expected)


def test_words_with_and_without_their_space(smollm: Live, merger: Merger) -> None:
    found = mistakes.spellings(smollm.tokenizer, merger.pre_tokens("a cat a  dog"))
    assert [entry.word for entry in found] == ["cat", "a", "dog"]
    for entry in found:
        assert entry.ids == smollm.tokenizer.encode(entry.word).ids
        assert smollm.tokenizer.decode(entry.spaced) == " " + entry.word
        assert entry.ids != entry.spaced


def test_tokens_turned_into_text_one_by_one_lose_shared_characters(smollm: Live) -> None:
    for text, torn in (("plain words", False), (TEXT, True)):
        ids = smollm.tokenizer.encode(text).ids
        found = mistakes.one_by_one(smollm.tokenizer, ids)
        assert found.whole == text
        assert (found.joined != text) is torn
        parts = [smollm.tokenizer.token_bytes(token).decode(errors="replace") for token in ids]
        assert found == (text, "".join(parts), sum("\ufffd" in part for part in parts))


def test_the_neighbours_of_an_id_stay_inside_the_table(smollm: Live) -> None:
    size = smollm.tokenizer.size
    for token, ids in ((0, range(4)), (size - 1, range(size - 4, size)), (100, range(97, 104))):
        found = vocabularies.neighbours(smollm.tokenizer, token)
        assert [near for near, _label in found] == list(ids)
        assert [label for _near, label in found] == [smollm.tokenizer.label(near) for near in ids]


def test_one_text_cut_in_three_ways() -> None:
    assert vocabularies.compared("to be or not to be", 6, 100) == (
        ("characters", 18, 8), ("words", 6, 5), ("bpe", 6, 100))  # 7 letters and the space; 4 words; and the unknown


def test_questions_about_ids() -> None:
    text = plain(tokenizers.ToyTokenizer("words", ("b", "a")), "a b b c")
    asked = [question for number in range(4) for question in [tokens.ask_id(ANYWHERE, number, text=text)] if question]
    assert [(question.row, question.answer) for question in asked] == [(3, 2), (2, 0), (1, 0), (0, 1)]
    assert tokens.judge_id(ANYWHERE, asked[1], 0, 3, text=text) == "right"
    assert {tokens.judge_id(ANYWHERE, asked[1], answer, 3, text=text) for answer in (2, 3)} == {"place"}
    assert tokens.judge_id(ANYWHERE, asked[1], 9, 3, text=text) == "wrong"
    assert tokens.ask_count(ANYWHERE, 0, text=text) is None
    assert tokens.ask_id(ANYWHERE, 0, text=plain(text.tokenizer, "")) is None


@settings(max_examples=60)
@given(text=st.text(max_size=40), kind=st.sampled_from(["characters", "words"]))
def test_the_simple_program_gives_the_ids(text: str, kind: Literal["characters", "words"]) -> None:
    tokenizer = tokenizers.ToyTokenizer.of(kind, "the cat's 猫, {x} \\ '")
    code = tokens.program(ANYWHERE, text=plain(tokenizer, text)).code
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "program.py", "exec"), names)
    assert names["result"] == list(tokenizer.encode(text).ids)


def test_the_tokens_of_a_trace_are_words_with_their_own_ids() -> None:
    for trace in (worked.block(), worked.word_order(), toy(ToySizes(batch=2, tokens=6, vocab=7), 3)):
        for batch, ids in enumerate(trace["tokens"].tolist()):
            text = texts.of_trace(At(trace, batch=batch))
            assert list(text.cut.ids) == ids
            assert len(text.tokenizer.vocabulary) == trace.config.vocab
            assert text.cut.unknown == ()
    assert texts.of_trace(ANYWHERE).text == "the cat sees a"
    assert tokens.facts(ANYWHERE) == (4, 13, (), 12)


def test_mistakes_with_words() -> None:
    """A word tokenizer knows no spaces; joined token by token the spaces are lost; unknown words are gone."""
    space, decode, lost = (tokens.MISTAKES[code](ANYWHERE) for code in ("space", "decode", "lost"))
    assert space.right.tolist() == [[1]]
    assert space.largest(0, 0) == 0
    assert ["".join(map(chr, line)) for made in (decode.right, decode.wrong) if made is not None
            for line in made.tolist()] == ["the cat sees a", "thecatseesa"]
    assert lost.wrong is not None
    assert "".join(map(chr, lost.right[0].tolist())).startswith("the cat sees a  ")
    assert "".join(map(chr, lost.wrong[0].tolist())) == "the cat sees a \ufffd \ufffd \ufffd"


def test_mistakes_with_the_tokens_of_a_model(smollm: Live, merger: Merger) -> None:
    text = merged(smollm, merger, "a cat 😀")
    space, decode, lost = (tokens.MISTAKES[code](ANYWHERE, text=text) for code in ("space", "decode", "lost"))
    assert space.wrong is not None
    assert (tuple(space.right[0].tolist()), tuple(space.wrong[0].tolist())) == (
        smollm.tokenizer.encode(" cat").ids, smollm.tokenizer.encode("cat").ids)
    assert decode.wrong is not None
    assert ord("\ufffd") in decode.wrong[0].tolist()
    assert ord("\ufffd") not in decode.right[0].tolist()
    assert lost.largest(0, 0) == 0
