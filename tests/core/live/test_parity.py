"""SmolLM2 against Transformers' Llama, with the weights read from the same GGUF file by another path.

Logits, attention maps and the stream are compared in float64, where only the formulas differ, and the angles of RoPE,
which Transformers always computes in float32: in float32 two right programs are apart by what thirty layers make of
rounding, which depends on the processor. What the app computes, in float32, is held to its own float64 within what
float32 can hold of the largest number on the way.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import gguf
import pytest
import torch
from gguf.quants import dequantize
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from core.check import largest_difference
from core.live import Live, registry
from core.trace import Trace

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
def text(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


class Exact(NamedTuple):
    """Ours as a trace with its logits, and what Transformers returns, in float64."""

    trace: Trace
    logits: Tensor
    theirs: Any


@pytest.fixture(scope="module")
def exact(text: str, smollm: Live, reference: LlamaForCausalLM) -> Exact:
    ids = torch.tensor([smollm.encode(text).ids])
    trace = Trace()
    with torch.no_grad():
        logits = copy.deepcopy(smollm.decoder).double()(ids, trace=trace)
        theirs = copy.deepcopy(reference).double()(ids, output_attentions=True, output_hidden_states=True)
    assert logits.dtype == theirs.logits.dtype == torch.float64
    return Exact(trace, logits, theirs)


def assert_close(ours: Tensor, theirs: Tensor, what: str) -> None:
    torch.testing.assert_close(ours, theirs, atol=WITHIN, rtol=0.0, msg=lambda text: f"{what}: {text}")


def test_logits(exact: Exact) -> None:
    assert_close(exact.logits, exact.theirs.logits, "fused")
    assert_close(exact.trace["logits"], exact.theirs.logits, "traced")


def test_every_attention_map(exact: Exact) -> None:
    assert len(exact.theirs.attentions) == exact.trace.config.layers
    for layer, weights in enumerate(exact.theirs.attentions):
        assert_close(exact.trace[f"blocks.{layer}.weights"], weights, f"layer {layer}")


def test_every_hidden_state(exact: Exact) -> None:
    """Transformers lists the input of every block, and last the stream after the final norm (not before it)."""
    *stream, final = exact.theirs.hidden_states
    assert len(stream) == exact.trace.config.layers
    largest = torch.zeros(stream[0].shape[:2], dtype=torch.float64)  # (B, T)
    for layer, hidden in enumerate(stream):
        largest = torch.maximum(largest, hidden.abs().amax(dim=-1))
        difference = (exact.trace[f"blocks.{layer}.in"] - hidden).abs().amax(dim=-1)
        assert (difference <= WITHIN + OF_LARGEST * largest).all(), f"layer {layer}: {difference}"
    assert_close(exact.trace["final_norm"], final, "after the final norm")


def test_what_the_app_computes_is_that_within_float32(text: str, smollm: Live, exact: Exact) -> None:
    """Every block's input, the attention maps and the logits, fused and traced."""
    trace = smollm.trace(text)
    largest = max(float(exact.trace[f"blocks.{layer}.in"].abs().max()) for layer in range(trace.config.layers))
    for name in [f"blocks.{layer}.{short}" for layer in range(trace.config.layers) for short in ("in", "weights")]:
        difference = largest_difference(trace[name].double(), exact.trace[name])
        assert difference <= WITHIN + OF_LARGEST * largest, name
    logits = smollm.decoder(torch.tensor([smollm.encode(text).ids]))
    for found in (logits, trace["logits"]):
        assert largest_difference(found.double(), exact.logits) <= WITHIN + OF_LARGEST * float(exact.logits.abs().max())


def test_written_out_steps_equal_the_fused_kernel_in_every_layer(text: str, smollm: Live) -> None:
    model = smollm
    trace = model.trace(text)
    for layer in range(model.config.layers):
        check = trace.check(layer)
        assert check is not None
        assert check.kind == "stream"
        largest = max(float(x.abs().max()) for x in trace.stream[: layer + 2])
        assert check.difference <= WITHIN + OF_LARGEST * largest
