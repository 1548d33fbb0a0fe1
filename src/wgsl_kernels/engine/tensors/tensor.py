"""Tensors and variables: a spec, an array of some backend, and who may look at it."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from wgsl_kernels.engine.drivers import memory
from wgsl_kernels.engine.drivers.backends import active_driver, find_driver, use_backend
from wgsl_kernels.engine.drivers.fallbacks import note_fallback
from wgsl_kernels.engine.drivers.host_memory import check_room, too_large
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import DisposedTensorError, DTypeError, ShapeError
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.tensors import display
from wgsl_kernels.engine.tensors.copies import Copies, restored
from wgsl_kernels.engine.tensors.entries import note_assignment, note_copy, note_entry, note_reading
from wgsl_kernels.engine.tensors.methods import Methods
from wgsl_kernels.engine.tensors.operators import Assigning, Operators
from wgsl_kernels.engine.tensors.reading import Reading
from wgsl_kernels.engine.tensors.recorded_values import any_watched, of_watched
from wgsl_kernels.engine.tensors.standard import Standard
from wgsl_kernels.engine.tensors.watched_reads import (
    hidden_from_tapes,
    note_explicit_read,
    warn_of_end,
)
from wgsl_kernels.engine.values.dtypes import (
    OBJECTS,
    WIDE,
    DType,
    DTypeName,
    canonical,
    numpy_dtype,
)
from wgsl_kernels.engine.values.host import Array, as_array, default_dtype, reshape_host, to_host
from wgsl_kernels.engine.values.shapes import lengths, show
from wgsl_kernels.engine.values.spec import Shape, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.values.dtypes import DTypeLike

TensorLike = Any
"""A `Tensor`, a Python scalar, a NumPy array, or nested lists of scalars."""

next_id = itertools.count(1).__next__
"""Returns a number above those of all tensors so far."""


class Tensor(Copies, Methods, Operators, Reading, Standard):
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
        return self._driver.download(self._array_on(self._driver), self.spec)

    def __repr__(self) -> str:
        return display.as_text(self)

    def _repr_html_(self) -> str:
        return display.as_html(self)


class CommittedTensor(Tensor):
    """A tensor whose ops run on the backend where it is, not on that of the process.

    So do those of their results. The word is JAX's, whose arrays are committed to a device where a
    user has put them on it. Inside a block of `use_backend` ops run on its backend nevertheless.
    """

    __slots__ = ()

    def __copy__(self) -> Tensor:
        return committed(super().__copy__())

    def __reduce__(self) -> tuple[Any, ...]:
        return _committed_again, super().__reduce__()[1]


def committed(x: Tensor) -> Tensor:
    """Return a tensor that is committed to the backend of ``x``, whose values it shares."""
    return made(CommittedTensor(x.spec, x._array_on(x._driver), x._driver))


def committed_driver(inputs: Iterable[Any]) -> Driver | None:
    """Return the backend of the first committed tensor among inputs, or None without one."""
    for one in inputs:
        if isinstance(one, CommittedTensor):
            return one._driver
        if isinstance(one, list):
            found = committed_driver(one)
            if found is not None:
                return found
    return None


def commit(results: Tensor | tuple[Tensor, ...]) -> None:
    """Commit new tensors, which nobody has yet, to their backends."""
    for one in results if isinstance(results, tuple) else (results,):
        one.__class__ = CommittedTensor


def _committed_again(*facts: Any) -> Tensor:
    return committed(restored(*facts))


class Variable(Assigning, Tensor):
    """A tensor whose values can be replaced; tapes watch it when it is read, if trainable.

    ``assign`` replaces them, and so do ``+=``, ``-=`` and the other operators of this kind; of any
    other tensor these give the name a new tensor.

    Example:
        >>> w = wk.variable([1.0, 2.0])
        >>> alias = w
        >>> w -= 0.5
        >>> alias.tolist()
        [0.5, 1.5]
    """

    __slots__ = ("name", "trainable")

    is_variable = True

    def __init__(
        self, spec: Spec, array: Any, driver: Driver, *, trainable: bool, name: str
    ) -> None:
        """Wrap an array; users call `variable`."""
        super().__init__(spec, array, driver)
        self.trainable = trainable
        self.name = name
        variables[self._id] = self

    def assign(self, value: TensorLike) -> Variable:
        """Replace the values; readers that ran before keep what they read.

        Args:
            value: The variable's shape and dtype.

        Raises:
            ShapeError: The shape differs.
            DTypeError: The dtype differs.
            DisposedTensorError: The variable was disposed, or the value.
        """
        given = self._taking(value)
        array, driver = given._array_on(given._driver), given._driver
        now = context.current()
        if now.interceptors:
            note_assignment(self, given)
        watch = now.watch
        if watch is not None:
            watch.assign([(self, array, driver)])
            return self
        before = self._array, self._copies  # what runs at their end must not come between these:
        self._array, self._driver, self._copies = array, driver, None
        del before
        return self

    def assign_add(self, value: TensorLike) -> Variable:
        """Add ``value``, as ``+=`` does; see `assign`."""
        return self.assign(operator.add(self, value))

    def assign_sub(self, value: TensorLike) -> Variable:
        """Subtract ``value``, as ``-=`` does; see `assign`."""
        return self.assign(operator.sub(self, value))

    def _taking(self, value: TensorLike) -> Tensor:
        """Return the tensor that `assign` would take the values of; raise as that does."""
        if self.is_disposed:
            raise self._was_disposed()
        given = value if isinstance(value, Tensor) else tensor(value, dtype=self.dtype)
        if given.spec.dtype == WIDE.get(self.spec.dtype) and context.current().double:
            values = given.numpy().astype(numpy_dtype(self.dtype))
            narrow = Spec(given.shape, self.dtype)
            given = Tensor(narrow, given._driver.upload(values, narrow), given._driver)
        if given.shape != self.shape:
            raise ShapeError(
                f"assign: {self.name} has shape {show(self.shape)}, the value "
                f"{show(given.shape)}; want the same."
            )
        if given.spec.dtype != self.spec.dtype:
            raise DTypeError(
                f"assign: {self.name} is {self.dtype}, the value {given.dtype}; cast it first."
            )
        return given

    def _array_on(self, driver: Driver) -> Any:
        """Return the array on ``driver``, of what this thread or task sees as the values."""
        watch = context.current().watch
        return Tensor._array_on(self if watch is None else watch.shown(self), driver)

    @property
    def is_disposed(self) -> bool:
        """Whether `dispose` was called, directly or by a `tidy`."""
        watch = context.current().watch
        return self._array is None if watch is None else watch.is_disposed(self)

    def dispose(self) -> None:
        """Give the values up now; any later use raises `DisposedTensorError`."""
        watch = context.current().watch
        if watch is None:
            super().dispose()
        else:
            watch.assign([(self, None, self._driver)])


variables: WeakValueDictionary[int, Variable] = WeakValueDictionary()
"""All variables alive, by id."""


def new_tensor(values: Array, dtype: DType) -> Tensor:
    """Return a tensor of host values that belong to the engine from now on."""
    spec = Spec(values.shape, dtype)
    driver = active_driver()
    if not driver.supports(dtype):
        if dtype != "string":
            _leave_to_cpu(dtype, driver.name)
        driver = find_driver("cpu")
    new = made(Tensor(spec, driver.upload(values, spec), driver))
    if context.current().interceptors:
        note_entry(new, values)
    return new


def _leave_to_cpu(dtype: DType, backend: str) -> None:
    """Note that values of a dtype that a backend lacks live on the CPU.

    Raises:
        DTypeError: ``config.fallback`` forbids it.
    """
    if config.fallback == "error":
        raise DTypeError(
            f"tensor: dtype {dtype} cannot live on backend {backend!r}. "
            'Use use_backend("cpu"), or another dtype.'
        )
    note_fallback(f"tensor of {dtype}", backend, f"backend {backend!r} has none; it lives on cpu")


def with_values_of(tensor: Tensor) -> Tensor:
    """Return a new tensor of the same values, which no tape follows from it."""
    new = made(Tensor(tensor.spec, tensor._array_on(tensor._driver), tensor._driver))
    if context.current().interceptors:
        note_copy(new, tensor)
    return new


def made(tensor: Tensor) -> Tensor:
    """Count a new tensor in the scope around it and return it."""
    scope = context.current().scope
    if scope is not None:
        scope.add(tensor)
    return tensor


@public(tfjs="tensor scalar tensor1d tensor2d tensor3d tensor4d tensor5d tensor6d")
def tensor(
    values: TensorLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """Return a new tensor with a copy of ``values``.

    Where a tape watches ``values``, or a tensor in these lists, the copy is made on the device and
    gradients go on through it; `variable` makes a leaf, where they end.

    Args:
        values: A scalar, nested lists, an array, or a tensor.
        shape: The tensor's shape where it differs from that of ``values``; a scalar fills it.
        dtype: Without it Python and NumPy floats become float32, integers int32, but for NumPy's
            int8 and uint8, and bool, str and complex values bool, string and complex64. What the
            backend lacks, as float64 all but ``cpu``, lives on ``cpu``, and so does what is
            computed of it.
        device: The backend that it is on; without one the backend in force.

    Raises:
        ShapeError: ``values`` are ragged or do not fill ``shape``.
        DTypeError: No tensor can have this dtype; or the backend cannot, and ``config.fallback``
            is "error".
        ArgumentError: An integer does not fit the dtype, or no backend has that name.
    """
    if device is not None:
        with use_backend(device):
            return tensor(values, shape, dtype)
    wanted = None if shape is None else lengths("tensor", "shape", shape)
    if context.current().interceptors and any_watched(values):
        return of_watched(values, wanted, dtype)
    if isinstance(values, Tensor):
        values, dtype = values.numpy(), values.dtype if dtype is None else dtype
    host = to_host(values, dtype, double=context.current().double, check_size=check_room)
    name = _dtype_of(host, dtype)
    if wanted and not host.ndim:
        check_room(wanted, name)
    try:
        whole = reshape_host(host, wanted)
    except MemoryError:
        raise too_large(Spec(wanted or (), name)) from None
    return new_tensor(whole, name)


@public(tfjs="variable")
def variable(
    values: TensorLike,
    trainable: bool = True,
    name: str | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Variable:
    """Return a new variable with a copy of ``values``.

    Args:
        values: Its first values.
        trainable: Whether tapes watch it and optimizers change it by default.
        name: For messages and saved files; without it ``variable_1``, ``variable_2``, …
        dtype: As for `tensor`.
        device: As for `tensor`.
    """
    if context.current().interceptors and any_watched(values):
        warn_of_end("variable")
    with context.changed(scope=None), hidden_from_tapes():
        first = tensor(values, dtype=dtype, device=device)
    label = name if name is not None else f"variable_{_next_variable()}"
    made = Variable(first.spec, first._array, first._driver, trainable=trainable, name=label)
    made._is_kept = True
    watch = context.current().watch
    if watch is not None:
        watch.created(made)
    return made


_next_variable = itertools.count(1).__next__


def as_tensor(value: TensorLike, dtype: Any = None) -> Tensor:
    """Return ``value`` itself where it is a tensor, else a new tensor of it.

    Raises:
        DTypeError: It is a tensor of another dtype than ``dtype``.
    """
    if not isinstance(value, Tensor):
        return tensor(value, dtype=dtype)
    if dtype is not None and value.dtype != canonical(dtype):
        raise DTypeError(f"tensor has dtype {value.dtype}; want {canonical(dtype)}. Cast it first.")
    return value


def as_floats(value: TensorLike) -> Tensor:
    """Return ``value`` itself where it is a tensor, else a new one, of floats for integers."""
    if isinstance(value, Tensor):
        return value
    given = as_array(value)
    return tensor(given, dtype="float32" if given.dtype.kind in "biu" else None)


def _dtype_of(host: Array, asked: Any) -> DType:
    if asked is not None:
        wanted = canonical(asked)
        return WIDE[wanted] if numpy_dtype(wanted) != host.dtype else wanted
    if host.dtype == np.float64:
        return "float64"
    if host.dtype == np.complex128:
        return "complex128"
    return default_dtype(host)
