"""Types in derived functions: of expressions, and as they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from wgsl_kernels.wgsl.derive.activity import NotDerivableError
from wgsl_kernels.wgsl.types.kinds import (
    ABSTRACT_FLOAT,
    ABSTRACT_INT,
    Array,
    Scalar,
    StructType,
    Type,
    concrete,
    scalar_of,
    with_scalar,
)

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.derive.activity import Activity
    from wgsl_kernels.wgsl.syntax import tree
    from wgsl_kernels.wgsl.types.infer import Types


class TypedText:
    """What knows the types of a file's expressions.

    Attributes:
        types: Those.
        activity: Which of them have a tangent.
    """

    def __init__(self, types: Types, activity: Activity, generic: str) -> None:
        """Take them; ``generic`` is a type that is written for ``f32``, if there is one."""
        self.types, self.activity, self._generic = types, activity, generic

    def _of(self, node: tree.Expression) -> Type:
        found = self.types.value_of(node)
        if found is None:
            self._refuse("the type of this is not known", node)
        return found

    def _type(self, node: tree.Value | tree.Var) -> Type:
        written = node.type if node.type is not None else node.value
        assert written is not None
        if node.type is not None:
            found = self.activity.named.of(node.type)
            if found is not None:
                return found
        return concrete(self._of(written))

    def _is_float_type(self, type_: Type | None) -> bool:
        return type_ is not None and self.activity.is_float(type_)

    def _spelled(self, type_: Type) -> str:
        plain = str(concrete(type_))
        return re.sub(r"\bf32\b", self._generic, plain) if self._generic else plain

    def _parts_of(self, type_: Type, node: tree.Call) -> list[Type]:
        """Return the types of what a value is made of, of which literals have none themselves."""
        if isinstance(type_, StructType):
            return list(type_.members.values())
        if isinstance(type_, Array):
            return [type_.element] * len(node.arguments)
        scalar = scalar_of(concrete(type_))
        given = [self._of(one) for one in node.arguments]
        return given if scalar is None else [with_scalar(one, scalar) for one in given]

    def _literal_type(self, given: Type, result: Type) -> str:
        """Return the type of literals that are combined to a result, empty if it is theirs."""
        scalar = scalar_of(concrete(result))
        if scalar is None or scalar_of(given) not in (ABSTRACT_FLOAT, ABSTRACT_INT):
            return ""
        wanted = self._spelled(with_scalar(given, scalar))
        return "" if wanted == str(concrete(given)) else wanted

    def _zero(self, type_: Type) -> str:
        return f"{self._spelled(type_)}()"

    def _one(self, type_: Type) -> str:
        return f"{self._spelled(type_)}(1)"

    def _spread(self, tangent: str | None, given: Type, wanted: Type) -> str | None:
        """Return a tangent of a scalar that is added to a vector."""
        if tangent is None or isinstance(wanted, Scalar) or not isinstance(given, Scalar):
            return tangent
        return f"{self._spelled(wanted)}({tangent})"

    def _refuse(self, reason: str, node: tree.Node) -> NoReturn:
        raise NotDerivableError(f"{reason}.", node.begin)
