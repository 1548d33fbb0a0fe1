"""What a kernel with full control is given: ``gpu``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import GpuArray, device_bytes, view_of
from wgsl_kernels.backends.webgpu.compose import Options
from wgsl_kernels.backends.webgpu.operands import Operand, allowed_access
from wgsl_kernels.backends.webgpu.recipe import compile_kernel, fold, record, tensor_facts
from wgsl_kernels.backends.webgpu.source import find_source
from wgsl_kernels.engine.errors import ArgumentError
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.spec import Shape, Spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.engine.dtypes import DType
    from wgsl_kernels.engine.host import Array
    from wgsl_kernels.engine.origin import Origin


class Gpu:
    """The device, to a kernel registered with ``@wgsl_kernel`` or ``register_kernel``.

    Arrays have ``shape``, ``dtype``, ``size``, ``strides`` and ``offset`` (in elements).
    """

    def __init__(self, backend: WebGpuBackend, kernel: str, origin: Origin) -> None:
        self._backend = backend
        self._kernel = kernel
        self._origin = origin
        self._compiled: dict[Any, Any] = {}

    @property
    def is_software(self) -> bool:
        """Whether the adapter is the CPU, whose workgroup memory is no faster than any other."""
        return self._backend.open().is_software

    def empty(self, shape: Shape, dtype: DType) -> GpuArray:
        """Return a new array with undefined values."""
        size = math.prod(shape)
        nbytes = device_bytes(size, dtype)
        device = self._backend.open()
        what = f"{show(shape)} {dtype}"
        storage = device.storage(nbytes, self._kernel, what) if nbytes else None
        return GpuArray(tuple(shape), dtype, size, storage, device)

    def upload(self, values: Array, dtype: DType) -> GpuArray:
        """Return a new array with host values of ``dtype``."""
        return self._backend.upload(values, Spec(values.shape, dtype))

    def read(self, array: GpuArray) -> Array:
        """Return the values of ``array``, waiting for the work that computes them."""
        return self._backend.download(array, Spec(array.shape, array.dtype))

    def contiguous(self, array: GpuArray) -> GpuArray:
        """Return ``array`` row-major from its buffer's beginning: itself, or a copy."""
        return self._backend.contiguous(array)

    def view(self, array: GpuArray, shape: Shape, strides: Sequence[int], offset: int) -> GpuArray:
        """Return another view of the same buffer; strides and offset count elements."""
        one_to_one = array.size == 1 and math.prod(shape) == 1  # still travels as a parameter
        if array.storage is None and array.host is not None and not one_to_one:
            self._backend.make_resident(array)
        return view_of(array, tuple(shape), tuple(strides), offset)

    def grid(self, invocations: int, group: int) -> tuple[int, int, int]:
        """Return the workgroup counts for that many invocations in workgroups of ``group``.

        Past 65,535 workgroups they fold into two dimensions: ``i = id.x + id.y * groups.x * group``.
        """
        return fold(-(-invocations // group))

    def dispatch(
        self,
        shader: str,
        arrays: Mapping[str, GpuArray],
        *,
        params: Mapping[str, Any] | None = None,
        groups: Sequence[int] | None = None,
        constants: Mapping[str, float] | None = None,
    ) -> None:
        """Record one dispatch of a shader with its own ``main``.

        Args:
            shader: WGSL text, or a path beside the kernel's Python file or among the package's.
            arrays: By binding name; those bound read_write are written. Views that the shader
                cannot take are copied first.
            params: Fields of the uniform struct beside the arrays' facts.
            groups: Workgroup counts; by default an invocation per element of the first output.
            constants: Values of ``override`` constants.

        Raises:
            ShaderError: The shader does not compose or compile.
            ArgumentError: It writes no array.
        """
        device = self._backend.open()
        source = self._source(shader)
        written = {one.name for one in source.variables.values() if one.access == "read_write"}
        inputs: list[Operand] = []
        outputs: list[Operand] = []
        ready: dict[str, GpuArray] = {}
        for name, array in arrays.items():
            if _wgsl(name) in written or _is_stored(source, name):
                outputs.append(Operand(name, array.dtype, len(array.shape)))
                ready[name] = array
            else:
                ready[name], operand = self._input(source, name, array)
                inputs.append(operand)
        if not outputs:
            raise ArgumentError(f"{self._kernel}: the shader writes none of {', '.join(arrays)}.")
        if all(arrays[one.name].size == 0 for one in outputs):
            return
        facts = {**tensor_facts(ready), **(params or {})}
        values = {one.name: arrays[one.name] for one in inputs if one.access == "value"}
        facts.update({f"{name}_value": array.scalar for name, array in values.items()})
        key = (
            shader,
            tuple(inputs),
            tuple(outputs),
            tuple(params or ()),
            _items(constants),
            device,
        )
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = compile_kernel(
                device, self._kernel, source, inputs, outputs, list(params or ()), Options(),
                constants,
            )  # fmt: skip
            self._compiled[key] = compiled
        if groups is None:
            x, y, z = compiled.composed.workgroup_size
            grid = fold(-(-arrays[outputs[0].name].size // (x * y * z)))
        else:
            a, b, c = (*groups, 1, 1)[:3]
            grid = (int(a), int(b), int(c))
        record(device, compiled, ready, facts, grid)

    def _input(self, source: Any, name: str, array: GpuArray) -> tuple[GpuArray, Operand]:
        allowed = allowed_access(source, name)
        rank = len(array.shape)
        if array.is_scalar_on_host and "value" in allowed:
            return array, Operand(name, array.dtype, rank, "value")
        if array.storage is None and array.size:
            self._backend.make_resident(array)
        if array.layout is None:
            return array, Operand(name, array.dtype, rank)
        if "strided" in allowed:
            return array, Operand(name, array.dtype, rank, "strided")
        return self._backend.contiguous(array), Operand(name, array.dtype, rank)

    def _source(self, shader: str) -> Any:
        place = f"<inline in {Path(self._origin.file).name}:{self._origin.line}>"
        return find_source(shader, Path(self._origin.file).parent, place)


def _wgsl(name: str) -> str:
    from wgsl_kernels.backends.webgpu.wgsl.names import wgsl_name

    return wgsl_name(name)


def _is_stored(source: Any, name: str) -> bool:
    stores = {f"store_{name}", f"store_{_wgsl(name)}", f"store4_{name}"}
    return any(stores & set(one.identifiers) for one in source.functions.values())


def _items(constants: Mapping[str, float] | None) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((constants or {}).items()))
