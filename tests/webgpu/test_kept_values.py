"""Kept of the package's shaders for the next process: texts, and what is known of sources."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.composing.text import composed as composed_module
from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
from wgsl_kernels.backends.webgpu.kept import kept_values as module
from wgsl_kernels.backends.webgpu.kept.kept_files import KeptFile
from wgsl_kernels.backends.webgpu.kept.kept_values import KeptValues, kept_values

if TYPE_CHECKING:
    from pathlib import Path

WORK = """
import sys
import numpy as np
import wgsl_kernels as wk
wk.config.small_ops = "device"
rng = np.random.default_rng(7)
with wk.use_backend("webgpu"):
    x = wk.tensor(rng.normal(size=(8, 3, 12, 12)).astype("float32"))
    image = wk.permute_dims(x, (0, 2, 3, 1))
    filters = wk.tensor(rng.normal(size=(3, 3, 3, 5)).astype("float32"))
    y = wk.relu(wk.conv2d(image, filters, strides=1, pad="same"))
    z = wk.softmax(wk.matmul(wk.reshape(wk.max_pool(y, 2), (8, -1)), wk.ones((180, 10))) / 9.0)
    found = [z, wk.cumulative_sum(z, axis=1), wk.take(z, wk.tensor([1, 2]), axis=0), wk.mean(x)]
    print(*[one.numpy().tobytes().hex() for one in found])
print("wgsl_kernels.wgsl.syntax.tree" in sys.modules)
"""


def _run(folder: Path) -> list[str]:
    environment = {**os.environ, "WGSL_KERNELS_CACHE": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", WORK],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_second_process_reads_no_shader_and_gives_the_same_bits(tmp_path: Path) -> None:
    first = _run(tmp_path)
    assert first[1] == "True"
    assert _run(tmp_path) == [first[0], "False"]


def test_what_is_damaged_is_found_anew_and_kept_again(tmp_path: Path) -> None:
    first = _run(tmp_path)
    file = tmp_path / "composed.bin"
    whole = file.read_bytes()
    for content in (b"", b"x" * 100, whole[: len(whole) // 2], whole[:7] + b"\xff" + whole[8:]):
        file.write_bytes(content)
        assert _run(tmp_path)[0] == first[0]
        assert _run(tmp_path) == [first[0], "False"]


def test_values_are_found_by_all_that_they_follow_from(tmp_path: Path) -> None:
    file = KeptFile(tmp_path, "values")
    KeptValues(file, b"one").keep(("a", 1, frozenset({"b"})), "name", 3)

    assert KeptValues(file, b"one").find("name", 3) == ("a", 1, frozenset({"b"}))
    assert KeptValues(file, b"one").find("name", "3") is None
    assert KeptValues(file, b"two").find("name", 3) is None


def test_of_records_that_are_not_whole_the_others_are_found(tmp_path: Path) -> None:
    file = KeptFile(tmp_path, "values")
    values = KeptValues(file, b"one")
    for n in range(3):
        values.keep("v" * 50, n)
    content = bytearray(file.read() or b"")
    content[len(content) // 3 + 40] ^= 1  # of the value
    file.write(bytes(content[:-1]))

    read = KeptValues(file, b"one")
    assert [read.find(n) for n in range(3)] == ["v" * 50, None, None]
    read.keep("new", 3)
    assert [KeptValues(file, b"one").find(n) for n in (0, 3)] == ["v" * 50, "new"]


def test_the_file_is_bounded_and_keeps_what_is_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 2000)
    file = KeptFile(tmp_path, "values")
    values = KeptValues(file, b"one")
    for n in range(100):
        values.keep("v" * 50, n)
        assert len(file.read() or b"") <= 2000
    assert values.find(99) == KeptValues(file, b"one").find(99) == "v" * 50
    assert KeptValues(file, b"one").find(0) is None


@pytest.fixture
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_values", [])


@pytest.mark.usefixtures("asked_anew")
def test_nothing_is_kept_where_the_package_was_changed_since_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert kept_values() is not None
    module.look_again()
    monkeypatch.setattr(module, "_BEGAN", 0)
    assert kept_values() is None


@pytest.mark.usefixtures("asked_anew")
def test_a_file_that_differs_makes_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    before: Any = kept_values()
    files = module._files
    monkeypatch.setattr(module, "_files", lambda folder: files(folder)[1:])
    module.look_again()
    after: Any = kept_values()
    assert before._state != after._state


@pytest.mark.gpu
def test_a_text_of_another_process_leads_to_the_authors_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(composed_module, "is_all_ours", lambda source_map: True)
    with wk.use_backend("webgpu"):
        rows = wk.explain(lambda: wk.softmax(wk.ones((4, 300)) * 1)).dispatches
    composed: Composed = rows[-1].dispatch.module.composed
    vars(composed).pop("is_all_ours", None)  # which another test may have asked for before
    again = Composed.unpacked(composed.packed() or (), lambda: composed)

    assert again == composed
    assert again.wanted == composed.wanted
    assert again.source_map is composed.source_map
    assert again.start == composed.start
    assert again.refusal is None
