"""The stages in the order of the course: slug, section, title and the one question each page answers."""

from __future__ import annotations

from typing import NamedTuple

from ui.shell.i18n import N_


class Stage(NamedTuple):
    """`title` and `question` are English texts for `_()`; `symbol` says in shapes what comes out of the stage;
    `example` is the worked example that the page opens with: the documents' own where they have one; `mask` the mask
    that it opens with ("": the example's own); `needs` the tensor (of the block, or of the whole model) without which
    it makes no sense; `makes` the trace name of what comes out; `prompted` pages go on from a prompt, which may be
    longer than a trace can follow."""

    slug: str
    section: str
    title: str
    question: str
    symbol: str
    example: str = "block"
    mask: str = ""
    needs: str = "in"
    makes: str = ""
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
    Stage("home", "start", N_("Map"), N_("Where does each tensor come from?"), ""),
    Stage("tokens", "input", N_("Tokens"), N_("How does a text become a row of ids?"), "[B,T]", needs="tokens",
          makes="tokens"),
    Stage("embedding", "input", N_("Embedding"), N_("How does an id become a vector?"), "[B,T,D]", needs="embed",
          makes="in"),
    Stage("matmul", "attention", N_("Matrix product"), N_("Which shapes may be multiplied?"), "[m,n]×[n,p]"),
    Stage("projections", "attention", N_("Projections"), N_("How do three roles come from one X?"), "[B,H,T,Dh]",
          "single_head", makes="q"),
    Stage("scores", "attention", N_("Scores"), N_("How well does each query match each key?"), "[B,H,Tq,Tk]",
          "single_head", makes="scaled"),
    Stage("mask", "attention", N_("Mask"), N_("Why is the future hidden before the softmax?"), "[B,H,Tq,Tk]",
          "single_head", mask="causal", needs="scaled", makes="weights"),
    Stage("mixing", "attention", N_("Mixing"), N_("What does a token take from the others?"), "[B,H,T,Dh]",
          "single_head", makes="context"),
    Stage("heads", "attention", N_("Heads"), N_("What is split, and what is put together again?"), "[B,T,D]",
          needs="q_proj", makes="attn_out"),
    Stage("sharing", "attention", N_("Sharing"), N_("Who reads whose keys and values?"), "[B,Hkv,T,Dh]",
          "grouped", needs="context", makes="k"),
    Stage("order", "position", N_("Order"), N_("Can attention see the order of the tokens?"), "[B,T,D]", "word_order"),
    Stage("rope", "position", N_("RoPE"), N_("How does a rotation carry a position?"), "[B,H,T,Dh]", "rope_pairs",
          needs="q_rot", makes="q_rot"),
    Stage("norms", "block", N_("Norms"), N_("What do LayerNorm and RMSNorm keep?"), "[B,T,D]", makes="norm1"),
    Stage("ffn", "block", N_("Feed-forward"), N_("What does each token do alone?"), "[B,T,F]", makes="hidden"),
    Stage("block", "block", N_("Block"), N_("How do the parts make one block?"), "[B,T,D]", makes="out"),
    Stage("logits", "output", N_("Logits"), N_("How does a vector become a score for every token?"), "[B,T,V]",
          makes="logits"),
    Stage("sampling", "output", N_("Sampling"), N_("How is the next token chosen?"), "[B,V]"),
    Stage("generation", "inference", N_("Generation"), N_("What is computed at each step, and what is reused?"),
          "[B,H,1,Tk]", needs="attn_out", prompted=True),
    Stage("kv_cache", "inference", N_("KV cache"), N_("What does the cache hold, and how does it grow?"),
          "[B,Hkv,T,Dh]", needs="attn_out", makes="k", prompted=True),
    Stage("cost", "inference", N_("Cost"), N_("Where do computation and memory go?"), ""),
    Stage("families", "wider", N_("Families"), N_("Encoder, decoder, or both?"), ""),
    Stage("training", "wider", N_("Training"), N_("Why is training parallel and generation serial?"), ""),
    Stage("mistakes", "practice", N_("Mistakes"), N_("What breaks when a step is done wrong?"), ""),
    Stage("quiz", "practice", N_("Quiz"), N_("What do you know for sure?"), ""),
    Stage("api", "practice", N_("API"), N_("How do the same numbers come out of real code?"), ""),
    Stage("inspect", "live", N_("Inspect"), N_("What does a real model do with your sentence?"), ""),
)


def stage(slug: str) -> Stage:
    """The stage of that slug. Raises KeyError."""
    return {entry.slug: entry for entry in STAGES}[slug]
