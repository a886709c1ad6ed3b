"""An own checkpoint in the app: chosen by name, computed on every page, and nothing but a name that is there counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as Decoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM

from core.live import registry
from tests.ui.on_page import arrived, opened, payloads
from tests.waiting import until
from ui import sources

SIZES: dict[str, Any] = {"vocab_size": 256, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
                         "num_key_value_heads": 2, "intermediate_size": 40, "max_position_embeddings": 64}


@pytest.fixture
def checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of own checkpoints with a tiny Llama, "tiny", and one that is damaged, "broken"."""
    folder = tmp_path / "checkpoints"
    torch.manual_seed(3)
    LlamaForCausalLM(LlamaConfig(**SIZES)).save_pretrained(folder / "tiny")
    letters = sorted(ByteLevel.alphabet())
    tokenizer = Tokenizer(BPE(vocab={letter: place for place, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = Decoder()
    tokenizer.save(str(folder / "tiny" / "tokenizer.json"))
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text(json.dumps({"model_type": "bert"}))
    monkeypatch.setenv(registry.VARIABLE, str(folder))
    monkeypatch.setenv("TRANSFORMER_WORKBENCH_CACHE", str(tmp_path / "cache"))
    yield folder
    sources._loaders.cache_clear()


def loaded(name: str) -> None:
    """Wait until the server's loader of that model is done."""
    until(lambda: sources.loader_of(name).progress() is None)


def test_a_chosen_checkpoint_gives_its_numbers(checkpoints: Path) -> None:
    at = opened(source="live", model="tiny", text="a tiny text")
    loaded("tiny")
    at.run()
    assert not at.exception
    assert not [error.value for error in at.error]
    scaled = next(frame for frame in payloads(at)[0]["frames"] if frame["name"] == "blocks.0.scaled")
    assert scaled["rows"]["total"] == len("a tiny text")  # a token for every byte
    assert at.selectbox(key="model").options == ["SmolLM2-135M", "broken", "tiny"]
    assert any("this checkpoint" in element.value for element in at.markdown)
    assert not any("four bits" in element.value for element in at.markdown)


def test_a_damaged_checkpoint_is_explained_and_the_numbers_stay(checkpoints: Path) -> None:
    at = opened(source="live", model="broken")
    loaded("broken")
    at.run()
    assert not at.exception
    assert at.error
    assert payloads(at)


@pytest.mark.parametrize("name", ["/etc/passwd", "../checkpoints/tiny", "tiny/../broken", "nobody", "tiny\x00", ""])
def test_no_address_names_a_path(checkpoints: Path, name: str) -> None:
    at = arrived(source="live", model=name)
    assert not at.exception
    assert at.selectbox(key="model").value == registry.DEFAULT


@pytest.mark.parametrize("model", ["llama-2-7b", "gpt2"])
def test_the_model_that_costs_are_reckoned_for_is_not_the_one_that_is_loaded(model: str) -> None:
    at = opened("pages/inference/cost.py", source="live", cost_of=model)
    assert not at.exception
    at.switch_page("pages/attention/scores.py").run()
    assert not [error.value for error in at.error]


def test_without_own_checkpoints_there_is_nothing_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(registry.VARIABLE, raising=False)
    at = arrived(source="live", model="tiny")
    assert not [box for box in at.selectbox if box.key == "model"]


def test_where_a_model_s_merges_are_not_known_a_text_is_cut_without_them(checkpoints: Path) -> None:
    at = opened("pages/input/tokens.py", source="live", model="tiny", text="a tiny text")
    loaded("tiny")
    at.run()
    assert not at.exception
    assert at.text_input(key="_sample").value == "the cat sees a"
