"""Our decoder beside `transformers` on tiny random models: logits, attentions and hidden states within 1e-4.

The weights go from their module into ours; the configuration is what `ModelConfig.from_hf` makes of theirs. Nothing is
fetched. `hidden_states[-1]` is normalised already, which the comparison takes into account.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from core.config import ModelConfig
from core.model import Decoder
from core.trace import Trace

TOLERANCE = 1e-4
SIZES: dict[str, Any] = {
    "vocab_size": 31, "hidden_size": 30, "intermediate_size": 22, "num_hidden_layers": 3, "num_attention_heads": 6,
    "num_key_value_heads": 2, "max_position_embeddings": 16, "rms_norm_eps": 1e-3, "attn_implementation": "eager"}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 40}
MODELS: dict[str, tuple[type, type, dict[str, Any]]] = {
    "llama": (LlamaForCausalLM, LlamaConfig, {**SIZES, "head_dim": 8}),
    "llama biased and tied": (LlamaForCausalLM, LlamaConfig, {
        **SIZES, "head_dim": 8, "attention_bias": True, "tie_word_embeddings": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}),
    "llama3 rope": (LlamaForCausalLM, LlamaConfig, {**SIZES, "head_dim": 8, "rope_parameters": LLAMA3}),
    "linear rope": (LlamaForCausalLM, LlamaConfig, {
        **SIZES, "head_dim": 4, "rope_parameters": {"rope_type": "linear", "rope_theta": 50.0, "factor": 2.5}}),
    "dynamic rope": (LlamaForCausalLM, LlamaConfig, {
        **SIZES, "head_dim": 8, "rope_parameters": {"rope_type": "dynamic", "rope_theta": 50.0, "factor": 2.5}}),
    "mistral with a window": (MistralForCausalLM, MistralConfig, {**SIZES, "head_dim": 8, "sliding_window": 3}),
    "mistral without": (MistralForCausalLM, MistralConfig, {**SIZES, "head_dim": 12, "sliding_window": None}),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, {**SIZES, "hidden_size": 48, "tie_word_embeddings": True}),
    "qwen2 with a window": (Qwen2ForCausalLM, Qwen2Config, {
        **SIZES, "hidden_size": 48, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config, {**SIZES, "head_dim": 8}),
    "gpt2": (GPT2LMHeadModel, GPT2Config, {
        "vocab_size": 31, "n_positions": 16, "n_embd": 30, "n_layer": 3, "n_head": 5, "n_inner": 22,
        "layer_norm_epsilon": 1e-3, "attn_implementation": "eager"}),
    "gpt2 with the erf": (GPT2LMHeadModel, GPT2Config, {
        "vocab_size": 31, "n_positions": 16, "n_embd": 30, "n_layer": 2, "n_head": 3, "activation_function": "gelu",
        "attn_implementation": "eager"}),
}
LAYER = {  # theirs -> ours; linear layers are transposed, GPT-2's Conv1D is not
    "input_layernorm.weight": "gamma1", "post_attention_layernorm.weight": "gamma2",
    "self_attn.q_norm.weight": "q_gamma", "self_attn.k_norm.weight": "k_gamma",
    "mlp.gate_proj.weight": "w_gate", "mlp.up_proj.weight": "w_up", "mlp.down_proj.weight": "w_down",
    **{f"self_attn.{x}_proj.{kind}": short + x for x in "qkvo" for kind, short in (("weight", "w"), ("bias", "b"))},
    "ln_1.weight": "gamma1", "ln_1.bias": "beta1", "ln_2.weight": "gamma2", "ln_2.bias": "beta2",
    "attn.c_proj.weight": "wo", "attn.c_proj.bias": "bo", "mlp.c_fc.weight": "w1", "mlp.c_fc.bias": "b1",
    "mlp.c_proj.weight": "w2", "mlp.c_proj.bias": "b2"}
OUTER = {"model.embed_tokens.weight": "embedding", "model.norm.weight": "final_gamma",
         "transformer.wte.weight": "embedding", "transformer.wpe.weight": "position_table",
         "transformer.ln_f.weight": "final_gamma", "transformer.ln_f.bias": "final_beta"}


def ours_from(theirs: nn.Module) -> dict[str, Tensor]:
    """Their parameters under our names, matrices as (in, out)."""
    gpt2 = isinstance(theirs, GPT2LMHeadModel)
    state: dict[str, Tensor] = {}
    for name, tensor in theirs.state_dict().items():
        if name in OUTER:
            state[OUTER[name]] = tensor
        elif name == "lm_head.weight":
            if not theirs.config.tie_word_embeddings:
                state["w_vocab"] = tensor.T
        else:
            layer, inner = name.split(".", 3)[2:]
            if inner in ("attn.c_attn.weight", "attn.c_attn.bias"):
                for letter, part in zip("qkv", tensor.chunk(3, dim=-1), strict=True):
                    state[f"blocks.{layer}.{inner.split('.')[-1][0]}{letter}"] = part
            else:
                state[f"blocks.{layer}.{LAYER[inner]}"] = tensor if gpt2 or tensor.ndim == 1 else tensor.T
    return state


def pair(kind: str) -> tuple[Any, Decoder]:
    """Their model with every parameter random, and ours with the same ones."""
    model_class, config_class, settings = MODELS[kind]
    theirs = model_class(config_class(**settings)).eval()
    generator = torch.Generator().manual_seed(7)
    for name, parameter in theirs.named_parameters():
        gain = name.endswith("weight") and parameter.ndim == 1
        parameter.data.normal_(1.0 if gain else 0.0, 0.3 if parameter.ndim == 1 else 0.25, generator=generator)
    ours = Decoder(ModelConfig.from_hf(theirs.config.to_dict()))
    ours.load_state_dict(ours_from(theirs))
    return theirs, ours


def compare(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=TOLERANCE, rtol=TOLERANCE)


@pytest.mark.parametrize("kind", MODELS)
def test_logits_attentions_and_hidden_states(kind: str) -> None:
    theirs, ours = pair(kind)
    ids = torch.randint(31, (2, 11), generator=torch.Generator().manual_seed(3))
    trace = Trace()
    logits = ours(ids, trace=trace)
    with torch.no_grad():
        out = theirs(ids, output_attentions=True, output_hidden_states=True, use_cache=False)
    layers = ours.config.layers
    assert len(out.attentions) == layers
    assert len(out.hidden_states) == layers + 1
    for layer in range(layers):
        compare(trace[f"blocks.{layer}.in"], out.hidden_states[layer])
        compare(trace[f"blocks.{layer}.weights"], out.attentions[layer])
    compare(trace["final_norm"], out.hidden_states[layers])
    compare(logits, out.logits)
    compare(trace["logits"], out.logits)
    assert out.logits.std() > 0.1, "numbers too small to tell anything"


@pytest.mark.parametrize(("kind", "field", "value"), [
    ("mistral with a window", "sliding_window", 3), ("mistral without", "sliding_window", None),
    ("qwen2 with a window", "sliding_window", 4), ("qwen2", "qkv_bias", True), ("qwen3", "qk_norm", True),
    ("llama biased and tied", "out_bias", True), ("llama biased and tied", "rope_base", 500.0),
    ("linear rope", "rope_scaling", {"rope_type": "linear", "factor": 2.5}),
    ("llama3 rope", "rope_scaling", {k: v for k, v in LLAMA3.items() if k != "rope_theta"}),
    ("gpt2", "ffn", "gelu_tanh"), ("gpt2 with the erf", "ffn", "gelu"), ("gpt2", "ffn_width", 22)])
def test_what_a_model_is_compared_for_is_really_on(kind: str, field: str, value: object) -> None:
    _, config_class, settings = MODELS[kind]
    assert getattr(ModelConfig.from_hf(config_class(**settings).to_dict()), field) == value


@pytest.mark.parametrize("kind", ["llama", "mistral with a window", "qwen3", "gpt2"])
def test_a_padded_batch(kind: str) -> None:
    """Their positions are passed in: a plain forward of theirs counts padding too."""
    theirs, ours = pair(kind)
    ids = torch.randint(31, (2, 9), generator=torch.Generator().manual_seed(4))
    allowed = torch.ones(2, 9, dtype=torch.bool)
    allowed[0, :4] = False
    positions = (allowed.long().cumsum(1) - 1).clamp_min(0)
    with torch.no_grad():
        out = theirs(ids, attention_mask=allowed.long(), position_ids=positions, use_cache=False)
    compare(ours(ids, allowed=allowed)[allowed], out.logits[allowed])
