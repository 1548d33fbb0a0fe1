"""The laws of accumulators: ``init`` changes nothing, and grouping and order change nothing.

Templates join accumulators in whatever grouping suits a machine, those of reductions in any order.
Whether the author's functions allow that is tried on NumPy, in what can be seen: in results. What
roundings make is no breach, so float64 judges; float32 tells where a number that should change
nothing ends a result.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wgsl_kernels.backends.derived.accumulations import derived_by
from wgsl_kernels.backends.derived.host_kernels import HostFunctions, Rows
from wgsl_kernels.backends.derived.windows import read_of, window_attrs
from wgsl_kernels.bench.laws.trials import trials
from wgsl_kernels.engine.values.windows import sliding_by
from wgsl_kernels.wgsl.derive.accumulations import Accumulation
from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.errors.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wgsl_kernels.bench.laws.combined import Combined
    from wgsl_kernels.bench.laws.trials import Trials
    from wgsl_kernels.testing.sample import Sample

    Array = np.ndarray[Any, Any]

MOST = 6
"""Elements of a trial: three accumulators of two."""
SAME = 1e-6
"""How far apart two results may be, of the larger, in float64."""
FLOOR = 1e-9
"""How far they may be, of the elements and their squares: what cancels leaves roundings."""
ROUNDINGS = 16.0
"""How many times what float32 makes of a result it may be off."""
GROSS = 2.0**-7
"""How far apart two results may be in float32, of the larger and of the elements."""
OFTEN = 1e-2
"""The share of trials from which on other integers come of no rounding of floats."""
LEAST = 1e-4
"""What counts as the least element there: functions have constants of their own."""
SQUARED = 1e15
"""Numbers whose squares are finite in float32."""

_WRITE = {
    "init": (
        "init must be a value that combine leaves as it is: 0 for a sum, 1 for a product, a number "
        "beyond all others for a minimum or a maximum, slope 1 and offset 0 for linear maps."
    ),
    "combine": (
        "Both must be the same, since parts of a row are joined in trees: keep in the accumulator "
        "all that this takes, as sum and count of a mean."
    ),
    "order": (
        "A reduction joins accumulators in any order: of two that are as good choose by what they "
        "are, as by the smaller index, not by which is the first argument."
    ),
    "append": (
        "append(a, x, i) must be what combine(a, lift(x, i)) is, x being behind all that a has "
        "seen."
    ),
}


Grouping: TypeAlias = "str | tuple[Grouping, Grouping]"
"""A name of an accumulator, or two that are joined, the first being before the second."""
APPENDED = ("a", "append")
"""The way that ``append`` goes, with the element that is called ``x`` elsewhere."""


@dataclass(frozen=True)
class Law:
    """Two ways to join accumulators that must come to one.

    Attributes:
        kind: Which law it is: ``init``, ``combine``, ``order``, ``append``.
        expected: The one way.
        got: The other one.
        elements: Which elements each accumulator has, by its name.
    """

    kind: str
    expected: Grouping
    got: Grouping
    elements: Mapping[str, tuple[int, ...]]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The elements of all of them."""
        return tuple(itertools.chain.from_iterable(self.elements.values()))


def laws_of(form: str, elements: int, *, has_append: bool) -> Iterator[Law]:
    """Yield the laws that a form asks for, of accumulators of one element and of two."""
    for size in (1, 2):
        names = {
            name: tuple(range(size * n, size * n + size))
            for n, name in enumerate("abc")
            if size * n + size <= elements
        }
        one, two = ({k: names[k] for k in keys if k in names} for keys in ("a", "ab"))
        init, a, b, c = "init", "a", "b", "c"
        if one:
            alone: tuple[Grouping, ...] = ((init, a), (a, init), ((init, init), a))
            for got in alone:
                yield Law("init", a, got, one)
        if len(two) == 2:
            beside: tuple[Grouping, ...] = (((init, a), b), (a, (init, b)))
            for got in beside:
                yield Law("init", (a, b), got, two)
            if form in ("reduce", "apply"):
                yield Law("order", (a, b), (b, a), two)
        if len(names) == 3:
            yield Law("combine", ((a, b), c), (a, (b, c)), names)
        if has_append and size < elements:
            behind = {"a": tuple(range(size)), "x": (size,)}
            yield Law("append", (a, "x"), APPENDED, behind)


def said(way: Grouping) -> str:
    """Return a way to join accumulators as calls."""
    if way == APPENDED:
        return "append(a, x)"
    if isinstance(way, str):
        return "init()" if way == "init" else "lift(x)" if way == "x" else way
    return f"combine({said(way[0])}, {said(way[1])})"


