"""Text to tokens and back: exact, without special tokens, and equal to an independent byte-level BPE."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import TokenOutOfRange
from core.live import Live
from core.live.errors import TextNotCovered
from core.live.tokenizer import Encoding, Tokenizer, Vocabulary, readable

from .conftest import byte_characters

SAMPLES = [
    "Hello, world!", "It's 2024: we'll pay 1,234.50  dollars", " leading and trailing  ", "a\n\n\nb\r\n\tc",
    "\n", " ", "   ", "我喜欢学习", "猫追球", "مرحبا بالعالم", "שלום \u200fעולם", "नमस्ते",
    "😀👩\u200d👩\u200d👧🏳\ufe0f\u200d🌈", "e\u0301 vs \u00e9", "\u200b\ufeff\u2028", "x\x00y\x1b[31m",
    "def f(x):\n    return x ** 2  # 平方", "½ ² Ⅷ ٣ 三", "<|im_start|>user\nhi<|im_end|>", "<|endoftext|>",
    "the cat  7", "ÀÉÎõü ß", "\U0001f9ff\U000e0041", "a" * 300,
]


@pytest.fixture(scope="module")
def tokenizer(smollm: Live) -> Tokenizer:
    return smollm.tokenizer


@pytest.fixture(scope="module")
def uncovered(tokenizer: Tokenizer) -> frozenset[int]:
    """Bytes for which the file's own table has no token."""
    table = set(tokenizer.vocabulary.tokens)
    return frozenset(byte for byte, char in enumerate(byte_characters()) if char not in table)


def bytes_of(tokenizer: Tokenizer, encoding: Encoding) -> bytes:
    return b"".join(tokenizer.token_bytes(i) for i in encoding.ids)


@pytest.mark.parametrize("text", SAMPLES)
def test_round_trip_of_samples(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


@settings(max_examples=400)
@given(text=st.text(max_size=60))
def test_any_text_comes_back_exactly_or_its_characters_are_named(
    tokenizer: Tokenizer, uncovered: frozenset[int], text: str,
) -> None:
    expected = [c for c in dict.fromkeys(text) if uncovered & set(c.encode())]
    if expected:
        with pytest.raises(TextNotCovered) as caught:
            tokenizer.encode(text)
        assert caught.value.characters == expected
    else:
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_smollm2_covers_all_but_six_control_characters_and_unassigned_planes(tokenizer: Tokenizer) -> None:
    refused = []
    for start in range(0, 0x110000, 0x40):
        block = [chr(code) for code in range(start, start + 0x40) if not 0xD800 <= code <= 0xDFFF]
        try:
            tokenizer.encode("".join(block))
        except TextNotCovered as error:
            refused += error.characters
    named = [c for c in refused if ord(c) < 0x40000]
    assert named == ["\x04", "\x06", "\x13", "\x14", "\x16", "\x1d"]
    assert {unicodedata.category(c) for c in refused if c not in named} == {"Cn"}


def test_half_a_surrogate_pair_is_no_character(tokenizer: Tokenizer) -> None:
    with pytest.raises(TextNotCovered) as caught:
        tokenizer.encode("a\ud83d!")
    assert caught.value.characters == ["\ud83d"]


@settings(max_examples=150)
@given(text=st.one_of(
    st.text(max_size=40), st.text(alphabet=" \n\t1290,.'sdtlabTheé我喜😀", max_size=40), st.sampled_from(SAMPLES),
))
def test_ids_equal_a_naive_bpe(tokenizer: Tokenizer, uncovered: frozenset[int], text: str) -> None:
    if not uncovered & set(text.encode()):
        assert list(tokenizer.encode(text).ids) == naive_bpe(tokenizer.vocabulary, text)


def naive_bpe(vocabulary: Vocabulary, text: str) -> list[int]:
    """Byte-level BPE by the book: cut out digits, cut by GPT-2's expression, merge the best pair, repeat."""
    letters = byte_characters()
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(vocabulary.merges)}
    ids = {token: i for i, token in enumerate(vocabulary.tokens)}
    gpt2 = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    found = []
    for part in regex.findall(r"\p{N}|\P{N}+", text):
        for word in gpt2.findall(part):
            symbols = [letters[byte] for byte in word.encode()]
            while pairs := [pair for pair in pairwise(symbols) if pair in ranks]:
                best = min(pairs, key=ranks.__getitem__)
                merged, at = [], 0
                while at < len(symbols):
                    step = 2 if tuple(symbols[at:at + 2]) == best else 1
                    merged.append("".join(symbols[at:at + step]))
                    at += step
                symbols = merged
            found += [ids[symbol] for symbol in symbols]
    return found


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs", "Cn"]), min_size=1, max_size=40))
def test_offsets_cover_the_text_in_order(tokenizer: Tokenizer, uncovered: frozenset[int], text: str) -> None:
    if uncovered & set(text.encode()):
        return
    encoding = tokenizer.encode(text)
    offsets = encoding.offsets
    assert len(encoding.ids) == len(encoding.pieces) == len(offsets) == len(encoding)
    assert offsets[0][0] == 0
    assert offsets[-1][1] == len(text)
    for (start, end), (following, _) in pairwise(offsets):
        assert start < end
        assert end - 1 <= following <= end  # they touch, or share the character that both have part of
    for token, (start, end) in zip(encoding.ids, offsets, strict=True):
        assert tokenizer.token_bytes(token) in text[start:end].encode()


