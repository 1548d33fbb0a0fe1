"""Reading values under a tape that watches them: no gradient flows through what Python has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.origin import user_line, warn_user
from wgsl_kernels.engine.values.dtypes import is_differentiable

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor


class WatchingTape(ABC):
    """What reading a value knows of a tape.

    Attributes:
        reads: The lines at which watched values were read, in order.
    """

    reads: dict[str, None]

    @abstractmethod
    def watches(self, tensor: Tensor) -> bool:
        """Say whether what depends on ``tensor`` is recorded."""


def hidden_from_tapes() -> context.ContextBlock:
    """Let no tape see the kernel runs of a block; other interceptors do."""
    return context.hidden(WatchingTape)


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
    tapes = context.current().interceptors
    return [one for one in tapes if isinstance(one, WatchingTape) and one.watches(tensor)]
