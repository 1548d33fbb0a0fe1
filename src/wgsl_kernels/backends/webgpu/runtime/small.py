"""Running where the numbers are: a kernel of a few numbers that the host has runs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.arrays.array import SMALL, GpuArray
from wgsl_kernels.backends.webgpu.arrays.host_values import HostValues
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.context import current
from wgsl_kernels.engine.registry.exact import exact_for, is_regular
from wgsl_kernels.engine.values.dtypes import numpy_dtype
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.registry.facts import Exact
    from wgsl_kernels.engine.registry.registry import Kernel


class HostKernel:
    """A kernel that runs on the host where that has all inputs."""

    def __init__(
        self, kernel: Kernel, exact: Exact, attrs: dict[str, Any], outputs: tuple[Spec, ...]
    ) -> None:
        """Take the kernel on the host."""
        takes = kernel.takes
        self._exact = exact
        self._func = kernel.func
        self._keywords = {
            name: value for name, value in attrs.items() if takes is None or name in takes
        }
        self._outputs = outputs

    def run(self, arrays: list[Any]) -> list[GpuArray] | None:
        """Return arrays whose values are on the host; None where the device is to run it."""
        values = self._templates(arrays) if not self._exact.reads else self._values(arrays)
        if values is None or config.value("small_ops", current()) == "device":
            return None
        found = self._func(*values, **self._keywords)
        made: list[GpuArray] = []
        several = found if isinstance(found, (tuple, list)) else (found,)
        for one, spec in zip(several, self._outputs, strict=True):
            result = np.asarray(one, order="C")
            if not is_regular(result):
                return None
            host = HostValues(result, is_regular=True)
            made.append(GpuArray(spec.shape, spec.dtype, spec.size, None, None, host=host))
        return made

    def _values(self, arrays: list[Any]) -> list[Any] | None:
        """Return the host's values of the inputs, None where one belongs on the device."""
        values: list[Any] = []
        for one in arrays:
            if isinstance(one, GpuArray):
                host = one.host
                if host is None or not host.is_regular:
                    return None
                same = host.values.shape == one.shape  # a view shares the values
                values.append(host.values if same else host.values.reshape(one.shape))
            elif one is None:
                values.append(None)
            else:
                several = self._values(one)
                if several is None:
                    return None
                values.append(several)
        return values

    def _templates(self, arrays: list[Any]) -> list[Any]:
        return [np.empty(one.shape, numpy_dtype(one.dtype)) for one in arrays]


def host_kernel(
    kernel: Kernel, inputs: Sequence[Any], attrs: dict[str, Any], outputs: tuple[Spec, ...] | None
) -> HostKernel | None:
    """Return what runs the kernel on the host where it can, None where it never can."""
    found = exact_for(kernel)
    if found is None or not outputs:
        return None
    host, exact = found
    specs = [*outputs]
    for one in inputs:
        specs += one if isinstance(one, list) else [one] if isinstance(one, Spec) else []
    most = SMALL if exact.reads else 1
    if not all(0 < spec.size <= most and spec.dtype in exact.dtypes for spec in specs):
        return None
    return HostKernel(host, exact, attrs, outputs)
