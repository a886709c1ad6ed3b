"""Facts, questions and the program of the page on tokens."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import snippets_tokens, tokens_practice
from core.live import Live
from core.live.errors import TextNotCovered
from core.live.merges import Merger

TEXT = "the cat saw the dog, 我喜欢学习 😀 the end"


@pytest.fixture(scope="module")
def merger(smollm: Live) -> Merger:
    return Merger.of(smollm.tokenizer.vocabulary)


def test_facts_about_a_text(smollm: Live, merger: Merger) -> None:
    found = tokens_practice.facts(merger.pre_tokens(TEXT))
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
    assert tokens_practice.facts(()) is None


def test_questions_about_counts(merger: Merger) -> None:
    pre_tokens = merger.pre_tokens(TEXT)
    first = tokens_practice.question(pre_tokens, 0)
    assert first.answer > 1
    assert {tokens_practice.question(pre_tokens, n).row for n in range(len(pre_tokens))} == set(range(len(pre_tokens)))
    chinese = next(tokens_practice.question(pre_tokens, n) for n in range(len(pre_tokens))
                   if "我" in pre_tokens[tokens_practice.question(pre_tokens, n).row].text)
    for answer, verdict in ((chinese.answer, "right"), (16, "bytes"), (6, "characters"), (99, "wrong")):
        assert tokens_practice.judge(pre_tokens, chinese, answer) == verdict


@settings(max_examples=60)
@given(text=st.one_of(st.text(max_size=30), st.sampled_from([TEXT, "quotes ' and \" and \\ \n\t", "{braces}"])))
def test_the_program_gives_the_ids(smollm: Live, merger: Merger, text: str) -> None:
    with contextlib.suppress(TextNotCovered):
        expected = smollm.tokenizer.encode(text).ids
        code = snippets_tokens.tokens(merger.pre_tokens(text)).code
        assert "import" not in code
        names: dict[str, object] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "program.py", "exec"), names)
        assert names["result"] == list(expected)
