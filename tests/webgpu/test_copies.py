"""Copies of views: every kernel that moves one gives NumPy's elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(8)

VIEWS: dict[str, tuple[tuple[int, ...], Callable[[Any, Any], Any]]] = {
    "transposed in fours": ((300, 152), lambda m, x: m.permute_dims(x, (1, 0))),
    "transposed": ((131, 143), lambda m, x: m.permute_dims(x, (1, 0))),
    "transposed and cut": ((132, 144), lambda m, x: m.permute_dims(x[2:, 3:], (1, 0))),
    "channels first": ((3, 20, 24, 8), lambda m, x: m.permute_dims(x, (0, 3, 1, 2))),
    "channels last": ((3, 5, 20, 24), lambda m, x: m.permute_dims(x, (0, 2, 3, 1))),
    "turned around": ((9, 8, 7, 20), lambda m, x: m.permute_dims(x, (3, 2, 1, 0))),
    "heads": ((2, 40, 6, 16), lambda m, x: m.permute_dims(x, (0, 2, 1, 3))),
    "heads, turned": ((2, 40, 6, 16), lambda m, x: m.permute_dims(x, (0, 2, 3, 1))),
    "cut in fours": ((80, 96), lambda m, x: x[4:, 8:-8]),
    "cut": ((80, 96), lambda m, x: x[5:, 3:-2]),
    "every second": ((80, 192), lambda m, x: x[:, ::2]),
    "backward": ((80, 96), lambda m, x: m.flip(x, axis=1)),
    "backward down": ((80, 95), lambda m, x: m.flip(x, axis=0)),
    "repeated": ((1, 96, 1), lambda m, x: m.broadcast_to(x, (70, 96, 4))),
    "five axes": ((3, 4, 5, 6, 28), lambda m, x: m.permute_dims(x, (4, 2, 0, 3, 1))),
    "narrow": ((4100, 3), lambda m, x: m.permute_dims(x, (1, 0))),
}


@pytest.mark.parametrize("is_software", [True, False], ids=["software", "gpu"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_copy_has_the_elements_of_its_view(
    view: str, dtype: str, is_software: bool, follow_rules: Callable[[bool], None]
) -> None:
    follow_rules(is_software)
    shape, turn = VIEWS[view]
    values = RNG.integers(-9, 9, shape).astype(np.complex64 if dtype == "complex64" else dtype)
    with wk.use_backend("webgpu"):
        found = turn(wk, wk.tensor(values)).numpy()

    np.testing.assert_array_equal(found, turn(_AsNumpy, values))


class _AsNumpy:
    permute_dims = staticmethod(np.transpose)
    flip = staticmethod(np.flip)
    broadcast_to = staticmethod(np.broadcast_to)


def test_bits_that_are_no_number_are_copied_as_they_are() -> None:
    bits = RNG.integers(0, 2**32, (90, 80), dtype=np.uint32)
    with wk.use_backend("webgpu"):
        found = wk.permute_dims(wk.tensor(bits.view(np.float32)), (1, 0)).numpy()

    np.testing.assert_array_equal(np.isnan(found), np.isnan(bits.view(np.float32).T))
    finite = ~np.isnan(found)
    np.testing.assert_array_equal(found.view(np.uint32)[finite], bits.T[finite])
