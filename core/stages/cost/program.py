"""The program of the page on costs: sizes in, parameters, FLOPs and bytes out. PyTorch counts the FLOPs itself, of
products of tensors that have a shape and no memory."""

from __future__ import annotations

from core import cost
from core.machine.ledger import Workload
from core.programs import Program

_BODY = '''
def empty(*shape):
    return torch.empty(shape, device="meta")  # a shape without memory


def block(new, past):
    """Every matrix product of one block that reads `new` tokens on top of `past` cached ones."""
    read = new + {past}
    x, context = empty(B * new, D), empty(B * new, H * Dh)
    x @ empty(D, (H + 2 * Hkv) * Dh)  # Q, K, V
    weights = empty(B, H, new, Dh) @ empty(B, H, Dh, read)  # QK^T
    weights @ empty(B, H, read, Dh)  # AV
    context @ empty(H * Dh, D)  # WO
    for rows, columns in {ffn}:  # feed-forward
        empty(B * new, rows) @ empty(rows, columns)


def counted(function, *arguments):
    with FlopCounterMode(display=False) as counter:
        function(*arguments)
    return counter.get_total_flops()


head = counted(lambda: empty(B, D) @ empty(D, V))  # for the last token of each text
parameters = {{
    "embedding": V * D, "positions": {positions},
    "attention": L * ({attention}),
    "ffn": L * ({sizes}),
    "norms": {norms}, "head": {head},
}}
total = sum(parameters.values())
looked_up = parameters["embedding"] + parameters["positions"]
weights = total - looked_up - parameters["head"] + V * D + {rows} * B * D  # read in a decode step
cached = 2 * L * B * ({cached}) * Hkv * Dh + 2 * L * B * Hkv * Dh  # read, and the new rows written
result = {{
    "parameters": total,
    "prefill FLOP": L * counted(block, T, 0) + head,
    "decode FLOP": L * counted(block, 1, T) + head,
    "decode bytes": {bytes} + cached * {cache},
}}
print(result)
'''


def program_of_load(load: Workload) -> Program:
    """`result` maps "parameters", "prefill FLOP", "decode FLOP" and "decode bytes" to whole numbers."""
    config = load.config
    past = "past" if config.sliding_window is None else f"min(past, {config.sliding_window - 1})"
    attention = ["D * (H + 2 * Hkv) * Dh", "H * Dh * D", *(["(H + 2 * Hkv) * Dh"] if config.qkv_bias else []),
                 *(["D"] if config.out_bias else []), *(["2 * Dh"] if config.qk_norm else [])]
    ffn = {"none": [], "swiglu": ["(D, F)", "(D, F)", "(F, D)"]}.get(config.ffn, ["(D, F)", "(F, D)"])
    sizes = [f"{len(ffn)} * D * F", *(["F + D"] if config.ffn_bias else [])]
    counts = cost.parameters(config)
    norms = counts["norms"] - (2 * config.head_dim * config.layers if config.qk_norm else 0)
    body = _BODY.format(
        past=past, ffn=f"[{', '.join(ffn)}]", positions=f"{config.max_positions} * D" if counts["positions"] else "0",
        attention=" + ".join(attention), sizes=" + ".join(sizes), norms=norms, head="V * D" if counts["head"] else "0",
        rows=2 if counts["positions"] else 1, cached=past.replace("past", "T"), cache=cost.CACHED[load.cache],
        bytes=f"math.ceil(weights * {cost.STORED[load.weights]})")
    letters = {"B": load.batch, "T": load.tokens, "D": config.width, "H": config.heads, "Hkv": config.kv_heads,
               "Dh": config.head_dim, "F": config.ffn_width, "V": config.vocab, "L": config.layers}
    head = ["import math", "", "import torch", "from torch.utils.flop_counter import FlopCounterMode", "",
            f"{', '.join(letters)} = {', '.join(map(str, letters.values()))}", ""]
    return Program("\n".join(head) + body, "", {})
