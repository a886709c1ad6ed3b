"""The catalogues under locale/: `update` brings them up to date with the code, `check` says what is wrong.

    python scripts/translations.py extract    the messages of the code -> locale/messages.pot
    python scripts/translations.py update     extract, then every locale/*/LC_MESSAGES/messages.po
    python scripts/translations.py check      exit status 1 and a list, unless everything is in order

Files are written without dates and line numbers, sorted by message, so that two branches rarely touch the
same lines. A comment in the code that starts with "Translators:" reaches the translator.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = Path("locale/messages.pot")
SOURCES = ("app.py", "serve.py", "ui", "pages")
KEYWORDS = {"_": None, "N_": None, "ngettext": (1, 2)}
COMMENT_TAG = "Translators:"
HEADER = "# Written by scripts/translations.py; only the msgstr lines are edited by hand."
KEPT_HEADERS = ("Language:", "Plural-Forms", "MIME-Version", "Content-Type", "Content-Transfer-Encoding")
WIDTH = 110

CJK = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
CODE = re.compile(r"`[^`]+`")
FORMULA = re.compile(r"\$\$?[^$]+\$\$?")
TEXT_IN_FORMULA = re.compile(r"\\text\{[^}]*\}")
BRACES = re.compile(r"\{([^{}]*)\}")
PERCENT = re.compile(r"%(?:\((\w+)\))?[-+ #0]*\d*(?:\.\d+)?[sdifgeErxXc]")
LINK = re.compile(r"\]\(([^)]*)\)")
TAG = re.compile(r"</?[a-zA-Z][^>]*>")
WORD = re.compile(r"[A-Za-z]{2,}")
# A number that stands alone, not in a name (GPT-2, 4-bit, D0), a reference (§6.4) or an expression (1/√Dh).
LONE_NUMBER = re.compile(r"(?<![\w§.\-])[-−+]?\d+(?:[.,]\d+)*(?![\w\-]|/[√\w]|\.\d)")
DECIMAL = re.compile(r"\d\.\d")


def python_files(root: Path) -> Iterator[Path]:
    """The files whose messages are translated, relative to root, sorted."""
    for source in SOURCES:
        path = root / source
        files = [path] if path.is_file() else path.rglob("*.py")
        yield from sorted(file.relative_to(root) for file in files)


def extract(root: Path = ROOT) -> Catalog:
    """The messages of the code. Raises SyntaxError where a file does not parse, so that none is lost."""
    catalog = Catalog(header_comment=HEADER, charset="utf-8", fuzzy=False)
    for file in python_files(root):
        ast.parse((root / file).read_text(encoding="utf-8"), filename=str(file))
        for _line, message, comments, _context in extract_from_file(
            "python", root / file, KEYWORDS, comment_tags=(COMMENT_TAG,), strip_comment_tags=True
        ):
            catalog.add(message, locations=[(file.as_posix(), 1)], auto_comments=comments)
    for message in catalog:
        message.locations = sorted(set(message.locations))
    return catalog


def updated(template: Catalog, old: Catalog | None, locale: str) -> Catalog:
    """The catalogue of a locale with exactly the template's messages, with the translations of old."""
    new = old if old is not None else Catalog(locale=locale)
    new.update(template, no_fuzzy_matching=True)
    new.header_comment, new.fuzzy = HEADER, False
    return new


def to_text(catalog: Catalog) -> str:
    """The file as it is kept: sorted, with file names but without line numbers and dates."""
    buffer = BytesIO()
    write_po(buffer, catalog, width=WIDTH, sort_output=True, ignore_obsolete=True, include_lineno=False)
    header, blank, messages = buffer.getvalue().decode("utf-8").partition("\n\n")
    kept = [line for line in header.splitlines() if ":" not in line or line[1:].startswith(KEPT_HEADERS)]
    return ("\n".join(kept) + blank + messages).rstrip("\n") + "\n"


def catalogues(root: Path) -> list[Path]:
    """The catalogues that exist, relative to root."""
    return sorted(path.relative_to(root) for path in (root / "locale").glob("*/LC_MESSAGES/messages.po"))


def read(path: Path, locale: str) -> Catalog:
    """A catalogue from its file, obsolete entries included."""
    with path.open("rb") as file:
        return read_po(file, locale=locale)


