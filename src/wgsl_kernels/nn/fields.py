"""How layers say what they are."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, TypeVar

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import at_least
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable

_Layer = TypeVar("_Layer", bound=type)


def made_by(maker: str, *, of: str = "variables") -> Callable[[_Layer], _Layer]:
    """Have a layer's class refuse sizes, or layers one by one, which its function takes.

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


def zeros(*shape: int) -> Variable:
    """Return a variable of zeros."""
    return variable(creation.zeros(shape))


def ones(*shape: int) -> Variable:
    """Return a variable of ones."""
    return variable(creation.ones(shape))
