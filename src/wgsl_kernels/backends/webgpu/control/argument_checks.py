"""What a function with full control hands to ``gpu``, held against what that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
from wgsl_kernels.backends.webgpu.modules.packages import plain_path
from wgsl_kernels.backends.webgpu.programs.building import grid_of
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.values.attributes import flag, integer, integers, number, plain
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.errors.words import shown
from wgsl_kernels.wgsl.syntax.places import Text


def no_array(kernel: str, given: object, name: str = "array") -> ArgumentError:
    return ArgumentError(f"{kernel}: {name} is {shown(given)}; want an array of the gpu.")


def check_arrays(kernel: str, arrays: Any) -> None:
    """Refuse what is no mapping from names to arrays."""
    if not isinstance(arrays, Mapping):
        raise ArgumentError(f"{kernel}: arrays is {shown(arrays)}; want them by name.")
    for name, array in arrays.items():
        if not isinstance(name, str):
            raise ArgumentError(f"{kernel}: arrays names {shown(name)}; want a string.")
        if not isinstance(array, GpuArray):
            raise no_array(kernel, array, name)


def check_steps(
    kernel: str, shape: tuple[int, ...], strides: Sequence[int], offset: int
) -> tuple[tuple[int, ...], int]:
    """Return the strides and the offset of a view as plain integers.

    Raises:
        ArgumentError: They are none.
        ShapeError: There are not as many strides as axes.
    """
    steps = tuple(strides) if type(strides) in (tuple, list) else strides
    if type(steps) is not tuple or any(type(one) is not int for one in steps):
        steps = integers(kernel, "strides", steps)
    if len(steps) != len(shape):
        raise ShapeError(
            f"{kernel}: strides is {shown(steps)}; want one for each of {show(shape)}."
        )
    return steps, offset if type(offset) is int else integer(kernel, "offset", offset)


def check_grid(kernel: str, invocations: Any, group: Any) -> tuple[int, int]:
    """Return the invocations of a grid, and those of a workgroup, as plain integers."""
    count, size = integer(kernel, "invocations", invocations), integer(kernel, "group", group)
    if size < 1:
        raise ArgumentError(f"{kernel}: group is {size}; want the invocations of a workgroup.")
    return count, size


def check_values(kernel: str, values: Any) -> None:
    """Refuse what is no array of NumPy."""
    if not isinstance(values, np.ndarray):
        raise ArgumentError(f"{kernel}: values is {shown(values)}; want an array of NumPy.")


def scan_attrs(
    kernel: str, x: Any, axis: Any, exclusive: Any, reverse: Any
) -> dict[str, int | bool]:
    """Return the attributes of a scan in plain Python.

    Raises:
        ArgumentError: One is of another kind, or ``x`` is no array or has no such axis.
    """
    if not isinstance(x, GpuArray):
        raise no_array(kernel, x, "x")
    at = axis if type(axis) is int else integer(kernel, "axis", axis)
    rank = max(len(x.shape), 1)  # a number is a row of one
    if not -rank <= at < rank:
        raise ArgumentError(f"{kernel}: axis is {at}; x is {show(x.shape)}.")
    return {
        "axis": at,
        "exclusive": flag(kernel, "exclusive", exclusive),
        "reverse": flag(kernel, "reverse", reverse),
    }


def window_attrs(kernel: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a window in plain Python."""
    for name in attrs:
        if name not in _WINDOW:
            known = ", ".join(_WINDOW)
            raise ArgumentError(f"{kernel}: window has no attribute {name!r}; known: {known}.")
    return {name: plain(value) for name, value in attrs.items()}


_WINDOW = ("filter_size", "strides", "pad", "dilations", "dim_rounding_mode", "data_format")


def slots(kernel: str, given: Any) -> str | Text | None:
    """Return what fills a template's slots: a path, or text; refuse anything else."""
    if given is None or isinstance(given, Text):
        return given
    return plain_path(kernel, "slots", given)


def check_options(
    kernel: str,
    params: Any,
    configuration: Any,
    key: Any,
    *,
    groups: Any = None,
    constants: Any = None,
    windows: Any = None,
    notes: Any = (),
) -> None:
    """Refuse arguments of a dispatch that are of another kind than it takes."""
    named = (("params", params), ("configuration", configuration), ("constants", constants))
    for word, given in (*named, ("windows", windows)):
        is_named = isinstance(given, Mapping) and all(isinstance(name, str) for name in given)
        if given is not None and not is_named:
            raise ArgumentError(f"{kernel}: {word} is {shown(given)}; want a dictionary by name.")
    for name, value in (params or {}).items():
        if not isinstance(plain(value), (int, float, complex, str, tuple, type(None))):
            raise ArgumentError(f"{kernel}: params[{name!r}] is {shown(value)}; want numbers.")
    for name, value in (constants or {}).items():
        number(kernel, f"constants[{name!r}]", value)
    for name, value in (configuration or {}).items():
        if not isinstance(value, (bool, int)):
            what = f"configuration[{name!r}] is {shown(value)}"
            raise ArgumentError(f"{kernel}: {what}; want a whole number, or True or False.")
    for name, value in (windows or {}).items():
        if len(integers(kernel, f"windows[{name!r}]", value)) != 2:
            what = f"windows[{name!r}] is {shown(value)}"
            raise ArgumentError(f"{kernel}: {what}; want the first byte and the bytes.")
    if groups is not None:
        grid_of(kernel, groups)
    if isinstance(notes, str) or not isinstance(notes, Sequence):
        raise ArgumentError(f"{kernel}: notes is {shown(notes)}; want lines, in a tuple.")
    try:
        hash(key)
    except TypeError:
        raise ArgumentError(f"{kernel}: key is {shown(key)}; want something hashable.") from None
