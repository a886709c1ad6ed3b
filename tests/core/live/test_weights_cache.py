"""The cache of dequantised weights: built once, mapped afterwards, never trusted blindly."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from core import live
from core.live import Live, gguf_file, weights_cache
from core.live.errors import CacheUnavailable, CheckpointInvalid
from core.live.weights_cache import Build, Weights
from tests.waiting import LONGEST, join, until

from .conftest import WriteGGUF

ROOT = Path(__file__).parents[3]
VALUES = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.full(700_001, 0.25, dtype=np.float32)}


class Maker:
    """Builds the two arrays above and counts how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Build:
        self.calls += 1
        shapes = {name: array.shape for name, array in VALUES.items()}
        return Build({"note": "é ␣"}, shapes, lambda: iter(VALUES.items()))


def fetch(make: Any, stages: list[str] | None = None) -> Weights:
    heard: list[str] = [] if stages is None else stages
    found = weights_cache.fetch("key", make, lambda stage, fraction: heard.append(stage))
    assert found.texts["note"] == "é ␣"
    assert {name: tensor.numpy().tobytes() for name, tensor in found.tensors.items()} == {
        name: array.tobytes() for name, array in VALUES.items()}
    return found


def stored(cache: Path) -> Path:
    (path,) = cache.glob("*.safetensors")
    return path


def test_built_once_then_mapped(cache: Path) -> None:
    make, first, second = Maker(), [], []
    fetch(make, first)
    fetch(make, second)
    assert make.calls == 1
    assert list(dict.fromkeys(first)) == ["dequantise", "write", "map"]
    assert second == ["map"]
    assert {path.suffix for path in cache.iterdir()} == {".safetensors", ".lock"}


def test_the_file_is_plain_safetensors(cache: Path) -> None:
    fetch(Maker())
    with safe_open(stored(cache), framework="np") as file:
        assert set(file.keys()) == set(VALUES)
        assert all(np.array_equal(file.get_tensor(name), array) for name, array in VALUES.items())


def test_mapped_memory_belongs_to_the_file_and_writing_to_it_does_not_reach_it(cache: Path) -> None:
    before = fetch(Maker()).tensors["b"]
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(stored(cache)) in maps.read_text()
    before[0] = 99.0
    fetch(Maker())


@settings(max_examples=60)
@given(data=st.data())
def test_any_changed_byte_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    place = tmp_path_factory.getbasetemp() / "flipped"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(weights_cache.VARIABLE, str(place))
        fetch(Maker())
        path = stored(place)
        whole = bytearray(path.read_bytes())
        header = 8 + int.from_bytes(whole[:8], "little")
        at = data.draw(st.one_of(st.integers(0, header - 1), st.integers(header, len(whole) - 1)))
        whole[at] ^= data.draw(st.integers(1, 255))
        path.write_bytes(whole)
        again = Maker()
        fetch(again)
        assert again.calls == 1


