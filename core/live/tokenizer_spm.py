"""SentencePiece's BPE as GGUF files keep it: pieces with scores instead of merges.

SentencePiece joins the two neighbours whose union has the highest score. Merges in order of the union's score say
the same, so that the engine that reads `tokenizer.json` reads these files too.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer as Engine
from tokenizers import models, normalizers

from core.live import tokenizer_json
from core.live.chat import Dialog
from core.live.tokenizer import BYTE, CONTROL, TEXT, UNKNOWN, UNUSED, USER_DEFINED, Tokenizer, Vocabulary

WITH_SPACE, BARE = "spm", "spm without a space in front"
KINDS = (WITH_SPACE, BARE)
_TYPES = {TEXT, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE}


def vocabulary(tokens: list[str], scores: Sequence[float], types: list[int], *, space: bool) -> Vocabulary:
    """The tables with merges made of `scores`; `space`: a text is read as if a space stood before it."""
    known = {token: score for token, score, kind in zip(tokens, scores, types, strict=False) if kind == TEXT}
    found = [(-score, token[:cut], token[cut:]) for token, score in known.items() for cut in range(1, len(token))
             if token[:cut] in known and token[cut:] in known]
    found.sort(key=lambda merge: merge[0])
    return Vocabulary(tokens, [f"{left} {right}" for _, left, right in found], types, WITH_SPACE if space else BARE)


def fault(tables: Vocabulary, scores: Sequence[float]) -> str | None:
    """What makes the tables unusable, or None."""
    if not len(tables.tokens) == len(tables.types) == len(scores):
        return f"{len(tables.tokens)} tokens, {len(tables.types)} token types and {len(scores)} scores"
    if len(set(tables.tokens)) != len(tables.tokens):
        return "the vocabulary lists a token twice"
    if any(" " in token for token, kind in zip(tables.tokens, tables.types, strict=True) if kind == TEXT):
        return "a token holds a space, which SentencePiece writes as ▁"
    if strange := set(tables.types) - _TYPES:
        return f"token types {sorted(strange)} are unknown"
    return None


def build(tables: Vocabulary, dialog: Dialog) -> Tokenizer:
    """The tokenizer of these tables."""
    ids = {token: i for i, token in enumerate(tables.tokens)}
    unknown = next((token for token, kind in zip(tables.tokens, tables.types, strict=True) if kind == UNKNOWN), None)
    merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in tables.merges)]
    engine = Engine(models.BPE(vocab=ids, merges=merges, unk_token=unknown, fuse_unk=True, byte_fallback=True))
    prepend = [normalizers.Prepend("▁")] if tables.pre == WITH_SPACE else []
    engine.normalizer = normalizers.Sequence([*prepend, normalizers.Replace(" ", "▁")])
    controls = {token: ids[token] for token, kind in zip(tables.tokens, tables.types, strict=True)
                if kind in (CONTROL, UNKNOWN)}
    table = tokenizer_json.table(ids, set(controls), len(ids), byte_level=False)
    return tokenizer_json.JsonTokenizer(engine, table, controls, dialog)
