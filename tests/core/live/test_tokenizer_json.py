"""tokenizer.json: the ids of `tokenizers` itself, exact round trips, and nothing lost or slipped in silently."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from core.live import tokenizer_json
from core.live.errors import CheckpointInvalid, TextNotCovered, TokenizerUnsupported, VocabularyTooLarge
from core.live.tokenizer import Tokenizer

from .folders import CONTROLS, LLAMA3_WORDS, VOCAB, byte_level, sentencepiece

KINDS: dict[str, Callable[[], Engine]] = {
    "gpt2": byte_level, "llama3": lambda: byte_level(words=LLAMA3_WORDS),
    "qwen": lambda: byte_level(words=LLAMA3_WORDS, nfc=True),
    "llama2": sentencepiece, "mistral": lambda: sentencepiece(metaspace=True),
}
TEXTS = st.one_of(st.text(max_size=40), st.text(alphabet=" \n\tThecats我喜é\u0301<>|im_start/1290.'", max_size=40))


def read(folder: Path, engine: Engine, vocab: int = VOCAB, **settings: Any) -> Tokenizer:
    folder.mkdir(exist_ok=True)
    engine.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return tokenizer_json.read(folder, vocab)


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Tokenizer, Engine]:
    engine = KINDS[request.param]()
    return request.param, read(tmp_path_factory.mktemp("kind"), engine, 400), engine


def normal(kind: str, text: str) -> str:
    """What each kind may change: composed accents; a space that is there anyway."""
    if kind == "qwen":
        return unicodedata.normalize("NFC", text)
    text = text.replace("▁", " ") if kind in ("llama2", "mistral") else text
    return text.removeprefix(" ") if kind == "mistral" else text


@settings(max_examples=150)
@given(text=TEXTS)
def test_ids_are_those_of_the_library_and_text_comes_back(pair: tuple[str, Tokenizer, Engine], text: str) -> None:
    kind, tokenizer, engine = pair
    encoding = tokenizer.encode(text)
    if not any(name in text for name in CONTROLS):
        assert list(encoding.ids) == engine.encode(text, add_special_tokens=False).ids
    assert tokenizer.decode(encoding.ids) == normal(kind, text)


@given(text=TEXTS.filter(bool))
def test_offsets_cover_the_text_in_order(pair: tuple[str, Tokenizer, Engine], text: str) -> None:
    _, tokenizer, _ = pair
    encoding = tokenizer.encode(text)
    assert len(encoding.ids) == len(encoding.pieces) == len(encoding.offsets)
    assert encoding.offsets[0][0] == 0
    assert encoding.offsets[-1][1] == len(text)
    for (start, end), (following, _) in pairwise(encoding.offsets):
        assert start < end
        assert start <= following <= end


def test_labels_show_spaces_and_bytes(pair: tuple[str, Tokenizer, Engine]) -> None:
    kind, tokenizer, _ = pair
    pieces = tokenizer.encode("a\t\u2605 b").pieces  # the star was never seen: three bytes
    assert "".join(pieces[-5:-2]) == "⟨E2⟩⟨98⟩⟨85⟩"
    assert pieces[-2:] == ("␣", "b")
    assert "⇥" in pieces
    assert pieces[0] == ("␣" if kind in ("llama2", "mistral") else "a")
    for token in range(tokenizer.size):
        label = tokenizer.label(token)
        assert label.strip() == label != ""


def test_typed_text_never_becomes_a_control_token(pair: tuple[str, Tokenizer, Engine]) -> None:
    _, tokenizer, _ = pair
    for name in CONTROLS:
        token = tokenizer.controls[name]
        text = f"a{name}{name} b"
        typed = tokenizer.encode(text)
        assert not set(tokenizer.controls.values()) & set(typed.ids)
        assert tokenizer.decode(typed.ids) == text
        asked = tokenizer.encode(text, control=True)
        assert [i for i in asked.ids if i in tokenizer.controls.values()] == [token, token]
        assert asked.offsets[-1][1] == len(text)
        assert [text[a:b] for i, (a, b) in zip(asked.ids, asked.offsets, strict=True) if i == token] == [name, name]


def test_control_tokens_in_text_as_transformers_reads_them(pair: tuple[str, Tokenizer, Engine]) -> None:
    _, tokenizer, engine = pair
    theirs = PreTrainedTokenizerFast(tokenizer_object=engine)
    for text in ("<s>The cat</s><|im_start|>said 12\n<|im_end|>", "The<s> cat", "<s>", ""):
        expected = theirs(text, add_special_tokens=False)["input_ids"]
        assert list(tokenizer.encode(text, control=True).ids) == expected, text


def test_what_a_file_adds_cuts_or_leaves_to_chance_is_switched_off(tmp_path: Path) -> None:
    engine = byte_level()
    engine.enable_truncation(3)
    engine.enable_padding(length=20)
    raw = json.loads(engine.to_str())
    raw["model"]["dropout"] = 0.9
    raw["post_processor"] = {"type": "TemplateProcessing", "pair": [], "special_tokens": {
        "<s>": {"id": "<s>", "ids": [raw["model"]["vocab"]["<s>"]], "tokens": ["<s>"]}},
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(raw))
    tokenizer = tokenizer_json.read(tmp_path, VOCAB)
    text = "The cat sat on the mat"
    plain = byte_level().encode(text, add_special_tokens=False).ids
    assert {tokenizer.encode(text).ids for _ in range(5)} == {tuple(plain)}


def test_characters_without_a_token_are_named(tmp_path: Path) -> None:
    engine = Engine(models.BPE(vocab={"a": 0, "b": 1, "Ġ": 2, "ab": 3}, merges=[("a", "b")]))
    engine.pre_tokenizer, engine.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = read(tmp_path, engine)
    assert tokenizer.decode(tokenizer.encode("ab a").ids) == "ab a"
    for text, missing in (("abc", ["c"]), ("ca cé", ["c", "é"]), ("a\ud83d", ["\ud83d"])):
        with pytest.raises(TextNotCovered) as caught:
            tokenizer.encode(text)
        assert caught.value.characters == missing


def test_an_engine_that_fails_on_a_character_names_it(tmp_path: Path) -> None:
    raw = {"model": {"type": "BPE", "unk_token": "<unk>", "vocab": {"b": 0, "c": 1}, "merges": []}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(raw))
    tokenizer = tokenizer_json.read(tmp_path, VOCAB)
    assert tokenizer.encode("bcb").ids == (0, 1, 0)
    with pytest.raises(TextNotCovered) as caught:
        tokenizer.encode("bac")
    assert caught.value.characters == ["a"]


def test_rows_of_the_embedding_without_a_token_have_a_label(tmp_path: Path) -> None:
    tokenizer = read(tmp_path, byte_level())
    assert tokenizer.size == VOCAB
    assert tokenizer.label(VOCAB - 1) == f"⟨#{VOCAB - 1}⟩"
    assert tokenizer.decode([VOCAB - 1]) == ""


def test_a_token_without_a_row_is_refused(tmp_path: Path) -> None:
    engine = byte_level()
    last = max(engine.get_vocab().values())
    with pytest.raises(VocabularyTooLarge) as caught:
        read(tmp_path, engine, vocab=last)
    assert (caught.value.token, caught.value.vocab) == (last, last)
    assert read(tmp_path, engine, vocab=last + 1).size == last + 1


def test_an_added_token_that_lies_about_its_id_is_refused(tmp_path: Path) -> None:
    raw = json.loads(byte_level().to_str())
    raw["added_tokens"][0]["id"] = 7
    (tmp_path / "tokenizer.json").write_text(json.dumps(raw))
    with pytest.raises(CheckpointInvalid, match="id 7"):
        tokenizer_json.read(tmp_path, VOCAB)


def test_other_kinds_of_model_are_named(tmp_path: Path) -> None:
    engine = Engine(models.Unigram([("a", -1.0), ("b", -2.0)], unk_id=0))
    with pytest.raises(TokenizerUnsupported) as caught:
        read(tmp_path, engine)
    assert (caught.value.kind, caught.value.supported) == ("Unigram", ["BPE"])


@pytest.mark.parametrize("key", ["continuing_subword_prefix", "end_of_word_suffix"])
def test_marks_for_parts_of_words_are_not_read(tmp_path: Path, key: str) -> None:
    """The engine itself panics on some of them."""
    raw = json.loads(byte_level().to_str())
    raw["model"][key] = "</w>"
    (tmp_path / "tokenizer.json").write_text(json.dumps(raw))
    with pytest.raises(TokenizerUnsupported, match=key):
        tokenizer_json.read(tmp_path, VOCAB)


def test_a_panic_of_the_engine_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {})

    class Panicking:
        @staticmethod
        def from_str(text: str) -> None:
            raise panic("index out of range")

    byte_level().save(str(tmp_path / "tokenizer.json"))
    monkeypatch.setattr(tokenizer_json, "Engine", Panicking)
    with pytest.raises(CheckpointInvalid, match="index out of range"):
        tokenizer_json.read(tmp_path, VOCAB)


@pytest.mark.parametrize("content", [
    b"", b"[]", b"{}", b'{"model": 3}', b"\xff", b"[" * 100_000, b'{"model": {"type": "BPE"}}',
    b'{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}',
    b'{"model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}}',
    b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["q", "x"]]}}',
    b'{"added_tokens": 3, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}',
    b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "pre_tokenizer": {"type": "Split", '
    b'"pattern": {"Regex": "("}, "behavior": "Isolated", "invert": false}}',
])
def test_what_is_no_tokenizer_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(CheckpointInvalid) as caught:
        tokenizer_json.read(tmp_path, VOCAB)
    assert caught.value.path == tmp_path / "tokenizer.json"


@pytest.fixture(scope="module")
def whole() -> bytes:
    return byte_level().to_str().encode()


@settings(max_examples=100)
@given(data=st.data())
def test_damage_gives_a_tokenizer_or_an_error_of_ours(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject,
) -> None:
    path = tmp_path_factory.getbasetemp() / "tokenizer.json"
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(damaged), 3_000) - 1))
        damaged[at] = data.draw(st.sampled_from(b'0197"{}[]:,aT\\'))
    path.write_bytes(damaged)
    try:
        tokenizer = tokenizer_json.read(path.parent, VOCAB)
        tokenizer.decode(tokenizer.encode("The cat, 12").ids)
    except (CheckpointInvalid, TextNotCovered):
        pass


def test_stop_ids_are_gathered_from_all_files_that_name_one(tmp_path: Path) -> None:
    end, im_end = (byte_level().token_to_id(name) for name in ("</s>", "<|im_end|>"))
    assert read(tmp_path, byte_level()).stop_ids == ()
    (tmp_path / "config.json").write_text(json.dumps({"eos_token_id": end}))
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [end, im_end, 10**9, -1, None, True]}))
    assert set(read(tmp_path, byte_level(), eos_token={"content": "<|im_end|>"}).stop_ids) == {end, im_end}
