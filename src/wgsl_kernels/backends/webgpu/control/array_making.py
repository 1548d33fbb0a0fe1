"""The part of ``gpu`` that makes arrays: new ones, views, and what goes to the host and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray, extent, is_row_major, view_of
from wgsl_kernels.backends.webgpu.arrays.host_values import words_of
from wgsl_kernels.backends.webgpu.control import argument_checks
from wgsl_kernels.backends.webgpu.control.choosing import Chooser
from wgsl_kernels.backends.webgpu.fusion.graph import pending_view
from wgsl_kernels.backends.webgpu.programs.building import fold
from wgsl_kernels.engine.values.attributes import integers
from wgsl_kernels.engine.values.dtypes import numpy_dtype
from wgsl_kernels.engine.values.spec import Shape, Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array


class ArrayMaker(Chooser):
    """What makes arrays, to a kernel with full control."""

    has_promised: bool
    has_read: bool

    def empty(self, shape: Shape, dtype: DType) -> GpuArray:
        """Return a new array with undefined values.

        Raises:
            ArgumentError, ShapeError, DTypeError: There can be no array of that shape or dtype.
        """
        shape, size, nbytes, what = extent(self._kernel, shape, dtype)
        device = self._backend.open()
        storage = device.storage(nbytes, self._kernel, what) if nbytes else None
        return GpuArray(shape, dtype, size, storage, device)

    def check_room(self, shape: Shape, dtype: DType) -> None:
        """Refuse a result that is made in parts before the first is; for the library's own parts.

        Raises:
            OutOfMemoryError: It is beyond the device or ``config.memory_limit``.
        """
        self._backend.check_size(Spec(shape, dtype))

    def full(self, shape: Shape, dtype: DType, value: complex) -> GpuArray:
        """Return a new array of one number, cast to ``dtype``; a shader may write into it.

        Raises:
            ArgumentError: ``value`` is no number, or none that ``dtype`` can hold.
            ShapeError, DTypeError: There can be no array of that shape or dtype.
        """
        array = self.empty(shape, dtype)
        words = words_of(value, dtype, f"{self._kernel}: value")
        self._backend.fill(array, words)
        return array

    def upload(self, values: Array, dtype: DType) -> GpuArray:
        """Return a new array with host values, cast to ``dtype``.

        Raises:
            ArgumentError: They are no array of NumPy.
            DTypeError: There can be no array of that dtype.
        """
        return self._backend.upload(*self.constant(values, dtype))

    def constant(self, values: Array, dtype: DType) -> tuple[Array, Spec]:
        """Return host values as an upload takes them; a user's may change theirs later."""
        argument_checks.check_values(self._kernel, values)
        extent(self._kernel, values.shape, dtype)
        given = values.astype(numpy_dtype(dtype), copy=not self._origin.is_ours)
        return given, Spec(values.shape, dtype)

    def read(self, array: GpuArray) -> Array:
        """Return the values of ``array``, waiting for the work that computes them."""
        if not isinstance(array, GpuArray):
            raise argument_checks.no_array(self._kernel, array)
        self.has_promised, self.has_read = False, True  # what a program cannot do
        return self._backend.download(array, Spec(array.shape, array.dtype))

    def check_known(self, array: GpuArray, check: Callable[[Array], None]) -> None:
        """Have ``check`` look at values that the host has; for the library's own parts.

        It is called at each run of the kernel, with an array of NumPy that may be of another shape
        with the same elements. What only the device has is for shaders to report.
        """
        if array.host is not None:
            check(array.host.values)

    def contiguous(self, array: GpuArray) -> GpuArray:
        """Return ``array`` row-major from its buffer's beginning: itself, or a copy."""
        if not isinstance(array, GpuArray):
            raise argument_checks.no_array(self._kernel, array)
        return self._backend.contiguous(self._now(array))

    def _now(self, array: GpuArray) -> GpuArray:
        """Return an array that keeps no copy of itself where the function may write it again."""
        if array.layout is None or array.immutable or array.source is not None:
            return array
        return view_of(array, array.shape, array.strides, array.offset)

    def resident(self, array: GpuArray) -> GpuArray:
        """Return ``array`` when its buffer is on the device; for the library's own parts."""
        if not isinstance(array, GpuArray):
            raise argument_checks.no_array(self._kernel, array)
        self._backend.make_resident(array, f"{self._kernel} takes buffers")
        return array

    def view(self, array: GpuArray, shape: Shape, strides: Sequence[int], offset: int) -> GpuArray:
        """Return another view of the same buffer; strides and offset count elements."""
        if not isinstance(array, GpuArray):
            raise argument_checks.no_array(self._kernel, array)
        shape = shape if type(shape) is tuple else integers(self._kernel, "shape", shape)
        strides, offset = argument_checks.check_steps(self._kernel, shape, strides, offset)
        is_whole = array.layout is None and offset == 0 and array.shape == shape
        if is_whole and is_row_major(shape, strides):
            return array
        if array.op is not None:
            if offset == 0 and math.prod(shape) == array.size and is_row_major(shape, strides):
                return pending_view(array, shape)
            self._backend.make_resident(array, f"{self._kernel} makes a view of it")
        return view_of(array, shape, strides, offset)

    def grid(self, invocations: int, group: int) -> tuple[int, int, int]:
        """Return the workgroup counts for that many invocations in workgroups of ``group``.

        Past 65,535 workgroups they fold in two: ``i = id.x + id.y * groups.x * group``.

        Raises:
            ArgumentError: They are no whole numbers.
        """
        if type(invocations) is not int or type(group) is not int or group < 1:
            invocations, group = argument_checks.check_grid(self._kernel, invocations, group)
        return fold(-(-invocations // group))
