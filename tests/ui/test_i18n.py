"""The words of the session's language that are no single text."""

from __future__ import annotations

import pytest

from ui.shell import i18n


@pytest.mark.parametrize(("lang", "wanted"), [("en", "a, {b}, c"), ("zh", "a、{b}、c")])
def test_a_list_has_the_comma_of_its_language_and_may_be_empty(lang: str, wanted: str) -> None:
    i18n.use(lang)
    try:
        assert i18n.listed(["a", "{b}", "c"]) == wanted
        assert i18n.listed(iter(["only"])) == "only"
        assert i18n.listed([]) == ""
    finally:
        i18n.use(i18n.DEFAULT)
