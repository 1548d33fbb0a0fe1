"""How layers say what they are."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, TypeVar

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import (
    Converter,
    at_least,
    integer_or_integers,
    integers,
)
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable

_Layer = TypeVar("_Layer", bound=type)


def made_by(maker: str, *, of: str = "variables") -> Callable[[_Layer], _Layer]:
    """Have a layer's class refuse sizes, or layers one by one, which its function takes.

    Fields that are counts are checked: integers of Python or NumPy are taken, and kept as ``int``.

    Args:
        maker: The function of `wgsl_kernels.nn`.
        of: What the class takes.
    """

    def refusing(kind: _Layer) -> _Layer:
        made: Callable[..., None] = kind.__init__  # type: ignore[misc]  # no subclass has another

        @functools.wraps(made)
        def init(self: Any, *fields: Any, **named: Any) -> None:
            first = fields[0] if fields else None
            if isinstance(first, (int, float)) or (of == "a tuple" and callable(first)):
                given = ", ".join(map(shown, fields))
                raise ArgumentError(
                    f"{kind.__name__}: got {given}; want {of}. Use wk.nn.{maker}({given})."
                )
            made(self, *fields, **named)
            for field in dataclasses.fields(self):
                checked = _CHECKS.get(str(field.type))
                if checked is not None:
                    value = checked(kind.__name__, field.name, getattr(self, field.name))
                    setattr(self, field.name, value)

        setattr(kind, "__init__", init)  # noqa: B010  checkers see the class as it was
        return kind

    return refusing


def shown_by_fields(self: Any) -> str:
    """Return a layer's class and fields, tensors by dtype and shape; a layer's ``__repr__``."""
    parts = []
    for field in dataclasses.fields(self):
        value = getattr(self, field.name)
        said = f"{value.dtype}{show(value.shape)}" if isinstance(value, Tensor) else repr(value)
        parts.append(f"{field.name}={said}")
    return f"{type(self).__name__}({', '.join(parts)})"


def count(layer: str, name: str, value: Any) -> int:
    """Return an argument that is a number of things.

    Raises:
        ArgumentError: It is no integer, or below 1.
    """
    return at_least(layer, name, value, 1)


def _counts(layer: str, name: str, value: Any) -> int | tuple[int, ...]:
    """Return a number of things, or one for each axis."""
    given = integer_or_integers(layer, name, value)
    for one in (given,) if isinstance(given, int) else given:
        count(layer, name, one)
    return given


def _padding(layer: str, name: str, value: Any) -> Any:
    """Return padding; names, and how many pairs there are, are left to the op."""
    if isinstance(value, (tuple, list)):
        for one in value:
            integers(layer, name, one)
        return value
    return _padding_of_all(layer, name, value)


def _padding_of_all(layer: str, name: str, value: Any) -> str | int:
    """Return padding that is the same at all sides."""
    return value if isinstance(value, str) else at_least(layer, name, value, 0)


_CHECKS: dict[str, Converter] = {
    "int": count,
    "Pair": _counts,
    "Padding": _padding,
    "str | int": _padding_of_all,
}
"""What checks a field of a layer, by what it is annotated as."""


def zeros(*shape: int) -> Variable:
    """Return a variable of zeros."""
    return variable(creation.zeros(shape))


def ones(*shape: int) -> Variable:
    """Return a variable of ones."""
    return variable(creation.ones(shape))