def test_typed_text_never_becomes_a_control_token(tokenizer: Tokenizer) -> None:
    controls = set(tokenizer.controls.values())
    assert len(controls) == 17
    for name, token in tokenizer.controls.items():
        text = f"say {name}{name} now"
        typed = tokenizer.encode(text)
        assert not controls & set(typed.ids)
        assert tokenizer.decode(typed.ids) == text
        asked = tokenizer.encode(text, control=True)
        assert [i for i in asked.ids if i in controls] == [token, token]
        assert tokenizer.decode(asked.ids) == text
        assert asked.offsets[-1][1] == len(text)


def test_nothing_is_added(tokenizer: Tokenizer) -> None:
    assert len(tokenizer.encode("")) == 0
    assert len(tokenizer.encode("", control=True)) == 0
    assert bytes_of(tokenizer, tokenizer.encode("Hi there")) == b"Hi there"


@pytest.mark.parametrize(("data", "label"), [
    (b" the", "␣the"), (b"\n\n", "↵↵"), (b"\t\r", "⇥␍"), ("我".encode(), "我"), ("我".encode()[:1], "⟨E6⟩"),
    (b" \xe6\x88", "␣⟨E6⟩⟨88⟩"), (b"\x00", "⟨U+0000⟩"), ("\u200b".encode(), "⟨U+200B⟩"),
    ("\u00a0".encode(), "⟨U+00A0⟩"), ("\u202e".encode(), "⟨U+202E⟩"), ("\u0301".encode(), "◌\u0301"),
    ("e\u0301".encode(), "e\u0301"),
    ("\ufe0f".encode(), "⟨U+FE0F⟩"), (b"<b>", "<b>"),
])
def test_labels_show_what_cannot_be_seen(data: bytes, label: str) -> None:
    assert readable(data) == label


def test_every_token_has_a_visible_label_in_one_line(tokenizer: Tokenizer) -> None:
    for token in range(tokenizer.size):
        label = tokenizer.label(token)
        assert label.strip() == label != ""
        assert not any(unicodedata.category(c)[0] in "CZ" for c in label)


def test_ids_outside_the_vocabulary_are_refused(tokenizer: Tokenizer) -> None:
    for token in (-1, tokenizer.size):
        with pytest.raises(TokenOutOfRange):
            tokenizer.decode([token])


def test_vocabulary_survives_the_cache(tokenizer: Tokenizer) -> None:
    assert Vocabulary.from_json(tokenizer.vocabulary.to_json()) == tokenizer.vocabulary


def test_a_merge_that_makes_a_control_token_is_refused() -> None:
    vocabulary = Vocabulary(["<", "a", "<a"], ["< a"], [1, 1, 3], "smollm")
    assert "merge" in (vocabulary.fault() or "")
