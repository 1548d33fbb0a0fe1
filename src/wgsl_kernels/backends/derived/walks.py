"""Derived accumulations on NumPy: all parts of all rows at once, element by element of a part.

The passes are those of the device (`passes`), in a float's own precision, float64 too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.derived.passes import part_size
from wgsl_kernels.simulator.masks import written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.wgsl.derive.accumulations import Accumulation, Pulled

    Array = np.ndarray[Any, Any]


class PartWalk:
    """An accumulation of arrays whose last axis is combined."""

    def __init__(
        self,
        one: Accumulation,
        pulled: Pulled | None,
        call: Callable[..., Any],
        arrays: Mapping[str, Array],
        *,
        exclusive: bool = False,
        backward: bool = False,
    ) -> None:
        """Take what calls functions by name, and the inputs by name."""
        self.one, self.pulled, self._call = one, pulled, call
        first = arrays[one.elements[0].name]
        self.n, self.rows = first.shape[-1], math.prod(first.shape[:-1])
        self.size = part_size(self.n)
        self.parts = max(-(-self.n // self.size), 1)
        self.exclusive, self.backward = exclusive, backward
        self.whole = {
            each.name: arrays[each.name].reshape(self.rows if each.is_wide else 1, self.n)
            for each in one.elements
        }
        self._cut = {name: self.cut(one) for name, one in self.whole.items()}

    def call(self, name: str, *arguments: Any) -> Any:
        return self._call(f"{self.one.prefix}{name}", *arguments)

    def cut(self, rows: Array) -> Array:
        """Return rows as parts, [rows, parts, elements of a part], in the order of the scan."""
        if self.backward:
            rows = rows[:, ::-1]
        padded = np.zeros((rows.shape[0], self.parts * self.size), rows.dtype)
        padded[:, : self.n] = rows
        return padded.reshape(rows.shape[0], self.parts, self.size)

    def joined(self, steps: Sequence[Any], dtype: Any) -> Array:
        """Return as rows what each step through the parts gave."""
        whole = np.empty((self.rows, self.parts, self.size), dtype)
        for k, one in enumerate(steps):
            whole[:, :, k] = one
        rows = whole.reshape(self.rows, -1)[:, : self.n]
        return np.ascontiguousarray(rows[:, ::-1]) if self.backward else rows

    # Where a step is.

    def values(self, k: int) -> list[Array]:
        """Return the elements that step k combines."""
        return [self._cut[each.name][:, :, k] for each in self.one.lifted]

    def number(self, k: int) -> Array:
        """Return the number of step k's elements in the order of the scan."""
        return np.arange(self.parts, dtype=np.uint32) * np.uint32(self.size) + np.uint32(k)

    def along(self, k: int) -> Array:
        """Return where step k's elements are along the axis."""
        number = self.number(k)
        return np.uint32(self.n - 1) - number if self.backward else number

    def inside(self, k: int) -> Any:
        """Return which parts have a k-th element."""
        mask = self.number(k) < self.n
        return True if mask.all() else np.broadcast_to(mask, (self.rows, self.parts))

    def full(self, value: Any, shape: tuple[int, ...] | None = None) -> Any:
        """Return an accumulator of each part, or of another shape."""
        return _mapped(lambda one: np.broadcast_to(one, shape or (self.rows, self.parts)), value)

    # Passes.

    def states(self, before: Any, *, keep: bool = False) -> tuple[Any, list[Any]]:
        """Return what each part comes to from ``before`` on, and the accumulators on the way."""
        total, found = before, list[Any]()
        for k in range(self.size):
            if keep:
                found.append(total)
            total = written(
                self.inside(k), self.call("step", total, *self.values(k), self.along(k)), total
            )
        return total, found

    def totals(self) -> Any:
        return self.full(self.states(self.full(self.call("init")))[0])

    def starts(self, totals: Any) -> tuple[Any, Any]:
        """Return the accumulator before each part, and that of each row."""
        total, found = self.full(self.call("init"), (self.rows,)), list[Any]()
        for part in range(self.parts):
            found.append(total)
            total = self.full(self.call("combine", total, _at(totals, part)), (self.rows,))
        return _stacked(found), total

    def back(self, before: Any, after: Any, to: Any) -> Any:
        """Return the cotangent of what was before, where the combination of both has ``to``."""
        return self._pulled_by("by_combine", before, after, to)

    def second(self, before: Any, after: Any, to: Any) -> Any:
        """Return the cotangent of what came after, where the combination of both has ``to``."""
        return self._pulled_by("by_second", before, after, to)

    def _pulled_by(self, name: str, before: Any, after: Any, to: Any) -> Any:
        assert self.pulled is not None
        if self.one.adds:
            return to
        if name not in self.pulled.there:
            return _mapped(np.zeros_like, to)
        return self.call(name, before, after, to)

    def passed(self, starts: Any, totals: Any, to: Any, own: Any = None) -> Any:
        """Return the cotangent of what each part comes to, from that of each row."""
        found: list[Any] = [None] * self.parts
        for part in reversed(range(self.parts)):
            found[part] = to
            to = self.back(_at(starts, part), _at(totals, part), to)
            to = to if own is None else self.call("plus", to, _at(own, part))
            to = self.full(to, (self.rows,))
        return _stacked(found)

    def backwards(
        self, states: list[Any], to: Any, met: Callable[[int, Any, Any], Any] | None
    ) -> tuple[Any, list[Any]]:
        """Return the cotangent of what is before each part, and the gradient of each element.

        Args:
            states: The accumulators before the elements.
            to: The cotangent of what each part comes to.
            met: Returns a cotangent with what the upstream gradient of step k adds, given the
                part's accumulator that step k's result is made of.
        """
        found: list[Any] = [None] * self.size
        for k in reversed(range(self.size)):
            inside, before, values = self.inside(k), states[k], self.values(k)
            after = to
            if met is not None and not self.exclusive:
                after = met(k, self.call("step", before, *values, self.along(k)), after)
            found[k] = self.call("by_step", before, *values, self.along(k), after)
            if not self.one.adds:
                after = self.back(before, self.call("lift", *values, self.along(k)), after)
            if met is not None and self.exclusive:
                after = met(k, before, after)
            to = written(inside, after, to)
        return to, found


