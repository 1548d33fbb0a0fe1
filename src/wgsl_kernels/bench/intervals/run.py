"""What all invocations of a dispatch on intervals share: who is in doubt, and operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.intervals import values
from wgsl_kernels.bench.intervals.arithmetic import binary, inverted, matched, negated
from wgsl_kernels.bench.intervals.functions import BUILTINS, bits_of, number_of
from wgsl_kernels.bench.intervals.library import LIBRARY
from wgsl_kernels.bench.intervals.numbers import Number, OutOfReachError, convert, exact
from wgsl_kernels.simulator import masks
from wgsl_kernels.simulator.masks import each
from wgsl_kernels.simulator.memory import Run
from wgsl_kernels.simulator.subgroups import MOVING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.simulator.accesses import AccessLog
    from wgsl_kernels.simulator.memory import VariableMemory
    from wgsl_kernels.simulator.subgroups import Subgroups

MOST_STEPS = 15_000
"""Operations of a dispatch that are computed."""
MOST_ROUNDS = 5_000
_OUTSIDE = 1 << 40
_ATOMIC: dict[str, np.ufunc] = {
    "atomicAdd": np.add,
    "atomicSub": np.subtract,
    "atomicMax": np.maximum,
    "atomicMin": np.minimum,
    "atomicOr": np.bitwise_or,
    "atomicAnd": np.bitwise_and,
    "atomicXor": np.bitwise_xor,
}


class IntervalRun(Run):
    """A run on intervals.

    Attributes:
        tainted: Invocations of which it is not sure which way they went.
        is_refined: Whether a value was taken apart as bits, so that it has been rounded.
        steps: Operations so far.
        noted: What parameters and lets may be, by where their names begin; None where nobody asks.
    """

    def __init__(self, count: int, subgroups: Subgroups, log: AccessLog | None = None) -> None:
        super().__init__(count, subgroups, log)
        self.tainted = np.zeros(count, np.bool_)
        self.is_refined = False
        self.steps = 0
        self.noted: dict[int, tuple[float, float]] | None = None

    @property
    def names(self) -> dict[str, Any]:
        own = ("narrowed", "excluded", "part_of", "with_part", "put", "rounds")
        return {"R": self, **{name: getattr(self, name) for name in own}}

    def taint(self, mask: Any, doubt: Any) -> None:
        """Note that it is in doubt which way active invocations go."""
        if np.any(doubt):
            self.tainted = self.tainted | (doubt & mask)

    def _counted(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise OutOfReachError("more steps than are computed on intervals")

    def note(self, begin: int, mask: Any, value: Any) -> None:
        """Note what a name may be for the active invocations, beside what it was before."""
        if self.noted is None or not isinstance(value, Number) or not masks.holds(mask):
            return
        low, high = self.noted.get(begin, (np.inf, -np.inf))
        active = np.broadcast_to(mask, self.count)
        lows, highs = (np.broadcast_to(one, self.count)[active] for one in (value.low, value.high))
        self.noted[begin] = min(low, float(lows.min())), max(high, float(highs.max()))

    # Who is active.

    def narrowed(self, mask: Any, condition: Any) -> Any:
        """Return those of ``mask`` for which a condition holds; a doubt about it taints them."""
        return masks.narrowed(mask, self._taken(mask, condition))

    def excluded(self, mask: Any, condition: Any) -> Any:
        return masks.excluded(mask, self._taken(mask, condition))

    def _taken(self, mask: Any, condition: Any) -> Any:
        """Return a condition without the doubt about it, which taints the active invocations."""
        if not isinstance(condition, Number):
            return condition
        self.taint(mask, condition.doubt)
        return condition.v

    def rounds(self, begin: int, most: int) -> Iterator[int]:
        yield from range(MOST_ROUNDS)
        raise OutOfReachError("a loop of many rounds")

    # Parts of variables.

    def part_of(self, value: Any, index: Any) -> Any:
        if isinstance(index, Number):
            self.taint(True, index.doubt)
        return values.part_of(value, index)

    def with_part(self, value: Any, path: Sequence[Any], new: Any, mask: Any) -> Any:
        self._doubtful(path, mask)
        return values.with_part(value, path, new, mask)

    def put(self, holder: Any, path: tuple[Any, ...], new: Any, mask: Any) -> None:
        self._doubtful(path, mask)
        holder.write(path, new, mask)

    def _doubtful(self, path: Sequence[Any], mask: Any) -> None:
        for one in path:
            if isinstance(one, Number):
                self.taint(mask, one.doubt)

    # Operations.

    def binary(self, operator: str, a: Any, b: Any) -> Any:
        self._counted()
        if isinstance(a, Number) and isinstance(b, Number):
            return binary(operator, a, b)
        return each(lambda x, y: binary(operator, x, y), a, b)

    def decides(self, operator: str, a: Number) -> bool:
        """Say whether the left side of ``&&`` or ``||`` is enough for all invocations."""
        return a.is_exact and a.v.ndim == 0 and bool(a.v) == (operator == "||")

    def unary(self, operator: str, a: Any) -> Any:
        return each(negated if operator == "-" else inverted, a)

    def builtin(self, name: str, *given: Any) -> Any:
        self._counted()
        if name in ("dot", "length", "distance", "normalize"):
            return _geometry(name, list(given))
        if name in ("any", "all"):
            parts = given[0] if isinstance(given[0], list) else [given[0]]
            return _folded("||" if name == "any" else "&&", parts)
        if name not in BUILTINS:
            raise OutOfReachError(name)
        return each(lambda *row: BUILTINS[name](*alike(name, row)), *given)

    def of_subgroup(self, name: str, mask: Any, value: Any, *at: Number) -> Any:
        """Return what invocations have of others; of sums over all no order is known."""
        if name not in MOVING:
            raise OutOfReachError(name)
        self._counted()
        for one in at:
            self.taint(mask, one.doubt)
        numbers = np.arange(self.count)
        source = self.subgroups.call(name, mask, numbers, *[one.v for one in at])
        self.taint(mask, self.tainted[source])

        def moved(one: Number) -> Number:
            v, low, high = [
                np.broadcast_to(part, self.count)[source] for part in (one.v, one.low, one.high)
            ]
            return Number(one.kind, v, v, v) if one.is_exact else Number(one.kind, v, low, high)

        return each(moved, value)

    def leaf(self, name: str, mask: Any, *given: Any) -> Any:
        """Return what a function of the library gives, by the error that it states."""
        self._counted()
        return each(LIBRARY[name], *given)

    def cast(self, kind: str, value: Any) -> Any:
        """Return the same bits as another type."""
        if not (isinstance(value, Number) and value.is_exact):
            self.is_refined = True

        def cast(one: Number) -> Number:
            if kind == "f32":
                return one if one.kind == "f32" else number_of(one)
            return convert(bits_of(one), kind)

        return each(cast, value)

    def refuse(self, what: str) -> Any:
        """Refuse what only some texts come to."""
        raise OutOfReachError(what)

    # Memory.

    def index(self, memory: VariableMemory, at: Any, count: int, mask: Any, site: int) -> Any:
        v = np.where((at.v < 0) | (at.v >= count), _OUTSIDE, at.v)
        return Number(at.kind, v, v, v) if at.is_exact else Number(at.kind, v, at.low, at.high)

    def load(self, memory: VariableMemory, at: Any, scalar: str, mask: Any, site: int) -> Any:
        self._counted()
        at, doubt = _address(at)
        self.taint(mask, doubt)
        there = (at >= 0) & (at < memory.count)
        places = np.where(there, at, 0)
        if memory.first is not None:
            places = places + memory.first
        words: Any = memory.words
        return words.load(scalar, places, there)

    def store(
        self, memory: VariableMemory, at: Any, scalar: str, value: Any, mask: Any, site: int
    ) -> None:
        places, here, doubt = self._written(memory, at, mask)
        words: Any = memory.words
        words.store(as_stored(value, scalar), places, here, self.tainted | doubt)

    def atomic(
        self,
        name: str,
        memory: VariableMemory,
        at: Any,
        scalar: str,
        mask: Any,
        site: int,
        *given: Any,
    ) -> Any:
        """Run an atomic function; the old value is known of those that only read."""
        if name == "atomicLoad":
            return self.load(memory, at, scalar, mask, site)
        value = as_stored(given[0], scalar)
        if name == "atomicStore":
            self.store(memory, at, scalar, value, mask, site)
            return None
        places, here, doubt = self._written(memory, at, mask)
        words: Any = memory.words
        if name not in _ATOMIC or not value.is_exact or (self.tainted | doubt)[here].any():
            raise OutOfReachError(name)
        words.see_as(scalar, places)
        if not words.load(scalar, places, np.ones(places.shape, np.bool_)).is_exact:
            raise OutOfReachError(name)
        whole = words.v.astype(np.int64)
        _ATOMIC[name].at(whole, places, np.broadcast_to(value.v, self.count)[here])
        words.set(scalar, places, convert(exact("AbstractInt", whole[places]), scalar).v)
        return None  # its old value depends on an order that nobody knows

    def _written(self, memory: VariableMemory, at: Any, mask: Any) -> tuple[Any, Any, Any]:
        """Return the places that are written, by which invocations, and who is in doubt of his."""
        at, doubt = _address(at)
        at = np.broadcast_to(at, self.count)
        here = (at >= 0) & (at < memory.count) & mask
        places = at if memory.first is None else at + memory.first
        return places[here], here, doubt


def as_stored(value: Number, scalar: str) -> Number:
    return value if value.kind == scalar or value.kind == "bool" else convert(value, scalar)


def _address(at: Any) -> tuple[Any, Any]:
    if isinstance(at, Number):
        return at.v, at.doubt
    return np.asarray(at), np.False_


def alike(name: str, numbers: Sequence[Number]) -> list[Number]:
    """Return arguments as one type, floats where a function has them alone."""
    found = list(numbers)
    if name == "select":
        no, yes = matched(found[0], found[1])
        return [no, yes, found[2]]
    if name == "ldexp" or not found:
        return found
    first = found[0]
    for one in found[1:]:
        first, _ = matched(first, one)
    kind = first.kind
    if name not in ("abs", "min", "max", "clamp", "sign"):
        kind = "f32" if kind.startswith("Abstract") else kind
    return [convert(one, kind) if one.kind != kind else one for one in found]


def _folded(operator: str, parts: Sequence[Number]) -> Number:
    found = parts[0]
    for one in parts[1:]:
        found = binary(operator, found, one)
    return found


def _geometry(name: str, given: list[Any]) -> Any:
    """Return dot, length, distance or normalize, as their expressions."""
    if name == "distance":
        given = [each(lambda a, b: binary("-", a, b), *given)]
    first = given[0]
    if isinstance(first, Number):
        raise OutOfReachError(f"{name} of a scalar")
    second = given[1] if name == "dot" else first
    total = _folded("+", each(lambda a, b: binary("*", a, b), first, second))
    if name == "dot":
        return total
    size = BUILTINS["sqrt"](total)
    return each(lambda a: binary("/", a, size), first) if name == "normalize" else size
