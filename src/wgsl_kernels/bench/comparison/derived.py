"""Bounds that nobody stated: from a kernel's shaders, run on intervals beside the device.

The interval of an element is the exact result, less and more what the roundings that WGSL allows
make of the kernel's own formula, and half a unit in the last place for the exact result's rounding.
Where the tree is out of reach, or WGSL bounds nothing, 4 ULP are allowed.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.backends.webgpu.products.form import ProductForm
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.comparison.judging import bound_of, exact_of, mismatch, states_bound
from wgsl_kernels.bench.intervals.running import on_intervals
from wgsl_kernels.engine.drivers.backends import find_driver, use_backend
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import KernelNotFound
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.testing.bounds import either, joined, offsets, ulp
from wgsl_kernels.testing.gradients.evaluation import Array, outputs_of
from wgsl_kernels.testing.inputs import call_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.bench.intervals.running import Range
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.testing.bounds import Interval
    from wgsl_kernels.testing.sample import Bound, Sample

PLAIN = 4.0
"""Units in the last place that are allowed where nothing is known."""
UNIT = 2.0**-24
"""What a float32 is off where it is rounded, relative to it."""
OF_REFERENCE = 0.5
"""Units in the last place that the exact result is off when it is rounded."""


@dataclass(frozen=True)
class Bounds:
    """What results may be.

    Attributes:
        bounds: A bound for each result.
        words: Where the bounds come from.
        bounded: Where bounds are derived, for each result which elements the shader's own roundings
            keep finite and near, flat; None where nothing is known.
    """

    bounds: list[Bound]
    words: str = ""
    bounded: list[Array | None] = field(default_factory=list["Array | None"])


@dataclass(frozen=True)
class BoundedResults:
    """What a kernel gave, and what it may have given.

    Attributes:
        found: Its results, each with its dtype.
        derive: Gives the bounds, when they are first asked for.
        least: What all results may be, whatever is derived; None where that is not known.
    """

    found: list[tuple[str, Array]]
    derive: Callable[[], Bounds]
    least: Bound | None = None

    @functools.cached_property
    def may(self) -> Bounds:
        """What the results may be."""
        return self.derive()

    def is_equal_to(self, right: Sequence[Array] | None) -> bool:
        """Say whether results have the bits of others."""
        if right is None or len(right) != len(self.found):
            return False
        pairs = [(one, other) for (_, one), other in zip(self.found, right, strict=True)]
        return all(
            a.shape == b.shape and a.dtype == b.dtype != object and a.tobytes() == b.tobytes()
            for a, b in pairs
        )

    def are_nearest(self, arrays: Sequence[Array], alternatives: Sequence[Sequence[Array]]) -> bool:
        """Say whether results are right whatever is derived, as exact ones are that are rounded."""
        if self.least is None or any(np.iscomplexobj(one) for _, one in self.found):
            return False
        return mismatch([self.least], arrays, self.found, alternatives) is None


def run_bounded(sample: Sample, tensors: Sequence[Tensor], backend: str) -> BoundedResults:
    """Run a sample on the active backend, with what its results may be.

    That is what the sample states; if it states nothing, what the shaders of ``webgpu`` tell.
    """
    if backend == "webgpu" and not states_bound(sample):
        return run_derived(sample, tensors)
    found = [(one.spec.dtype, one.numpy()) for one in outputs_of(call_of(sample), tensors)]
    plain = Bounds([bound_of(sample)])
    if states_bound(sample) or backend != "cpu":
        return BoundedResults(found, lambda: plain)

    def derive() -> Bounds:
        other = _of_shader(sample, [one.numpy() for one in tensors]).may
        return replace(other, bounds=[either(one, ulp(PLAIN)) for one in other.bounds])

    return BoundedResults(found, lambda: faults.attempted(derive, plain), ulp(PLAIN))


def run_derived(sample: Sample, tensors: Sequence[Tensor]) -> BoundedResults:
    """Run a sample on webgpu, which is active, with what its shaders tell, stated bound or not."""
    driver = find_driver("webgpu")
    assert isinstance(driver, WebGpuBackend)
    return run_on_intervals(driver.open(), sample, tensors)


def _of_shader(sample: Sample, arrays: Sequence[Array]) -> BoundedResults:
    """Run a sample on webgpu: what its shader may give, the same formula on cpu may give, too."""
    if choose_adapter() is None or get_kernel(sample.kernel, "webgpu") is None:
        raise KernelNotFound(sample.kernel)
    with use_backend("webgpu"), config.using(fallback="error"):
        return run_bounded(sample, [tensor(one) for one in arrays], "webgpu")


def run_on_intervals(device: Device, sample: Sample, tensors: Sequence[Tensor]) -> BoundedResults:
    """Run a sample on webgpu, which is active; what its results may be is derived if asked for."""
    found: list[tuple[str, Array]] = []
    reads: list[int | None] = []
    with on_intervals(device) as seen, config.using(fusion="never", small_ops="device"):
        for one in outputs_of(call_of(sample), tensors):
            before = seen.reads
            found.append((one.dtype, one.numpy()))
            reads.append(before if seen.reads == before + 1 else None)

    def derive() -> Bounds:
        try:
            seen.compute()
            ranges = [None if at is None else seen.found[at] for at in reads]
            return _bounds_of(sample, tensors, found, ranges, seen.reasons)
        except Exception as error:
            if not faults.note(error):
                raise
        return Bounds([ulp(PLAIN)], f"{PLAIN:g} ULP, as the check itself failed")

    return BoundedResults(found, derive, ulp(OF_REFERENCE))


def _bounds_of(
    sample: Sample,
    tensors: Sequence[Tensor],
    found: Sequence[tuple[str, Array]],
    ranges: Sequence[Range | None],
    reasons: Sequence[str],
) -> Bounds:
    """Return bounds of results by what each may be on intervals, None where that is not known."""
    sums = _sums_of_product(sample, tensors) if None in ranges else None
    plain = ulp(PLAIN) if sums is None else either(offsets(sums, sums, OF_REFERENCE), ulp(PLAIN))
    bounds = [_bound_of(one, values, plain) for one, (_, values) in zip(ranges, found, strict=True)]
    is_known = [one is not None for one in ranges]
    doubtful = sum(one.unbounded for one in ranges if one is not None)
    if all(is_known):
        words = "from the kernel's own syntax tree"
        if doubtful:
            words += f"; {PLAIN:g} ULP for {doubtful} elements that it does not bound"
    else:
        reason = reasons[0] if reasons else "no shader ran"
        least = f"{PLAIN:g} ULP" if sums is None else f"sums of absolute terms, or {PLAIN:g} ULP"
        words = f"{least}, as the tree is out of reach: {reason}; bound= of the sample says more"
    return Bounds(bounds, words, [_bounded(one) for one in ranges])


def _bounded(range_: Range | None) -> Array | None:
    """Return which elements a range keeps finite and near, in the order of memory."""
    if range_ is None:
        return None
    below, above = range_.errors()
    return np.isfinite(below) & np.isfinite(above) & np.isfinite(range_.v)


def _sums_of_product(sample: Sample, tensors: Sequence[Tensor]) -> Array | None:
    """Return what a product's sums may be off, None for other forms.

    That is n u / (1 - n u) times the sum of the terms' absolute values, with n the longest sum
    there can be; the kernel gives them for absolute values of its inputs, so that one which
    changes its terms may be allowed less.
    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.5.
    """
    kernel = get_kernel(sample.kernel, "webgpu")
    product = None if kernel is None else kernel.func
    if not isinstance(product, ProductForm) or set(product.file().functions) & {"finish", "term"}:
        return None
    if any(one.dtype != "float32" for one in tensors):
        return None
    arrays = [np.abs(one.numpy()) for one in tensors]
    off = max((length for one in arrays for length in one.shape), default=0) * UNIT
    return off / (1 - off) * np.abs(exact_of(sample, arrays)[0])


def _bound_of(range_: Range | None, values: Array, plain: Bound) -> Bound:
    if range_ is None:
        return plain
    below, above = range_.errors()
    if np.iscomplexobj(values):
        return _complex_bound(below, above, values.shape)
    return derived(below.reshape(values.shape), above.reshape(values.shape))


def derived(below: Array, above: Array) -> Bound:
    """Allow these errors below and above the exact result; 4 ULP where they are infinite."""
    bounded = np.isfinite(below) & np.isfinite(above)
    inner = offsets(np.where(bounded, below, 0.0), np.where(bounded, above, 0.0), OF_REFERENCE)
    plain = ulp(PLAIN)

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        if expected.shape != bounded.shape:
            return plain(inputs, expected)
        low, high = inner(inputs, expected)
        other_low, other_high = plain(inputs, expected)
        return np.where(bounded, low, other_low), np.where(bounded, high, other_high)

    return bound


def _complex_bound(below: Array, above: Array, shape: tuple[int, ...]) -> Bound:
    """Return the bound of complex numbers, whose parts lie beside each other."""
    parts = [
        derived(below[part::2].reshape(shape), above[part::2].reshape(shape)) for part in (0, 1)
    ]

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        (low, high), (low_imag, high_imag) = (
            one(inputs, value)
            for one, value in zip(parts, (np.real(expected), np.imag(expected)), strict=True)
        )
        return joined(low, low_imag), joined(high, high_imag)

    return bound