def _mapped(f: Callable[..., Any], value: Any) -> Any:
    return [_mapped(f, one) for one in value] if isinstance(value, list) else f(value)


def _at(value: Any, part: int) -> Any:
    return _mapped(lambda one: one[:, part], value)


def _stacked(values: Sequence[Any]) -> Any:
    if isinstance(values[0], list):
        return [_stacked(list(one)) for one in zip(*values, strict=True)]
    return np.stack(values, axis=-1)


def forward(walk: PartWalk, dtype: Any) -> Array:
    """Return the accumulation itself, [rows] or [rows, n]."""
    form, n = walk.one.form, np.uint32(walk.n)
    totals = walk.totals()
    starts, total = walk.starts(totals)
    if form == "reduce":
        return np.array(np.broadcast_to(walk.call("finish", total, n), (walk.rows,)), dtype)
    if form == "apply":
        return _rows(walk, walk.call("apply", *_applied(walk, total)), dtype)
    _, states = walk.states(starts, keep=True)
    found: list[Any] = []
    for k, state in enumerate(states):
        if walk.exclusive:
            found.append(walk.call("finish", state, walk.number(k)))
        else:
            after = walk.call("step", state, *walk.values(k), walk.along(k))
            found.append(walk.call("finish", after, walk.number(k) + np.uint32(1)))
    return walk.joined(found, dtype)


def gradient(walk: PartWalk, dy: Array, dtype: Any) -> Array:
    """Return the gradient by one input, [rows, n]."""
    one, pulled = walk.one, walk.pulled
    assert pulled is not None
    if pulled.is_zero:
        return np.zeros((walk.rows, walk.n), dtype)
    if one.form == "scan":
        return _scan_gradient(walk, walk.cut(dy.reshape(walk.rows, walk.n)), dtype)
    n = np.uint32(walk.n)
    direct: Any = 0
    totals = walk.totals()
    starts, total = walk.starts(totals)
    if one.form == "reduce":
        to = walk.call("by_finish", total, n, dy.reshape(walk.rows))
    else:
        dy = dy.reshape(walk.rows, walk.n)
        applied = _applied(walk, total)
        if "by_apply" in pulled.there:
            direct = walk.call("by_apply", *applied, dy)
        if not pulled.through_total:
            return _rows(walk, direct, dtype)
        share = walk.full(walk.call("by_settled", *applied, dy), (walk.rows, walk.n))
        to = walk.call("by_settle", total, n, _mapped(lambda leaf: leaf.sum(axis=1), share))
    to = walk.full(to, (walk.rows,))
    if one.adds:
        k = np.arange(walk.n, dtype=np.uint32)
        values = [walk.whole[each.name] for each in one.lifted]
        column = _mapped(lambda leaf: leaf[:, None], to)
        found = walk.call("by_step", walk.call("init"), *values, k, column)
        return _rows(walk, found + direct, dtype)
    # from init on: what is before a part may be written otherwise than a chain of steps
    _, states = walk.states(walk.full(walk.call("init")), keep=True)
    to = walk.full(walk.second(starts, totals, walk.passed(starts, totals, to)))
    _, steps = walk.backwards(states, to, None)
    found = walk.joined(steps, dtype)
    found += np.asarray(direct, dtype)
    return found


def _scan_gradient(walk: PartWalk, dy: Array, dtype: Any) -> Array:
    # results are of what is before a part, combined with a chain from init on: all that is passed
    # to one of the two is a cotangent of it as it is written
    totals, states = walk.states(walk.full(walk.call("init")), keep=True)
    totals = walk.full(totals)
    starts, _ = walk.starts(totals)

    def of_result(k: int, state: Any) -> Any:
        """Return the cotangent of the accumulator that step k's result is of."""
        number = walk.number(k) + np.uint32(not walk.exclusive)
        return walk.call("by_finish", walk.call("combine", starts, state), number, dy[:, :, k])

    def met(k: int, state: Any, to: Any) -> Any:
        return walk.call("plus", to, walk.second(starts, state, of_result(k, state)))

    own = none = _mapped(np.zeros_like, totals)
    after = states if walk.exclusive else [*states[1:], totals]
    for k, state in enumerate(after):
        share = walk.back(starts, state, of_result(k, state))
        own = written(walk.inside(k), walk.call("plus", own, share), own)
    to = walk.passed(starts, totals, _at(none, 0), walk.full(own))
    to = walk.full(walk.second(starts, totals, to))
    return walk.joined(walk.backwards(states, to, met)[1], dtype)


def _applied(walk: PartWalk, total: Any) -> list[Any]:
    """Return the arguments of ``apply`` for all elements."""
    n = np.uint32(walk.n)
    settled = walk.full(walk.call("settle", total, n), (walk.rows,))
    values = [walk.whole[each.name] for each in walk.one.elements]
    column = _mapped(lambda leaf: leaf[:, None], settled)
    return [*values, np.arange(walk.n, dtype=np.uint32), n, column]


def _rows(walk: PartWalk, value: Any, dtype: Any) -> Array:
    return np.array(np.broadcast_to(value, (walk.rows, walk.n)), dtype)
