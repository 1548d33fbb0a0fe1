"""A function's hidden inputs and outputs made arguments: what it closes over, what it assigns."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.tape import Tape, active_tapes, flat
from wgsl_kernels.engine.capture.watch import VariableWatch, assign_all
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.variables import Variable, variables
from wgsl_kernels.engine.tensors.entries import Substitution
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result

Leaves = list[Tensor]


@dataclass(frozen=True)
class Needs:
    """What a function has besides its arguments and results.

    Attributes:
        closed_over: Tensors and variables that it reads and that a tape around follows.
        assigned: Variables that it assigns.
    """

    closed_over: Leaves
    assigned: list[Variable]


def needs_of(f: Callable[[], tuple[Leaves, Leaves]]) -> Needs:
    """Run a step without lasting effect and return what it needs of those around it."""
    seen = _InputObserver(active_tapes())
    watch = VariableWatch()
    try:
        with hidden_from_tapes(), context.changed(watch=watch), context.intercepted(seen):
            for results in f():  # which may be what no kernel has read
                seen.note(results)
    finally:
        watch.put_back()
    assigned = [variable for variable, _ in watch.changed.values()]
    own = {one._id for one in assigned}
    return Needs([one for key, one in seen.found.items() if key not in own], assigned)


def loses_gradient(variable: Variable) -> ArgumentError:
    """Return the error for a trainable variable that a step assigns."""
    return ArgumentError(
        f"scan: f assigns the trainable variable {variable.name!r}, whose gradient would be "
        "lost. Put it in the carry, or make it trainable=False."
    )


@contextmanager
def trainable_variables_kept() -> Iterator[None]:
    """A block after which trainable variables have the values that they had.

    Raises:
        ArgumentError: One was assigned; it is put back.
    """
    before = [(one, values_of(one)) for one in variables.values() if _is_in_use(one)]
    yield
    changed = [
        (one, values)
        for one, values in before
        if not one.is_disposed and values_of(one)._array is not values._array
    ]
    if changed:
        assign_all(changed)
        raise loses_gradient(changed[0][0])


def _is_in_use(variable: Variable) -> bool:
    return variable.trainable and not variable.is_disposed


def values_of(variable: Variable) -> Tensor:
    return Tensor(variable.spec, *variable._array_and_driver())


class _InputObserver:
    """Notes the inputs of kernels that tapes follow, which see nothing of the run itself."""

    def __init__(self, tapes: list[Tape]) -> None:
        self._tapes = tapes
        self.found: dict[int, Tensor] = {}

    def __call__(self, call: KernelRun, proceed: Proceed) -> Result:
        self.note(flat(call.inputs))
        return proceed(call)

    def note(self, tensors: Iterable[Tensor]) -> None:
        for one in tensors:
            if one._id not in self.found and any(tape.depends((one,)) for tape in self._tapes):
                self.found[one._id] = one


class Pure:
    """A step as a function of its arguments alone, which `Needs` adds to.

    The values of the variables that it assigns are the last of the carry; what it closes over is
    the third argument.

    Attributes:
        recordings: What is kept of it by whoever captures it.
        derived: What is kept that was made of it, such as its gradient.
    """

    def __init__(self, body: Callable[..., tuple[Leaves, Leaves]], needs: Needs) -> None:
        self._body = body
        self._needs = needs
        self.recordings: dict[int, Any] | None = None
        self.derived: dict[Any, Any] = {}
        self.__qualname__ = str(getattr(body, "__qualname__", body))

    def __call__(self, carry: Leaves, x: Leaves, closed_over: Leaves) -> tuple[Leaves, Leaves]:
        """Run the step; variables stay as they are, the last of the new carry has their values."""
        assigned = self._needs.assigned
        count = len(carry) - len(assigned)
        pairs = zip(assigned, carry[count:], strict=True)
        watch = VariableWatch()
        watch.assign([(one, *new._array_and_driver()) for one, new in pairs])
        given = zip(self._needs.closed_over, closed_over, strict=True)
        replaced = _Replaced({old._id: new for old, new in given})
        try:
            with context.changed(watch=watch), context.intercepted(replaced):
                new, ys = self._body(carry[:count], x, [])
        finally:
            watch.put_back()
        new, ys = ([replaced.instead(one) for one in part] for part in (new, ys))
        values = [watch.changed[one._id][1] for one in assigned]
        return [*new, *[Tensor(one.spec, one._array, one._driver) for one in values]], ys


class _Replaced(Substitution):
    """Has other tensors taken in place of those that a function closes over."""

    def __init__(self, replaced: dict[int, Tensor]) -> None:
        self._replaced = replaced

    def instead(self, tensor: Tensor) -> Tensor:
        return self._replaced.get(tensor._id, tensor)
