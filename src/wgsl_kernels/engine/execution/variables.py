"""Variables: tensors whose values can be replaced."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.recorded_values import any_watched
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.tensors.entries import note_assignment
from wgsl_kernels.engine.tensors.operators import Assigning
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike, uploaded
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes, warn_of_end
from wgsl_kernels.engine.values.dtypes import WIDE, numpy_dtype
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.values.dtypes import DType, DTypeLike
    from wgsl_kernels.engine.values.host import Array


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
        array, driver = given._array_and_driver()
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

    def _array_and_driver(self) -> tuple[Any, Driver]:
        """Return the array of what this thread or task sees as the values, and whose it is."""
        watch = context.current().watch
        shown = self if watch is None else watch.shown(self)
        return Tensor._array_on(shown, shown._driver), shown._driver

    def __copy__(self) -> Variable:
        array, driver = self._array_and_driver()
        if context.current().watch is not None:
            # what records or puts back knows a variable by its array
            array = driver.upload(self.numpy(), self.spec)
        return _kept(Variable(self.spec, array, driver, trainable=self.trainable, name=self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        facts = self.trainable, self.name
        return restored_variable, (self.numpy(), self.dtype, self.backend, *facts)

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
    return _kept(Variable(first.spec, first._array, first._driver, trainable=trainable, name=label))


def restored_variable(
    values: Array, dtype: DType, backend: str, trainable: bool, name: str
) -> Variable:
    """Return the variable of a pickle; see `wgsl_kernels.engine.tensors.tensor.restored`."""
    return _kept(Variable(*uploaded(values, dtype, backend), trainable=trainable, name=name))


def _kept(new: Variable) -> Variable:
    """Return a new variable, which no `tidy` disposes of."""
    new._is_kept = True
    watch = context.current().watch
    if watch is not None:
        watch.created(new)
    return new


_next_variable = itertools.count(1).__next__
