"""Every row of the sample tables between two maps, and its gradients: fused, the bits are the same.

Every third row of a kernel runs, chosen by a hash; with WGSL_KERNELS_TEST_MODES=all every one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.modes import some
from tests.test_captured_samples import SAMPLES, SMOOTH

import wgsl_kernels as wk
from wgsl_kernels.engine.tensors.scopes import tensors_in
from wgsl_kernels.testing.inputs import arrays_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.testing import Sample

pytestmark = pytest.mark.gpu


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


def check(f: Callable[..., list[Any]], sample: Sample) -> None:
    """Compare what ``f`` gives fused with what it gives one kernel after the other."""
    found: list[list[Any]] = []
    for mode in ("never", "always"):
        with wk.use_backend("webgpu"), wk.config.using(fusion=mode, fallback="silent"):
            results = f(*[wk.tensor(one) for one in arrays_for(sample)])
            found.append([one.numpy() for one in tensors_in(results)])
    for apart, fused in zip(*found, strict=True):
        np.testing.assert_array_equal(apart, fused)
        assert (apart.dtype, apart.shape) == (fused.dtype, fused.shape)


def flowing_gradients(sample: Sample) -> Callable[..., list[Any]]:
    """Return a function of the row's inputs: the gradients of a map of its results."""
    dtypes = sample.input_dtypes
    wanted = [n for n, dtype in enumerate(dtypes) if dtype.startswith(("float", "complex"))]

    def gradients(*inputs: wk.Tensor) -> list[Any]:
        with wk.GradientTape() as tape:
            for n in wanted:
                tape.watch(inputs[n])
            outputs = [changed(one) for one in tensors_in(sample.f(*inputs, **sample.attrs))]
        flowing = [one for one in outputs if one.dtype.startswith(("float", "complex"))]
        return [tape.gradient(flowing, [inputs[n] for n in wanted])]

    return gradients


@pytest.mark.parametrize("sample", some(SAMPLES, 6, "fused"), ids=lambda sample: sample.id)
def test_a_kernel_between_maps_has_the_same_bits(sample: Sample) -> None:
    def between(*inputs: wk.Tensor) -> list[Any]:
        given = [unchanged(one) for one in inputs]
        return [changed(one) for one in tensors_in(sample.f(*given, **sample.attrs))]

    check(between, sample)


@pytest.mark.parametrize("sample", SMOOTH, ids=lambda sample: sample.id)
def test_a_gradient_has_the_same_bits(sample: Sample) -> None:
    check(flowing_gradients(sample), sample)
