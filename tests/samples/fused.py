"""Each row between two maps, and its gradients: fused, the bits are the same.

Every sixth row of a kernel runs, chosen by a hash; with WGSL_KERNELS_TEST_MODES=all every one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tests.modes import ENGINE, some
from tests.samples.check import Case, check, on_device

import wgsl_kernels as wk
from wgsl_kernels.bench.comparison.checks import has_gradient
from wgsl_kernels.engine.tensors.scopes import tensors_in
from wgsl_kernels.testing.inputs import arrays_for, tensors_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.testing import Sample

ONE_IN = 1 if ENGINE == "captured" else 6
SMOOTH = some([one for one in on_device() if has_gradient(one)], ONE_IN, "smooth")
"""Rows whose gradients are taken, here and in a replay."""


def unchanged(x: wk.Tensor) -> wk.Tensor:
    """Return the values of ``x`` from a map, which a kernel may take in."""
    if x.dtype == "bool":
        return wk.logical_not(wk.logical_not(x))
    return x + 0 if x.dtype in ("int32", "int8", "uint8") else x * 1.0


def changed(y: wk.Tensor) -> wk.Tensor:
    """Return a map of ``y``, which a kernel may take along."""
    if y.dtype == "bool":
        return wk.logical_not(y)
    return y + 1 if y.dtype == "int32" else y * 0.5


def between_maps(sample: Sample) -> Callable[..., list[Any]]:
    """Return a function of the row's inputs: maps of what it gives for maps of them."""

    def between(*inputs: wk.Tensor) -> list[Any]:
        given = [unchanged(one) for one in inputs]
        return [changed(one) for one in tensors_in(sample.f(*given, **sample.attrs))]

    return between


def gradients_of(
    sample: Sample, after: Callable[[wk.Tensor], wk.Tensor] = changed
) -> Callable[..., list[Any]]:
    """Return a function of the row's inputs: the gradients of a map of its results."""
    dtypes = sample.input_dtypes
    wanted = [n for n, dtype in enumerate(dtypes) if dtype.startswith(("float", "complex"))]

    def gradients(*inputs: wk.Tensor) -> list[Any]:
        with wk.GradientTape() as tape:
            for n in wanted:
                tape.watch(inputs[n])
            outputs = [after(one) for one in tensors_in(sample.f(*inputs, **sample.attrs))]
        flowing = [one for one in outputs if one.dtype.startswith(("float", "complex"))]
        return [tape.gradient(flowing, [inputs[n] for n in wanted])]

    return gradients


def _compare(f: Callable[..., list[Any]], case: Case) -> None:
    """Compare what ``f`` gives fused with what it gives one kernel after the other."""
    found: list[list[Any]] = []
    for mode in ("never", "always"):
        with wk.use_backend(case.backend), wk.config.using(fusion=mode, fallback="silent"):
            results = tensors_in(f(*tensors_for(arrays_for(case.sample))))
            found.append([one.numpy() for one in results])
    for separate, fused in zip(*found, strict=True):
        np.testing.assert_array_equal(separate, fused)
        assert (separate.dtype, separate.shape) == (fused.dtype, fused.shape)
        assert separate.tobytes() == fused.tobytes()  # signs of zeros, too


@check([Case(one) for one in some(on_device(), 6, "fused")])
def fused_with_maps_it_has_the_same_bits(case: Case) -> None:
    _compare(between_maps(case.sample), case)


@check([Case(one) for one in SMOOTH])
def fused_its_gradient_has_the_same_bits(case: Case) -> None:
    _compare(gradients_of(case.sample), case)
