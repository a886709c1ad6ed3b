"""The catalogues are complete and say the same in both languages; the checks that claim so can fail."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from streamlit.testing.v1 import AppTest

from scripts import translations
from ui.shell import i18n


def test_the_catalogues_are_in_order() -> None:
    found = translations.problems()
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "english",
    [
        "Row 2 asks",
        "It sums to 1.0 in each row",
        "the largest weight, 0.5, is the last",
        "{} keys",
        "%d keys",
        "$S = 0.707$",
        "Row {row} 行",
    ],
)
def test_a_number_or_chinese_in_an_english_sentence_is_noticed(english: str) -> None:
    assert list(translations.message_problems(Message(english)))


@pytest.mark.parametrize(
    "english",
    [
        "Row {row} asks, {count} keys answer",
        "GPT-2 and SmolLM2-135M, with 4-bit weights",
        "see D0 §6.4 and D3 §3, where 1/√Dh is",
        "$S = QK^T/\\sqrt{D_h}$ is scaled once, `x.transpose(1, 2)` is not",
        "%(rows)d rows and {width:.2f} columns",
    ],
)
def test_names_references_formulas_and_placeholders_are_no_numbers(english: str) -> None:
    assert list(translations.message_problems(Message(english))) == []


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("Row {row} asks", ""),
        ("Row {row} asks", "一行提问"),
        ("Row {row} asks", "第 {r} 行提问"),
        ("%(n)s keys", "%(m)s 个键"),
        ("$QK^T$ is raw", "$QK$ 是原始分数"),
        ("call `wq` first", "先用 `wk`"),
        ("**read** [more](https://a.example)", "**阅读**[更多](https://b.example)"),
        ("a <b>row</b>", "一<i>行</i>"),
        ("one row of every head", "one row of every head"),
        ("and ", "和"),
    ],
)
def test_a_translation_that_says_something_else_is_noticed(english: str, chinese: str) -> None:
    assert list(translations.translation_problems(Message(english, chinese)))


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("Row {row} asks {n} keys", "第 {row} 行询问 {n} 个键"),
        ("$S = \\text{scores}$, `wq`", "`wq`,$S = \\text{分数}$"),
        ("GPT-2", "GPT-2"),
    ],
)
def test_a_faithful_translation_passes(english: str, chinese: str) -> None:
    assert list(translations.translation_problems(Message(english, chinese))) == []


def test_a_fuzzy_translation_is_noticed() -> None:
    assert list(translations.translation_problems(Message("Row", "行", flags=["fuzzy"])))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one page of one message, its catalogue up to date and translated."""
    folder = tmp_path / "locale/zh_CN/LC_MESSAGES"
    folder.mkdir(parents=True)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/one.py").write_text('# Translators: a verb\nst.write(_("Mask"))\n', encoding="utf-8")
    (tmp_path / "app.py").touch()
    (tmp_path / "serve.py").touch()
    (folder / "messages.po").write_text(
        'msgid ""\nmsgstr ""\n\nmsgid "Mask"\nmsgstr "遮住"\n', encoding="utf-8"
    )
    translations.write(tmp_path, template_only=False)
    return tmp_path


def test_update_leaves_nothing_to_complain_about(project: Path) -> None:
    assert translations.problems(project) == []


def test_update_keeps_translations_passes_comments_on_and_drops_what_is_gone(project: Path) -> None:
    page, catalogue = project / "pages/one.py", project / "locale/zh_CN/LC_MESSAGES/messages.po"
    assert "#. a verb" in catalogue.read_text(encoding="utf-8")
    page.write_text('st.write(_("Mask"))\nst.write(_("Scores"))\n', encoding="utf-8")
    translations.write(project, template_only=False)
    assert "遮住" in catalogue.read_text(encoding="utf-8")
    page.write_text('st.write(_("Scores"))\n', encoding="utf-8")
    translations.write(project, template_only=False)
    assert "遮住" not in catalogue.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", ['st.write(_("Mask"))\nst.write(_("Scores"))\n', "", 'st.write(_("Mask"))'])
def test_a_catalogue_that_lags_behind_the_code_is_noticed(project: Path, code: str) -> None:
    (project / "pages/one.py").write_text(code, encoding="utf-8")
    assert any("out of date" in problem for problem in translations.problems(project))


def test_moving_a_message_to_another_line_changes_no_file(project: Path) -> None:
    page = project / "pages/one.py"
    page.write_text("\n\n\n" + page.read_text(encoding="utf-8"), encoding="utf-8")
    assert translations.problems(project) == []


def test_a_file_that_does_not_parse_loses_no_messages(project: Path) -> None:
    (project / "pages/one.py").write_text("st.write(", encoding="utf-8")
    with pytest.raises(SyntaxError):
        translations.write(project, template_only=False)


@pytest.mark.parametrize(
    ("locale", "code"),
    [("zh-CN", "zh"), ("zh_TW", "zh"), ("ZH", "zh"), ("de-AT", "en"), ("", "en"), (None, "en")],
)
def test_the_first_visit_follows_the_browser(locale: str | None, code: str) -> None:
    assert i18n.from_locale(locale) == code


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="'fr'"):
        i18n.use("fr")


def test_two_threads_do_not_share_a_language() -> None:
    seen = []
    i18n.use("zh")
    other = threading.Thread(target=lambda: seen.append(i18n.current()))
    other.start()
    other.join()
    seen.append(i18n.current())
    i18n.use("en")
    assert seen == ["en", "zh"]


def one_page() -> None:
    """A page as `AppTest` runs it: it shows the language, and again from a fragment that reruns alone."""
    import streamlit as st

    from ui.shell import i18n

    if "started" not in st.session_state:
        st.session_state.started = True
        i18n.use("zh")
    st.text(i18n.current())
    i18n.html_lang()


def test_a_run_that_does_not_set_the_language_keeps_the_sessions_own() -> None:
    page = AppTest.from_function(one_page).run()
    page.run()
    assert not page.exception
    assert page.text[0].value == "zh"
    assert "lang='zh-CN'" in page.get("html")[0].proto.body
    assert i18n.current() == "en"


def test_a_message_without_a_translation_shows_in_english() -> None:
    i18n.use("zh")
    try:
        assert i18n._("no such message") == "no such message"
        assert i18n.ngettext("{n} such row", "{n} such rows", 2) == "{n} such rows"
    finally:
        i18n.use("en")