@pytest.mark.parametrize("damage", [
    lambda b: b[:-1], lambda b: b[: len(b) // 2], lambda b: b[:8], lambda b: b"", lambda b: b + b"\0",
    lambda b: b + b[-2**20:], lambda b: b"\xff" * len(b), lambda b: bytes(len(b)),
    lambda b: b[:-2**20] + bytes(2**20), lambda b: b"\x80\x04pickle" + b,
])
def test_a_file_cut_extended_or_overwritten_is_built_again(cache: Path, damage: Any) -> None:
    fetch(Maker())
    path = stored(cache)
    path.write_bytes(damage(path.read_bytes()))
    again, stages = Maker(), []
    fetch(again, stages)
    assert again.calls == 1
    assert "write" in stages
    fetch(again)
    assert again.calls == 1


def test_what_a_killed_process_left_is_cleared_away(cache: Path) -> None:
    cache.mkdir()
    for left in ("key.v1.123.part", "key.v0.safetensors"):
        (cache / left).write_bytes(b"half")
    fetch(Maker())
    left = sorted(path.name for path in cache.iterdir())
    assert left == ["key.lock", f"key.v{weights_cache.FORMAT}.safetensors"]


def test_a_process_killed_while_it_writes_spoils_nothing(cache: Path, write_gguf: WriteGGUF) -> None:
    path = write_gguf()
    killed = subprocess.run([sys.executable, "-c", (
        "import os, sys\n"
        "from core import live\n"
        "live.load(sys.argv[1], lambda stage, fraction: os._exit(9) if (fraction or 0) > 0.5 else None)\n"
    ), str(path)], cwd=ROOT, check=False, timeout=LONGEST)
    assert killed.returncode == 9
    assert [left.suffix for left in cache.iterdir() if left.suffix != ".lock"] == [".part"]
    assert live.load(path).cache_problem is None
    assert not list(cache.glob("*.part"))


def test_an_exception_while_building_leaves_nothing_behind(cache: Path) -> None:
    def broken() -> Build:
        def values() -> Iterator[tuple[str, Any]]:
            yield "a", VALUES["a"]
            raise CheckpointInvalid(Path("x.gguf"), "broken off")
        return Build({}, {name: v.shape for name, v in VALUES.items()}, values)

    with pytest.raises(CheckpointInvalid):
        weights_cache.fetch("key", broken, lambda stage, fraction: None)
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
    fetch(Maker())


def test_threads_that_start_together_build_once(cache: Path) -> None:
    make, heard, failures = Maker(), [], []

    def slowly() -> Build:
        until(lambda: "wait" in heard)  # another thread stands before the lock
        return make()

    def start() -> None:
        try:
            fetch(slowly, heard)
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    join(*threads)
    assert not failures
    assert make.calls == 1
    assert "wait" in heard


def test_processes_that_start_together_build_once_and_agree(cache: Path, write_gguf: WriteGGUF) -> None:
    path, gate = write_gguf(), cache.parent / "go"
    program = (
        "import os, sys, time\n"
        "from core import live\n"
        "print('ready', flush=True)\n"
        "while not os.path.exists(sys.argv[2]): time.sleep(0.001)\n"
        "stages = []\n"
        "model = live.load(sys.argv[1], lambda stage, fraction: stages.append(stage))\n"
        "print('dequantise' in stages, model.cache_problem, model.trace('the cat')['logits'].sum().item())\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(path), str(gate)], cwd=ROOT,
                                  stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    gate.touch()
    said = [process.communicate(timeout=LONGEST)[0].split() for process in processes]
    assert sorted(line[0] for line in said) == ["False", "True"]
    assert [line[1] for line in said] == ["None", "None"]
    assert float(said[0][2]) == pytest.approx(float(said[1][2]), rel=1e-4, abs=1e-4)  # sums in any order


def test_a_folder_that_cannot_be_used_is_named_and_the_model_runs_from_memory(
    write_gguf: WriteGGUF, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: Live,
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv(weights_cache.VARIABLE, str(tmp_path / "file" / "below"))
    with pytest.raises(CacheUnavailable) as caught:
        fetch(Maker())
    assert caught.value.folder == tmp_path / "file" / "below"
    assert caught.value.why
    assert weights_cache.VARIABLE in str(caught.value)
    model = live.load(write_gguf())
    assert model.cache_problem is not None
    assert model.cache_problem.folder == caught.value.folder
    ids = torch.tensor([model.encode("the cat").ids])
    # The same weights, in memory or mapped from the file: where they begin may decide in which order sums are taken.
    torch.testing.assert_close(model.decoder(ids), tiny.decoder(ids), atol=1e-5, rtol=1e-5)


def test_a_full_disk_is_no_obstacle(
    write_gguf: WriteGGUF, cache: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(weights_cache.os, "fsync", full)
    model = live.load(write_gguf())
    assert model.cache_problem is not None
    assert model.cache_problem.why == "No space left on device"
    assert not list(cache.glob("*.part"))
    assert len(model.trace("the cat").tokens) > 1


def test_the_variable_moves_the_folder(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert weights_cache.folder() == cache
    monkeypatch.delenv(weights_cache.VARIABLE)
    assert weights_cache.folder().name == "transformer-workbench"


def test_another_model_file_gets_another_cache_file(cache: Path, write_gguf: WriteGGUF) -> None:
    live.load(write_gguf())
    live.load(write_gguf({"llama.rope.freq_base": 20000.0}))
    assert len(list(cache.glob("*.safetensors"))) == 2


def test_mapped_weights_are_the_files(cache: Path, write_gguf: WriteGGUF) -> None:
    path = write_gguf()
    live.load(path)
    state = live.load(path).decoder.state_dict()
    for name, array in gguf_file.read(path).parameters():
        assert np.array_equal(state[name].numpy(), array), name