def forms(text: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """The singular and plural forms of a message or translation."""
    return (text,) if isinstance(text, str) else tuple(text)


def placeholders(text: str) -> set[str]:
    """The placeholders of a text, `{x:.2f}` and `%(x)s` alike; an unnamed one is the empty string."""
    named = {field.split(":")[0].split("!")[0] for field in BRACES.findall(FORMULA.sub("", text))}
    return named | {match.group(1) or "" for match in PERCENT.finditer(text)}


def fixed_parts(text: str) -> Counter[str]:
    """What must not change between languages: formulas (words in them aside), code, link targets, tags."""
    formulas = [TEXT_IN_FORMULA.sub(r"\\text", found) for found in FORMULA.findall(text)]
    return Counter(formulas + CODE.findall(text) + LINK.findall(text) + TAG.findall(text))


def message_problems(message: Message) -> Iterator[str]:
    """What is wrong with a message as it stands in the code."""
    for form in forms(message.id):
        if CJK.search(form):
            yield "Chinese characters in the English text"
        if any(not name.isidentifier() for name in placeholders(form)):
            yield "a placeholder without a name; write {name}"
        plain = BRACES.sub("", CODE.sub("", form))
        for number in LONE_NUMBER.findall(TAG.sub("", FORMULA.sub("", plain))):
            yield f"the number {number} is written into the sentence; make it a named placeholder"
        for formula in FORMULA.findall(form):
            if DECIMAL.search(formula):
                yield f"a decimal number in the formula {formula}; make it a placeholder"


def translation_problems(message: Message) -> Iterator[str]:
    """What is wrong with the translation of a message."""
    if message.fuzzy:
        yield "marked fuzzy"
    sources, translations = forms(message.id), forms(message.string)
    if not all(translations):
        yield "not translated"
        return
    for translation in translations:
        source = sources[-1]
        if translation == source and len(WORD.findall(CODE.sub("", FORMULA.sub("", source)))) > 2:
            yield "the translation is the English text"
        wanted, got = sorted(placeholders(source)), sorted(placeholders(translation))
        if wanted != got:
            yield f"placeholders differ: {wanted} became {got}"
        lost, gained = (
            fixed_parts(source) - fixed_parts(translation),
            fixed_parts(translation) - fixed_parts(source),
        )
        if lost or gained:
            yield f"formulas, code, links or tags differ: {sorted(lost)} became {sorted(gained)}"
        if (
            translation[:1].isspace() != source[:1].isspace()
            or translation[-1:].isspace() != source[-1:].isspace()
        ):
            yield "space at the start or end differs"


def problems(root: Path = ROOT) -> list[str]:
    """Everything that is wrong, one line each; empty when all is in order."""
    template = extract(root)
    found = [
        f"{quote(message)}: {text}"
        for message in template
        if message.id
        for text in message_problems(message)
    ]
    stale = "is out of date; run `make translations`"
    if not (root / TEMPLATE).is_file() or (root / TEMPLATE).read_text(encoding="utf-8") != to_text(template):
        found.append(f"{TEMPLATE} {stale}")
    for path in catalogues(root):
        locale = path.parts[1]
        if to_text(updated(template, read(root / path, locale), locale)) != (root / path).read_text(
            encoding="utf-8"
        ):
            found.append(f"{path} {stale}")
        for message in read(root / path, locale):
            if message.id:
                found += [f"{path}: {quote(message)}: {text}" for text in translation_problems(message)]
    return found


def quote(message: Message) -> str:
    """The start of a message and the files it stands in, to find it by."""
    text = forms(message.id)[0].replace("\n", " ")
    shown = text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
    return f'"{shown}" ({", ".join(sorted({file for file, _line in message.locations}))})'


def write(root: Path, *, template_only: bool) -> None:
    """Write the template and, unless template_only, every catalogue."""
    template = extract(root)
    (root / TEMPLATE).write_text(to_text(template), encoding="utf-8")
    for path in [] if template_only else catalogues(root):
        locale = path.parts[1]
        text = to_text(updated(template, read(root / path, locale), locale))
        (root / path).write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run the command that is named; returns the exit status."""
    match arguments:
        case ["extract" | "update" as command]:
            write(ROOT, template_only=command == "extract")
            return 0
        case ["check"]:
            found = problems()
            for line in found:
                print(line)
            print(f"translations: {len(found)} problems" if found else "translations: in order")
            return 1 if found else 0
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
