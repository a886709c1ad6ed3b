"""The worked examples: the source documents' own, and one of ours that runs through every stage.

These are the only hand-chosen numbers in the project. Each example is a function of its switches that returns a
`Trace`; an independent NumPy script in the tests computes the same values in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch

from core import embedding, ops
from core.config import ModelConfig, Pairing
from core.errors import UnknownOption
from core.tokenizers import Cut, ToyTokenizer
from core.trace import Trace

Mask = Literal["none", "causal"]
Ours = Literal["", "rows", "vectors", "numbers", "beyond"]


@dataclass(frozen=True)
class Example:
    """A worked example: calling it with its switches gives its `Trace`.

    `section` is the place in the source documents that it comes from, "" for one of ours; `ours` what of it stands
    there as ours all the same: "rows" (all rows but one), "vectors" (Q, K and V), "numbers" (every number), "beyond"
    (what stands before X and after AV). `mask` is the mask that it has by itself. `words` is how its tokens are called,
    by id where it has ids, and `glosses` what they mean in the other language of the app; with a `prompt`, the ids of
    its own text, `build` takes other `ids`, `longest` of them at most. A `whole` one can be gone on with. One that is
    not `offered` is part of another, and stays for what asks for it by name.
    """

    name: str
    build: Callable[..., Trace]
    section: str = ""
    ours: Ours = ""
    mask: Mask = "none"
    words: tuple[str, ...] = ()
    glosses: tuple[str, ...] = ()
    prompt: tuple[int, ...] = ()
    longest: int = 0
    whole: bool = False
    offered: bool = True

    def __call__(self, **switches: Any) -> Trace:
        """The trace with these switches."""
        return self.build(**switches)

    @property
    def text(self) -> str:
        """Its own text."""
        return " ".join(self.words[token] for token in self.prompt)

    def ids_of(self, text: str) -> tuple[int, ...] | None:
        """The ids of another text; None where it is empty, too long, or has a word that the example has no row for."""
        cut = self._cut(text)
        return cut.ids if 0 < len(cut) <= self.longest and not cut.unknown else None

    def unknown(self, text: str) -> list[str]:
        """The words of a text that the example has no row for."""
        cut = self._cut(text)
        return [cut.pieces[place] for place in cut.unknown]

    def _cut(self, text: str) -> Cut:
        return ToyTokenizer("words", self.words).encode(text)


def single_head(mask: Mask = "none") -> Trace:
    """The single head of D0 §6, with the causal mask of its §7 as a switch: B=1, T=3, D=2, H=1, Dh=2."""
    config = ModelConfig(vocab=1, width=2, layers=1, heads=1, kv_heads=1, head_dim=2, ffn_width=1, max_positions=3,
                         norm="none", positions="none", ffn="none")
    given = {
        "blocks.0.in": torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]),
        "blocks.0.wq": torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
        "blocks.0.wk": torch.tensor([[1.0, 0.0], [1.0, 1.0]]),
        "blocks.0.wv": torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
        "mask": _mask(mask, 3),
    }
    return Trace(tokens=["1", "2", "3"], source="single_head", config=config, given=given)


MATRICES_VOCABULARY = ["I", "like", "tea", "and", "you", "."]


def matrices(mask: Mask = "none", ids: Sequence[int] = (0, 1, 2)) -> Trace:
    """The single head of D0 §6, gone on with both ways by numbers of ours: "I like tea", whose rows of E are its X,
    then an output matrix, a residual stream with the norm after each part, a feed-forward and a vocabulary. T=3, D=2,
    H=1, Dh=2, F=4, V=6, no positions; up to eight ids."""
    head = single_head()
    config = ModelConfig(vocab=6, width=2, layers=1, heads=1, kv_heads=1, head_dim=2, ffn_width=4, max_positions=8,
                         norm="rms", norm_place="post", positions="none", ffn="relu")
    given = {
        "tokens": torch.tensor([list(ids)]), "positions": torch.arange(len(ids))[None], "mask": _mask(mask, len(ids)),
        "embedding": torch.cat([head["blocks.0.in"][0], _matrix(_MATRICES_E)]),
        **{f"blocks.0.{name}": head[f"blocks.0.{name}"] for name in ("wq", "wk", "wv")},
        "blocks.0.wo": _matrix(_MATRICES_WO),
        "blocks.0.w1": _matrix(_MATRICES_W1), "blocks.0.w2": _matrix(_MATRICES_W2),
        "blocks.0.gamma1": torch.ones(2), "blocks.0.gamma2": torch.ones(2), "w_vocab": _matrix(_MATRICES_W_VOCAB),
    }
    return Trace(tokens=[MATRICES_VOCABULARY[token] for token in ids], source="matrices", config=config, given=given)


D3_TOKENS = ["猫", "追", "球"]


def d3_lab(mask: Mask = "causal") -> Trace:
    """The three-token lab of D3 §3, from its scaled scores on; no projection, so other sizes mean nothing here.

    The document gives the row 1.2, 2.0, 0.4, which stands here as that of 追; the other two rows are ours.
    """
    config = ModelConfig(vocab=1, width=1, layers=1, heads=1, kv_heads=1, head_dim=1, ffn_width=1, max_positions=3,
                         norm="none", positions="none", ffn="none")
    given = {"blocks.0.scaled": torch.tensor([[[[1.6, 0.3, 0.9], [1.2, 2.0, 0.4], [0.5, 1.1, 1.8]]]]),
             "mask": _mask(mask, 3)}
    return Trace(tokens=D3_TOKENS, source="d3_lab", config=config, given=given)


def rope_pairs(pairing: Pairing = "adjacent", mask: Mask = "none") -> Trace:
    """The head of eight dimensions, four pairs, of D1 §8, with its positions 3, 8, 13 and 18; no projection.

    The document gives θ and the positions; the numbers in Q, K and V are ours. The first two tokens come twice, so that
    a query at 3 meets a key at 8 with the very vectors of a query at 13 and a key at 18.
    """
    config = ModelConfig(vocab=1, width=8, layers=1, heads=1, kv_heads=1, head_dim=8, ffn_width=1, max_positions=19,
                         norm="none", positions="rope", rope_pairing=pairing, ffn="none")
    given = {f"blocks.0.{letter}": _matrix(text).repeat(2, 1)[None, None]
             for letter, text in (("q", _ROPE_Q), ("k", _ROPE_K), ("v", _ROPE_V))}
    given |= {"positions": torch.tensor([ROPE_POSITIONS]), "mask": _mask(mask, 4)}
    return Trace(tokens=["猫", "追", "猫", "追"], source="rope_pairs", config=config, given=given)


ROPE_POSITIONS = [3, 8, 13, 18]
WORD_ORDER = ["猫", "追", "狗"]


def word_order(positions: Literal["none", "learned", "sinusoidal", "rope"] = "none", mask: Mask = "none") -> Trace:
    """The three words of D1 §7 whose order is changed; T=3, D=4, H=2, Dh=2. The numbers are those of `block`, without
    norms and feed-forward."""
    config = ModelConfig(vocab=3, width=4, layers=1, heads=2, kv_heads=2, head_dim=2, ffn_width=1, max_positions=3,
                         norm="none", positions=positions, ffn="none")
    given = {"tokens": torch.tensor([[0, 1, 2]]), "positions": torch.arange(3)[None], "mask": _mask(mask, 3),
             "embedding": _matrix(_EMBEDDING)[:3]}
    given |= {f"blocks.0.{name}": _matrix(text)
              for name, text in (("wq", _WQ), ("wk", _WK), ("wv", _WV), ("wo", _WO))}
    if positions in ("learned", "sinusoidal"):
        given["position_table"] = _matrix(_POSITIONS)[:3] if positions == "learned" else embedding.sinusoidal(3, 4)
    return Trace(tokens=WORD_ORDER, source="word_order", config=config, given=given)


BLOCK_VOCABULARY = ["the", "cat", "sees", "a", "dog", "and", "it", "runs", "small", "red", "fast", "."]
BLOCK_GLOSSES = ("这", "猫", "看见", "一只", "狗", "和", "它", "跑", "小", "红", "快", "。")
BLOCK_PROMPT = [0, 1, 2, 3]


def block(kv_heads: Literal[1, 2] = 2, mask: Mask = "causal", ids: Sequence[int] = BLOCK_PROMPT) -> Trace:
    """Ours: "the cat sees a" through one pre-norm block to the logits. T=4, D=4, H=2, Hkv=2 or 1, Dh=2, F=8, V=12; up
    to eight other ids.

    RMSNorm, learned positions, a ReLU feed-forward, all parameters small integers. With `kv_heads=1` both query heads
    read the first KV head. Either way the likeliest next token is "dog". Eight position rows leave room to go on;
    with two KV heads the likeliest tokens then are "and sees a cat".
    """
    if kv_heads not in (1, 2):
        raise UnknownOption("kv_heads", kv_heads, ["1", "2"])
    config = ModelConfig(vocab=12, width=4, layers=1, heads=2, kv_heads=kv_heads, head_dim=2, ffn_width=8,
                         max_positions=8, norm="rms", norm_eps=1e-5, positions="learned", ffn="relu")
    kv_width = 2 * kv_heads
    given = {
        "tokens": torch.tensor([list(ids)]),
        "positions": torch.arange(len(ids))[None],
        "mask": _mask(mask, len(ids)),
        "embedding": _matrix(_EMBEDDING), "position_table": _matrix(_POSITIONS),
        "blocks.0.wq": _matrix(_WQ),
        "blocks.0.wk": _matrix(_WK)[:, :kv_width], "blocks.0.wv": _matrix(_WV)[:, :kv_width],
        "blocks.0.wo": _matrix(_WO), "blocks.0.w1": _matrix(_W1), "blocks.0.w2": _matrix(_W2),
        "blocks.0.gamma1": torch.ones(4), "blocks.0.gamma2": torch.ones(4), "final_gamma": torch.ones(4),
        "w_vocab": _matrix(_W_VOCAB),
    }
    return Trace(tokens=[BLOCK_VOCABULARY[token] for token in ids], source="block", config=config, given=given)


def grouped(kv_heads: Literal[4, 2, 1] = 4, mask: Mask = "causal") -> Trace:
    """Ours: four query heads, enough for several KV heads that are each read by several. T=3, D=8, H=4, Dh=2, Hkv=4, 2
    or 1; no norms and feed-forward.

    With fewer KV heads WK and WV are the averages of their groups' columns in those of four: whole numbers all of them,
    so that any cell can be redone by hand.
    """
    if kv_heads not in (4, 2, 1):
        raise UnknownOption("kv_heads", kv_heads, ["4", "2", "1"])
    config = ModelConfig(vocab=1, width=8, layers=1, heads=4, kv_heads=kv_heads, head_dim=2, ffn_width=1,
                         max_positions=3, norm="none", positions="none", ffn="none")
    given = {"blocks.0.in": _matrix(_GROUPED_X)[None], "blocks.0.wq": _matrix(_GROUPED_WQ),
             "blocks.0.wo": _matrix(_GROUPED_WO), "mask": _mask(mask, 3)}
    for name, text in (("wk", _GROUPED_WK), ("wv", _GROUPED_WV)):
        heads = _matrix(text).reshape(8, kv_heads, 4 // kv_heads, 2)  # (D, Hkv, H/Hkv, Dh)
        given[f"blocks.0.{name}"] = heads.mean(dim=2).flatten(1)  # (D, Hkv·Dh)
    return Trace(tokens=BLOCK_VOCABULARY[:3], source="grouped", config=config, given=given)


# Pairs of shapes to multiply. D0 §4.1: what fits and what does not; §4.2 with the sizes of §13: Q Kᵀ of two examples
# and two heads, X WQ; ours: batch axes of size 1 stretched against one another, and batch axes that do not fit.
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "fits": ((3, 2), (2, 4)), "breaks": ((3, 2), (3, 4)), "heads": ((2, 2, 4, 4), (2, 2, 4, 4)),
    "shared": ((2, 4, 8), (8, 8)), "stretched": ((2, 1, 3, 2), (1, 3, 2, 4)), "batch": ((2, 3, 2), (3, 2, 4)),
}
# With how many KV heads the page on sharing opens an example that has more.
OPENING_KV_HEADS = {"grouped": 2}
# Texts to cut: that of D1 §2, the others ours.
TEXTS = {"d1": "我喜欢学习 AI Infra", "emoji": "🦊 👩‍💻 naïve café", "spaces": "  def f(x):\n\treturn  x",
         "digits": "1234567 + 89 = 1234656", "rare": "unbelievable antidisestablishmentarianism"}


def _mask(kind: str, length: int) -> torch.Tensor:
    if kind == "none":
        return torch.zeros(1, 1, length, length)
    if kind == "causal":
        return ops.causal_mask(length)[None, None]
    raise UnknownOption("mask", kind, ["none", "causal"])


def _matrix(text: str) -> torch.Tensor:
    return torch.tensor([[float(number) for number in row.split()] for row in text.strip().splitlines()])


_MATRICES_E = """
     1 -1
    -1  1
     0  2