def broken_laws(sample: Sample, combined: Combined) -> list[Finding]:
    """Return a finding for each law that a shader's functions break, at the line of the function.

    Args:
        sample: How it is tried.
        combined: What the sample has it combine.
    """
    tried = _Tried(sample, combined)
    has_append = "append" in combined.shader.source.functions
    found: dict[tuple[str, bool], Finding] = {}
    with np.errstate(all="ignore"):
        for law in laws_of(tried.form, tried.elements, has_append=has_append):
            for finding, is_far in tried.broken(law):
                found.setdefault((law.kind, is_far), finding)
    if ("combine", False) in found:  # which then may be what changes what init() is joined with
        found = {key: one for key, one in found.items() if key[0] != "init"}
    return [one for (kind, far), one in found.items() if not (far and (kind, False) in found)]


class _Tried:
    """The functions of a shader on elements of a sample."""

    def __init__(self, sample: Sample, combined: Combined) -> None:
        shader, arrays, attrs = combined.shader, combined.arrays, combined.attrs
        self.shader, self.sample, self.form = shader, sample, combined.form
        form = combined.form
        dtype = str(arrays[0].dtype)
        made, base = derived_by(shader, dtype, (), None)
        assert isinstance(base, Accumulation)
        self.elements = MOST
        shape = arrays[0].shape
        if form == "window":
            known = window_attrs(shader, shape, attrs)
            self.attrs: Mapping[str, Any] = {name: known[name] for name in read_of(shader)}
            length = int(np.prod([a.window for a in sliding_by(shader.name, shape, known).axes]))
        else:
            rows = Rows.of(shader, [one.shape for one in arrays], attrs)
            self.attrs, length = rows.attrs, rows.n
        is_backward = form == "scan" and bool(attrs.get("reverse", False))
        if base.is_numbered:  # what lift is given besides may be of one length
            self.elements = max(1, min(MOST, length))
        places = np.arange(self.elements, dtype=np.uint32)
        self.places = places[::-1] if is_backward else places
        names = [one.name for one in base.elements]
        self.given = {
            name: trials(sample, one, self.elements)
            for name, one in zip(names, arrays, strict=True)
        }
        self.first: Trials = self.given[names[0]]
        self.held: dict[str, dict[str, Array]] = {}
        self.sides = {}
        for precision in ("float64", "float32"):
            try:
                self.sides[precision] = HostFunctions.of(made, base, precision)
            except ShaderError:  # it takes floats apart as bits
                continue
            self.held[precision] = {
                name: one.values.astype(precision) if one.values.dtype.kind == "f" else one.values
                for name, one in self.given.items()
            }

    def broken(self, law: Law) -> Iterator[tuple[Finding, bool]]:
        """Yield a finding where it is broken within what a sample states, and beyond that."""
        results = {
            one: (self._result(one, law, law.expected), self._result(one, law, law.got))
            for one in self.sides
        }
        if not results:
            return
        is_broken = self._breaches(law, results)
        shown = results[next(iter(results))]
        is_whole = shown[0].dtype.kind in "iub"
        for is_far in (False, True):
            at = is_broken & (self.first.is_far == is_far)
            few = at.sum() < OFTEN * (self.first.is_far == is_far).sum()
            if at.any() and not (is_whole and few and self.first.values.dtype.kind == "f"):
                yield self._finding(law, results, int(np.argmax(at)), is_far), is_far

    def _breaches(self, law: Law, results: Mapping[str, tuple[Array, Array]]) -> Array:
        """Return at which trials two ways come to two results."""
        expected, got = next(iter(results.values()))
        if expected.dtype.kind in "iub":
            return _any(expected != got)
        elements = np.abs(self.first.values[list(law.numbers)].astype(np.float64)).max(axis=0)
        size = np.maximum(np.maximum(elements, elements * elements), LEAST)
        near = results.get("float32", (expected, got))
        if "float64" not in results:
            apart = _differs(expected, got, GROSS, GROSS * size)
            both = np.isfinite(expected) & np.isfinite(got)
            return _any(apart & (both | (elements < SQUARED)))
        rounded = sum(_finite(np.abs(a - b)) for a, b in zip(near, (expected, got), strict=True))
        apart = _differs(expected, got, SAME, FLOOR * size + ROUNDINGS * rounded)
        if law.kind == "init":  # which no rounding changes, so that float32 has what float64 has
            is_right = np.abs(near[0] - expected) <= GROSS * (np.abs(expected) + size)
            apart |= is_right & ~np.isfinite(near[1]) & (elements < SQUARED)
            return _any(apart & np.isfinite(expected))
        return _any(apart & ~self.first.is_far)

    def _result(self, precision: str, law: Law, way: Grouping) -> Array:
        """Return the results of one way to join accumulators: rows of one for each trial."""
        side, held = self.sides[precision], self.held[precision]
        one = side.one
        with side.functions.with_attributes(self.attrs) as call:
            total = self._joined(one, call, held, law, way)
            n = np.uint32(len(law.numbers))
            if one.form != "apply":
                return self._rows(call(f"{one.prefix}finish", total, n))
            settled = call(f"{one.prefix}settle", total, n)
            return np.concatenate([
                self._rows(call(
                    f"{one.prefix}apply",
                    *[held[each.name][k] for each in one.elements],
                    self.places[k], n, settled,
                ))
                for k in law.numbers
            ])  # fmt: skip

    def _joined(
        self,
        one: Accumulation,
        call: Callable[..., Any],
        held: Mapping[str, Array],
        law: Law,
        way: Grouping,
    ) -> Any:
        """Return the accumulators of one way to join them, one for each trial."""
        p = one.prefix
        if way == "init":
            return _full(call(f"{p}init"), self.first.is_far.shape)
        if way == APPENDED:
            total = self._joined(one, call, held, law, "a")
            (at,) = law.elements["x"]
            append = self.shader.source.functions["append"]
            given = (total, held[one.lifted[0].name][at], self.places[at])
            return call(append.name, *given[: len(append.parameters)])
        if isinstance(way, str):
            lifted = [
                call(f"{p}lift", *[held[x.name][k] for x in one.lifted], self.places[k])
                for k in law.elements[way]
            ]
            return functools.reduce(lambda a, b: call(f"{p}combine", a, b), lifted)
        return call(f"{p}combine", *[self._joined(one, call, held, law, part) for part in way])

    def _rows(self, found: Any) -> Array:
        parts = found if isinstance(found, list) else [found]
        return np.stack([np.broadcast_to(one, self.first.is_far.shape) for one in parts])

    def _finding(
        self,
        law: Law,
        results: Mapping[str, tuple[Array, Array]],
        trial: int,
        is_far: bool,
    ) -> Finding:
        name = "init" if law.kind == "init" else "append" if law.kind == "append" else "combine"
        expected, got = _shown(results, trial)
        source = self.shader.source
        function = source.functions[name]
        text, span = source.text_of(function), function.name_span
        place = text.place(span.begin)
        words = f"{said(law.got)} gives the result {got}, {said(law.expected)} {expected}. "
        shown = ", ".join(
            f"{one} of [{', '.join(f'{self.first.values[k][trial]:.6g}' for k in numbers)}]"
            for one, numbers in law.elements.items()
        )
        pattern = self.first.patterns[trial]
        evidence = (
            ("accumulators", shown),
            ("elements", pattern),
            ("case", f"{self.sample.id}, laws"),
        )
        code = "broken-law-at-extreme" if is_far else "broken-law"
        return Finding(
            code, words + _WRITE[law.kind], self.shader.name, place.file, place.line, place.column,
            span.end - span.begin, text.line(place.line), evidence,
        )  # fmt: skip


