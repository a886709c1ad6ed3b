"""Predict, then reveal: an open question hides its cells until it is answered or skipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from core.questions import Question
from ui import bench as bench_module
from ui.bench.session import session
from ui.shell.i18n import _

_LONGEST_ANSWER = 32


def held_back() -> None:
    """Said where the right numbers would stand, while a question is open."""
    st.caption(_("Answer or skip the question first: this part shows the right numbers."))


class Exercise:
    """Questions about the numbers at `place` (source, scope, layer, batch, head); another place closes the open one.

    `make(n)` gives the n-th question, None where nothing can be asked, `judge(question, answer)` a verdict's code.
    """

    def __init__(
        self, key: str, place: tuple[object, ...], make: Callable[[int], Question | None],
        judge: Callable[[Question, float], str],
    ) -> None:
        self._key, self._place, self._make, self._judge = key, place, make, judge

    @property
    def question(self) -> Question | None:
        """The open question, if there is one."""
        asking = session().asking(self._key)
        return None if asking.place != self._place else self._make(asking.number)

    def draw(
        self, ask: Callable[[Question], str], reveal: Callable[[Question], str], own: Mapping[str, str] | None = None,
    ) -> None:
        """The question with a field for the answer, or a button that opens one; `ask` and `reveal` word a question and
        its answer, `own` the verdicts that only these questions have."""
        words = _verdicts() | dict(own or {})
        question = self.question
        if question is None:
            asking = session().asking(self._key)
            if asking.verdict:
                st.markdown(asking.verdict)
            if st.button(_("Ask me one"), key=f"{self._key}-ask"):
                asking.place = self._place
                st.rerun(scope="fragment")
            return
        st.markdown(ask(question))
        with st.form(self._key, border=False):
            text = st.text_input(_("Your answer"), max_chars=_LONGEST_ANSWER, key=f"{self._key}-text")
            with st.container(horizontal=True):
                checked = st.form_submit_button(_("Check"))
                skipped = st.form_submit_button(_("Skip"))
        if skipped:
            self._close(_("Skipped."), reveal(question))
        if checked:
            answer = bench_module.read_number(text)
            if answer is None:
                st.error(_("That is not a number. Write it in digits, with a point for decimals and a minus sign if "
                           "need be."))
            else:
                verdict = self._judge(question, answer)
                if verdict == "right":
                    self._close(words[verdict], reveal(question))
                st.info(words.get(verdict, words["wrong"]) + " " + _("Try again, or skip to see it."))

    def _close(self, verdict: str, answer: str) -> None:
        asking = session().asking(self._key)
        asking.place, asking.number, asking.verdict = None, asking.number + 1, f"{verdict} {answer}"
        st.rerun(scope="fragment")


def _verdicts() -> dict[str, str]:
    return {"right": _("Right."), "sign": _("The size is right, the sign is not."),
            "close": _("Close, but not to {count} decimals.").format(count=bench_module.current().decimals),
            "wrong": _("No.")}
