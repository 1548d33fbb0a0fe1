"""What a call reaches of what the adapter can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.testing.ceilings import Ceilings, ceilings, operations_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.testing.timing import Timing


@dataclass(frozen=True)
class Rates:
    """What a call reaches of what the adapter can do.

    Attributes:
        timing: How long it takes.
        operations: About how many it does, as its shaders are written; None where they have loops
            that do not tell how often they run.
        ceilings: What the adapter can do.
    """

    timing: Timing
    operations: int | None
    ceilings: Ceilings

    @property
    def bandwidth(self) -> float:
        """Bytes of inputs and outputs a second, as part of what the adapter moves."""
        return self.timing.nbytes / self.timing.seconds / self.ceilings.bytes_per_second

    @property
    def arithmetic(self) -> float | None:
        """Operations a second, as part of what the adapter does."""
        if self.operations is None:
            return None
        return self.operations / self.timing.seconds / self.ceilings.operations_per_second

    @property
    def intensity(self) -> float | None:
        """Operations for each byte."""
        return None if self.operations is None else self.operations / max(self.timing.nbytes, 1)

    def __str__(self) -> str:
        said = f"{100 * self.bandwidth:.2g} % of bandwidth"
        if self.arithmetic is None or self.intensity is None:
            return said
        top = self.ceilings
        is_memory = self.intensity < top.operations_per_second / top.bytes_per_second
        bound = "memory" if is_memory else "arithmetic"
        return (
            f"{said}, {100 * self.arithmetic:.2g} % of arithmetic "
            f"({self.intensity:.2g} operations a byte: {bound})"
        )


def rates_of(f: Callable[..., Any], arrays: Sequence[Any], timing: Timing) -> Rates:
    """Return what a call on ``webgpu`` reaches.

    Args:
        f: The call.
        arrays: Its inputs.
        timing: How long it takes there.
    """
    with use_backend("webgpu"):
        xs = [tensor(one) for one in arrays]
        return Rates(timing, operations_of(lambda: f(*xs)), ceilings())
