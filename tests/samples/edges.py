"""NaN, infinities, zeros of either sign and the edges of a dtype: they come out alike."""

from __future__ import annotations

import itertools
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.modes import rows
from tests.samples.check import Case, check
from tests.samples.fused import unchanged

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.composing.text.operands import classify
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.engine.registry.exact import exact_for
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.tensors.scopes import tensors_in
from wgsl_kernels.testing import all_samples
from wgsl_kernels.testing.inputs import arrays_for, call_of
from wgsl_kernels.testing.samples.elementwise import (
    activation,
    binary,
    exponential,
    float_pairs,
    hyperbolic,
    logarithms,
    trigonometry,
    unary,
)
from wgsl_kernels.testing.samples.pooling import pool, pool3d
from wgsl_kernels.testing.samples.reductions import reduce, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.testing import Sample

Array = np.ndarray[Any, Any]

SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3e38, -3e38, 1.2e-38], np.float32
)
EDGES: dict[str, list[float]] = {
    "float32": [0.0, -0.0, 1e-39, -1e-40, 2.0**-126, 1.5, -2.5, 3e38, -3e38, np.inf, np.nan],
    "int32": [0, 1, -1, 2**31 - 1, -(2**31), 7, -8],
    "bool": [True, False],
}
HELD = ("indices", "key")
"""Inputs whose values a kernel checks, or that hold the state of a stream: they stay as drawn."""
SUMMED = ("AvgPool", "AvgPool3D", "MaxPoolGrad", "MaxPool3DGrad", "AvgPoolGrad", "AvgPool3DGrad")
"""Sums of several elements, of which the sign of a zero is free."""
FAMILIES = (
    activation,
    binary,
    exponential,
    float_pairs,
    hyperbolic,
    logarithms,
    pool,
    pool3d,
    reduce,
    scan,
    trigonometry,
    unary,
)
ZEROS = {
    sample.kernel: sample
    for family in FAMILIES
    for sample in family.SAMPLES
    if sample.kernel not in SUMMED and "float32" in sample.input_dtypes
}
"""The last row of each kernel that keeps the sign of a zero."""


def _is_map(sample: Sample) -> bool:
    kernel = wk.get_kernel(sample.kernel, "webgpu")
    return (
        kernel is not None
        and isinstance(kernel.func, ShaderKernel)
        and classify(kernel.func.source) == "map"
        and set(sample.input_dtypes) == {"float32"}
        and len(sample.shapes) in (1, 2)
    )


def _is_exact(sample: Sample) -> bool:
    kernel = wk.get_kernel(sample.kernel, "webgpu")
    return kernel is not None and exact_for(kernel) is not None


MAPS = [next(own) for _, own in itertools.groupby(filter(_is_map, rows()), lambda row: row.kernel)]


def values(f: Callable[..., Any], arrays: Sequence[Array], backend: str) -> list[Array]:
    """Return what ``f`` gives on a backend that may not fall back."""
    with wk.use_backend(backend), wk.config.using(fallback="error"):
        return [one.numpy() for one in tensors_in(f(*[wk.tensor(one) for one in arrays]))]


def classes_of(y: Array) -> Array:
    """Return 9 for NaN, else the sign of what is infinite or nearly so, and bools and ints."""
    if y.dtype.kind == "c":
        return np.stack([classes_of(y.real), classes_of(y.imag)])
    if y.dtype.kind in "bi":
        return y.astype(np.int32)
    huge = np.isinf(y) | (np.abs(y) > 1e38)
    return np.where(np.isnan(y), 9, np.where(huge, np.sign(y), 0)).astype(np.int32)


@check([Case(one) for one in MAPS])
def nan_and_infinity_come_out_alike(case: Case) -> None:
    pairs = np.broadcast_arrays(SPECIAL, SPECIAL.reshape(-1, 1))
    grid = [np.array(one) for one in pairs] if len(case.sample.shapes) == 2 else [SPECIAL]
    f = call_of(case.sample)

    (cpu,), (gpu,) = values(f, grid, "cpu"), values(f, grid, case.backend)
    assert classes_of(gpu).tolist() == classes_of(cpu).tolist()


@check([Case(one) for one in ZEROS.values()])
def zeros_have_the_same_sign_on_both_backends_and_fused(case: Case) -> None:
    draw = np.random.default_rng(zlib.crc32(case.sample.id.encode()))
    zeros = np.array([0.0, -0.0], np.float32)
    inputs = [
        draw.choice(zeros, one.shape) if one.dtype.kind == "f" else one
        for one in arrays_for(case.sample)
    ]
    found = []
    for backend, fusion in (("cpu", "never"), (case.backend, "never"), (case.backend, "always")):
        with wk.use_backend(backend), wk.config.using(fusion=fusion):
            given = [unchanged(wk.tensor(one)) for one in inputs]
            ys = tensors_in(call_of(case.sample)(*given))
            outputs = [wk.tensor(y) * 0.5 if y.dtype == "float32" else y for y in ys]
            found.append([one.numpy() for one in outputs])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            is_zero = one == 0
            np.testing.assert_array_equal(np.signbit(one) & is_zero, np.signbit(other) & is_zero)
            np.testing.assert_array_equal(is_zero, other == 0)


@check([Case(one) for one in all_samples() if _is_exact(one)])
def on_the_host_a_small_op_has_the_bits_of_the_device(case: Case) -> None:
    drawn = np.random.default_rng(1)
    plain = arrays_for(case.sample)
    odd = [np.array(values) for values in plain]
    declared: Any = find_signature(case.sample.kernel)
    names = [one.name for one in declared.inputs]
    for number, given in enumerate(odd):
        places = drawn.random(given.shape) < 0.4
        edges = np.array(EDGES.get(str(given.dtype), [0]), given.dtype)
        if names[min(number, len(names) - 1)] not in HELD:
            given[places] = drawn.choice(edges, given.shape)[places]
    f = call_of(case.sample)
    with wk.use_backend(case.backend):
        for arrays in (plain, odd):
            with wk.config.using(small_ops="host"):
                here = bits_but_for_nan(f, arrays)
            with wk.config.using(small_ops="device"):
                assert here == bits_but_for_nan(f, arrays)


def bits_but_for_nan(f: Callable[..., Any], arrays: Sequence[Array]) -> list[bytes]:
    """Return the bits of what ``f`` returns, but for NaN, of which every kind is one."""
    found = [one.numpy() for one in tensors_in(f(*[wk.tensor(values) for values in arrays]))]
    return [np.where(one != one, np.nan, one).astype(one.dtype).tobytes() for one in found]
