"""The matrix product: which shapes may be multiplied, and what each number of the result is made of."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import worked
from core.errors import WorkbenchError
from core.questions import Question
from core.stages.matmul import practice, product
from core.stages.matmul.product import Product, Slice
from core.trace import Trace
from ui import bench as bench_module
from ui.bench import Bench
from ui.bench.session import session
from ui.equation import Pin
from ui.furniture import code, formulas, header, notices, prose, sections, share, strip
from ui.furniture.exercise import Exercise
from ui.shell import errors, frame
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number
from ui.stages import matmul


@st.fragment
def lab() -> None:
    """Everything that changes with a shape, a pin or a switch of this page."""
    bench, resolved = frame.look()
    formula_at = st.container()
    _examples(resolved.trace, bench.layer)
    left_at, right_at, number_at = st.columns(3)
    found = _typed(left_at, right_at)
    left, right = product.pair(found, bench.seed)
    number = _number(found, number_at)
    _verdict(found)
    if found.shape is None:
        with formula_at:
            formulas.formula(_RULE, "")
    else:
        _product(bench, found, product.slice_of(left, right, found, number), formula_at)
    _look_for(found)
    for title, key, body in (
        (_("What PyTorch and NumPy do to the same shapes"), "ways", lambda: _ways(found, bench)),
        (_("Common mistakes"), "wrong", lambda: _mistake(bench, found)),
        (_("PyTorch"), "code", lambda: code.program(
            practice.program(left, right), [product.product, product.cell], key="matmul")),
        (_("Share and save"), "share", lambda: share.share(
            bench, resolved.trace, key="matmul", numbers={"a": left.numpy(), "b": right.numpy()})),
    ):
        sections.folded(title, key, body)
    if found.shape is not None:
        st.caption(_("Check: the product against the same in float64. Largest difference: {difference}.").format(
            difference=format_difference(product.exact_difference(left, right))))
    bench_module.finish()


_RULE = r"[m, n] \times [n, p] = [m, p],\qquad C_{ij} = \sum_k A_{ik} B_{kj}"


def _examples(trace: Trace, layer: int) -> None:
    """Shapes to start from: the documents', ours, and those of Q Kᵀ in the source on screen."""
    labels = {"fits": _("fits"), "breaks": _("does not"), "heads": _("batch and heads"),
              "shared": _("one matrix for all"), "stretched": _("axes of size one"), "batch": _("batches that differ")}
    cases = dict(worked.SHAPES)
    own = product.of_scores(trace, layer)
    if own is not None:
        cases, labels = cases | {"source": own}, labels | {"source": _("QKᵀ of this source")}
    with st.container(horizontal=True, vertical_alignment="center", key="controls"):
        for key, (left, right) in cases.items():
            st.button(labels[key], key=f"try-{key}", type="tertiary", on_click=_take, args=(left, right))


def _take(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    matmul.LEFT.put(matmul.shapematmul.shape_text(left))
    matmul.RIGHT.put(matmul.shapematmul.shape_text(right))


def _typed(left_at: DeltaGenerator, right_at: DeltaGenerator) -> Product:
    """The two shapes, typed; what cannot be read is told, and the last good ones stay."""
    left = product.read_shape(matmul.LEFT.draw(_("shape of A"), where=left_at))
    right = product.read_shape(matmul.RIGHT.draw(_("shape of B"), where=right_at))
    try:
        if left is None or right is None:
            st.error(_("A shape is whole numbers with commas between them, in brackets or without. The last good "
                       "shapes stay on screen."))
        else:
            found = product.product(left, right)
            session().part(matmul.Typed).shapes = left, right
            return found
    except WorkbenchError as problem:
        st.error(errors.explain(problem))
    return product.product(*session().part(matmul.Typed).shapes)


def _verdict(found: Product) -> None:
    """The rule drawn, and why it holds or breaks."""
    rule_at, reason_at = st.columns(2, vertical_alignment="center")
    with rule_at:
        matmul.rule(found)
    with reason_at:
        st.markdown(_reason(found))
        if found.torch_error is not None:
            st.markdown(_("PyTorch says: `{error}`").format(error=found.torch_error))


def _reason(found: Product) -> str:
    if found.fault == "scalar" or found.inner is None:
        return _("**It breaks.** A single number has no rows or columns: multiply it with `*`.")
    left, right = found.inner
    if found.fault == "inner":
        return _("**It breaks.** A row of A has {left} numbers and a column of B has {right}: they cannot be paired, "
                 "one with one, and summed.").format(left=left, right=right)
    if found.fault == "batch":
        axis = next(axis for axis in found.batch if axis.result is None)
        return _("**It breaks.** The inner sizes agree, but a batch axis has {left} entries in A and {right} in B. "
                 "They must be equal, or one of them one.").format(left=axis.left, right=axis.right)
    return _("**It fits.** Both inner sizes are {inner}: each number of a row of A meets one of a column of B. The "
             "result is {shape}.").format(inner=left, shape=f"`{matmul.shape_text(found.shape or ())}`")


def _number(found: Product, where: DeltaGenerator) -> int:
    """Which of the independent products is on screen, from 0."""
    if found.products < 2:
        return 0
    return matmul.PRODUCT.draw(_("Product (of {count})").format(count=found.products), high=found.products,
                               where=where) - 1


def _product(bench: Bench, found: Product, part: Slice, formula_at: DeltaGenerator) -> None:
    """One product as an equation, with its formula and questions."""
    exercise = Exercise(
        "matmul-question", (found.left, found.right, part.at, bench.seed),
        lambda number: _question(found, part, number),
        lambda asked, answer: practice.judge_shape(found, asked, answer) if asked.kind == "numbers" else
        practice.judge(part.left, part.right, asked, answer, bench.decimals))
    asked = exercise.question
    hidden = [(asked.row, asked.column)] if asked and asked.kind == "value" else []
    pin = matmul.product(part, key="matmul", bench=bench, hidden=hidden)
    with formula_at:
        _formula(part, None if asked else pin, bench.decimals)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(bench, found, exercise))


