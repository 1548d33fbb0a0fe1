"""What a block of code does to variables, and putting them back."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

from wgsl_kernels.engine.tensor import variables

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from wgsl_kernels.engine.driver import Driver
    from wgsl_kernels.engine.tensor import Tensor, Variable


class Watch:
    """Told, while it stands in the context, what a thread or task does to variables.

    Attributes:
        made: The variables made meanwhile, in order.
        changed: Those assigned, by id.
        undo: Puts back what code other than variables keeps, such as an optimizer's list of slots.
    """

    def __init__(self) -> None:
        self.made: list[ref[Variable]] = []
        self.changed: dict[int, Variable] = {}
        self.undo: list[Callable[[], object]] = []

    def created(self, variable: Variable) -> None:
        """Hear of a new variable."""
        self.made.append(ref(variable))

    def assigned(self, variable: Variable) -> None:
        """Hear that a variable is about to get another value."""
        self.changed[variable.id] = variable

    def crossed(self, tensor: Tensor) -> None:
        """Hear that a tensor is about to move to another backend."""


class Snapshot(Watch):
    """Remembers what each variable is before its first assignment, so that it can be put back."""

    def __init__(self) -> None:
        super().__init__()
        self._before: list[tuple[Variable, Any, Driver, Any]] = []

    def assigned(self, variable: Variable) -> None:
        """Remember the present value, unless an earlier one is remembered."""
        if variable.id not in self.changed:
            self._before.append((variable, variable.array, variable.driver, variable.copies))
        super().assigned(variable)

    def restore(self) -> None:
        """Put everything back that was changed since."""
        for variable, array, driver, copies in self._before:
            variable.array, variable.driver, variable.copies = array, driver, copies
        for back in reversed(self.undo):
            back()


def living() -> list[Variable]:
    """Return the variables that are alive and not disposed."""
    found = [one() for one in variables.valuerefs()]
    return [one for one in found if one is not None and one.array is not None]
