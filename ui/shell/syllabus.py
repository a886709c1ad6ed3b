"""The stages in the order of the course: slug, section, title and the one question each page answers."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from core.config import ModelConfig
from ui.shell.i18n import N_


class Stage(NamedTuple):
    """`title`, `question` and `lead` are English texts for `_()`; the lead answers the question in words: what goes in,
    what comes out, why. `symbol` says in shapes what comes out of the stage;
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
    lead: str = ""

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
          makes="tokens", bridge=N_("It begins with a text, which has to become numbers."), places=(),
          lead=N_("A text is cut into pieces from a fixed list, and each piece is replaced by its number in "
                  "that list. A model reads these numbers only; it never sees the letters.")),
    Stage("embedding", "input", N_("Embedding"), N_("How does an id become a vector?"), "[B,T,D]", needs="embed",
          makes="in", bridge=N_("Each id is the number of a row of E; now the rows are looked up."), places=("b",),
          lead=N_("Each number picks one row of a learned table. That row, a vector, stands for the token "
                  "from here on; many models add a mark of the place where the token stands.")),
    Stage("matmul", "attention", N_("Matrix product"), N_("Which shapes may be multiplied?"), "[m,n]×[n,p]", places=(),
          lead=N_("Two tables of numbers make a third: each of its numbers comes from one row of the left "
                  "table and one column of the right one. This works only where the rows on the left are as "
                  "long as the columns on the right.")),
    Stage("projections", "attention", N_("Projections"), N_("How do three roles come from one X?"), "[B,H,T,Dh]",
          makes="q",
          bridge=N_("Each row now takes three roles: what it looks for, by what it is found, what it gives."),
          lead=N_("The vector of each token is multiplied by three learned matrices. Out come a query (what "
                  "the token looks for), a key (what it can be found by) and a value (what it passes on).")),
    Stage("scores", "attention", N_("Scores"), N_("How well does each query match each key?"), "[B,H,Tq,Tk]",
          makes="scaled", bridge=N_("Now every query is compared with every key."),
          lead=N_("Every query is compared with every key, and the result is one number, a score. A large "
                  "score is a good match: this token will read much from that one.")),
    Stage("mask", "attention", N_("Mask"), N_("Why is the future hidden before the softmax?"), "[B,H,Tq,Tk]",
          needs="scaled", makes="weights",
          bridge=N_("Not every key may be read: some are hidden before the softmax."),
          lead=N_("In a model that writes text a token may not read what comes after it: the model, which "
                  "learns to predict the next token, could copy the answer. So the forbidden scores become "
                  "minus infinity, and the softmax turns the others of each row into shares that add up to "
                  "one.")),
    Stage("mixing", "attention", N_("Mixing"), N_("What does a token take from the others?"), "[B,H,T,Dh]",
          makes="context", masked=True,
          bridge=N_("The weights are there; now each token takes its shares of the values."),
          lead=N_("Each token takes the values of the tokens that it may read, each in the share that its "
                  "weight says, and adds them up. The result is a new vector that knows about the tokens "
                  "around it.")),
    Stage("heads", "attention", N_("Heads"), N_("What is split, and what is put together again?"), "[B,T,D]",
          needs="q_proj", makes="attn_out", masked=True,
          bridge=N_("One head is computed. Several heads work side by side, and their results are joined."),
          lead=N_("Attention is computed several times side by side, each time on other features, so that "
                  "each head can follow a relation of its own. At the end the results are put next to each "
                  "other and mixed once more.")),
    Stage("sharing", "attention", N_("Sharing"), N_("Who reads whose keys and values?"), "[B,Hkv,T,Dh]",
          "grouped", N_("sharing shows itself best with four query heads"), needs="context", makes="k",
          masked=True,
          lead=N_("Several query heads can read the same keys and values. Then fewer of these have to be "
                  "kept in memory, which makes long texts cheaper; the number of queries does not change.")),
    Stage("order", "position", N_("Order"), N_("Can attention see the order of the tokens?"), "[B,T,D]",
          "word_order", N_("three words without positions can be put into any order"), places=("layer", "b"),
          lead=N_("By itself attention does not see in which order the tokens stand: swap two of them, and "
                  "the results are swapped too, nothing more. A mask changes that, and so do positions.")),
    Stage("rope", "position", N_("RoPE"), N_("How does a rotation carry a position?"), "[B,H,T,Dh]", "rope_pairs",
          N_("its four pairs of numbers turn, and the other examples have no RoPE"), needs="q_rot", makes="q_rot",
          bridge=N_("Before Q meets K, both are turned by their positions."),
          lead=N_("The numbers of each query and key are turned pair by pair, by an angle that grows with "
                  "the position of the token. The score of two tokens then depends on how far apart they "
                  "stand, and not on where.")),
    Stage("norms", "block", N_("Norms"), N_("What do LayerNorm and RMSNorm keep?"), "[B,T,D]", makes="norm1"),
    Stage("ffn", "block", N_("Feed-forward"), N_("What does each token do alone?"), "[B,T,F]", makes="hidden"),
    Stage("block", "block", N_("Block"), N_("How do the parts make one block?"), "[B,T,D]", makes="out"),
    Stage("logits", "output", N_("Logits"), N_("How does a vector become a score for every token?"), "[B,T,V]",
          makes="logits"),
    Stage("sampling", "output", N_("Sampling"), N_("How is the next token chosen?"), "[B,V]"),
    Stage("generation", "inference", N_("Generation"), N_("What is computed at each step, and what is reused?"),
          "[B,H,1,Tk]", needs="attn_out", prompted=True,
          bridge=N_("Once a token is chosen, the next is computed the same way, and most of the work can be kept."),
          lead=N_("The model reads the text, chooses one token more, and goes on with that token added. The "
                  "keys and values of earlier tokens do not change, so they are kept, and each step "
                  "computes those of the new token only.")),
    Stage("kv_cache", "inference", N_("KV cache"), N_("What does the cache hold, and how does it grow?"),
          "[B,Hkv,T,Dh]", needs="attn_out", makes="k", prompted=True,
          bridge=N_("What is kept takes memory, and more with every token."),
          lead=N_("The cache holds the keys and values of every token that was read, for every layer. It "
                  "saves computing them again, and it grows with every token, until it may need more memory "
                  "than the model itself.")),
    Stage("cost", "inference", N_("Cost"), N_("Where do computation and memory go?"), "",
          bridge=N_("Computation and memory can be counted, for this model and for large ones."), places=(),
          lead=N_("Every step takes arithmetic and reads memory. Both can be counted from the sizes of a "
                  "model, and the two speeds of a device say for which of them it has to wait.")),
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


def _line(slug: str, built: Container[str], model: ModelConfig) -> list[str]:
    """The way through that model over the pages that are built: a norm before the projections with pre-norm, RoPE where
    it has one."""
    line = [one for one in _LINE if one in built or one == slug]
    if model.positions != "rope" and "rope" in line:
        line.remove("rope")
    if (model.norm == "none" or model.norm_place != "pre") and "norms" in line:
        line.remove("norms")
    return line


def line(slug: str, built: Container[str], model: ModelConfig) -> list[Stage]:
    """The stages of that way from the first one on; a page beside it stands after the one that it comes after."""
    found = [one for one in _line(slug, built, model) if one != "home"]
    if slug in _BESIDE and slug not in found:
        found.insert(found.index(_BESIDE[slug]) + 1, slug)
    return [stage(one) for one in found]


def way(slug: str, built: Container[str], model: ModelConfig) -> Way:
    """The way on from a page. What lies beside the line leads back to it, and its end to its beginning."""
    line = _line(slug, built, model)
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
