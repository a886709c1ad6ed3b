"""What a workload costs, set side by side: part by part, prefill beside decode, and against other ways of doing it.

A workload is a model, how many texts of how many tokens, and the types in which weights and cache are stored. Its
prefill reads the T tokens of each text at once and computes the head for the last of them only, as generation does; its
decode step reads one token more on top of T cached ones.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from core import cost
from core.config import PRESETS, ModelConfig
from core.cost import CACHED, STORED, Roofline
from core.errors import UnknownOption
from core.machine.datasheet import Device

Pass = Literal["prefill", "decode"]
PASSES: tuple[Pass, Pass] = ("prefill", "decode")
BATCHES = tuple(2**power for power in range(11))
LENGTHS = tuple(2**power for power in range(7, 20, 2))
SHARING = ("own", "mha", "gqa", "mqa")
BATCHED = 32  # texts, where batching is compared with one text alone
FEWEST_BITS = "int4"

# Line of the ledger → its parts of the parameters, of the arithmetic and of the bytes moved.
_LINES: dict[str, tuple[str | None, tuple[str, ...], tuple[str, ...]]] = {
    "embedding": ("embedding", (), ("embedding",)),
    "positions": ("positions", (), ("positions",)),
    "projections": ("attention", ("qkv", "out"), ("attention",)),
    "pairs": (None, ("scores", "mix"), ("cache_read",)),
    "kept": (None, (), ("cache_written",)),
    "ffn": ("ffn", ("ffn",), ("ffn",)),
    "norms": ("norms", (), ("norms",)),
    "head": ("head", ("head",), ("head",)),
}
PRODUCTS = tuple(name for name, (_, products, _moved) in _LINES.items() if products)


class Workload(NamedTuple):
    """`weights` is a type of `core.cost.STORED`, `cache` one of `core.cost.CACHED`."""

    config: ModelConfig
    batch: int
    tokens: int
    weights: str = "float16"
    cache: str = "float16"


class Line(NamedTuple):
    """One part: its parameters, and FLOPs and bytes of a prefill and of a decode step."""

    part: str
    parameters: int
    prefill_flops: int
    prefill_bytes: int
    decode_flops: int
    decode_bytes: int


def flops(load: Workload, kind: Pass) -> dict[str, int]:
    """`core.cost.flops` of a pass of the workload."""
    new, past = _tokens(load, kind)
    return cost.flops(load.config, load.batch, new, past, head_tokens=1)


def traffic(load: Workload, kind: Pass) -> dict[str, int]:
    """`core.cost.traffic` of a pass of the workload. Raises UnknownOption for a type that is not known."""
    for name, found, known in (("weights", load.weights, STORED), ("cache", load.cache, CACHED)):
        if found not in known:
            raise UnknownOption(name, found, list(known))
    new, past = _tokens(load, kind)
    return cost.traffic(load.config, load.batch, new, past, bytes_per_weight=STORED[load.weights],
                        bytes_per_cache=CACHED[load.cache])


def _tokens(load: Workload, kind: Pass) -> tuple[int, int]:
    return (load.tokens, 0) if kind == "prefill" else (1, load.tokens)


def ledger(load: Workload) -> list[Line]:
    """The parts in the order of a forward pass: embedding, positions, projections (WQ, WK, WV, WO), pairs (QKᵀ and AV,
    which read the cache), kept (new rows of K and V), ffn, norms, head; last the total, the sum of the others."""
    counts = cost.parameters(load.config)
    worked = {kind: flops(load, kind) for kind in PASSES}
    moved = {kind: traffic(load, kind) for kind in PASSES}
    lines = []
    for name, (held, products, parts) in _LINES.items():
        numbers = [sum(table[part] for part in wanted) for kind in PASSES
                   for table, wanted in ((worked[kind], products), (moved[kind], parts))]
        lines.append(Line(name, counts[held] if held else 0, *numbers))
    return [*lines, Line("total", *(sum(column) for column in list(zip(*lines, strict=True))[1:]))]


class Factor(NamedTuple):
    """A factor of a product: `name` is an axis letter, "new" (tokens read in the pass), "read" (keys each of them
    meets), "heads" (H + Hkv), or "" for a plain number."""

    name: str
    size: int


def factors(load: Workload, kind: Pass, part: str) -> list[Factor]:
    """What the FLOPs of one of `PRODUCTS` are the product of: 2·m·n·k of each matrix, over all layers and texts. Raises
    UnknownOption for a part without products."""
    config = load.config
    new, past = _tokens(load, kind)
    rows = [Factor("L", config.layers), Factor("B", load.batch), Factor("new", new)]
    width, wide = Factor("D", config.width), Factor("Dh", config.head_dim)
    known = {
        "projections": [Factor("", 4), *rows, width, wide, Factor("heads", config.heads + config.kv_heads)],
        "pairs": [Factor("", 4), *rows, Factor("read", cost.keys_read(config, new, past)), Factor("H", config.heads),
                  wide],
        "ffn": [Factor("", 2 * _matrices(config)), *rows, width, Factor("F", config.ffn_width)],
        "head": [Factor("", 2), Factor("B", load.batch), width, Factor("V", config.vocab)],
    }
    if part not in known:
        raise UnknownOption("part", part, list(known))
    return known[part]


def _matrices(config: ModelConfig) -> int:
    """Matrices of a feed-forward network: two, or three where it is gated."""
    return {"none": 0, "swiglu": 3}.get(config.ffn, 2)


def crossover(config: ModelConfig) -> int | None:
    """The shortest prefill in which QKᵀ and AV take at least as much arithmetic as the FFN: 4·T²·H·Dh ≥ 2·m·T·D·F, m
    the FFN's matrices (D0 §12.2: with F = 4D and m = 2 that is T = 4D). None without an FFN."""
    if config.ffn == "none":
        return None
    return -(-_matrices(config) * config.width * config.ffn_width // (2 * config.heads * config.head_dim))


def shares(load: Workload, tokens: int) -> dict[str, float]:
    """The part of a prefill's arithmetic that each of `PRODUCTS` takes at that length; they sum to 1."""
    parts = {line.part: line.prefill_flops for line in ledger(load._replace(tokens=tokens))}
    return {part: parts[part] / parts["total"] for part in PRODUCTS}


class Growth(NamedTuple):
    """An amount at T tokens and at 2T. `unit` is "FLOP", "B" or "" (numbers)."""

    name: str
    unit: str
    once: int
    twice: int

    @property
    def factor(self) -> float:
        """How many times as much."""
        return self.twice / self.once if self.once else 1.0


def doubling(load: Workload) -> list[Growth]:
    """What twice as many tokens do: scores (B·H·T² of one layer), each product of a prefill, the cache, and of a decode
    step the FFN, the pairs and the bytes of weights."""
    both = load, load._replace(tokens=2 * load.tokens)

    lines = [{line.part: line for line in ledger(one)} for one in both]
    cached = [cost.kv_cache_bytes(one.config, one.batch, one.tokens, CACHED[one.cache]) for one in both]
    weights = [traffic(one, "decode") for one in both]
    read = [moved["total"] - moved["cache_read"] - moved["cache_written"] for moved in weights]
    return [
        Growth("scores", "", *(one.batch * one.config.heads * one.tokens**2 for one in both)),
        *(Growth(part, "FLOP", *(line[part].prefill_flops for line in lines)) for part in PRODUCTS),
        Growth("cache", "B", *cached),
        *(Growth(f"decode_{part}", "FLOP", *(line[part].decode_flops for line in lines)) for part in ("pairs", "ffn")),
        Growth("weights", "B", *read),
    ]


def shared(config: ModelConfig, kind: str) -> ModelConfig:
    """The model with another number of KV heads: "own", "mha" (H), "mqa" (1), "gqa": its own where it shares them in
    groups already, else a quarter of H (D1 §6.4), or the closest that divides H. Raises UnknownOption."""
    if kind not in SHARING:
        raise UnknownOption("sharing", kind, SHARING)
    grouped = config.kv_heads if 1 < config.kv_heads < config.heads else _grouped(config.heads)
    return config.with_(kv_heads={"own": config.kv_heads, "mha": config.heads, "gqa": grouped, "mqa": 1}[kind])


def _grouped(heads: int) -> int:
    return min((count for count in range(1, heads + 1) if heads % count == 0), key=lambda n: (abs(4 * n - heads), n))


class Saving(NamedTuple):
    """What one optimisation reduces: the amount without it and with it. `unit` is "FLOP" or "B"; `window` the keys that
    a sliding window keeps."""

    name: str
    unit: str
    before: int
    after: int
    window: int | None = None


def savings(load: Workload) -> list[Saving]:
    """For this workload (D3 §8, extended): "cache" (FLOPs of the step for token T + 1), "sharing" (bytes of the cache,
    MHA and GQA), "fused" (bytes of attention in a prefill), "window" (bytes of the cache, with the model's window, with
    Mistral's where it has none, and with half the text where that would hide nothing), "quantised" (bytes of the
    weights, in four bits), "batching" (bytes moved per token and step, `BATCHED` texts against one)."""
    config, batch, tokens = load.config, load.batch, load.tokens
    size = CACHED[load.cache]
    again = cost.flops(config, batch, tokens + 1, head_tokens=1)["total"]
    plain, fused = (cost.attention_traffic(config, batch, tokens, bytes_per_element=size, fused=on)["total"]
                    for on in (False, True))
    window = config.sliding_window or PRESETS["mistral-7b"].sliding_window
    if window is None or window >= tokens:
        window = max(tokens // 2, 1)
    alone, many = (traffic(load._replace(batch=count), "decode")["total"] // count for count in (1, BATCHED))

    def kept(model: ModelConfig) -> int:
        return cost.kv_cache_bytes(model, batch, tokens, size)

    return [
        Saving("cache", "FLOP", again, flops(load, "decode")["total"]),
        Saving("sharing", "B", kept(shared(config, "mha")), kept(shared(config, "gqa"))),
        Saving("fused", "B", plain, fused),
        Saving("window", "B", kept(config.with_(sliding_window=None)), kept(config.with_(sliding_window=window)),
               window),
        Saving("quantised", "B", weight_bytes(config, load.weights), weight_bytes(config, FEWEST_BITS)),
        Saving("batching", "B", alone, many),
    ]


def weight_bytes(config: ModelConfig, stored: str) -> int:
    """Bytes of all weights in that type."""
    return int(cost.parameters(config)["total"] * STORED[stored])


def estimate(load: Workload, kind: Pass, device: Device) -> Roofline:
    """The least time of a pass, with the arithmetic in the type that the device uses for such weights."""
    return cost.roofline(flops(load, kind)["total"], traffic(load, kind)["total"], device,
                         device.computes(load.weights))


def by_batch(load: Workload, device: Device) -> dict[int, Roofline]:
    """The decode step for each of `BATCHES`."""
    return {batch: estimate(load._replace(batch=batch), "decode", device) for batch in BATCHES}


def first_compute_bound(load: Workload, device: Device) -> int | None:
    """The smallest of `BATCHES` whose decode step is bound by arithmetic; None where each text's own cache keeps all of
    them on the slope."""
    return next((batch for batch, found in by_batch(load, device).items() if found.bound == "compute"), None)


SLIPS = ("arithmetic", "per_text", "lookup", "training")


class Slip(NamedTuple):
    """A wrong calculation beside the right one. `unit` is "s", "B" or "FLOP"."""

    unit: str
    right: float
    wrong: float


def slip(load: Workload, device: Device, kind: str) -> Slip:
    """Carried out on this workload: "arithmetic" (a decode step's time from its FLOPs alone), "per_text" (the weights
    read again for every text of the batch), "lookup" (the products with weights of a decode step as two FLOPs for every
    parameter, those that are only looked up among them), "training" (a prefill as 6·N·T, which counts the backward
    pass). Raises UnknownOption."""
    if kind == "arithmetic":
        found = estimate(load, "decode", device)
        return Slip("s", found.seconds, found.compute_seconds)
    if kind == "per_text":
        moved = traffic(load, "decode")
        cached = moved["cache_read"] + moved["cache_written"] + moved["embedding"] + moved["positions"]
        return Slip("B", moved["total"], (moved["total"] - cached) * load.batch + cached)
    if kind not in ("lookup", "training"):
        raise UnknownOption("slip", kind, SLIPS)
    counted = cost.parameters(load.config)["total"] * load.batch
    if kind == "lookup":
        products = flops(load, "decode")
        return Slip("FLOP", products["total"] - products["scores"] - products["mix"], 2 * counted)
    return Slip("FLOP", flops(load, "prefill")["total"], 6 * counted * load.tokens)
