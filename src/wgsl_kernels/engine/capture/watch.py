"""What a block of code does to variables, kept from everybody else until its end, or for good."""

from __future__ import annotations

from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar
from weakref import ref

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.exchange import exchange
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.tensors.entries import note_assignment
from wgsl_kernels.engine.tensors.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.environment.exchange import Change
    from wgsl_kernels.engine.registry.registrations import Uses

Found = TypeVar("Found")
_ARRAY = attrgetter("_array", "_driver")

New = tuple[Variable, "Any", "Driver"]
"""A variable, the array that it gets (None where it is disposed), and whose that is."""


class VariableWatch:
    """Stands in the context while a thread or task changes variables, and keeps the new values.

    A variable itself is left as it is. The block's own code is shown another tensor in its place.

    Attributes:
        made: The variables made meanwhile, in order.
        changed: Those assigned, each with the tensor that has its values here, by id.
        undo: Puts back what code other than variables keeps, such as an optimizer's list of slots.
    """

    def __init__(self) -> None:
        self.made: list[ref[Variable]] = []
        self.changed: dict[int, tuple[Variable, Tensor]] = {}
        self.undo: list[Callable[[], object]] = []
        self._outer = context.current().watch

    def created(self, variable: Variable) -> None:
        """Hear of a new variable."""
        self.made.append(ref(variable))

    def assign(self, new: Iterable[New]) -> None:
        """Take new values of variables: all of them, or none if this is interrupted."""
        self.changed.update(
            {one._id: (one, stand_in(one, array, driver)) for one, array, driver in new}
        )

    def is_disposed(self, variable: Variable) -> bool:
        """Say whether a variable has no values here."""
        found = self.changed.get(variable._id)
        if found is not None:
            return found[1]._array is None
        return variable._array is None if self._outer is None else self._outer.is_disposed(variable)

    def shown(self, variable: Variable) -> Tensor:
        """Return what has a variable's values here: itself, or what stands in for it."""
        found = self.changed.get(variable._id)
        if found is not None:
            return found[1]
        return variable if self._outer is None else self._outer.shown(variable)

    def seen(self, inputs: Iterable[Any]) -> tuple[Any, ...]:
        """Return a kernel's inputs with what is shown in place of variables."""
        return tuple(
            self.shown(one)
            if isinstance(one, Variable)
            else list(self.seen(one))
            if isinstance(one, (list, tuple))
            else one
            for one in inputs
        )

    def crossed(self, tensor: Tensor) -> None:
        """Hear that a tensor is about to move to another backend."""

    def met(self, uses: Uses) -> None:
        """Hear of registrations that something was made of."""
        if self._outer is not None:
            self._outer.met(uses)

    def commit(self, also: Sequence[Change] = ()) -> None:
        """Give all variables their new values, and make the other changes, at once.

        A watch around this one gets the values, and what is to be put back.
        """
        outer = self._outer
        if outer is None:
            new = [(one, value._array, value._driver) for one, value in self.changed.values()]
            changes = [change for one in new for change in changes_of(*one)]
        else:
            changes = [
                (outer, "changed", {**outer.changed, **self.changed}),
                (outer, "undo", [*outer.undo, *self.undo]),
            ]
        exchange([*changes, *also, (self, "undo", [])])

    def put_back(self) -> None:
        """Have what others than variables keep as it was."""
        while self.undo:
            self.undo[-1]()
            self.undo.pop()


def stand_in(variable: Variable, array: Any, driver: Driver) -> Tensor:
    """Return a tensor that is taken for the variable, with other values; it does not count."""
    made = Tensor(variable.spec, array, driver, variable._id)
    made._life = None
    return made


@contextmanager
def kept_as_before(**changes: Any) -> Iterator[VariableWatch]:
    """Have variables, optimizers and generators be as before when a block is left, however it is.

    Args:
        changes: What else the block changes of the context.
    """
    watch = VariableWatch()
    block = context.changed(watch=watch, **changes)
    try:
        with block:
            yield watch
    finally:
        block.leave()
        watch.put_back()


@contextmanager
def all_or_none() -> Iterator[None]:
    """Keep what a block assigns from everybody else; give it to the variables at the end, at once.

    A block that is left by an exception changes nothing.
    """
    watch = VariableWatch()
    block = context.changed(watch=watch)
    try:
        with block:
            yield
        watch.commit()
    except BaseException:
        block.leave()
        watch.put_back()
        raise


class _Moment(VariableWatch):
    """Shows variables as they all were when it was made.

    Attributes:
        missed: Those read that it was not made with, as they are now.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        super().__init__()
        outer = self._outer
        shown = variables if outer is None else [outer.shown(one) for one in variables]
        arrays = list(map(_ARRAY, shown))  # one call of a function in C, see `exchange`
        self._then = {
            one._id: stand_in(one, *pair) for one, pair in zip(variables, arrays, strict=True)
        }
        self.missed: list[Variable] = []

    def shown(self, variable: Variable) -> Tensor:
        """Return what has a variable's values at that moment."""
        if variable._id in self.changed:
            return super().shown(variable)
        found = self._then.get(variable._id)
        if found is None:
            self.missed.append(variable)
            return super().shown(variable)
        return found


def at_one_moment(look: Callable[[], Found]) -> Found:
    """Return what ``look`` finds, called until all that it reads of variables is of one moment.

    So it sees them between two steps, though another thread may train them meanwhile.
    """
    known: list[Variable] = []
    while True:
        moment = _Moment(known)
        with context.changed(watch=moment):
            found = look()
        if not moment.missed:
            moment.commit()
            return found
        known += dict.fromkeys(moment.missed)


def assign_all(pairs: Iterable[tuple[Variable, Any]]) -> None:
    """Give each variable a value, as `Variable.assign` does: all of them, or none.

    Raises:
        ShapeError, DTypeError, DisposedTensorError: As there; nothing has changed then.
    """
    given = [(one, one._taking(value)) for one, value in pairs]
    new = [(one, *value._array_and_driver()) for one, value in given]
    now = context.current()
    if now.interceptors:
        for one, value in given:
            note_assignment(one, value)
    watch = now.watch
    if watch is not None:
        watch.assign(new)
    else:
        exchange([change for one in new for change in changes_of(*one)])


def changes_of(variable: Tensor, array: Any, driver: Driver) -> Sequence[Change]:
    """Return what it takes to give a variable an array, or to dispose a tensor."""
    changes: list[Change] = [(variable, "_array", array)]
    if variable._driver is not driver:
        changes.append((variable, "_driver", driver))
    if variable._copies is not None:
        changes.append((variable, "_copies", None))
    if array is None:
        changes.append((variable, "_life", None))
    return changes
