"""What interceptors hear of besides kernel runs, and the tensors that they put in others' place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment import context

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array


class EntryObserver:
    """An interceptor that is notified of what enters and leaves a run without a kernel."""

    def __call__(self, call: Any, proceed: Any) -> Any:
        """See a kernel run."""
        raise AssertionError("each observer says itself what it does then")

    def entered(self, tensor: Tensor, values: Array) -> None:
        """Hear of a new tensor of values from the host."""
        raise AssertionError("as above")

    def copied(self, tensor: Tensor, source: Tensor) -> None:
        """Hear of a new tensor of another's values."""
        raise AssertionError("as above")

    def was_read(self, tensor: Tensor) -> None:
        """Hear that Python gets the values of a tensor."""
        raise AssertionError("as above")

    def assigned(self, variable: Any, value: Tensor) -> None:
        """Hear that a variable gets the values of a tensor."""
        raise AssertionError("as above")


class Substitution:
    """An interceptor that has kernels take other tensors in place of some.

    What takes tensors without a kernel, as a function with a gradient of its own does, asks for
    them by `substituted`.
    """

    def __call__(self, call: Any, proceed: Any) -> Any:
        """Let a kernel run on what stands for its inputs."""
        call.inputs = tuple([self._instead_of_each(one) for one in call.inputs])
        return proceed(call)

    def instead(self, tensor: Tensor) -> Tensor:
        """Return what stands for a tensor, itself where nothing else does."""
        raise AssertionError("each has its own")

    def _instead_of_each(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._instead_of_each(one) for one in value]
        return value if value is None else self.instead(value)


def substituted(tensor: Tensor, around: Substitution | None = None) -> Tensor:
    """Return what a kernel that runs now would take for a tensor; that ``around`` would get."""
    interceptors = context.current().interceptors
    end = len(interceptors) if around is None else interceptors.index(around)
    for one in reversed(interceptors[:end]):
        if isinstance(one, Substitution):
            tensor = one.instead(tensor)
    return tensor


def hidden_entries() -> context.ContextBlock:
    """A block whose host values stand for a tensor's, of which the host happens to know them."""
    return context.hidden(EntryObserver)


def note_entry(tensor: Tensor, values: Array) -> None:
    """Notify of a new tensor of values from the host; call it where there are interceptors."""
    for one in context.current().interceptors:
        if isinstance(one, EntryObserver):
            one.entered(tensor, values)


def note_copy(tensor: Tensor, source: Tensor) -> None:
    """Notify of a new tensor of another's values; call it where there are interceptors."""
    for one in context.current().interceptors:
        if isinstance(one, EntryObserver):
            one.copied(tensor, source)


def note_reading(tensor: Tensor) -> None:
    """Notify of a tensor whose values Python gets; call it where there are interceptors."""
    for one in context.current().interceptors:
        if isinstance(one, EntryObserver):
            one.was_read(tensor)


def note_assignment(variable: Any, value: Tensor) -> None:
    """Notify of a variable's new values; call it where there are interceptors."""
    for one in context.current().interceptors:
        if isinstance(one, EntryObserver):
            one.assigned(variable, value)
