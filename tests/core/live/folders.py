"""Tiny checkpoints in Hugging Face format, written by `transformers` and `tokenizers` themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Engine
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

VOCAB = 340
CONTROLS = ["<|im_start|>", "<|im_end|>", "<s>", "</s>"]
CORPUS = ["The cat sat on the mat and the cat said 12 things. 我喜欢学习 Café naïve"] * 3
LLAMA3_WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                r"|\s*[\r\n]+|\s+(?!\S)|\s+")

SIZES: dict[str, Any] = {
    "vocab_size": VOCAB, "hidden_size": 30, "intermediate_size": 22, "num_hidden_layers": 3, "num_attention_heads": 6,
    "num_key_value_heads": 2, "max_position_embeddings": 48, "rms_norm_eps": 1e-3}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 40}
MODELS: dict[str, tuple[type, type, dict[str, Any]]] = {
    "llama": (LlamaForCausalLM, LlamaConfig, {**SIZES, "head_dim": 8}),
    "llama tied and biased": (LlamaForCausalLM, LlamaConfig, {
        **SIZES, "head_dim": 8, "attention_bias": True, "tie_word_embeddings": True}),
    "llama3 rope": (LlamaForCausalLM, LlamaConfig, {**SIZES, "head_dim": 8, "rope_parameters": LLAMA3}),
    "linear rope": (LlamaForCausalLM, LlamaConfig, {
        **SIZES, "head_dim": 4, "rope_parameters": {"rope_type": "linear", "rope_theta": 50.0, "factor": 2.5}}),
    "mistral with a window": (MistralForCausalLM, MistralConfig, {**SIZES, "head_dim": 8, "sliding_window": 3}),
    "mistral without": (MistralForCausalLM, MistralConfig, {**SIZES, "head_dim": 12, "sliding_window": None}),
    "qwen2 tied": (Qwen2ForCausalLM, Qwen2Config, {**SIZES, "hidden_size": 48, "tie_word_embeddings": True}),
    "qwen2 with a window": (Qwen2ForCausalLM, Qwen2Config, {
        **SIZES, "hidden_size": 48, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config, {**SIZES, "head_dim": 8}),
    "qwen3 tied": (Qwen3ForCausalLM, Qwen3Config, {**SIZES, "head_dim": 16, "tie_word_embeddings": True}),
    "gpt2": (GPT2LMHeadModel, GPT2Config, {
        "vocab_size": VOCAB, "n_positions": 48, "n_embd": 30, "n_layer": 3, "n_head": 5, "n_inner": 22}),
    "gpt2 untied": (GPT2LMHeadModel, GPT2Config, {
        "vocab_size": VOCAB, "n_positions": 48, "n_embd": 30, "n_layer": 2, "n_head": 3,
        "activation_function": "gelu", "tie_word_embeddings": False}),
}


def write(folder: Path, kind: str = "llama", *, dtype: torch.dtype = torch.float32, shard: str = "5GB",
          engine: Engine | None = None) -> Path:
    """A checkpoint of random weights, large enough that every parameter shows in the logits."""
    model_class, config_class, settings = MODELS[kind]
    model = model_class(config_class(**settings))
    generator = torch.Generator().manual_seed(7)
    for name, parameter in model.named_parameters():
        gain = name.endswith("weight") and parameter.ndim == 1
        parameter.data.normal_(1.0 if gain else 0.0, 0.3 if parameter.ndim == 1 else 0.25, generator=generator)
    model.to(dtype).save_pretrained(folder, max_shard_size=shard)
    (engine or byte_level()).save(str(folder / "tokenizer.json"))
    return folder


def byte_level(*, words: str | None = None, nfc: bool = False) -> Engine:
    """GPT-2's kind; with `words` cut by an expression, as Llama 3 and Qwen do, and accents composed, as Qwen does."""
    engine = Engine(models.BPE(ignore_merges=words is not None))
    if nfc:
        engine.normalizer = normalizers.NFC()
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words is None)
    split = [] if words is None else [pre_tokenizers.Split(Regex(words), "isolated")]
    engine.pre_tokenizer = pre_tokenizers.Sequence([*split, cut])
    engine.decoder = decoders.ByteLevel()
    engine.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=VOCAB - 20, special_tokens=CONTROLS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    return engine


def sentencepiece(*, metaspace: bool = False) -> Engine:
    """Llama 2's kind: ▁ for spaces, <0x0A> for bytes without a token; older files prepend by a normaliser."""
    engine = Engine(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    if metaspace:
        engine.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    else:
        engine.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    engine.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    engine.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=60, special_tokens=["<unk>", *CONTROLS], initial_alphabet=["▁"], show_progress=False))
    plain = engine.get_vocab(with_added_tokens=False)
    vocabulary = {**plain, **{token: len(plain) + i for i, token in enumerate(byte_tokens)}}
    raw = json.loads(engine.to_str())
    raw["model"]["vocab"] = vocabulary
    return Engine.from_str(json.dumps(raw))
