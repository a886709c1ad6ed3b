"""Tokenizers of Llama models in GGUF files besides SmolLM's: Llama 3's words, SentencePiece's pieces with scores."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Engine

from core import live
from core.live import Live
from core.live.chat import Dialog
from core.live.tokenizer import TableTokenizer, Tokenizer, Vocabulary
from core.live.tokenizer_spm import build, vocabulary

from .conftest import D, WriteGGUF
from .folders import CONTROLS, LLAMA3_WORDS, byte_level

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
PIECES = ["▁", "t", "h", "e", "c", "a", "s", "th", "he", "the", "▁the", "▁c", "at", "▁cat", "cats", "▁t", "▁▁", "我"]
TOKENS = ["<unk>", "<s>", "</s>", *BYTES, *PIECES]
TYPES = [2, 3, 3, *[6] * len(BYTES), *[1] * len(PIECES)]
SCORES = [0.0, 0.0, 0.0, *[0.0] * len(BYTES), *[-float(rank) for rank in range(len(PIECES))]]


def spm(*, space: bool) -> Tokenizer:
    return build(vocabulary(TOKENS, SCORES, TYPES, space=space), Dialog())


def naive_spm(text: str) -> list[int]:
    """By the book: characters, then the two neighbours whose union scores best, again and again; bytes for the rest."""
    score = {token: s for token, s, kind in zip(TOKENS, SCORES, TYPES, strict=True) if kind == 1}
    symbols = list(text.replace(" ", "▁"))
    while unions := [(score[a + b], -at) for at, (a, b) in enumerate(pairwise(symbols)) if a + b in score]:
        at = -max(unions)[1]
        symbols[at:at + 2] = [symbols[at] + symbols[at + 1]]
    tokens = [t for s in symbols for t in ([s] if s in score else [BYTES[b] for b in s.encode()])]
    return [TOKENS.index(token) for token in tokens]


@settings(max_examples=300)
@given(text=st.text(alphabet="thecas 我é", max_size=20))
def test_pieces_with_scores_are_joined_as_sentencepiece_joins_them(text: str) -> None:
    text = re.sub("  +", " ", text)  # a run of one character can be joined in several orders
    assert list(spm(space=False).encode(text).ids) == naive_spm(text)
    assert list(spm(space=True).encode(text).ids) == (naive_spm(" " + text) if text else [])


@pytest.mark.parametrize("space", [True, False])
@given(text=st.text(max_size=30).filter(lambda text: "▁" not in text))
def test_text_comes_back(space: bool, text: str) -> None:
    tokenizer = spm(space=space)
    encoding = tokenizer.encode(text)
    assert tokenizer.decode(encoding.ids) == text
    assert not set(encoding.ids) & {0, 1, 2}


def test_typed_control_tokens_stay_text() -> None:
    tokenizer = spm(space=True)
    assert not {1, 2} & set(tokenizer.encode("<s>the</s>").ids)
    assert [i for i in tokenizer.encode("<s>the</s>", control=True).ids if i < 3] == [1, 2]


@pytest.fixture
def sentencepiece(write_gguf: WriteGGUF, cache: object) -> Live:
    table = np.random.default_rng(3).standard_normal((len(TOKENS), D)).astype(np.float32)
    return live.load(write_gguf({
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.pre": "default", "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.token_type": TYPES, "tokenizer.ggml.scores": SCORES, "tokenizer.ggml.merges": None,
        "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.add_space_prefix": False, "llama.vocab_size": len(TOKENS),
    }, {"token_embd.weight": (table, Kind.F32)}))


def test_a_file_with_pieces_is_loaded(sentencepiece: Live) -> None:
    assert sentencepiece.pieces("the cat \u2605") == ["the", "␣cat", "␣", "⟨E2⟩", "⟨98⟩", "⟨85⟩"]
    assert sentencepiece.stop_ids == (2,)
    assert sentencepiece.trace("the cat").tokens == ["the", "␣cat"]


@pytest.fixture(scope="module")
def llama3() -> tuple[Engine, Tokenizer]:
    """The same tokenizer as the library's own and from the tables of a GGUF file."""
    engine = byte_level(words=LLAMA3_WORDS)
    raw = json.loads(engine.to_str())["model"]
    tokens = sorted(raw["vocab"], key=raw["vocab"].__getitem__)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in raw["merges"]]
    tables = Vocabulary(tokens, merges, [3 if token in CONTROLS else 1 for token in tokens], "llama-bpe")
    assert tables.fault() is None
    return engine, TableTokenizer(tables)


@settings(max_examples=200)
@given(text=st.one_of(st.text(max_size=40), st.text(alphabet=" \n\tThe'SLcats12345我é.!", max_size=40)))
def test_llama_3s_words(llama3: tuple[Engine, Tokenizer], text: str) -> None:
    engine, tokenizer = llama3
    if not any(name in text for name in CONTROLS):
        assert list(tokenizer.encode(text).ids) == engine.encode(text, add_special_tokens=False).ids
    assert tokenizer.decode(tokenizer.encode(text).ids) == text