"""
_MATRICES_WO = """
     1 -1
     0  1
"""
_MATRICES_W1 = """
     1  0 -1  1
     0  1  1 -1
"""
_MATRICES_W2 = """
     1  0
     0  1
    -1  1
     1 -1
"""
_MATRICES_W_VOCAB = """
    -1  0  1  1  0 -1
     0 -1  1  2 -1  0
"""
_ROPE_Q = """
     1  0  2  1  0  1  1  2
     0  1  1  0  2  0  0  1
"""
_ROPE_K = """
     1  1  0  2  1  0  2  0
     2  1  1  0  0  1  1  1
"""
_ROPE_V = """
     1  0  0  1  0  0  0  0
     0  1  0  0  1  0  1  0
"""
_EMBEDDING = """
     1  0  0  1
     2  1  0  0
     0  2  1  0
     1  0  1  0
     2  0  0  1
     0  0  1  1
     1  1  0  1
     0  1  2  0
     0  0  2  1
     1  2  0  0
     0  1  1  1
     0  0  0  2
"""
_POSITIONS = """
     0  0  0  0
     0  1  0  0
     0  0  1  0
     0  0  0  1
     0 -1  0  0
     0  0 -1 -1
     0  0  0  0
    -1  1 -1  0
"""
_WQ = """
     0  0  0 -1
     1  0  0  1
    -1 -1 -1  0
    -1 -1  0 -1
