"""Folders in Hugging Face format: the same numbers as `transformers` reads from them, or an error that says why not."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM

from core import live
from core.config import FAMILIES
from core.live import checkpoint, hf_folder, weights_cache
from core.live.errors import (
    ArchitectureUnsupported,
    CheckpointInvalid,
    FilesMissing,
    PicklesRefused,
    SizesInvalid,
    TensorMisshapen,
    TensorNotFinite,
    TensorsMissing,
    TensorsUnexpected,
    TensorTypeUnsupported,
    TooLarge,
)
from core.model import parameter_shapes
from core.rope import frequencies

from .folders import MODELS, VOCAB, write

WITHIN = 1e-4
TEXT = "The cat sat on the mat, 我 12"


def compare(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=WITHIN, rtol=WITHIN)


def assert_same_numbers(folder: Path) -> live.Live:
    """Logits, attention maps and hidden states of both, each with its own reader of the same files, in float32."""
    model = live.load(folder)
    theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    ids = torch.tensor([model.encode(TEXT).ids])
    with torch.no_grad():
        out = theirs(ids, output_attentions=True, output_hidden_states=True, use_cache=False)
    trace = model.trace(TEXT)
    layers = model.config.layers
    assert len(out.attentions) == layers
    for layer in range(layers):
        compare(trace[f"blocks.{layer}.in"], out.hidden_states[layer])
        compare(trace[f"blocks.{layer}.weights"], out.attentions[layer])
    compare(trace["final_norm"], out.hidden_states[layers])
    compare(trace["logits"], out.logits)
    compare(model.decoder(ids), out.logits)
    assert out.logits.std() > 0.1, "numbers too small to tell anything"
    return model


@pytest.mark.parametrize("kind", MODELS)
def test_every_family_gives_the_numbers_of_transformers(kind: str, tmp_path: Path, cache: Path) -> None:
    model = assert_same_numbers(write(tmp_path / "own", kind))
    assert model.name == "own"
    assert model.config.rope_pairing == "half"
    assert model.config.tied_head == bool(MODELS[kind][2].get("tie_word_embeddings", kind == "gpt2"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_half_precision_files(kind: str, dtype: torch.dtype, tmp_path: Path, cache: Path) -> None:
    model = assert_same_numbers(write(tmp_path / "own", kind, dtype=dtype))
    stored = load_file(tmp_path / "own" / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {dtype}
    assert {tensor.dtype for tensor in model.decoder.parameters()} == {torch.float32}


@pytest.mark.parametrize("kind", ["qwen3", "gpt2 untied"])
def test_shards(kind: str, tmp_path: Path, cache: Path) -> None:
    folder = write(tmp_path / "own", kind, shard="20KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    assert not (folder / "model.safetensors").exists()
    assert_same_numbers(folder)


def test_a_checkpoint_of_the_inner_model_with_old_buffers(tmp_path: Path, cache: Path) -> None:
    """As the first GPT-2 was published: no prefix, causal masks among the weights."""
    folder = write(tmp_path / "own", "gpt2")
    weights = load_file(folder / "model.safetensors")
    renamed = {name.removeprefix("transformer."): tensor for name, tensor in weights.items()}
    renamed |= {f"h.{layer}.attn.bias": torch.ones(1, 1, 48, 48).tril() for layer in range(3)}
    save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    assert_same_numbers(folder)


@pytest.mark.parametrize("kind", ["llama tied and biased", "gpt2"])
def test_a_tied_head_that_is_stored_as_well(kind: str, tmp_path: Path, cache: Path) -> None:
    """The same values: it is the embedding. Other values: it counts, as in `transformers`."""
    folder = write(tmp_path / "own", kind)
    weights = load_file(folder / "model.safetensors")
    table = weights["transformer.wte.weight" if kind == "gpt2" else "model.embed_tokens.weight"]
    for change, tied in ((0.0, True), (0.5, False)):
        save_file({**weights, "lm_head.weight": table + change}, folder / "model.safetensors", {"format": "pt"})
        assert hf_folder.read(folder).config.tied_head == tied
    logits = live.load(folder).trace(TEXT)["logits"]
    final = live.load(folder).trace(TEXT)["final_norm"]
    compare(logits, final @ (table + 0.5).T)


@pytest.mark.parametrize("kind", ["llama3 rope", "linear rope"])
def test_rope_scaling_as_older_versions_wrote_it(kind: str, tmp_path: Path, cache: Path) -> None:
    folder = write(tmp_path / "own", kind)
    raw = json.loads((folder / "config.json").read_text())
    newer = hf_folder.read_config(folder / "config.json")
    rope = raw.pop("rope_parameters")
    raw["rope_theta"] = rope.pop("rope_theta")
    raw["rope_scaling"] = rope if kind == "llama3 rope" else {"type": rope["rope_type"], "factor": rope["factor"]}
    (folder / "config.json").write_text(json.dumps(raw))
    older = hf_folder.read_config(folder / "config.json")
    assert older.rope_base == newer.rope_base
    assert torch.equal(frequencies(4, older.rope_base, older.rope_scaling),
                       frequencies(4, newer.rope_base, newer.rope_scaling))
    assert_same_numbers(folder)


def test_parameters_are_those_of_the_decoder(tmp_path: Path) -> None:
    for number, kind in enumerate(MODELS):
        found = hf_folder.read(write(tmp_path / str(number), kind))
        assert dict(found.shapes) == parameter_shapes(found.config)
        assert [(name, array.shape) for name, array in found.parameters()] == list(found.shapes.items())
        assert all(a.dtype == np.float32 and a.flags.c_contiguous for _, a in found.parameters())


def test_the_second_start_maps_the_cached_file(tmp_path: Path, cache: Path) -> None:
    folder, stages = write(tmp_path / "own"), []
    first = live.load(folder)
    second = live.load(folder, lambda stage, fraction: stages.append(stage))
    assert stages == ["read", "map"]
    (stored,) = cache.glob("*.safetensors")
    for name, tensor in second.decoder.state_dict().items():
        assert torch.equal(tensor, first.decoder.state_dict()[name])
    if (maps := Path("/proc/self/maps")).exists():
        places = [[int(part, 16) for part in line.split()[0].split("-")] for line in maps.read_text().splitlines()
                  if str(stored) in line]
        assert all(any(low <= tensor.data_ptr() < high for low, high in places)
                   for tensor in second.decoder.state_dict().values()), "a weight was copied"


def test_other_weights_or_another_tokenizer_are_another_model(tmp_path: Path, cache: Path) -> None:
    folder = write(tmp_path / "own")
    before = live.load(folder).fingerprint
    path = folder / "tokenizer.json"
    path.write_text(path.read_text() + "\n")
    between = live.load(folder).fingerprint
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "model.norm.weight": weights["model.norm.weight"] * 2}, folder / "model.safetensors")
    assert len({before, between, live.load(folder).fingerprint}) == 3


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    place = tmp_path / "spoilt"
    place.mkdir()
    for path in whole.iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    return place


def refused(folder: Path, kind: type[CheckpointInvalid]) -> Any:
    with pytest.raises(kind) as caught:
        list(hf_folder.read(folder).parameters())
    return caught.value


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_missing_files_are_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    error = refused(folder, FilesMissing)
    assert (error.path, error.names) == (folder, [name])


class _Bomb:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return pytest.fail, ("a pickle was read",)


def test_weights_in_pickles_only_are_refused_and_never_read(folder: Path, cache: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Bomb()))
    with pytest.raises(PicklesRefused) as caught:
        live.load(folder)
    assert caught.value.names == ["pytorch_model.bin"]


def test_a_pickle_beside_safetensors_is_left_alone(folder: Path, cache: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Bomb()))
    assert live.load(folder).config.vocab == VOCAB


@pytest.mark.parametrize("content", [b"", b"[]", b'"llama"', b"null", b"{", b"\xff\xfe\x00", b"[" * 100_000,
                                     b'{"model_type": "llama", "vocab_size": ' + b"9" * 5000 + b"}"])
def test_a_config_that_is_no_json_object_is_refused(folder: Path, content: bytes) -> None:
    (folder / "config.json").write_bytes(content)
    error = refused(folder, CheckpointInvalid)
    assert error.path == folder / "config.json"


@pytest.mark.parametrize("kind", ["bert", None, 7, ["llama"], "gemma3"])
def test_another_architecture_is_named_with_what_is_supported(folder: Path, kind: object) -> None:
    change_config(folder, model_type=kind)
    error = refused(folder, ArchitectureUnsupported)
    assert (error.architecture, tuple(error.supported)) == (str(kind), FAMILIES)


@pytest.mark.parametrize(("changes", "why"), [
    ({"mlp_bias": True}, "feed-forward"), ({"quantization_config": {"quant_method": "gptq"}}, "quantised")])
def test_a_part_that_is_not_supported_is_named(folder: Path, changes: dict[str, Any], why: str) -> None:
    change_config(folder, **changes)
    assert why in refused(folder, ArchitectureUnsupported).why


@pytest.mark.parametrize(("changes", "field"), [
    ({"hidden_size": 0}, "hidden_size"), ({"num_attention_heads": 10**30}, "num_attention_heads"),
    ({"num_key_value_heads": 4}, "heads"), ({"vocab_size": "many"}, "vocab"), ({"vocab_size": True}, "vocab"),
    ({"num_hidden_layers": 5_000_000}, "layers"), ({"head_dim": 7}, "rope_dim"), ({"hidden_act": "relu"}, "hidden_act"),
    ({"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, "rope_type"), ({"rms_norm_eps": "x"}, "rms_norm_eps")])
def test_sizes_that_cannot_work_are_named(folder: Path, changes: dict[str, Any], field: str) -> None:
    change_config(folder, **changes)
    assert refused(folder, SizesInvalid).problem.field == field


def change_weights(folder: Path, **changes: Tensor | None) -> None:
    weights = {**load_file(folder / "model.safetensors"), **changes}
    save_file({name: tensor for name, tensor in weights.items() if tensor is not None}, folder / "model.safetensors")


NORM, Q = "model.norm.weight", "model.layers.1.self_attn.q_proj.weight"


def test_tensors_that_do_not_fit_the_config_are_named(folder: Path) -> None:
    change_weights(folder, **{Q: None})
    assert refused(folder, TensorsMissing).names == [Q.removeprefix("model.")]
    change_weights(folder, **{Q: torch.zeros(30, 48)})
    error = refused(folder, TensorMisshapen)
    assert (error.found, error.needed) == ((30, 48), (48, 30))
    change_weights(folder, **{Q: torch.zeros(48, 30), "model.layers.1.self_attn.q_proj.bias": torch.zeros(48)})
    assert refused(folder, TensorsUnexpected).names == ["layers.1.self_attn.q_proj.bias"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(folder: Path, value: float) -> None:
    change_weights(folder, **{NORM: torch.full((30,), value)})
    assert refused(folder, TensorNotFinite).name == NORM


def test_integers_are_no_weights(folder: Path) -> None:
    change_weights(folder, **{NORM: torch.ones(30, dtype=torch.int8)})
    error = refused(folder, TensorTypeUnsupported)
    assert (error.name, error.kind) == (NORM, "I8")


def header(entries: Any, data: bytes = b"") -> bytes:
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + data


ENTRY = {"dtype": "F32", "shape": [30], "data_offsets": [0, 120]}


@pytest.mark.parametrize("content", [
    b"", b"\0" * 7, b"\0" * 8, struct.pack("<Q", 2**63) + b"{}", struct.pack("<Q", 2**26) + b"{}",
    struct.pack("<Q", 2) + b"[]", header({NORM: ENTRY}), header({NORM: ENTRY}, bytes(119)),
    header({NORM: ENTRY}, bytes(121)), header({NORM: {**ENTRY, "shape": [2**62, 2**62]}}, bytes(120)),
    header({NORM: {**ENTRY, "shape": [-1]}}, bytes(120)), header({NORM: {**ENTRY, "dtype": "PICKLE"}}, bytes(120)),
    header({NORM: {**ENTRY, "data_offsets": [2**63, 2**63 + 120]}}, bytes(120)),
    header({NORM: ENTRY, Q: {**ENTRY, "data_offsets": [60, 180]}}, bytes(180)),
    struct.pack("<Q", 200_000) + b"[" * 200_000, pickle.dumps({"a": 1}) * 10, b"PK\x03\x04" * 100,
])
def test_headers_that_lie_are_refused(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)
    assert "safetensors" in refused(folder, CheckpointInvalid).what


@settings(max_examples=60)
@given(data=st.data())
def test_damage_gives_an_answer_or_an_error_of_ours(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject,
) -> None:
    place = tmp_path_factory.getbasetemp() / "damaged"
    place.mkdir(exist_ok=True)
    for path in whole.iterdir():
        content = bytearray(path.read_bytes())
        if path.name == data.draw(st.sampled_from(["config.json", "model.safetensors"])):
            del content[data.draw(st.integers(0, len(content))) if data.draw(st.booleans()) else len(content):]
            for _ in range(data.draw(st.integers(0, 3))):
                if content:
                    at = data.draw(st.integers(0, min(len(content), 4_000) - 1))
                    content[at] = data.draw(st.integers(0, 255))
        (place / path.name).write_bytes(content)
    try:
        found = hf_folder.read(place)
        assert {name: array.shape for name, array in found.parameters()} == dict(found.shapes)
    except CheckpointInvalid:
        pass


def test_sizes_are_checked_before_memory_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk = (folder / "model.safetensors").stat().st_size
    monkeypatch.setattr(hf_folder, "safe_open", lambda *_, **__: pytest.fail("opened"))
    monkeypatch.setenv(checkpoint.LIMIT_VARIABLE, str((on_disk - 1) / 1e9))
    error = refused(folder, TooLarge)
    assert (error.size, error.limit, error.variable) == (on_disk, on_disk - 1, checkpoint.LIMIT_VARIABLE)


def test_half_precision_counts_with_what_it_takes_in_float32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "own", dtype=torch.float16)
    on_disk = (folder / "model.safetensors").stat().st_size
    monkeypatch.setenv(checkpoint.LIMIT_VARIABLE, str(on_disk / 1e9))
    assert refused(folder, TooLarge).size == pytest.approx(2 * on_disk, rel=0.1)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_json_file_has_a_limit_of_its_own(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, cache: Path,
) -> None:
    size = (folder / name).stat().st_size
    monkeypatch.setattr("core.live.json_file.MAX_BYTES", size - 1)
    with pytest.raises(TooLarge) as caught:
        live.load(folder)
    assert caught.value.limit == size - 1


@pytest.mark.parametrize("shards", [
    {}, [], None, {"a": "../other.safetensors"}, {"a": "/etc/passwd"}, {"a": "model.bin"}, {"a": 7},
    {"a": "a\\b.safetensors"}, {str(n): f"{n}.safetensors" for n in range(1_001)},
])
def test_an_index_that_names_something_else_is_refused(folder: Path, shards: object) -> None:
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    assert refused(folder, CheckpointInvalid).path.name == "model.safetensors.index.json"


def test_a_shard_that_is_missing_or_doubled_is_named(folder: Path) -> None:
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").unlink()
    (folder / "a.safetensors").write_bytes(weights)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {NORM: "a.safetensors", Q: "b.safetensors"}}))
    assert refused(folder, FilesMissing).names == ["b.safetensors"]
    (folder / "b.safetensors").write_bytes(weights)
    assert "twice" in refused(folder, CheckpointInvalid).what


def test_an_interrupted_start_leaves_no_half_file(folder: Path, cache: Path) -> None:
    change_weights(folder, **{NORM: torch.full((30,), float("nan"))})
    with pytest.raises(TensorNotFinite):
        live.load(folder)
    assert not list(weights_cache.folder().glob("*.safetensors*"))
