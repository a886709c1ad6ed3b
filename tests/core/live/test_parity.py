"""SmolLM2 against Transformers' Llama, with the weights read from the same GGUF file by another path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gguf
import pytest
import torch
from gguf.quants import dequantize
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from core.live import Live, registry

SENTENCES = ["The cat chased the ball because it was fast.", "我喜欢学习"]

# The stream of the first token carries single entries above 20,000, where neighbouring float32 numbers are 0.002
# apart, and keeps their rounding when they cancel; hence, besides 1e-4, 1e-5 of a token's largest entry so far.
WITHIN, OF_LARGEST = 1e-4, 1e-5

NAMES = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}


@pytest.fixture(scope="module", autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def reference() -> LlamaForCausalLM:
    """Transformers' model, eager attention, float32. Its rotary order is half, so q and k rows are permuted back."""
    reader = gguf.GGUFReader(registry.locate("smollm2-135m"))
    stored = {t.name: torch.from_numpy(dequantize(t.data, t.tensor_type).copy()) for t in reader.tensors}
    state = {"model.embed_tokens.weight": stored["token_embd.weight"], "lm_head.weight": stored["token_embd.weight"],
             "model.norm.weight": stored["output_norm.weight"]}
    for layer in range(30):
        for theirs, name in NAMES.items():
            weight = stored[f"blk.{layer}.{theirs}.weight"]
            if theirs in ("attn_q", "attn_k"):
                weight = weight.reshape(-1, 32, 2, 576).transpose(1, 2).reshape(weight.shape)
            state[f"model.layers.{layer}.{name}.weight"] = weight
    config = LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0}, attn_implementation="eager",
    )
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model.load_state_dict(state, assign=True)
    model.model.rotary_emb = type(model.model.rotary_emb)(config)  # its frequencies were left on "meta"
    return model.eval()


@pytest.fixture(scope="module", params=SENTENCES)
def pair(request: pytest.FixtureRequest, smollm: Live, reference: LlamaForCausalLM) -> tuple[Live, str, Any]:
    ids = torch.tensor([smollm.encode(request.param).ids])
    with torch.no_grad():
        theirs = reference(ids, output_attentions=True, output_hidden_states=True)
    return smollm, request.param, theirs


def assert_close(ours: Tensor, theirs: Tensor, what: str) -> None:
    torch.testing.assert_close(ours, theirs, atol=WITHIN, rtol=0.0, msg=lambda text: f"{what}: {text}")


def test_logits(pair: tuple[Live, str, Any]) -> None:
    model, text, theirs = pair
    ids = torch.tensor([model.encode(text).ids])
    assert_close(model.decoder(ids), theirs.logits, "fused")
    assert_close(model.trace(text)["logits"], theirs.logits, "traced")


def test_every_attention_map(pair: tuple[Live, str, Any]) -> None:
    model, text, theirs = pair
    trace = model.trace(text)
    assert len(theirs.attentions) == model.config.layers
    for layer, weights in enumerate(theirs.attentions):
        assert_close(trace[f"blocks.{layer}.weights"], weights, f"layer {layer}")


def test_every_hidden_state(pair: tuple[Live, str, Any]) -> None:
    """Transformers lists the input of every block, and last the stream after the final norm (not before it)."""
    model, text, theirs = pair
    trace = model.trace(text)
    *stream, final = theirs.hidden_states
    assert len(stream) == model.config.layers
    largest = torch.zeros(stream[0].shape[:2])  # (B, T)
    for layer, hidden in enumerate(stream):
        largest = torch.maximum(largest, hidden.abs().amax(dim=-1))
        difference = (trace[f"blocks.{layer}.in"] - hidden).abs().amax(dim=-1)
        assert (difference <= WITHIN + OF_LARGEST * largest).all(), f"layer {layer}: {difference}"
    assert_close(trace["final_norm"], final, "after the final norm")


def test_written_out_steps_equal_the_fused_kernel_in_every_layer(pair: tuple[Live, str, Any]) -> None:
    model, text, _ = pair
    trace = model.trace(text)
    for layer in range(model.config.layers):
        check = trace.check(layer)
        assert check is not None
        assert check.kind == "stream"
        largest = max(float(x.abs().max()) for x in trace.stream[: layer + 2])
        assert check.difference <= WITHIN + OF_LARGEST * largest
