"""Shaders compiled on devices of their own before they run, and the file of those that were."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.webgpu.lab import dispatch

from wgsl_kernels.backends.webgpu.devices import compiling
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter, request_device
from wgsl_kernels.backends.webgpu.devices.compiling import DIGEST, Ahead, Compiled, mesa_cache
from wgsl_kernels.backends.webgpu.devices.device import Device

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.devices.ready import Kind

pytestmark = pytest.mark.gpu
BINDINGS: tuple[tuple[int, Kind], ...] = ((0, "read"), (1, "read_write"))


def adding(number: int, length: int = 4) -> str:
    """Return a shader that adds a number to the first of so many."""
    return f"""
@group(0) @binding(0) var<storage, read> x: array<f32, {length}>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1)
fn main() {{ y[0] = x[0] + {number}.0; }}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WGSL_KERNELS_CACHE", str(tmp_path))
    return tmp_path


def digests(folder: Path) -> list[bytes]:
    """Return what was noted as compiled."""
    content = b"".join(one.read_bytes() for one in (folder / "compiled").glob("*.bin"))
    return [content[at : at + DIGEST] for at in range(0, len(content), DIGEST)]


def run(device: Device, texts: list[str], nbytes: int = 16) -> list[float]:
    """Run shaders in one batch, and return the first number that each writes."""
    x = device.put(np.ones(nbytes // 4, np.float32))
    outputs = [device.storage(16) for _ in texts]
    for text, y in zip(texts, outputs, strict=True):
        dispatch(device, device.pipeline(text, BINDINGS, "Add"), (x, y), None, b"", (1, 1, 1))
    return [float(device.read(y, 0, 4).view(np.float32)[0]) for y in outputs]


def test_shaders_of_one_batch_are_compiled_ahead_once_and_a_single_one_is_not(folder: Path) -> None:
    choice = choose_adapter()
    assert choice is not None
    opened: list[object] = []

    def open_device() -> object:
        opened.append(1)
        return request_device(choice)

    for asked in (2, 0):  # the second time the driver is known to have the code
        device = Device(choice)
        known = Compiled(choice.info, folder)
        ahead = Ahead(2, open_device, known)
        device.recorder.ahead = device.pipelines.ahead = ahead
        texts = [adding(number) for number in range(3)]
        assert run(device, texts[:1]) == [1.0]
        assert not opened or not asked
        assert run(device, texts) == [1.0, 2.0, 3.0]
        assert ahead.pending == 0
        device.close()
        assert 1 <= len(opened) <= 2
    assert len(set(digests(folder))) == len(digests(folder)) == 3


def test_what_cannot_be_compiled_ahead_runs_all_the_same(folder: Path) -> None:
    choice = choose_adapter()
    assert choice is not None
    device = Device(choice)
    ahead = Ahead(2, partial(request_device, choice), Compiled(choice.info, folder))
    device.recorder.ahead = device.pipelines.ahead = ahead

    large = adding(5, 1 << 16)  # more than the buffers that stand in for a shader's
    assert run(device, [large, adding(6)], 4 << 16) == [6.0, 7.0]

    assert len(digests(folder)) == 1
    device.close()


def test_the_file_of_compiled_shaders_may_be_damaged_shared_and_full(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = choose_adapter()
    assert choice is not None
    info = choice.info
    one, two = Compiled(info, folder), Compiled(info, folder)
    first, second, third = (bytes([number]) * DIGEST for number in range(3))
    assert first not in one
    assert second not in two
    one.note([first])
    two.note([second, second])  # from another process, which saw nothing of the first
    assert {first, second} <= {*digests(folder)}
    assert all(each in Compiled(info, folder) for each in (first, second))
    assert third not in Compiled(info, folder)

    (file,) = (folder / "compiled").glob("*.bin")
    file.write_bytes(first + b"damaged")
    assert first in Compiled(info, folder)

    monkeypatch.setattr(compiling, "MOST_HASHES", 4)
    for number in range(20):
        Compiled(info, folder).note([bytes([100 + number]) * DIGEST])
        assert len(digests(folder)) <= 4
    assert bytes([119]) * DIGEST in Compiled(info, folder)


def test_a_driver_whose_cache_was_removed_is_known_to_have_nothing(folder: Path) -> None:
    choice = choose_adapter()
    assert choice is not None
    digest, cache = bytes(DIGEST), folder / "mesa_shader_cache"
    cache.mkdir()
    Compiled(choice.info, folder).note([digest])
    assert digest in Compiled(choice.info, folder)

    cache.rename(folder / "removed")
    cache.mkdir()

    assert digest not in Compiled(choice.info, folder)


def test_mesa_keeps_code_where_its_variables_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("MESA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert mesa_cache() == tmp_path
    monkeypatch.setenv("MESA_SHADER_CACHE_DIR", str(tmp_path / "own"))
    assert mesa_cache() == tmp_path / "own"
    monkeypatch.setenv("MESA_SHADER_CACHE_DISABLE", "true")
    assert mesa_cache() is None
    monkeypatch.setenv("MESA_SHADER_CACHE_DISABLE", "false")
    assert mesa_cache() == tmp_path / "own"