"""
_WK = """
     0  0 -1  1
     1  0  0  0
     0  0  1  0
     0 -1  0 -1
"""
_WV = """
     0 -1  0  0
    -1  1 -1  0
     1  0  1 -1
     0  0 -1  1
"""
_WO = """
     1  0  0  0
    -1  0 -1  1
    -1  0  1  0
     0 -1  1  0
"""
_W1 = """
     1  0 -1  0  1  0  0  1
     0  1  0 -1  1  0  1  0
     0  0  1  1  0  1 -1  0
     1 -1  0  0  0  1  0  1
"""
_W2 = """
     1  0  0  0
     0  1  0  0
     0  0  1  0
     0  0  0  1
     1  0  0 -1
     0  1  0  0
     0  0  1  0
    -1  0  0  1
"""
_W_VOCAB = """
    -1  0  0 -1  0  0 -1 -1  0  0 -1 -1
     0  2  1  1  2 -1 -1 -1 -1  0  0  0
     1 -2  0  2  1  0 -1  0 -1 -1  0  0
     1  2 -1 -2  2  0  0  1  0  1  1 -1
"""
_GROUPED_X = """
     1  0  0  1  0  0  1  0
     0  1  0  0  1  0  0  1
     0  0  1  0  0  1  1  0
"""
_GROUPED_WQ = """
    -1  0  0  0  0  1  0  0
     0  0  1  1  0  0  0  0
     0  0  0  0 -1  1  0  0
     0  0  0  0  0  0  0  0
     0  0  0  0 -1  0  0  1
    -1  1  0  0  0  0  1  0
     0  0 -1 -1  0  0  1 -1
     0 -1  0  0  0  0  0  0
