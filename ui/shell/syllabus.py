"""The stages in the order of the course: slug, section, title and the one question each page answers."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from core.config import ModelConfig
from ui.shell.i18n import N_


class Stage(NamedTuple):
    """`title` and `question` are English texts for `_()`; `symbol` says in shapes what comes out of the stage;
    `own` is the worked example that the page opens with in place of the app's, and `because` why; `needs` the tensor
    (of the block, or of the whole model) without which it makes no sense; `makes` the trace name of what comes out;
    `masked` says whether its numbers depend on a mask that is chosen elsewhere; `bridge` is the sentence that leads to
    it from the page before; `places` what of layer, head and batch entry ("b") its page looks at; `prompted` pages go
    on from a prompt, which may be longer than a trace can follow."""

    slug: str
    section: str
    title: str
    question: str
    symbol: str
    own: str = ""
    because: str = ""
    needs: str = "in"
    makes: str = ""
    masked: bool = False
    bridge: str = ""
    places: tuple[str, ...] = ("layer", "head", "b")
    prompted: bool = False

    @property
    def page(self) -> str:
        """The file of its page, from the root; a stage to come has none yet."""
        return f"pages/{self.section}/{self.slug}.py"


SECTIONS = {
    "start": N_("Start"), "input": N_("Input"), "attention": N_("Attention"), "position": N_("Position"),
    "block": N_("Block"), "output": N_("Output"), "inference": N_("Inference"), "wider": N_("Wider"),
    "practice": N_("Practice"), "live": N_("Live"),
}

STAGES = (
    Stage("home", "start", N_("Map"), N_("Where does each tensor come from?"), "",
          bridge=N_("That is the whole way. The map shows it once more, in the sizes of any model."), places=()),
    Stage("tokens", "input", N_("Tokens"), N_("How does a text become a row of ids?"), "[B,T]", needs="tokens",
          makes="tokens", bridge=N_("It begins with a text, which has to become numbers."), places=()),
    Stage("embedding", "input", N_("Embedding"), N_("How does an id become a vector?"), "[B,T,D]", needs="embed",
          makes="in", bridge=N_("Each id is the number of a row of E; now the rows are looked up."), places=("b",)),
    Stage("matmul", "attention", N_("Matrix product"), N_("Which shapes may be multiplied?"), "[m,n]×[n,p]", places=()),
    Stage("projections", "attention", N_("Projections"), N_("How do three roles come from one X?"), "[B,H,T,Dh]",
          makes="q",
          bridge=N_("Each row now takes three roles: what it looks for, by what it is found, what it gives.")),
    Stage("scores", "attention", N_("Scores"), N_("How well does each query match each key?"), "[B,H,Tq,Tk]",
          makes="scaled", bridge=N_("Now every query is compared with every key.")),
    Stage("mask", "attention", N_("Mask"), N_("Why is the future hidden before the softmax?"), "[B,H,Tq,Tk]",
          needs="scaled", makes="weights",
          bridge=N_("Not every key may be read: some are hidden before the softmax.")),
    Stage("mixing", "attention", N_("Mixing"), N_("What does a token take from the others?"), "[B,H,T,Dh]",
          makes="context", masked=True,
          bridge=N_("The weights are there; now each token takes its shares of the values.")),
    Stage("heads", "attention", N_("Heads"), N_("What is split, and what is put together again?"), "[B,T,D]",
          needs="q_proj", makes="attn_out", masked=True,
          bridge=N_("One head is computed. Several heads work side by side, and their results are joined.")),
    Stage("sharing", "attention", N_("Sharing"), N_("Who reads whose keys and values?"), "[B,Hkv,T,Dh]",
          "grouped", N_("sharing shows itself best with four query heads"), needs="context", makes="k",
          masked=True),
    Stage("order", "position", N_("Order"), N_("Can attention see the order of the tokens?"), "[B,T,D]",
          "word_order", N_("three words without positions can be put into any order"), places=("layer", "b")),
    Stage("rope", "position", N_("RoPE"), N_("How does a rotation carry a position?"), "[B,H,T,Dh]", "rope_pairs",
          N_("its four pairs of numbers turn, and the other examples have no RoPE"), needs="q_rot", makes="q_rot",
          bridge=N_("Before Q meets K, both are turned by their positions.")),
    Stage("norms", "block", N_("Norms"), N_("What do LayerNorm and RMSNorm keep?"), "[B,T,D]", makes="norm1"),
    Stage("ffn", "block", N_("Feed-forward"), N_("What does each token do alone?"), "[B,T,F]", makes="hidden"),
    Stage("block", "block", N_("Block"), N_("How do the parts make one block?"), "[B,T,D]", makes="out"),
    Stage("logits", "output", N_("Logits"), N_("How does a vector become a score for every token?"), "[B,T,V]",
          makes="logits"),
    Stage("sampling", "output", N_("Sampling"), N_("How is the next token chosen?"), "[B,V]"),
    Stage("generation", "inference", N_("Generation"), N_("What is computed at each step, and what is reused?"),
          "[B,H,1,Tk]", needs="attn_out", prompted=True,
          bridge=N_("Once a token is chosen, the next is computed the same way, and most of the work can be kept.")),
    Stage("kv_cache", "inference", N_("KV cache"), N_("What does the cache hold, and how does it grow?"),
          "[B,Hkv,T,Dh]", needs="attn_out", makes="k", prompted=True,
          bridge=N_("What is kept takes memory, and more with every token.")),
    Stage("cost", "inference", N_("Cost"), N_("Where do computation and memory go?"), "",
          bridge=N_("Computation and memory can be counted, for this model and for large ones."), places=()),
    Stage("families", "wider", N_("Families"), N_("Encoder, decoder, or both?"), ""),
    Stage("training", "wider", N_("Training"), N_("Why is training parallel and generation serial?"), ""),
    Stage("mistakes", "practice", N_("Mistakes"), N_("What breaks when a step is done wrong?"), ""),
    Stage("quiz", "practice", N_("Quiz"), N_("What do you know for sure?"), ""),
    Stage("api", "practice", N_("API"), N_("How do the same numbers come out of real code?"), ""),
    Stage("inspect", "live", N_("Inspect"), N_("What does a real model do with your sentence?"), ""),
)


# The way of a text through a decoder, from page to page.
_LINE = ("home", "tokens", "embedding", "norms", "projections", "rope", "scores", "mask", "mixing", "heads", "ffn",
         "block", "logits", "sampling", "generation", "kv_cache", "cost")
# Pages beside it, and the stage of the line that each comes after.
_BESIDE = {"matmul": "embedding", "rope": "projections", "norms": "heads", "sharing": "heads", "order": "heads"}


class Way(NamedTuple):
    """The stages before and after a page, None where there is none."""

    before: Stage | None
    after: Stage | None


def way(slug: str, built: Container[str], model: ModelConfig) -> Way:
    """The way on from a page, over the pages that are built, in the order of that model: a norm before the projections
    with pre-norm, RoPE where it has one. What lies beside the line leads back to it, and its end to its beginning."""
    line = [one for one in _LINE if one in built or one == slug]
    if model.positions != "rope" and "rope" in line:
        line.remove("rope")
    if (model.norm == "none" or model.norm_place != "pre") and "norms" in line:
        line.remove("norms")
    if slug in line:
        place = line.index(slug)
        after = line[place + 1] if place + 1 < len(line) else line[0]
        return Way(stage(line[place - 1]) if place else None, stage(after))
    if slug in _BESIDE:
        place = line.index(_BESIDE[slug])
        return Way(stage(line[place]), stage(line[(place + 1) % len(line)]))
    return Way(None, stage(line[0]))


def stage(slug: str) -> Stage:
    """The stage of that slug. Raises KeyError."""
    return {entry.slug: entry for entry in STAGES}[slug]