def _formula(part: Slice, pin: Pin | None, decimals: int) -> None:
    if pin is None or pin.id != "c":
        formulas.formula(_RULE, "")
        return
    cell = product.cell(part.left, part.right, (pin.row, pin.col))
    formulas.formula(_RULE, rf"C_{{{pin.row + 1},{pin.col + 1}}} = {formulas.products_in_digits(cell, decimals)} = "
                          rf"{formulas.number(cell.value, decimals)}")


def _question(found: Product, part: Slice, number: int) -> Question:
    shape = practice.shape_question(found)
    return shape if shape is not None and number % 2 else practice.question(part.left, part.right, number)


def _predict(bench: Bench, found: Product, exercise: Exercise) -> None:
    def ask(question: Question) -> str:
        if question.kind == "numbers":
            return _("How many numbers does the result of {left} × {right} hold?").format(
                left=matmul.shape_text(found.left), right=matmul.shape_text(found.right))
        return _("What is C[{row},{column}]? Its cell shows ? until you answer.").format(
            row=question.row + 1, column=question.column + 1)

    def reveal(question: Question) -> str:
        if question.kind == "numbers":
            return _("It has shape {shape}: {count} numbers.").format(
                shape=matmul.shape_text(found.shape or ()), count=int(question.answer))
        return _("C[{row},{column}] = {value}.").format(
            row=question.row + 1, column=question.column + 1, value=format_number(question.answer, bench.decimals))

    exercise.draw(ask, reveal, {
        "swapped": _("That is the cell on the other side of the diagonal: the row comes first, then the column."),
        "first_term": _("That is only the first product; the others are added to it."),
        "inner": _("The axis that is summed over is gone from the result; you counted it in."),
    })


def _look_for(found: Product) -> None:
    if found.shape is None or found.inner is None:
        sentences = [_("Make the inner sizes equal, and batch axes equal or one: then it lights.")]
    else:
        sentences = [
            _("The inner size {inner} is in both shapes and not in the result: it is what is summed over, so every "
              "number of the result is a sum of {inner} products.").format(inner=found.inner[0]),
            _("In all it takes {multiplications} multiplications.").format(multiplications=found.multiplications),
        ]
    if found.products > 1:
        sentences.append(_("The batch axes are not multiplied with anything: they say that there are {count} products "
                           "side by side, and none of them sees another. Step through them above.").format(
                               count=found.products))
    if any(axis.fit not in ("equal", "differ") for axis in found.batch):
        sentences.append(_("A batch axis of size one, or one that is missing in front, is used again and again: the "
                           "same matrix meets every one on the other side, and no copy is made."))
    prose.look_for(sentences)


def _ways(found: Product, bench: Bench) -> None:
    rows = product.ways(*product.pair(found, bench.seed))
    prose.table([_("code"), _("shape of the result"), _("in its own words")],
                 [[f"`{way.code}`", "" if way.shape is None else f"`{matmul.shape_text(way.shape)}`",
                   "" if way.error is None else f"`{way.error}`"] for way in rows])
    st.caption(_("`*` multiplies cell by cell and is another operation; where it happens to fit, nothing warns you."))


def _mistake(bench: Bench, found: Product) -> None:
    if found.shape is None:
        st.caption(_("Choose shapes that fit first."))
        return
    labels = {"reshaped": _("reshape in place of transpose"), "swapped": _("B @ A in place of A @ B"),
              "star": _("A * B in place of A @ B")}
    kind = matmul.SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    part = product.slice_of(*product.pair(found, bench.seed), found, 0)
    result = practice.slip(part.left, part.right, kind)
    if result.error is not None:
        st.error(_("PyTorch says: `{error}`").format(error=result.error))
    elif result.wrong is not None and result.difference is None:
        st.info(_("No error, but another shape: {wrong} in place of {right}.").format(
            wrong=matmul.shape_text(tuple(result.wrong.shape)), right=matmul.shape_text(tuple(result.right.shape))))
    else:
        matmul.compared(result, key="matmul-mistake", bench=bench)
    st.markdown({
        "reshaped": _("Bᵀ is at hand and B is needed. `reshape` gives the right shape and puts the numbers into other "
                      "places: no error, a wrong result. Only `.mT` or `transpose` swaps rows and columns."),
        "swapped": _("The order matters: A @ B and B @ A differ even where both fit."),
        "star": _("`*` pairs cells at the same place and sums nothing."),
    }[kind])


_bench, _resolved = frame.look()
header.page_header("matmul", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
strip.shape_strip("matmul", _resolved.trace)
lab()