def _full(value: Any, shape: tuple[int, ...]) -> Any:
    """Return a value, or the parts of one, as an array of its own."""
    if isinstance(value, list):
        return [_full(one, shape) for one in value]
    return np.array(np.broadcast_to(value, shape))


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0.0)


def _differs(a: Array, b: Array, relative: float, absolute: Any) -> Array:
    """Say where two numbers are apart by more than that; infinities, and NaN, are as they are."""
    size = np.fmax(np.abs(_finite(a)), np.abs(_finite(b)))
    both = np.isfinite(a) & np.isfinite(b)
    far = np.abs(np.subtract(a, b, dtype=np.float64)) > relative * size + absolute
    return np.asarray(np.where(both, far, np.isfinite(a) != np.isfinite(b)))


def _shown(results: Mapping[str, tuple[Array, Array]], trial: int) -> tuple[str, str]:
    """Return two results that differ, in float64 if they do there."""
    pairs = [*results.values()]
    for expected, got in pairs:
        a, b = expected[:, trial].astype(np.float64), got[:, trial].astype(np.float64)
        apart = _differs(a, b, SAME, 0.0)
        if apart.any():
            at = int(np.argmax(apart))
            return f"{expected[at, trial]:.7g}", f"{got[at, trial]:.7g}"
    last, other = pairs[-1]
    return f"{last[0, trial]:.7g}", f"{other[0, trial]:.7g}"


def _any(rows: Array) -> Array:
    """Say at which trials one of several results is so."""
    return np.asarray(rows.any(axis=0))
