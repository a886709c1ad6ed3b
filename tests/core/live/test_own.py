"""The user's own checkpoints: found by name under one folder, and by nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core import live
from core.errors import UnknownOption
from core.live import checkpoint, registry
from core.live.errors import ModelUnknown

from .conftest import WriteGGUF
from .folders import write

BUILT_IN = ["smollm2-135m"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "models"
    place.mkdir()
    monkeypatch.setenv(registry.VARIABLE, str(place))
    return place


def marked(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


def test_folders_and_files_are_found_and_loaded_by_name(
    root: Path, write_gguf: WriteGGUF, cache: Path,
) -> None:
    write(root / "my llama")
    write_gguf().rename(root / "tiny.gguf")
    (root / "notes.txt").write_text("not a model")
    (root / "empty").mkdir()
    (root / ".hidden.gguf").write_bytes(b"")
    assert live.available() == [*BUILT_IN, "my llama", "tiny.gguf"]
    for name in ("my llama", "tiny.gguf"):
        model = live.load(name)
        assert model.name == name
        assert model.trace("the cat").source == name


def test_a_name_wins_over_a_path_of_the_same_spelling(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    marked(root / "same")
    marked(tmp_path / "elsewhere" / "same")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert registry.locate("same") == root / "same"


@pytest.mark.parametrize("name", [
    "..", ".", "", "/", "../outside", "a/b", "a\\b", "own/", "own/..", "./own", "~", "\0", "OWN"])
def test_what_is_no_name_is_not_among_them(root: Path, tmp_path: Path, name: str) -> None:
    marked(root / "own")
    marked(root / "a" / "b")
    marked(tmp_path / "outside")
    assert name not in live.available()


def test_unknown_names_are_refused_with_those_that_are_known(root: Path) -> None:
    marked(root / "own")
    with pytest.raises(ModelUnknown) as caught:
        live.load("other")
    assert caught.value.known == [*BUILT_IN, "own"]


def test_two_names_for_the_same_contents_keep_their_names(root: Path, write_gguf: WriteGGUF, cache: Path) -> None:
    path = write_gguf()
    for name in ("one.gguf", "two.gguf"):
        (root / name).write_bytes(path.read_bytes())
    traces = [live.load(name).trace("the cat") for name in ("one.gguf", "two.gguf")]
    assert [trace.source for trace in traces] == ["one.gguf", "two.gguf"]


@pytest.mark.parametrize("name", ["a" * 5_000, "\0", "/" + "a" * 300 + ".gguf", "\ud83d"])
def test_what_no_file_can_be_called_is_unknown(root: Path, name: str) -> None:
    with pytest.raises(ModelUnknown):
        live.load(name)


def test_a_registered_name_cannot_be_taken_over(root: Path) -> None:
    marked(root / "smollm2-135m")
    assert live.available() == BUILT_IN
    assert registry.locate("smollm2-135m").suffix == ".gguf"


def test_links_that_lead_out_are_left_out(root: Path, tmp_path: Path) -> None:
    outside = marked(tmp_path / "outside")
    (tmp_path / "secret.gguf").write_bytes(b"GGUF")
    (root / "folder").symlink_to(outside)
    (root / "file.gguf").symlink_to(tmp_path / "secret.gguf")
    inside = marked(root / "inside")
    (inside / "model.safetensors").symlink_to(tmp_path / "secret.gguf")
    (root / "loop.gguf").symlink_to(root / "loop.gguf")
    (root / "broken.gguf").symlink_to(root / "nothing.gguf")
    marked(root / "fine")
    (root / "again").symlink_to(root / "fine")
    assert live.available() == [*BUILT_IN, "again", "fine"]


def test_names_that_cannot_be_shown_are_left_out(root: Path) -> None:
    for name in (b"a\nb.gguf", b"\xff.gguf", "\u202eb.gguf".encode()):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(b"GGUF")
    assert live.available() == BUILT_IN


@pytest.mark.parametrize("place", ["nowhere", "file", ""])
def test_a_folder_that_is_not_there_has_no_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str,
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(registry.VARIABLE, str(tmp_path / place) if place else "")
    assert live.available() == BUILT_IN


@pytest.mark.parametrize("value", ["much", "0", "-1", "nan", "inf"])
def test_a_limit_that_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(checkpoint.LIMIT_VARIABLE, value)
    with pytest.raises(UnknownOption) as caught:
        checkpoint.max_bytes()
    assert (caught.value.field, caught.value.value) == (checkpoint.LIMIT_VARIABLE, value)


def test_the_limit_is_sixteen_gigabytes_unless_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checkpoint.max_bytes() == 16 * 10**9
    monkeypatch.setenv(checkpoint.LIMIT_VARIABLE, "0.5")
    assert checkpoint.max_bytes() == 5 * 10**8
