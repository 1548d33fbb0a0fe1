"""Tensors: a spec, an array of some backend, and who may look at it.

A copy shares the values, which never change, so it costs no memory and stays where they are. A
pickle carries host values and the backend's name. Gradients do not flow through either.
"""

from __future__ import annotations

import hashlib
import itertools
import operator
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers import memory
from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import active_driver, find_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import DisposedTensorError
from wgsl_kernels.engine.tensors import display
from wgsl_kernels.engine.tensors.entries import note_copy, note_reading
from wgsl_kernels.engine.tensors.methods import Methods
from wgsl_kernels.engine.tensors.operators import Operators
from wgsl_kernels.engine.tensors.reading import Reading
from wgsl_kernels.engine.tensors.standard import Standard
from wgsl_kernels.engine.tensors.watched_reads import note_explicit_read
from wgsl_kernels.engine.values.dtypes import OBJECTS, DType, DTypeName
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.engine.values.spec import Shape, Spec

if TYPE_CHECKING:
    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.values.host import Array

_PROCESS = os.urandom(16).hex()
"""Tells this process from others; with the number of the process also from those that it forks."""

TensorLike = Any
"""A `Tensor`, a Python scalar, a NumPy array, or nested lists of scalars."""

next_id = itertools.count(1).__next__
"""Returns a number above those of all tensors so far."""


class Tensor(Methods, Operators, Reading, Standard):
    """Values of one dtype in a shape, on a backend; they never change.

    Made by `tensor` and by ops. Released when collected, when a `tidy` around ends, or by
    `dispose`.
    """

    _array: Any
    _copies: dict[str, Any] | None

    __slots__ = ("__weakref__", "_array", "_copies", "_driver", "_id", "_is_kept", "_life", "spec")

    is_variable = False
    trainable = False

    def __init__(self, spec: Spec, array: Any, driver: Driver, identity: int = 0) -> None:
        """Wrap an array of ``driver``; for the engine and for backends."""
        self.spec = spec
        self._array = array
        self._driver = driver
        self._copies = None
        self._is_kept = False
        self._id = identity or next_id()
        self._life: object | None = memory.life

    @property
    def shape(self) -> Shape:
        """The lengths of the axes."""
        return self.spec.shape

    @property
    def dtype(self) -> DTypeName:
        """The elements' dtype: equals its name, and NumPy's dtype of that name."""
        return OBJECTS[self.spec.dtype]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.spec.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.spec.size

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.spec.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes from element to element along each axis of what `numpy` returns."""
        steps = itertools.accumulate(self.shape[:0:-1], operator.mul, initial=self.dtype.itemsize)
        return tuple(steps)[self.ndim - 1 :: -1] if self.ndim else ()

    @property
    def backend(self) -> str:
        """The name of the backend that holds the values."""
        return self._driver.name

    @property
    def is_disposed(self) -> bool:
        """Whether `dispose` was called, directly or by a `tidy`."""
        return self._array is None

    def dispose(self) -> None:
        """Give the values up now; any later use raises `DisposedTensorError`."""
        self._array = None
        self._copies = None
        self._life = None

    def _array_on(self, driver: Driver) -> Any:
        """Return the array on ``driver``, copying it there the first time; for the engine."""
        if self._array is None:
            raise self._was_disposed()
        if self._driver is driver:
            return self._array
        watch = context.current().watch
        if watch is not None:
            watch.crossed(self)
        if self._copies is None:
            self._copies = {}
        if driver.name not in self._copies:
            values = self._driver.download(self._array, self.spec)
            self._copies[driver.name] = driver.upload(values, self.spec)
        return self._copies[driver.name]

    def _array_and_driver(self) -> tuple[Any, Driver]:
        """Return the array where it is, and whose it is; for the engine."""
        if self._array is None:
            raise self._was_disposed()
        return self._array, self._driver

    def _was_disposed(self) -> DisposedTensorError:
        return DisposedTensorError(
            f"tensor of shape {show(self.shape)} and dtype {self.dtype} was disposed; "
            "keep() it, or return it from tidy."
        )

    def numpy(self) -> Array:
        """Return the values as a new NumPy array, waiting for the work that computes them."""
        if context.current().interceptors:
            note_explicit_read(self)
        return self._values()

    def _values(self) -> Array:
        """Return the values as `numpy` does, in a reading that tapes need not know of."""
        if context.current().interceptors:
            note_reading(self)
        array, driver = self._array_and_driver()
        return driver.download(array, self.spec)

    def __copy__(self) -> Tensor:
        twin = made(Tensor(self.spec, *self._array_and_driver()))
        twin._is_kept = self._is_kept
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        del memo  # holds nothing of a tensor's; the caller notes the copy there
        return self.__copy__()

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return what tells this tensor from others to Dask, which names its results by it.

        It is the values where the host has them, and of a variable, and else the tensor itself.
        """
        array = self._array_on(self._driver)
        readable = abilities_of(self._driver).host_readable
        values = None if readable is None else readable.known(array)
        if values is None and not self.is_variable:
            return "wgsl_kernels.Tensor", os.getpid(), _PROCESS, self._id
        values = self._values() if values is None else values
        held = repr(values.tolist()).encode() if self.spec.dtype == "string" else values.tobytes()
        digest = hashlib.blake2b(held, digest_size=16).hexdigest()
        return "wgsl_kernels.Tensor", self.backend, self.spec.dtype, self.shape, digest

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self.numpy(), self.dtype, self.backend)

    def __repr__(self) -> str:
        return display.as_text(self)

    def _repr_html_(self) -> str:
        return display.as_html(self)


def with_values_of(tensor: Tensor) -> Tensor:
    """Return a new tensor of the same values, which no tape follows from it."""
    new = made(Tensor(tensor.spec, *tensor._array_and_driver()))
    if context.current().interceptors:
        note_copy(new, tensor)
    return new


def made(tensor: Tensor) -> Tensor:
    """Count a new tensor in the scope around it and return it."""
    scope = context.current().scope
    if scope is not None:
        scope.add(tensor)
    return tensor


def restored(values: Array, dtype: DType, backend: str) -> Tensor:
    """Return the tensor of a pickle.

    It is on the backend where it was, if that runs here and takes its dtype; else on the backend in
    force, or on ``cpu``.
    """
    return made(Tensor(*uploaded(values, dtype, backend)))


def uploaded(values: Array, dtype: DType, backend: str) -> tuple[Spec, Any, Driver]:
    """Return the spec, the array and the driver of a pickle's values."""
    spec = Spec(values.shape, dtype)
    try:
        driver = find_driver(backend)
    except Exception:  # whatever a backend says that does not run here
        driver = active_driver()
    if not driver.supports(dtype):
        driver = find_driver("cpu")
    return spec, driver.upload(np.array(values, order="C"), spec), driver
