"""The watch over results that ``config.check_numerics`` turns on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import NumericsError
from wgsl_kernels.engine.environment.origin import call_line
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import is_differentiable
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wgsl_kernels.engine.drivers.driver import Driver


def check_results(
    kernel: str, driver: Driver, inputs: Iterable[Any], outputs: Sequence[Tensor]
) -> None:
    """Look at what a kernel gave as ``config.check_numerics`` and ``config.debug`` ask for it.

    Raises:
        NumericsError: See `check_numerics`.
    """
    now = context.current()
    if config.is_on("check_numerics", now):
        check_numerics(kernel, inputs, outputs)
    elif config.is_on("debug", now):
        note: Callable[[list[Any]], None] | None = getattr(driver, "note_results", None)
        if note is None:
            check_numerics(kernel, inputs, outputs, nan_alone=True)
        else:  # the backend looks at them by itself
            note([one._array_on(driver) for one in outputs])


def check_numerics(
    kernel: str, inputs: Iterable[Any], outputs: Sequence[Tensor], *, nan_alone: bool = False
) -> None:
    """Refuse NaN and infinities in a kernel's results where its inputs have none.

    Args:
        kernel: The kernel's name.
        inputs: What it was given.
        outputs: What it gave.
        nan_alone: Whether infinities are let pass in the results.

    Raises:
        NumericsError: There are some; names the kernel, the element and the line that called.
    """
    for number, output in enumerate(outputs):
        place = _first_bad(output, np.isnan if nan_alone else None)
        if place is not None and not any(_first_bad(one) is not None for one in _flat(inputs)):
            index, value = place
            raise NumericsError(
                f"{kernel}: output {number} of shape {show(output.shape)} holds {value} at "
                f"{show(index)}, and no input holds such a value. Called at {call_line()}."
            )


def _flat(inputs: Iterable[Any]) -> Iterable[Tensor]:
    for one in inputs:
        if isinstance(one, Tensor):
            yield one
        elif one is not None:
            yield from one


def _first_bad(
    tensor: Tensor, is_bad: Callable[[Any], Any] | None = None
) -> tuple[tuple[int, ...], Any] | None:
    if not is_differentiable(tensor.dtype):
        return None
    values = tensor.numpy()
    bad = np.argwhere(~np.isfinite(values) if is_bad is None else is_bad(values))
    if not len(bad):
        return None
    index = tuple(int(one) for one in bad[0])
    return index, values[index]
