"""Digits lost: each float as the device has it, the float64 of the same formula beside it.

How many bits of a float are wrong is told by the two. Of each number it is kept which operation on
the way to it lost the most of them: more than were lost in the operand that had lost the most.
Branches, indices and integers are the device's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.simulator.domains import FLOAT32, Domain, WideView, shadowed
from wgsl_kernels.simulator.module import ModuleCompiler
from wgsl_kernels.simulator.statements import FunctionCompiler
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.types.kinds import scalar_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.simulator.places import Place
    from wgsl_kernels.wgsl.types.kinds import Type

PRECISION = {"float32": 24, "float16": 11}
"""Bits of a float that is not subnormal."""
_UNPLACED = -2
_NOWHERE = -1
_STEPS = frozenset({np.floor, np.ceil, np.rint, np.trunc, np.sign})
_STRUCTURAL = frozenset(
    {np.where, np.choose, np.stack, np.broadcast_to, np.take_along_axis, np.concatenate}
)


@dataclass(frozen=True, slots=True, eq=False)
class Lost:
    """Where digits of numbers went.

    Attributes:
        bits: How many bits of each are wrong.
        most: The most that one operation lost on the way to it.
        site: The number of that operation's place, -1 where none lost any.
    """

    bits: Any
    most: Any
    site: Any

    def through(self, function: Callable[[Any], Any]) -> Lost:
        """Return those of other numbers, which a function takes from these."""
        return Lost(function(self.bits), function(self.most), function(self.site))


_NONE = Lost(np.float32(0), np.float32(0), np.int64(_NOWHERE))


class Digits(np.lib.mixins.NDArrayOperatorsMixin):
    """Floats of which it is known how many digits are right.

    NumPy's functions take them as arrays. What gives integers or truth values gives those of the
    device.

    Attributes:
        near: What the device has.
        wide: What the formula gives in float64.
        lost: Where the digits between the two went.
    """

    __slots__ = ("lost", "near", "wide")

    def __init__(self, near: Any, wide: Any, lost: Lost) -> None:
        self.near, self.wide, self.lost = near, wide, lost

    @property
    def dtype(self) -> Any:
        return self.near.dtype

    @property
    def ndim(self) -> int:
        return int(self.near.ndim)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.near.shape)

    def astype(self, dtype: Any) -> Any:
        near = self.near.astype(dtype)
        return _computed(near, self.wide, [self]) if near.dtype.kind == "f" else near

    def __getitem__(self, at: Any) -> Digits:
        return Digits(self.near[at], self.wide[at], self.lost.through(lambda one: one[at]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.near, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **options: Any) -> Any:
        function = getattr(ufunc, method)
        near = function(*map(near_of, given), **options)
        is_plain = method != "__call__" or ufunc.nout > 1 or ufunc in _STEPS
        if is_plain or near.dtype.kind != "f":
            return near
        return _computed(near, function(*map(wide_of, given), **options), given)

    def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Any:
        near = function(*_each(near_of, given), **options)
        if getattr(near, "dtype", np.dtype(bool)).kind != "f":
            return near
        wide = function(*_each(wide_of, given), **options)
        if function not in _STRUCTURAL:
            return _computed(near, wide, given)
        parts = ("bits", "most", "site")
        lost = [function(*_each(partial(_part, name), given), **options) for name in parts]
        return Digits(near, wide, Lost(*lost))


def near_of(value: Any) -> Any:
    """Return what the device has."""
    return value.near if isinstance(value, Digits) else value


def wide_of(value: Any) -> Any:
    """Return what the formula gives in float64; any other value is exact."""
    return value.wide if isinstance(value, Digits) else value


def lost_of(value: Any) -> Lost:
    """Return where digits of a value went."""
    return value.lost if isinstance(value, Digits) else _NONE


def _each(function: Callable[[Any], Any], given: Any) -> Any:
    if isinstance(given, (list, tuple)):
        return type(given)([_each(function, one) for one in given])
    return function(given)


def _part(name: str, value: Any) -> Any:
    """Return what is kept of floats; that of exact ones. What is no float stays what it is."""
    if isinstance(value, Digits):
        return getattr(value.lost, name)
    return getattr(_NONE, name) if getattr(value, "dtype", np.dtype(bool)).kind == "f" else value


def wrong_bits(near: Any, wide: Any) -> Any:
    """Return how many bits of floats are wrong, held against float64."""
    precision = PRECISION.get(str(near.dtype), 53)
    with np.errstate(all="ignore"):
        error = np.abs(near - np.asarray(wide, np.float64)) / np.abs(wide)
        found = np.clip(np.log2(error) + precision, 0, precision)
    same = (near == wide) | (np.isnan(near) & np.isnan(wide))
    beyond = np.isnan(near) != np.isnan(wide)
    return np.where(same, 0, np.where(beyond, precision, found)).astype(np.float32)


def _computed(near: Any, wide: Any, given: Sequence[Any]) -> Digits:
    """Return what an operation gives of operands."""
    bits, worst = wrong_bits(near, wide), _NONE
    for one in map(lost_of, given):
        more = one.bits > worst.bits
        worst = Lost(
            np.where(more, one.bits, worst.bits),
            np.where(more, one.most, worst.most),
            np.where(more, one.site, worst.site),
        )
    own = bits - worst.bits
    here = own > worst.most
    site = np.where(bits > 0, np.where(here, _UNPLACED, worst.site), _NOWHERE)
    return Digits(near, wide, Lost(bits, np.where(here, own, worst.most), site))


# Memory.


class DigitsView(WideView):
    """Floats of memory of which it is known how many digits are right; at first all."""

    def __init__(self, narrow: Any) -> None:
        super().__init__(narrow)
        count = len(narrow)
        self.wrong, self.most = np.zeros(count, np.float32), np.zeros(count, np.float32)
        self.site = np.full(count, _NOWHERE)

    def __getitem__(self, at: Any) -> Digits:
        same = self.known[at] == self.bits[at]
        lost = Lost(
            np.where(same, self.wrong[at], 0),
            np.where(same, self.most[at], 0),
            np.where(same, self.site[at], _NOWHERE),
        )
        return Digits(self.narrow[at], super().__getitem__(at), lost)

    def __setitem__(self, at: Any, value: Any) -> None:
        lost = lost_of(value)
        self.narrow[at], self.wide[at] = near_of(value), wide_of(value)
        self.known[at] = self.bits[at]
        self.wrong[at], self.most[at], self.site[at] = lost.bits, lost.most, lost.site


def digits(leaves: Mapping[str, Callable[..., Any]]) -> Domain:
    """Return the domain; ``DigitsModule`` compiles for it.

    Args:
        leaves: What functions of a module are in float64. On the device they are their text.
    """
    views = partial(shadowed, view=DigitsView)
    return Domain("digits", FLOAT32.scalars, leaves, views=views, names={"placed": placed})


# What is compiled.


class DigitsFunction(FunctionCompiler):
    """Writes a function whose operations say where they are."""

    def __init__(self, module: ModuleCompiler, node: tree.Function) -> None:
        super().__init__(module, node)
        self._last: tree.Node = node

    def value(self, node: tree.Expression, wanted: Type | None = None) -> str:
        if isinstance(node, tree.Paren):
            return self.value(node.inner, wanted)
        found = super().value(node, wanted)
        self._last = node
        if not isinstance(node, (tree.Binary, tree.Call)) or not found:
            return found
        scalar = scalar_of(self.type_of(node))
        if scalar is None or scalar.name not in ("f32", "f16"):
            return found
        return self._placed(node, found)

    def put(self, place: Place, value: str) -> None:
        """Write a value; where the operator is the assignment's own, its place is the line's."""
        super().put(place, self._placed(self._last, value))

    def _placed(self, node: tree.Node, value: str) -> str:
        assert isinstance(self.module, DigitsModule)
        return f"placed({self.module.first_site + self.site(node)}, {value})"


class DigitsModule(ModuleCompiler):
    """A module whose operations say where they are."""

    compiles_functions = DigitsFunction

    def __init__(
        self,
        module: tree.Module,
        constants: Mapping[str, float],
        domain: Domain,
        first_site: int = 0,
    ) -> None:
        """Take a module; its first place has this number."""
        self.first_site = first_site
        super().__init__(module, constants, domain)

    def leaf(self, name: str) -> Callable[..., Any]:
        """Return a function that is its text on the device and one of NumPy's in float64."""
        python = f"text_{len(self.sources)}"
        self.write(name, python)
        return partial(_both, self.globals[python], self.domain.leaves[name])


def placed(site: int, value: Any) -> Any:
    """Return a value with the place of the operation that gave it."""
    if isinstance(value, list):
        return [placed(site, one) for one in value]
    if not isinstance(value, Digits):
        return value
    lost = value.lost
    known = np.where(lost.site == _UNPLACED, site, lost.site)
    return Digits(value.near, value.wide, Lost(lost.bits, lost.most, known))


def _both(text: Callable[..., Any], function: Callable[..., Any], mask: Any, *given: Any) -> Any:
    near = text(mask, *map(near_of, given))
    is_float = getattr(near, "dtype", np.dtype(bool)).kind == "f"
    if not is_float or not any(isinstance(one, Digits) for one in given):
        return near
    return _computed(near, function(*map(wide_of, given)), given)
