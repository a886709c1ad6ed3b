"""What only the matmul page draws: two shapes and the rule for them, the product, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import worked
from core.errors import WorkbenchError
from core.questions import Question
from core.stages import matmul as stage
from core.stages.matmul import product
from core.stages.matmul.product import Product, Slice
from ui.bench.parameters import Choice, Text, Whole
from ui.bench.session import session
from ui.equation import Pin
from ui.furniture import code, formulas, prose, share
from ui.furniture.exercise import Exercise
from ui.furniture.page import Subject, on_bench
from ui.shell import errors
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number
from ui.stages.matmul import frames, rule

LONGEST_SHAPE = 40  # characters of a typed shape


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as it is typed, "[3, 2]"."""
    return f"[{', '.join(map(str, shape))}]"


OPENING = worked.SHAPES["fits"]  # the shapes of A and B that the page opens with
LEFT = Text("left", shape_text(OPENING[0]), longest=LONGEST_SHAPE, stage="matmul")
RIGHT = Text("right", shape_text(OPENING[1]), longest=LONGEST_SHAPE, stage="matmul")
PRODUCT = Whole("product", 1, low=1, high=product.MOST_NUMBERS, stage="matmul")  # which of the independent ones, from 1
SLIP = Choice("slip", "reshaped", codes=tuple(stage.MISTAKES), stage="matmul")
_RULE = r"[m, n] \times [n, p] = [m, p],\qquad C_{ij} = \sum_k A_{ik} B_{kj}"


@dataclass
class Typed:
    """The last shapes that could be read."""

    shapes: tuple[tuple[int, ...], tuple[int, ...]] = OPENING


@dataclass
class MatrixProduct(Subject):
    """Two tensors A and B of typed shapes: `found` is whether they may be multiplied, `part` the one of the independent
    products that is on screen, `pin` which of its cells is spoken of."""

    found: Product = field(init=False)
    operands: stage.Operands = field(init=False)
    part: Slice | None = None
    pin: Pin | None = None


def subject() -> MatrixProduct:
    """The bench; what is multiplied is typed on the page."""
    return on_bench(MatrixProduct)


def controls(shown: MatrixProduct) -> None:
    """Shapes to start from, the two shapes, which of the products, and the rule for them."""
    st.caption(_("This page's own example: its rule holds for any two shapes, so they are typed here. What you look at "
                 "elsewhere stays."))
    _examples(shown)
    left_at, right_at, number_at = st.columns(3)
    shown.found = found = _typed(left_at, right_at)
    shown.operands = product.pair(found, shown.bench.seed)
    number = _number(found, number_at)
    _verdict(found)
    if found.shape is not None:
        shown.part = product.slice_of(*shown.operands, found, number)
        shown.exercise = _exercise(shown, shown.part)


def _examples(shown: MatrixProduct) -> None:
    """Shapes to start from: the documents', ours, and those of Q Kᵀ in the source on screen."""
    labels = {"fits": _("fits"), "breaks": _("does not"), "heads": _("batch and heads"),
              "shared": _("one matrix for all"), "stretched": _("axes of size one"), "batch": _("batches that differ")}
    cases = dict(worked.SHAPES)
    own = product.of_scores(shown.resolved.trace, shown.bench.layer)
    if own is not None:
        cases, labels = cases | {"source": own}, labels | {"source": _("QKᵀ of this source")}
    with st.container(horizontal=True, vertical_alignment="center", key="controls"):
        for key, (left, right) in cases.items():
            st.button(labels[key], key=f"try-{key}", type="tertiary", on_click=_take, args=(left, right))


