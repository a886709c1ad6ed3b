"""Every way in which a model file or a typed text can fail has words that carry what was wrong."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from core.errors import SizeOutOfRange, WorkbenchError
from core.live import errors
from ui.shell.errors import explain

FOLDER = Path("models") / "mine"
FAILURES: list[tuple[WorkbenchError, list[str]]] = [
    (errors.ModelMissing("small", "pip install small"), ["pip install small"]),
    (errors.ModelUnknown("other", ["small", "mine"]), ["`other`", "`small`, `mine`"]),
    (errors.CheckpointInvalid(FOLDER, "cut short"), ["`mine`"]),
    (errors.FilesMissing(FOLDER, ["config.json"]), ["`mine`", "lacks `config.json`"]),
    (errors.PicklesRefused(FOLDER, ["pytorch_model.bin"]), ["`mine`", "`pytorch_model.bin`", "Safetensors and GGUF"]),
    (errors.ArchitectureUnsupported(FOLDER, "bert", ["gpt2", "llama"]), ["`bert`", "gpt2, llama"]),
    (errors.ArchitectureUnsupported(FOLDER, "llama", ["llama"], "quantised weights"), ["`llama`", "quantised weights"]),
    (errors.TokenizerUnsupported(FOLDER, "Unigram", ["BPE"]), ["`Unigram`", "BPE"]),
    (errors.SizesInvalid(FOLDER, SizeOutOfRange("heads", 0, 1, 9)), ["`mine`", "H = 0", "from 1 to 9"]),
    (errors.TooLarge(FOLDER, 20_000_000_000, 16_000_000_000, "LIMIT"), ["20 GB", "16 GB", "`LIMIT`"]),
    (errors.TensorsMissing(FOLDER, ["a", "b", "c", "d"]), ["lacks 4", "`a`, `b`, `c` …"]),
    (errors.TensorsUnexpected(FOLDER, ["a"]), ["`a`", "1"]),
    (errors.TensorMisshapen(FOLDER, "a", (2, 3), (3, 2)), ["`a`", "[2, 3]", "[3, 2]"]),
    (errors.TensorTypeUnsupported(FOLDER, "a", "I8", ["F32", "F16"]), ["`a`", "`I8`", "F32, F16"]),
    (errors.TensorNotFinite(FOLDER, "a"), ["`a`", "NaN"]),
    (errors.VocabularyTooLarge(FOLDER, 40, 31), ["40", "31"]),
    (errors.InstallFailed("stopped", []), ["nothing was installed"]),
    (errors.TextEmpty(), ["no text"]),
    (errors.TextTooLong(9, 8), ["9", "8"]),
    (errors.TextNotCovered(["x", "y"]), ["2"]),
    (errors.TooManyTokens(9, 8), ["9", "8"]),
    (errors.ChatUnavailable(), ["chat template"]),
    (errors.ChatRefused("roles must alternate"), ["`roles must alternate`"]),
]
# Said beside the model rather than instead of it (`CacheUnavailable`), never shown, or a common root.
NOT_EXPLAINED = {"CacheUnavailable", "CacheDamaged", "TextError", "WorkbenchError", "ConfigError"}


@pytest.mark.parametrize(("error", "said"), FAILURES, ids=lambda value: type(value).__name__)
def test_the_words_carry_what_was_wrong(error: WorkbenchError, said: list[str]) -> None:
    text = explain(error)
    assert text != explain(WorkbenchError())
    for part in said:
        assert part in text


def test_no_kind_of_failure_is_without_words() -> None:
    kinds = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)}
    assert kinds - NOT_EXPLAINED == {type(error).__name__ for error, _ in FAILURES}


def test_what_stands_in_a_file_cannot_leave_its_code() -> None:
    hostile = "a`](http://x)\n# big " + "x" * 500
    text = explain(errors.TensorNotFinite(Path(hostile), hostile))
    assert "\n" not in text
    assert text.count("`") == 4
    assert len(text) < 300
