"""Reading values under a tape that watches them: no gradient flows through what Python has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.origin import user_line, warn_user
from wgsl_kernels.engine.values.dtypes import is_differentiable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor


class WatchingTape(ABC):
    """What reading a value knows of a tape.

    Attributes:
        reads: The lines at which watched values were read, in order.
        untrained: What a model said that ran and has no variables.
    """

    reads: dict[str, None]
    untrained: str = ""

    @abstractmethod
    def watches(self, tensor: Tensor) -> bool:
        """Say whether what depends on ``tensor`` is recorded."""


class Boundary:
    """An interceptor that has other kernels run, on other tensors, for those that it is asked for.

    Tapes that were put there before it see those alone: they know nothing of a function's tensors.
    """


def tapes_within(interceptors: Sequence[Any]) -> list[WatchingTape]:
    """Return the tapes that see a function's own tensors: those within the innermost boundary."""
    found: list[WatchingTape] = []
    for one in interceptors:
        if isinstance(one, Boundary):
            found = []
        elif isinstance(one, WatchingTape):
            found.append(one)
    return found


def hidden_from_tapes() -> context.ContextBlock:
    """Let no tape see the kernel runs of a block; other interceptors do.

    Those beyond a boundary do, since what they see are not these runs.
    """

    def without(outer: context.Context) -> dict[str, Any]:
        own = tapes_within(outer.interceptors)
        return {"interceptors": tuple([one for one in outer.interceptors if one not in own])}

    return context.ContextBlock(without)


def is_watched(tensor: Tensor) -> bool:
    """Say whether a tape of this thread or task watches ``tensor``."""
    return bool(context.current().interceptors and _watching(tensor))


def note_explicit_read(tensor: Tensor) -> None:
    """Have the tapes that watch ``tensor`` remember the line at which its author reads it."""
    if context.current().interceptors:
        for tape in _watching(tensor):
            tape.reads[user_line()] = None


def note_implicit_read(tensor: Tensor, what: str) -> None:
    """Warn, once per line, that ``what`` ends the gradient of ``tensor`` where a tape watches it.

    Args:
        tensor: What is read.
        what: What reads it without a word of the author's, such as ``np.asarray``.
    """
    if not is_watched(tensor):
        return
    note_explicit_read(tensor)
    warn_of_end(what)


def warn_of_end(what: str) -> None:
    """Warn, once per line, that the gradient of a tensor that a tape watches ends at ``what``."""
    warn_user(
        f"{what}: a tape watches this tensor, and its gradient ends here. Write "
        "stop_gradient(x) where that is meant."
    )


def lines_read(tape: WatchingTape) -> str:
    """Return a sentence on the lines at which values that ``tape`` watches were read, if any."""
    if not tape.reads:
        return ""
    lines = ", ".join(tape.reads)
    return f" Watched values were read at {lines}: no gradient flows through what Python has."


def _watching(tensor: Tensor) -> list[WatchingTape]:
    if not is_differentiable(tensor.spec.dtype):
        return []
    tapes = tapes_within(context.current().interceptors)
    return [one for one in tapes if one.watches(tensor)]