def _take(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    LEFT.put(shape_text(left))
    RIGHT.put(shape_text(right))


def _typed(left_at: DeltaGenerator, right_at: DeltaGenerator) -> Product:
    """The two shapes, typed; what cannot be read is told, and the last good ones stay."""
    left = product.read_shape(LEFT.draw(_("shape of A"), where=left_at))
    right = product.read_shape(RIGHT.draw(_("shape of B"), where=right_at))
    try:
        if left is None or right is None:
            st.error(_("A shape is whole numbers with commas between them, in brackets or without. The last good "
                       "shapes stay on screen."))
        else:
            found = product.product(left, right)
            session().part(Typed).shapes = left, right
            return found
    except WorkbenchError as problem:
        st.error(errors.explain(problem))
    return product.product(*session().part(Typed).shapes)


def _number(found: Product, where: DeltaGenerator) -> int:
    """Which of the independent products is on screen, from 0."""
    if found.products < 2:
        return 0
    return PRODUCT.draw(_("Product (of {count})").format(count=found.products), high=found.products, where=where) - 1


def _verdict(found: Product) -> None:
    """The rule drawn, and why it holds or breaks."""
    rule_at, reason_at = st.columns(2, vertical_alignment="center")
    with rule_at:
        rule.rule(found)
    with reason_at:
        st.markdown(_reason(found))
        if found.torch_error is not None:
            st.markdown(_("PyTorch says: `{error}`").format(error=found.torch_error))


def _reason(found: Product) -> str:
    if found.fault == "scalar" or found.inner is None:
        return _("**The shapes do not fit.** A single number has no rows or columns: multiply it with `*`.")
    left, right = found.inner
    if found.fault == "inner":
        return _("**The shapes do not fit.** A row of A has {left} numbers and a column of B has {right}, so the "
                 "numbers cannot be paired one to one and summed.").format(left=left, right=right)
    if found.fault == "batch":
        axis = next(axis for axis in found.batch if axis.result is None)
        return _("**The shapes do not fit.** The inner sizes agree, but a batch axis has {left} entries in A and "
                 "{right} in B. The two must be equal, or one of them must "
                 "be one.").format(left=axis.left, right=axis.right)
    return _("**The shapes fit.** Both inner sizes are {inner}, so each number in a row of A has a partner in a column "
             "of B. The result has the shape {shape}.").format(inner=left, shape=f"`{shape_text(found.shape or ())}`")


def _exercise(shown: MatrixProduct, part: Slice) -> Exercise:
    """Cells of the product on screen, and in between how many numbers all of them hold together."""
    cells, sizes = stage.QUESTIONS["cell"], stage.QUESTIONS["shape"]
    matrices = part.left, part.right

    def make(number: int) -> Question:
        size = sizes.ask(shown.at, number, operands=shown.operands) if number % 2 else None
        return size or stage.ask_cell(shown.at, number, operands=matrices)

    def judge(asked: Question, answer: float) -> str:
        kind, operands = (sizes, shown.operands) if asked.kind == "numbers" else (cells, matrices)
        return kind.judge(shown.at, asked, answer, shown.bench.decimals, operands=operands)

    return Exercise("matmul-question", (shown.found.left, shown.found.right, part.at, shown.bench.seed), make, judge)


def draw(shown: MatrixProduct) -> None:
    """A × B = C for one of the products, where there is one."""
    if shown.part is not None:
        asked = shown.asked
        hidden = [(asked.row, asked.column)] if asked and asked.kind == "value" else []
        shown.pin = frames.product(shown.part, key="matmul", bench=shown.bench, hidden=hidden)


def formula(shown: MatrixProduct) -> None:
    """The rule in symbols, and the pinned cell in digits while no question is open."""
    pin, part, decimals = shown.pin, shown.part, shown.bench.decimals
    if part is None or shown.asked or pin is None or pin.id != "c":
        formulas.formula(_RULE, "")
        return
    cell = product.cell(part.left, part.right, (pin.row, pin.col))
    total = formulas.sum_of_products([[term.left, term.right] for term in cell.terms], decimals)
    formulas.formula(_RULE, rf"C_{{{pin.row + 1},{pin.col + 1}}} = {total} = {formulas.number(cell.value, decimals)}")


def predict(shown: MatrixProduct) -> None:
    """A cell, or how many numbers the result holds."""
    found = shown.found

    def ask(question: Question) -> str:
        if question.kind == "numbers":
            return _("How many numbers does the result of {left} × {right} hold?").format(
                left=shape_text(found.left), right=shape_text(found.right))
        return _("What is C[{row},{column}]? Its cell shows ? until you answer.").format(
            row=question.row + 1, column=question.column + 1)

    def reveal(question: Question) -> str:
        if question.kind == "numbers":
            return _("The result has the shape {shape}, so the answer is {count}.").format(
                shape=shape_text(found.shape or ()), count=int(question.answer))
        return _("C[{row},{column}] = {value}.").format(
            row=question.row + 1, column=question.column + 1,
            value=format_number(question.answer, shown.bench.decimals))

    if shown.exercise is not None:
        shown.exercise.draw(ask, reveal, {
            "swapped": _("That is the cell on the other side of the diagonal: the row comes first, then the column."),
            "first_term": _("That is only the first product; the others are added to it."),
            "inner": _("The axis that is summed over is gone from the result; you counted it in."),
        })


def look_for(shown: MatrixProduct) -> list[str]:
    """What the shapes say about the product."""
    facts = shown.found
    if facts.shape is None or facts.inner is None:
        sentences = [_("Make the two inner sizes equal, and make batch axes equal or one. Then the product appears.")]
    else:
        sentences = [
            _("The inner size {inner} is in both shapes and not in the result: it is what is summed over, so every "
              "number of the result is a sum of {inner} products.").format(inner=facts.inner[0]),
            _("In all it takes {multiplications} multiplications.").format(multiplications=facts.multiplications),
        ]
    if facts.products > 1:
        sentences.append(_("The batch axes are not multiplied with anything: they say that there are {count} products "
                           "side by side, each independent of the others. Step through them above.").format(
                               count=facts.products))
    if any(axis.fit not in ("equal", "differ") for axis in facts.batch):
        sentences.append(_("A batch axis of size one, or one that is missing in front, is repeated: the same matrix is "
                           "multiplied by every matrix on the other side, and no copy is made."))
    return sentences


def ways(shown: MatrixProduct) -> None:
    """The same two tensors through the operations of PyTorch and NumPy, really tried."""
    prose.table([_("code"), _("shape of the result"), _("in its own words")],
                 [[f"`{way.code}`", "" if way.shape is None else f"`{shape_text(way.shape)}`",
                   "" if way.error is None else f"`{way.error}`"] for way in product.ways(*shown.operands)])
    st.caption(_("`*` multiplies cell by cell and is another operation; where it happens to fit, nothing warns you."))


def mistakes(shown: MatrixProduct) -> None:
    """The first product done wrong, beside what is right."""
    if shown.found.shape is None:
        st.caption(_("Choose shapes that fit first."))
        return
    labels = {"reshaped": _("reshape in place of transpose"), "swapped": _("B @ A in place of A @ B"),
              "star": _("A * B in place of A @ B")}
    kind = SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    part = product.slice_of(*shown.operands, shown.found, 0)
    result = stage.MISTAKES[kind](shown.at, operands=(part.left, part.right))
    if result.error is not None:
        st.error(_("PyTorch says: `{error}`").format(error=result.error))
    elif result.wrong is not None and result.difference is None:
        st.info(_("There is no error, but another shape: {wrong} in place of {right}.").format(
            wrong=shape_text(tuple(result.wrong.shape)), right=shape_text(tuple(result.right.shape))))
    else:
        frames.compared(result, key="matmul-mistake", bench=shown.bench)
    st.markdown({
        "reshaped": _("Suppose you have Bᵀ and need B. `reshape` gives the right shape but puts the numbers into other "
                      "places, so the result is wrong and no error is raised. Only `.mT` or `transpose` swaps rows and "
                      "columns."),
        "swapped": _("The order matters: A @ B and B @ A differ even where both fit."),
        "star": _("`*` pairs cells at the same place and sums nothing."),
    }[kind])


def program(shown: MatrixProduct) -> None:
    """The PyTorch program of A @ B, or of torch's refusal."""
    code.program(stage.program(shown.at, operands=shown.operands), [product.product, product.cell], key="matmul")


def shared(shown: MatrixProduct) -> None:
    """The link, the state file and both operands."""
    left, right = shown.operands
    share.share(shown.bench, shown.resolved.trace, key="matmul", numbers={"a": left.numpy(), "b": right.numpy()})


def check(shown: MatrixProduct) -> None:
    """The product against float64."""
    if shown.found.shape is not None:
        st.caption(_("Check: the product against the same in float64. Largest difference: {difference}.").format(
            difference=format_difference(product.exact_difference(*shown.operands))))
