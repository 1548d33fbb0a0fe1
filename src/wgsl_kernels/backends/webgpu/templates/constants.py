"""The configuration constants of modules: their values, and who chooses among them.

``const TILE_M = 4u; // @tune 1 4 8: rows of a tile`` is one that the tuner chooses, ``@given`` one
that layouts and types decide; ``0..`` are all integers from 0 on. Behind the colon its author says
what it is. A bool may be both values without a list, and is the condition of ``@if`` of its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.lint.marks import marks_of_choices, misspelt_marks
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.types.values import known_literal

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.syntax.places import Text

Value = bool | int
_MOST = 255
"""The largest value of a constant that takes any from a least on."""
Chooser = Literal["tune", "given"]

_MARK = re.compile(r"[ \t]*//[ \t]*(@([A-Za-z_]\w*))[ \t]*([^\n]*)")
_FROM = re.compile(r"([0-9]+)\.\.(?=[\s:]|$)")
_WORD = re.compile(r"(true|false|-?[0-9]+)[ui]?(?=[\s:,]|$)[ \t,]*")


@dataclass(frozen=True, slots=True)
class ConfigurationConstant:
    """One configuration constant.

    Attributes:
        chooser: Who chooses its value: the tuner, or what the arrays are.
        values: Those that it may take; those that are tried of one that takes any from a least on.
        least: Of one that takes any integer from a least on, that one.
    """

    name: str
    chooser: Chooser
    default: Value
    values: tuple[Value, ...]
    text: Text
    begin: int
    least: int | None = None

    @property
    def is_bool(self) -> bool:
        """Whether it is a condition, too."""
        return isinstance(self.default, bool)

    def takes(self, value: object) -> bool:
        """Say whether ``value`` is one of its values, and of its type."""
        if isinstance(value, bool) != self.is_bool:
            return False
        if self.least is not None:
            return isinstance(value, int) and self.least <= value <= _MOST
        return value in self.values


@once_per_text
def constants_in(text: Text) -> tuple[ConfigurationConstant, ...]:
    """Return the configuration constants that a file declares.

    Raises:
        ShaderError: One is no literal, or takes no values, or not its own default; or a mark is
            misspelt, or stands behind no constant.
    """
    found: list[ConfigurationConstant] = []
    read: set[int] = set()
    misspelt = {one.span.begin: one for one in misspelt_marks(text)}
    for node in parse_source(text).module.declarations:
        if isinstance(node, tree.Value) and node.keyword == "const":
            mark = _MARK.match(text.text, node.end)
            if mark is None:
                continue
            if (near := misspelt.get(mark.start(1))) is not None:
                raise ShaderError(text.point(near.words, near.span.begin))
            if mark[2] in ("tune", "given"):
                chooser: Chooser = "tune" if mark[2] == "tune" else "given"
                found.append(_constant(text, node, chooser, mark[3]))
                read.add(mark.start(1))
    for one in marks_of_choices(text):
        if one.span.begin not in read:
            message = "this mark stands behind no const; want 'const NAME = value;' on its line."
            raise ShaderError(text.point(message, one.span.begin))
    return tuple(found)


def _constant(text: Text, node: tree.Value, chooser: Chooser, rest: str) -> ConfigurationConstant:
    name, begin = node.ident.name, node.ident.begin
    default = _literal(node.value)
    if default is None:
        raise ShaderError(text.point(f"the default of {name!r} is no integer and no bool.", begin))
    values: list[Value] = []
    if (lowest := _FROM.match(rest)) is not None and not isinstance(default, bool):
        least = int(lowest[1])
        if not least <= default <= _MOST:
            message = (
                f"{name!r} takes {least} to {_MOST}, not {default}; want its default among them."
            )
            raise ShaderError(text.point(message, begin))
        return ConfigurationConstant(name, chooser, default, (default,), text, begin, least)
    at = 0
    while (word := _WORD.match(rest, at)) is not None:
        at = word.end()
        values.append(word[1] == "true" if word[1] in ("true", "false") else int(word[1]))
    if not values and isinstance(default, bool):
        values = [False, True]
    found = ConfigurationConstant(name, chooser, default, tuple(values), text, begin)
    for value in (default, *values):
        if not found.takes(value):
            listed = ", ".join(map(shown, values)) or "none"
            message = f"{name!r} takes {listed}, not {shown(value)}; want its default among them."
            raise ShaderError(text.point(message, begin))
    return found


def _literal(node: tree.Expression | None) -> Value | None:
    sign = 1
    if isinstance(node, tree.Unary) and node.operator == "-":
        node, sign = node.operand, -1
    known = known_literal(node.text) if isinstance(node, tree.Literal) else None
    if known is None:
        return None
    return bool(known.value) if known.kind == "bool" else sign * known.value


def shown(value: Value) -> str:
    """Return a value as WGSL writes it, without a suffix."""
    return str(value).lower() if isinstance(value, bool) else str(value)
