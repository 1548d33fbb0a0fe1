"""The CPU backend: arrays are NumPy arrays, kernels are NumPy functions."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from wgsl_kernels.backends.cpu.limits import NEGLIGIBLE, check_allocation, memory_error
from wgsl_kernels.engine.drivers.driver import Launch, Usage
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DTypeError,
    OutOfMemoryError,
    ShapeError,
    WgslKernelsError,
)
from wgsl_kernels.engine.values.dtypes import DType, numpy_dtype
from wgsl_kernels.engine.values.host import Array, default_dtype
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.registry.registry import Kernel


REUSED = (32 << 20) - (64 << 10)
"""Bytes of the largest array whose memory the C library keeps for the next one, see below."""


def keep_freed_memory() -> None:
    """Have the C library keep freed memory, instead of giving it back to the system each time.

    Fresh memory costs up to 3 µs per page of 4 KiB when it is first written, more than most kernels
    need for these elements. glibc takes the size of the largest array that was freed (up to 32 MiB)
    as the limit up to which it reuses memory, and keeps twice as much: this frees one of that size,
    which was never written. Other C libraries take no notice.

    Source: mallopt(3), M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    """
    np.empty(REUSED, np.uint8)


class _OwnedArray:
    """An array that owns memory, as long as tensors hold it or views of it."""

    __slots__ = ("__weakref__", "array")

    def __init__(self, array: Array) -> None:
        self.array = array


class CpuArray:
    """The values of a tensor, and the memory that they are in."""

    __slots__ = ("array", "memory")

    def __init__(self, array: Array, memory: _OwnedArray) -> None:
        self.array = array
        self.memory = memory


class CpuBackend:
    """Runs NumPy kernels at once and counts the arrays that tensors hold.

    An array is counted out by the callback of a weak reference, which is written in C: an interrupt
    that came into a line of Python there would be printed and forgotten. See decisions/0025.
    """

    name = "cpu"

    def __init__(self) -> None:
        keep_freed_memory()
        self._lock = threading.RLock()  # what ends inside of it may make tensors
        self._held: dict[
            int, tuple[ref[_OwnedArray], int]
        ] = {}  # with its bytes, by the array's id
        self._at_most = 0  # bytes held, and those counted out since they were last added up
        self._checked_from = NEGLIGIBLE  # from so many on, small arrays are checked too

    def supports(self, dtype: DType) -> bool:
        """Say yes: every dtype lives here."""
        return True

    def serves(self, kernel: Kernel, dtype: DType) -> bool:
        """Say yes: NumPy takes every dtype."""
        return True

    def upload(self, values: Array, spec: Spec) -> CpuArray:
        """Hold host values."""
        self._check(spec)
        return self._hold(values)

    def check_size(self, spec: Spec) -> None:
        """Refuse an array beyond the limit, before the host makes its values.

        Raises:
            OutOfMemoryError: It is.
        """
        check_allocation(spec, self._bytes())

    def known(self, array: CpuArray) -> Array:
        """Return the values, which are never written."""
        found: Array = array.array
        return found

    def download(self, array: CpuArray, spec: Spec) -> Array:
        """Return a copy of the values."""
        try:
            return np.array(array.array, order="C")
        except MemoryError:  # of a view that repeats elements
            raise memory_error([spec], self._bytes()) from None

    def prepare(
        self,
        kernel: Kernel,
        inputs: list[Any],
        attrs: dict[str, Any],
        outputs: tuple[Spec, ...] | None,
        output_names: tuple[str, ...],
    ) -> Launch:
        """Return a launch that calls the kernel with those attributes that it takes."""
        func, takes = kernel.func, kernel.takes
        keywords = {name: value for name, value in attrs.items() if takes is None or name in takes}
        name = kernel.name
        check = getattr(func, "check_fit", None)  # of what is made of a shader
        if check is not None and outputs is not None:
            check(inputs, attrs, outputs, output_names)
        largest = max((spec.nbytes for spec in outputs or ()), default=0)
        single = outputs[0] if outputs is not None and len(outputs) == 1 else None
        shape = None if single is None else single.shape
        dtype = None if single is None else numpy_dtype(single.dtype)

        def launch(arrays: list[Any]) -> Sequence[Any]:
            values = [one.array if type(one) is CpuArray else _values(one) for one in arrays]
            if largest >= NEGLIGIBLE or self._at_most >= self._checked_from:
                self._check(*outputs or ())
            try:
                found = func(*values, **keywords)
            except OutOfMemoryError:
                raise
            except MemoryError:
                raise memory_error(outputs, self._bytes()) from None
            if type(found) is np.ndarray and found.shape == shape and found.dtype is dtype:
                return (self._hold(found),)  # what most kernels give: the rest is for the others
            several = found if isinstance(found, (tuple, list)) else (found,)
            if outputs is None:
                results = [np.asarray(one) for one in several]
                return [(self._hold(one), Spec(one.shape, _dtype_name(one))) for one in results]
            return [self._hold(one) for one in _checked(name, several, outputs)]

        return launch

    def _check(self, *specs: Spec) -> None:
        """Refuse arrays beyond the limit.

        Raises:
            OutOfMemoryError: One is.
        """
        try:
            for spec in specs:
                check_allocation(spec, self._at_most)
        except OutOfMemoryError:
            self._at_most = self._bytes()
            for spec in specs:
                check_allocation(spec, self._at_most)
        self._checked_from = self._at_most + NEGLIGIBLE

    def _bytes(self) -> int:
        return sum([nbytes for _, nbytes in list(self._held.values())])

    def _hold(self, values: Array) -> CpuArray:
        values.setflags(write=False)  # a kernel that writes into its input raises
        owner = values if values.base is None else _owner(values)
        key = id(owner)
        with self._lock:
            found = self._held.get(key)
            memory = None if found is None else found[0]()
            if memory is None:
                memory = _OwnedArray(owner)
                nbytes = owner.nbytes
                self._held[key] = ref(memory, partial(self._held.pop, key)), nbytes
                self._at_most += nbytes
        return CpuArray(values, memory)

    def memory(self) -> Usage:
        """Return how many arrays are held, and their bytes."""
        return Usage(len(self._held), self._bytes())

    def submit(self) -> None:
        """Do nothing: kernels run at once."""

    def evaluate(self, arrays: list[Any]) -> None:
        """Do nothing: kernels run at once."""

    def wait(self) -> None:
        """Do nothing: kernels run at once."""

    def close(self) -> None:
        """Do nothing: arrays belong to their tensors."""


def _values(one: Any) -> Any:
    if isinstance(one, list):
        return [held.array for held in one]
    return None if one is None else one.array


def _owner(array: Array) -> Array:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _dtype_name(array: Array) -> DType:
    if array.dtype == np.float64:
        return "float64"
    if array.dtype == np.complex128:
        return "complex128"
    return default_dtype(array)


def _checked(name: str, results: Sequence[Any], outputs: tuple[Spec, ...]) -> list[Array]:
    try:
        return _fitting(name, results, outputs)
    except WgslKernelsError as error:
        error.blames_kernel = True
        raise


def _fitting(name: str, results: Sequence[Any], outputs: tuple[Spec, ...]) -> list[Array]:
    """Return results as arrays.

    Raises:
        ArgumentError, ShapeError, DTypeError: Count, shape or dtype is not the signature's.
    """
    if len(results) != len(outputs) and list(results) != [None]:
        raise ArgumentError(
            f"{name}: the cpu kernel gave {len(results)} outputs, its signature says "
            f"{len(outputs)}."
        )
    arrays = []
    for one, spec in zip(results, outputs, strict=True):
        if one is None:
            raise ArgumentError(
                f"{name}: the cpu kernel gave None; want an array of shape {show(spec.shape)} and "
                f"dtype {spec.dtype}. Return it."
            )
        array = np.asarray(one)
        if array.shape != spec.shape:
            raise ShapeError(
                f"{name}: the cpu kernel gave shape {show(array.shape)}, its signature says "
                f"{show(spec.shape)}."
            )
        if array.dtype != numpy_dtype(spec.dtype):
            raise DTypeError(
                f"{name}: the cpu kernel gave dtype {array.dtype}, its signature says {spec.dtype}."
            )
        arrays.append(array)
    return arrays
