"""The program of the page on tokens: plain Python, since there are no tensors yet; see `core.programs`."""

from __future__ import annotations

from collections.abc import Sequence

from core.live.merges import PreToken
from core.programs import Program
from core.tokenizers import ToyTokenizer


def merged(pre_tokens: Sequence[PreToken]) -> Program:
    """From the pre-tokens of a text to its ids in `result`, by the merges and ids that this text needs: of the whole
    lists the others would never be looked at."""
    ranks = {(merge.left.data, merge.right.data): merge.rank for part in pre_tokens for merge in part.merges}
    ids = {piece.data: piece.id for part in pre_tokens for piece in part.pieces}
    body = [f"pre_tokens = {_listed([repr(part.text) for part in pre_tokens], '[]')}",
            f"ranks = {_listed([f'{pair}: {rank}' for pair, rank in sorted(ranks.items(), key=_second)], '{}')}",
            f"ids = {_listed([f'{data!r}: {token}' for data, token in ids.items()], '{}')}", _MERGING]
    return Program("\n".join(body), "", {})


def simple(tokenizer: ToyTokenizer, text: str) -> Program:
    """Characters or words of a text, and their ids in `result`."""
    cut = "list(text)" if tokenizer.kind == "characters" else r"re.findall(r'\w+|[^\w\s]', text)"
    body = ["import re", f"text = {text!r}", f"vocabulary = {_listed([repr(p) for p in tokenizer.vocabulary], '[]')}",
            "ids = {piece: i for i, piece in enumerate(vocabulary)}",
            f"result = [ids.get(piece, len(vocabulary)) for piece in {cut}]  # what is unknown gets the last id",
            "print(result)"]
    return Program("\n".join(body if tokenizer.kind == "words" else body[1:]), "", {})


def _second(item: tuple[object, int]) -> int:
    return item[1]


def _listed(entries: list[str], brackets: str) -> str:
    """A display with as many entries on a line as fit."""
    lines = [""]
    for entry in entries:
        if lines[-1] and len(lines[-1]) + len(entry) > 100:
            lines.append("")
        lines[-1] += f"{entry}, "
    return brackets[0] + "\n    ".join(["", *(line.rstrip() for line in lines if line)]) + "\n" + brackets[1]


_MERGING = '''
result = []
for text in pre_tokens:
    symbols = [bytes([byte]) for byte in text.encode()]
    while True:
        pairs = [(ranks[pair], i) for i, pair in enumerate(zip(symbols, symbols[1:])) if pair in ranks]
        if not pairs:
            break
        rank, i = min(pairs)  # the lowest rank, then the leftmost
        symbols[i:i + 2] = [symbols[i] + symbols[i + 1]]
    result += [ids[symbol] for symbol in symbols]
print(result)
'''
