"""Facts, questions and the program of the page on tokens."""

from __future__ import annotations

import contextlib
import io
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.live import Live
from core.live.errors import TextNotCovered
from core.live.merges import Merger
from core.stages.tokens import practice, programs, tokenizers

TEXT = "the cat saw the dog, 我喜欢学习 😀 the end"


@pytest.fixture(scope="module")
def merger(smollm: Live) -> Merger:
    return Merger.of(smollm.tokenizer.vocabulary)


def test_facts_about_a_text(smollm: Live, merger: Merger) -> None:
    found = practice.facts(merger.pre_tokens(TEXT))
    encoding = smollm.tokenizer.encode(TEXT)
    data = [smollm.tokenizer.token_bytes(i) for i in encoding.ids]
    assert found is not None
    assert (found.characters, found.bytes, found.tokens) == (len(TEXT), len(TEXT.encode()), len(encoding))
    assert found.longest == max(end - start for start, end in encoding.offsets)
    assert found.parts == tuple(n for n, token in enumerate(data) if "\ufffd" in token.decode(errors="replace"))
    assert found.parts
    again = smollm.tokenizer.encode(" the").ids[0]
    assert found.repeats[again] == tuple(n for n, i in enumerate(encoding.ids) if i == again)
    assert len(found.repeats[again]) == 2  # the first "the" has no space before it, and is another token
    assert found.spaced == tuple(n for n, token in enumerate(data) if token[:1] == b" ")
    assert found.merges == sum(len(token) for token in data) - len(data)  # each merge leaves one symbol fewer
    assert practice.facts(()) is None


def test_questions_about_counts(merger: Merger) -> None:
    pre_tokens = merger.pre_tokens(TEXT)
    first = practice.question(pre_tokens, 0)
    assert first.answer > 1
    assert {practice.question(pre_tokens, n).row for n in range(len(pre_tokens))} == set(range(len(pre_tokens)))
    chinese = next(practice.question(pre_tokens, n) for n in range(len(pre_tokens))
                   if "我" in pre_tokens[practice.question(pre_tokens, n).row].text)
    for answer, verdict in ((chinese.answer, "right"), (16, "bytes"), (6, "characters"), (99, "wrong")):
        assert practice.judge(pre_tokens, chinese, answer) == verdict


@settings(max_examples=60)
@given(text=st.one_of(st.text(max_size=30), st.sampled_from([TEXT, "quotes ' and \" and \\ \n\t", "{braces}"])))
def test_the_program_gives_the_ids(smollm: Live, merger: Merger, text: str) -> None:
    with contextlib.suppress(TextNotCovered):
        expected = smollm.tokenizer.encode(text).ids
        code = programs.tokens(merger.pre_tokens(text)).code
        assert "import" not in code
        names: dict[str, object] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "program.py", "exec"), names)
        assert names["result"] == list(expected)


def test_words_with_and_without_their_space(smollm: Live, merger: Merger) -> None:
    found = practice.spellings(smollm.tokenizer, merger.pre_tokens("a cat a  dog"))
    assert [entry.word for entry in found] == ["cat", "a", "dog"]
    for entry in found:
        assert entry.ids == smollm.tokenizer.encode(entry.word).ids
        assert smollm.tokenizer.decode(entry.spaced) == " " + entry.word
        assert entry.ids != entry.spaced


def test_tokens_turned_into_text_one_by_one_lose_shared_characters(smollm: Live) -> None:
    for text, torn in (("plain words", False), (TEXT, True)):
        ids = smollm.tokenizer.encode(text).ids
        found = practice.one_by_one(smollm.tokenizer, ids)
        assert found.whole == text
        assert (found.joined != text) is torn
        parts = [smollm.tokenizer.token_bytes(token).decode(errors="replace") for token in ids]
        assert found == (text, "".join(parts), sum("\ufffd" in part for part in parts))


def test_the_neighbours_of_an_id_stay_inside_the_table(smollm: Live) -> None:
    size = smollm.tokenizer.size
    for token, ids in ((0, range(4)), (size - 1, range(size - 4, size)), (100, range(97, 104))):
        found = practice.neighbours(smollm.tokenizer, token)
        assert [near for near, _label in found] == list(ids)
        assert [label for _near, label in found] == [smollm.tokenizer.label(near) for near in ids]


def test_one_text_cut_in_three_ways() -> None:
    assert practice.compared("to be or not to be", 6, 100) == (
        ("characters", 18, 8), ("words", 6, 5), ("bpe", 6, 100))  # 7 letters and the space; 4 words; and the unknown


def test_questions_about_ids() -> None:
    cut = tokenizers.ToyTokenizer("words", ("b", "a")).encode("a b b c")
    asked = [practice.id_question(cut, number) for number in range(4)]
    assert [(question.row, question.answer) for question in asked] == [(3, 2), (2, 0), (1, 0), (0, 1)]
    assert practice.judge_id(asked[1], 0) == "right"
    assert {practice.judge_id(asked[1], answer) for answer in (2, 3)} == {"place"}
    assert practice.judge_id(asked[1], 9) == "wrong"


@settings(max_examples=60)
@given(text=st.text(max_size=40), kind=st.sampled_from(["characters", "words"]))
def test_the_simple_program_gives_the_ids(text: str, kind: Literal["characters", "words"]) -> None:
    tokenizer = tokenizers.ToyTokenizer.of(kind, "the cat's 猫, {x} \\ '")
    code = programs.simple(tokenizer, text).code
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "program.py", "exec"), names)
    assert names["result"] == list(tokenizer.encode(text).ids)
