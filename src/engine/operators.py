"""The operators of a tensor; the ops package provides what they call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensor import Tensor

_table: dict[str, Callable[..., Tensor]] = {}


def provide(**functions: Callable[..., Any]) -> None:
    """Set the functions behind the operators, by name without underscores (``add``, ``matmul``)."""
    _table.update(functions)


class Operators:
    """Mixin: ``+ - * / // ** @``, comparisons, ``& | ~``, ``abs`` and indexing."""

    __slots__ = ()
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Tensor:
        return _table["add"](self, other)

    def __radd__(self, other: Any) -> Tensor:
        return _table["add"](other, self)

    def __sub__(self, other: Any) -> Tensor:
        return _table["sub"](self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return _table["sub"](other, self)

    def __mul__(self, other: Any) -> Tensor:
        return _table["mul"](self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return _table["mul"](other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return _table["truediv"](self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _table["truediv"](other, self)

    def __floordiv__(self, other: Any) -> Tensor:
        return _table["floordiv"](self, other)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return _table["floordiv"](other, self)

    def __pow__(self, other: Any) -> Tensor:
        return _table["pow"](self, other)

    def __rpow__(self, other: Any) -> Tensor:
        return _table["pow"](other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return _table["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return _table["matmul"](other, self)

    def __neg__(self) -> Tensor:
        return _table["neg"](self)

    def __pos__(self) -> Tensor:
        return self  # type: ignore[return-value]  # the mixin's only class is Tensor

    def __abs__(self) -> Tensor:
        return _table["abs"](self)

    def __invert__(self) -> Tensor:
        return _table["invert"](self)

    def __and__(self, other: Any) -> Tensor:
        return _table["and_"](self, other)

    def __rand__(self, other: Any) -> Tensor:
        return _table["and_"](other, self)

    def __or__(self, other: Any) -> Tensor:
        return _table["or_"](self, other)

    def __ror__(self, other: Any) -> Tensor:
        return _table["or_"](other, self)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]  # element by element
        return _table["eq"](self, other)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]  # element by element
        return _table["ne"](self, other)

    def __lt__(self, other: Any) -> Tensor:
        return _table["lt"](self, other)

    def __le__(self, other: Any) -> Tensor:
        return _table["le"](self, other)

    def __gt__(self, other: Any) -> Tensor:
        return _table["gt"](self, other)

    def __ge__(self, other: Any) -> Tensor:
        return _table["ge"](self, other)

    def __getitem__(self, index: Any) -> Tensor:
        return _table["getitem"](self, index)

    __hash__ = object.__hash__
