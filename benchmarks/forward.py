"""One forward pass, measured: `python -m benchmarks.forward ours|sdpa|eager LENGTH` prints [seconds, extra bytes]."""

from __future__ import annotations

import ctypes
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from core import live
from core.model import Decoder
from core.rope import half_from_adjacent
from core.trace import Trace

PASSES = 7


def transformers_model(decoder: Decoder, attention: str) -> LlamaForCausalLM:
    """The same weights in `transformers`: matrices turned, q and k rows from adjacent to half order."""
    config = decoder.config
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=config.vocab, hidden_size=config.width, intermediate_size=config.ffn_width,
        num_hidden_layers=config.layers, num_attention_heads=config.heads, num_key_value_heads=config.kv_heads,
        head_dim=config.head_dim, rms_norm_eps=config.norm_eps, rope_theta=config.rope_base,
        max_position_embeddings=config.max_positions, tie_word_embeddings=True, attn_implementation=attention))
    state = {"model.embed_tokens.weight": decoder.get_parameter("embedding"),
             "model.norm.weight": decoder.get_parameter("final_gamma"),
             "lm_head.weight": decoder.get_parameter("embedding")}
    names = {"self_attn.v_proj": "wv", "self_attn.o_proj": "wo", "mlp.gate_proj": "w_gate", "mlp.up_proj": "w_up",
             "mlp.down_proj": "w_down"}
    order = torch.tensor(half_from_adjacent(config.head_dim))
    for layer in range(config.layers):
        ours, theirs = f"blocks.{layer}.", f"model.layers.{layer}."
        for name, short in names.items():
            state[f"{theirs}{name}.weight"] = decoder.get_parameter(ours + short).T.contiguous()
        for name, heads in (("q", config.heads), ("k", config.kv_heads)):
            rows = decoder.get_parameter(f"{ours}w{name}").T.reshape(heads, config.head_dim, config.width)
            state[f"{theirs}self_attn.{name}_proj.weight"] = rows[:, order].reshape(-1, config.width).contiguous()
        state[f"{theirs}input_layernorm.weight"] = decoder.get_parameter(f"{ours}gamma1")
        state[f"{theirs}post_attention_layernorm.weight"] = decoder.get_parameter(f"{ours}gamma2")
    model.load_state_dict(state)
    return model.eval()


def passes(kind: str, decoder: Decoder, ids: torch.Tensor) -> Callable[[], object]:
    """A function that runs one pass and returns what it keeps."""
    if kind == "ours":
        def traced() -> tuple[torch.Tensor, Trace]:
            trace = Trace(source="benchmark")
            return decoder(ids, trace=trace), trace
        return traced
    model = transformers_model(decoder, kind)
    keep = kind == "eager"
    return lambda: model(ids, output_attentions=keep, output_hidden_states=keep, use_cache=False)


def peak() -> int:
    """The most bytes that this process has held since the mark was last set back."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def main(kind: str, length: int) -> None:
    """Measure and print."""
    decoder = live.load().decoder
    ids = torch.randint(decoder.config.vocab, (1, length), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        run = passes(kind, decoder, ids)
        for parameter in decoder.parameters():
            parameter.sum()  # mapped weights come into memory now, and do not count as the pass's
        gc.collect()
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # give back what building the models freed
        Path("/proc/self/clear_refs").write_text("5")
        before = peak()
        kept = run()  # the first pass: later ones reuse what it freed
        extra = peak() - before
        del kept
        times = []
        for _ in range(PASSES):
            began = time.perf_counter()
            run()
            times.append(time.perf_counter() - began)
    print(json.dumps([statistics.median(times), extra]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
