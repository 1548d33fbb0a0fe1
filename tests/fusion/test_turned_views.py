"""Maps of transposed arrays, which go along the lines of what they read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.fusion import groups
from wgsl_kernels.backends.webgpu.lowering.map import walk_across
from wgsl_kernels.engine.drivers.backends import find_driver

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(11)
TURNS = [
    ((64, 48), (1, 0)),
    ((20, 16), (1, 0)),
    ((36, 131), (1, 0)),
    ((2, 7, 4, 33), (0, 3, 1, 2)),
    ((24, 5, 17), (2, 1, 0)),
    ((3, 16, 4, 20), (3, 1, 2, 0)),
    ((16, 3, 8, 32), (1, 3, 2, 0)),
]


@pytest.mark.parametrize(("shape", "axes"), TURNS)
def test_a_map_of_a_turned_array_is_right_wherever_its_tiles_end(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    given = RNG.standard_normal(shape).astype(np.float32)
    turned = given.transpose(axes)
    beside = RNG.standard_normal(turned.shape).astype(np.float32)
    row = RNG.standard_normal((turned.shape[-1],)).astype(np.float32)

    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        y = wk.permute_dims(wk.tensor(given), axes) * 2.0 + wk.tensor(beside) - wk.tensor(row)
        found = y.numpy()

    np.testing.assert_array_equal(found, turned * np.float32(2.0) + beside - row)


def test_two_arrays_turned_apart_share_a_dispatch() -> None:
    a, b = (RNG.standard_normal((4, 20, 32)).astype(np.float32) for _ in range(2))

    def f() -> wk.Tensor:
        first = wk.permute_dims(wk.tensor(a), (2, 1, 0))
        second = wk.permute_dims(wk.tensor(b.reshape(20, 4, 32)), (2, 0, 1))
        return first * second

    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        found = f().numpy()

    np.testing.assert_array_equal(
        found, a.transpose(2, 1, 0) * b.reshape(20, 4, 32).transpose(2, 0, 1)
    )


def test_a_software_adapter_goes_along_the_lines_of_what_is_turned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[int, int, int]] = []

    def noted(composed: Any, across: int, inner: int, items: int) -> object:
        seen.append((across, inner, items))
        return walk_across(composed, across, inner, items)

    monkeypatch.setattr(groups, "walk_across", noted)
    driver: Any = find_driver("webgpu")
    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        x = wk.tensor(RNG.standard_normal((44, 92)).astype(np.float32))
        wk.evaluate(wk.permute_dims(x, (1, 0)) * 3.0)

    assert seen == ([(92, 11, 1012)] if driver.open().info.is_software else [])