"""
_GROUPED_WK = """
     0  0  0  0  0  0  0  0
     1 -1  1 -1  1  1  1  1
     0  0  0  0  0  0  0  0
     1  1  1  1 -1  1 -1  1
     0  0  0  0  0 -1  0  1
     1 -1 -1  1 -1  0  1  0
     0  0  0  0  0  0  0  0
     0  0  0  0  0  0  0  0
"""
_GROUPED_WV = """
     0 -2  0  0 -1 -1  1 -1
     0  0  0  0  0  0  0  0
     0 -1  0 -1  0  2  0  0
    -1  0 -1  0  1  0  1  0
     0  0  0  0  0  0  0  0
    -1  0  1  0  0  0  0  0
     0  0  0  0  0  0  0  0
    -1  0 -1  0 -1  0 -1  0
"""
_GROUPED_WO = """
     0  1  0  0  0  0  1  0
     0  0  1  0  0  0  0 -1
     1  0  0  1  0  1  0  0
     0  0  0  0  1  0  0  0
     0  0  0  0 -1  0  0  0
     0  0  1  0  0  0  0  0
     1  0  0  0  0 -1 -1  0
     0  1  0 -1  0  0  0 -1
"""

EXAMPLES: Mapping[str, Example] = {example.name: example for example in (
    Example("single_head", single_head, section="D0 §6", offered=False),
    Example("block", block, mask="causal", words=tuple(BLOCK_VOCABULARY), glosses=BLOCK_GLOSSES,
            prompt=tuple(BLOCK_PROMPT), longest=8, whole=True),
    Example("block_shared", partial(block, kv_heads=1), mask="causal", words=tuple(BLOCK_VOCABULARY),
            glosses=BLOCK_GLOSSES, prompt=tuple(BLOCK_PROMPT), longest=8, whole=True),
    Example("matrices", matrices, section="D0 §6", ours="beyond", words=tuple(MATRICES_VOCABULARY),
            glosses=("我", "喜欢", "茶", "和", "你", "。"), prompt=(0, 1, 2), longest=8),
    Example("d3_lab", d3_lab, section="D3 §3", ours="rows", mask="causal", words=tuple(D3_TOKENS),
            glosses=("cat", "chases", "ball")),
    Example("rope_pairs", rope_pairs, section="D1 §8", ours="vectors", words=("猫", "追"), glosses=("cat", "chases")),
    Example("word_order", word_order, section="D1 §7", ours="numbers", words=tuple(WORD_ORDER),
            glosses=("cat", "chases", "dog"), prompt=(0, 1, 2)),
    Example("grouped", grouped, mask="causal", words=tuple(BLOCK_VOCABULARY[:3]), glosses=BLOCK_GLOSSES[:3]),
)}
