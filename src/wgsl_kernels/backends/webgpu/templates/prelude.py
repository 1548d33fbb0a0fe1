"""The names that a shader uses without import: the composer declares them."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.linking.prelude import Prelude

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.linking.project import ModulePath
    from wgsl_kernels.wgsl.names.resolve import Names

TABLE: Mapping[str, str] = MappingProxyType(
    {
        "T": "the element type of the first input, of the output without one",
        "T_<tensor>": "the element type of a tensor",
        "T_wide": "what sums of the output's type are kept in: `f32` for `f16`",
        "attrs": "the attributes, where the file has a `struct Attrs` and no uniform",
        "<tensor>_rank": "a tensor's number of axes, a `u32`",
        "has_<tensor>": "whether an optional input was given",
        "load_<tensor>(i)": "element `i` in row-major order, whatever the layout is",
        "load4_<tensor>(i)": "four elements from `i` on, `i` a multiple of 4",
        "load_<tensor>_at(coords)": "the element at coordinates",
        "Coords_<tensor>": "the type of coordinates, `array<u32, rank>`",
        "coords_<tensor>(i)": "the coordinates of element `i`",
        "store_<tensor>(i, value)": "writes element `i` of an output",
        "store4_<tensor>(i, values)": "writes four elements from `i` on, `i` a multiple of 4",
        "report_index(bad)": "reports an index of the input `indices` that is out of range",
        "report_index_of_<tensor>(bad)": "the same for another input",
        "hold(x)": "`x`, behind which no compiler reassociates",
        "wk_print(value)": "prints a number or a vector under `config.debug`, else does nothing",
        "wk_print_i32(value)": "the same of an `i32`, without a look at its type",
        "wk_print_u32(value)": "the same of a `u32`, likewise",
        "wk_assert(condition)": "raises under `config.debug` where it is false",
        "wk_nan()": "NaN, which no compiler folds",
        "wk_inf()": "infinity, likewise",
    }
)
"""Each name, as the guide prints it, and what it is. The accessors are a free kernel's."""

ALL = "all"
_READS = "own `main`, product"
_WRITES = "own `main`"
FORMS: Mapping[str, str] = MappingProxyType(
    {
        "attrs": "all but own `main` and product",
        "load_<tensor>(i)": _READS,
        "load4_<tensor>(i)": _READS,
        "load_<tensor>_at(coords)": _READS,
        "Coords_<tensor>": _READS,
        "coords_<tensor>(i)": _READS,
        "store_<tensor>(i, value)": _WRITES,
        "store4_<tensor>(i, values)": _WRITES,
    }
)
"""The forms that have a name, where it is not all."""

_NAMES = [one.partition("(")[0] for one in TABLE]
_OF_TENSORS = "|".join(one.replace("<tensor>", r"\w+") for one in _NAMES if "<" in one)
_OF_TENSOR = re.compile(rf"{_OF_TENSORS}|wk_\w+")


def is_prelude_name(name: object) -> bool:
    """Say whether a kernel may use a name without import, for whatever tensors it has."""
    return isinstance(name, str) and (
        name in PRELUDE.names or _OF_TENSOR.fullmatch(name) is not None
    )


def prelude_names(file: Names) -> dict[str, str]:
    """Return the names that a kernel's file may use without import, each with its row of TABLE.

    Its tensors are the arrays that it binds and what a map's ``op`` is given; else ``x`` and ``y``.
    """
    module = file.module
    given = [one for name, one in module.functions.items() if name.partition("_")[0] == "op"]
    tensors = [one.ident.name for function in given for one in function.parameters]
    tensors += [name for name, one in module.variables.items() if one.space == "storage"]
    return {
        row.partition("(")[0].replace("<tensor>", one): row
        for row in TABLE
        for one in (dict.fromkeys((*tensors, "y")) if tensors else ("x", "y"))
    }


class _PreludeNames(frozenset[str]):
    """All names that the composer may declare; which tensors there are is not known yet."""

    def __contains__(self, name: object) -> bool:
        """Say whether ``name`` may be one of them."""
        return super().__contains__(name) or is_prelude_name(name)


class _ComposersPrelude(Prelude):
    """What the composer declares for the tensors of a kernel."""

    def names_in(self, module: ModulePath) -> frozenset[str]:
        """Return the names that ``module`` may use: all of them."""
        return _PreludeNames(self.names)


PRELUDE = _ComposersPrelude(frozenset(one for one in _NAMES if "<" not in one))
