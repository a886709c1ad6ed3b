"""The decoder once more, in float64 NumPy from the formulas of the papers, with nothing of `core` in it.

Every quantity is worked out for one token, one head or one pair at a time, and RoPE as a complex rotation, so that a
fault of layout in `core` cannot be repeated here. `decode` only reads sizes and choices off the configuration that it
is given, and takes the parameters as arrays under their names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray


def softmax(row: Array) -> Array:
    """One row of scores to weights that sum to 1; a row of −∞ only gives zeros."""
    if np.all(np.isneginf(row)):
        return np.zeros(len(row))
    powers = np.exp(row - row.max())
    return powers / powers.sum()


def erf_gelu(x: float) -> float:
    return x * 0.5 * math.erfc(-x / math.sqrt(2))


def tanh_gelu(x: float) -> float:
    return x * 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def silu(x: float) -> float:
    return x * 0.5 * (1 + math.tanh(x / 2))


ACTIVATIONS = {"relu": lambda x: x if x > 0 else 0.0, "gelu": erf_gelu, "gelu_tanh": tanh_gelu, "silu": silu}


def activate(kind: str, x: Array) -> Array:
    return np.vectorize(ACTIVATIONS[kind], otypes=[float])(x)


def layer_norm(row: Array, gamma: Array, beta: Array, eps: float) -> Array:
    return (row - row.mean()) / np.sqrt(row.var() + eps) * gamma + beta


def rms_norm(row: Array, gamma: Array, eps: float) -> Array:
    return row / np.sqrt(np.dot(row, row) / len(row) + eps) * gamma


def thetas(width: int, base: float, scaling: Mapping[str, Any] | None = None) -> list[float]:
    """Radians per position of each pair; "linear" and "llama3" scaling as their authors publish them."""
    plain = [base ** (-2 * i / width) for i in range(width // 2)]
    if scaling is None or scaling["rope_type"] == "default":
        return plain
    if scaling["rope_type"] == "linear":
        return [theta / scaling["factor"] for theta in plain]
    assert scaling["rope_type"] == "llama3"
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    old, result = scaling["original_max_position_embeddings"], []
    for theta in plain:
        wavelength = 2 * math.pi / theta
        if wavelength < old / high:
            result.append(theta)
        elif wavelength > old / low:
            result.append(theta / scaling["factor"])
        else:
            smooth = (old / wavelength - low) / (high - low)
            result.append((1 - smooth) * theta / scaling["factor"] + smooth * theta)
    return result


def rotate(vector: Array, position: int, theta: list[float], pairing: str) -> Array:
    """Each pair as a complex number, multiplied by e^(i·position·θ); what lies beyond the pairs stays."""
    turned = np.array(vector, dtype=np.float64)
    for i, angle in enumerate(theta):
        first, second = (2 * i, 2 * i + 1) if pairing == "adjacent" else (i, i + len(theta))
        number = complex(vector[first], vector[second]) * np.exp(1j * position * angle)
        turned[first], turned[second] = number.real, number.imag
    return turned


def sinusoidal(position: int, width: int) -> Array:
    angles = [position / 10000 ** (2 * (column // 2) / width) for column in range(width)]
    return np.array([math.cos(a) if column % 2 else math.sin(a) for column, a in enumerate(angles)])


def per_token(function: Any, x: Array) -> Array:
    """A function of one vector, applied to each vector of x (…, n)."""
    return np.apply_along_axis(function, -1, x)


def attention(q: Array, k: Array, v: Array, visible: Array) -> dict[str, Array]:
    """q (B, H, Tq, Dh), k v (B, Hkv, Tk, ·), visible (B, Tq, Tk) bool -> the five steps, score by score."""
    batch, heads, queries, width = q.shape
    kv_heads, keys = k.shape[1], k.shape[2]
    scores = np.zeros((batch, heads, queries, keys))
    weights, context = np.zeros_like(scores), np.zeros((batch, heads, queries, v.shape[-1]))
    masked = np.full_like(scores, -np.inf)
    for b, h, i in np.ndindex(batch, heads, queries):
        shared = h // (heads // kv_heads)
        for j in range(keys):
            scores[b, h, i, j] = np.dot(q[b, h, i], k[b, shared, j])
            if visible[b, i, j]:
                masked[b, h, i, j] = scores[b, h, i, j] / math.sqrt(width)
        weights[b, h, i] = softmax(masked[b, h, i])
        context[b, h, i] = sum(weights[b, h, i, j] * v[b, shared, j] for j in range(keys))
    return {"scores": scores, "scaled": scores / math.sqrt(width), "masked": masked, "weights": weights,
            "context": context}


def heads_of(x: Array, heads: int) -> Array:
    """(B, T, heads·Dh) -> (B, heads, T, Dh), slice by slice."""
    width = x.shape[-1] // heads
    return np.stack([x[:, :, h * width:(h + 1) * width] for h in range(heads)], axis=1)


def visibility(config: Any, real: Array, causal: bool = True) -> Array:
    """real (B, T) bool -> (B, T, T): key j is visible to query i when real, not later, and inside the window."""
    batch, length = real.shape
    window = config.sliding_window or length
    return np.array([[[bool(real[b, j]) and (not causal or i - window < j <= i) for j in range(length)]
                      for i in range(length)] for b in range(batch)])


def decode(config: Any, parameters: Mapping[str, Array], ids: Array, *, real: Array | None = None,
           causal: bool = True) -> dict[str, Array]:
    """Every named tensor of a forward pass in float64. ids (B, T); `real` (B, T) is False on padding."""
    p = {name: np.asarray(value, dtype=np.float64) for name, value in parameters.items()}
    real = np.ones(ids.shape, dtype=bool) if real is None else real
    positions = np.array([[max(int(row[:t + 1].sum()) - 1, 0) for t in range(ids.shape[1])] for row in real])
    made: dict[str, Array] = {"embed": np.array([[p["embedding"][token] for token in row] for row in ids])}
    x = made["embed"]
    if config.positions in ("learned", "sinusoidal"):
        row_of = (lambda n: p["position_table"][n]) if config.positions == "learned" else (
            lambda n: sinusoidal(n, config.width))
        made["pos_embed"] = np.array([[row_of(n) for n in row] for row in positions])
        x = x + made["pos_embed"]
    visible = visibility(config, real, causal)
    for layer in range(config.layers):
        name = f"blocks.{layer}."
        own = {key[len(name):]: value for key, value in p.items() if key.startswith(name)}
        block = decode_block(config, own, x, positions, visible)
        made |= {name + key: value for key, value in block.items()}
        x = block["out"]
    if "final_gamma" in p:
        x = made["final_norm"] = normalise(config, x, p["final_gamma"], p.get("final_beta"))
    made["logits"] = x @ (p["embedding"].T if config.tied_head else p["w_vocab"])
    return made


def normalise(config: Any, x: Array, gamma: Array, beta: Array | None) -> Array:
    if config.norm == "layer":
        return per_token(lambda row: layer_norm(row, gamma, beta, config.norm_eps), x)
    return per_token(lambda row: rms_norm(row, gamma, config.norm_eps), x)


def decode_block(config: Any, p: Mapping[str, Array], x: Array, positions: Array, visible: Array) -> dict[str, Array]:
    """One block: x (B, T, D) -> its named tensors, keyed by short names."""
    made = {"in": x}
    pre, post = (config.norm != "none" and config.norm_place == place for place in ("pre", "post"))
    if pre:
        x = made["norm1"] = normalise(config, x, p["gamma1"], p.get("beta1"))
    for letter, heads in (("q", config.heads), ("k", config.kv_heads), ("v", config.kv_heads)):
        made[letter + "_proj"] = x @ p["w" + letter] + p.get("b" + letter, 0.0)
        made[letter] = heads_of(made[letter + "_proj"], heads)
    q, k = made["q"], made["k"]
    if config.qk_norm:
        q = made["q_norm"] = per_token(lambda row: rms_norm(row, p["q_gamma"], config.norm_eps), q)
        k = made["k_norm"] = per_token(lambda row: rms_norm(row, p["k_gamma"], config.norm_eps), k)
    if config.positions == "rope":
        theta = thetas(config.rope_dim or config.head_dim, config.rope_base, config.rope_scaling)
        q = made["q_rot"] = rotate_all(q, positions, theta, config.rope_pairing)
        k = made["k_rot"] = rotate_all(k, positions, theta, config.rope_pairing)
    made |= attention(q, k, made["v"], visible)
    made["concat"] = np.concatenate([made["context"][:, h] for h in range(config.heads)], axis=-1)
    made["attn_out"] = made["concat"] @ p["wo"] + p.get("bo", 0.0)
    made["resid_mid"] = middle = made["in"] + made["attn_out"]
    if post:
        middle = made["norm1"] = normalise(config, middle, p["gamma1"], p.get("beta1"))
    if config.ffn == "none":
        return {**made, "out": middle}
    if pre:
        made["norm2"] = normalise(config, middle, p["gamma2"], p.get("beta2"))
    made |= feed_forward(config, p, made["norm2"] if pre else middle)
    total = middle + made["ffn_out"]
    if post:
        return {**made, "resid_out": total, "out": normalise(config, total, p["gamma2"], p.get("beta2"))}
    return {**made, "out": total}


def rotate_all(x: Array, positions: Array, theta: list[float], pairing: str) -> Array:
    turned = np.zeros_like(x)
    for b, h, t in np.ndindex(x.shape[:3]):
        turned[b, h, t] = rotate(x[b, h, t], positions[b, t], theta, pairing)
    return turned


def feed_forward(config: Any, p: Mapping[str, Array], x: Array) -> dict[str, Array]:
    if config.ffn == "swiglu":
        gate, up = x @ p["w_gate"], x @ p["w_up"]
        activated = activate("silu", gate)
        hidden = activated * up
        return {"gate": gate, "activated": activated, "up": up, "hidden": hidden, "ffn_out": hidden @ p["w_down"]}
    up = x @ p["w1"] + p.get("b1", 0.0)
    hidden = activate(config.ffn, up)
    return {"up": up, "hidden": hidden, "ffn_out": hidden @ p["w2"] + p.get("b2", 0.0)}
