"""Indices found in tensors: the check where the values are at hand, and the error's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import IndexOutOfRange
from wgsl_kernels.engine.environment.origin import call_line
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Shape


def check_indices(
    kernel: str,
    name: str,
    values: Array,
    length: int,
    shapes: Mapping[str, Shape],
    *,
    wraps: bool = False,
) -> None:
    """Refuse values outside [0, ``length``).

    Args:
        kernel: The kernel's name.
        name: The input that holds the values.
        values: Integers.
        length: How many positions there are.
        shapes: Of the kernel's tensors, by name, for the message.
        wraps: Whether negative values, down to ``-length``, count from the end.

    Raises:
        IndexOutOfRange: There is one; the message names the first.
    """
    outside = (values < (-length if wraps else 0)) | (values >= length)
    if outside.any():
        raise out_of_range(kernel, name, int(values[outside][0]), shapes, call_line())


def out_of_range(
    kernel: str, name: str, value: int, shapes: Mapping[str, Shape], line: str
) -> IndexOutOfRange:
    """Return the error for an input that holds an index out of range."""
    shown = ", ".join(f"{one} is {show(shape)}" for one, shape in shapes.items())
    return IndexOutOfRange(
        f"{kernel}: {name} holds {value}, which is out of range; {shown}. Called at {line}."
    )
