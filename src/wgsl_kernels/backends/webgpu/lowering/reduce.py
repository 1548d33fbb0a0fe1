"""Lowering reductions: axes brought in order, then one dispatch, or two for long rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE, device_bytes, row_major
from wgsl_kernels.backends.webgpu.composing.accumulators import can_exchange
from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.declare.kernel import params_with
from wgsl_kernels.backends.webgpu.declare.variants import size_class
from wgsl_kernels.backends.webgpu.lowering.spreads import (
    CHUNK,
    EIGHTS_GROUP,
    GROUP,
    LANES,
    ROWS,
    ReductionSizes,
    Spread,
    candidate,
    reduce_loop,
    spreads,
)
from wgsl_kernels.backends.webgpu.modules.kernel_source import is_normalization
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, collapse, tensor_facts
from wgsl_kernels.backends.webgpu.programs.building import Bound, build, fold
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.values.shapes import normalize_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.lowering.spreads import Variant
    from wgsl_kernels.backends.webgpu.programs.building import Adapter, Composition
    from wgsl_kernels.backends.webgpu.programs.call import Lowered, ShaderCall
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Grid
    from wgsl_kernels.engine.values.spec import Spec

AXIS_ATTRS = ("axis", "reduction_indices", "dim", "dims")


def lower_reduce(
    call: ShaderCall,
    arguments: Sequence[Argument | None],
    adapter: Adapter,
    variant: str | None = None,
) -> Lowered:
    """Return the program of a reduction of its first input, and the variants that there are.

    Other inputs are a normalization's: one number per column.

    It is spread over invocations as ``variant`` says, by default as the rule has it. It is refused
    where more elements are reduced into one than can be.
    """
    lowering = _ReductionLowering(call, arguments, adapter)
    return lowering.lowered(variant)


def reduced_axes(call: ShaderCall, x: Argument) -> tuple[int, ...]:
    """Return the reduced axes, counted from the front; what ``params=`` returns wins."""
    known = known_attrs(call, x)
    given = next((known[name] for name in AXIS_ATTRS if name in known), None)
    return normalize_axes(call.kernel, given, len(x.shape))


def known_attrs(call: ShaderCall, x: Argument) -> dict[str, Any]:
    """Return the attributes, and what ``params=`` returns for an input like ``x``."""
    known = dict(call.attrs)
    if call.shader.params is not None:
        facts = {**tensor_facts({call.names[0]: x}), **known}
        known |= params_with(call.shader.params, facts, call.kernel)
    return known


class Walk:
    """Kept axes, then reduced ones, merged where they lie so.

    Attributes:
        kept: How many of the merged axes are kept.
        inner: How many neighbouring rows have neighbouring elements, 1 where there are none.
        step: Elements from one of a row to the next.
    """

    def __init__(self, array: Argument, reduced: tuple[int, ...], *, strided: bool) -> None:
        axes = range(len(array.shape))
        order = [axis for axis in axes if axis not in reduced] + list(reduced)
        self.dtype = array.dtype
        self.offset = array.offset
        self.rank = len(order)
        self.kept = len(order) - len(reduced)
        self.inner = self.step = 1
        self.access: Any = "value" if array.is_value or array.size == 0 else "strided"
        self.shape: tuple[int, ...] = ()
        self.own: tuple[int, ...] = ()
        self.written: tuple[int, ...] = ()
        if self.access == "value":
            return
        shape = tuple(array.shape[axis] for axis in order)
        plain = row_major(array.shape)
        strides = [[one[axis] for axis in order] for one in (array.strides, plain)]
        self.shape, (self.own, self.written), self.kept = collapse(
            shape, [tuple(one) for one in strides], self.kept
        )
        self.rank = len(self.shape)
        if not strided and array.layout is None and order == sorted(order):
            self.access = "flat"
            return
        self.step = self.own[-1] if self.rank > self.kept else 1
        beside = self.kept > 0 and self.own[self.kept - 1] == self.written[self.kept - 1] == 1
        if beside and self.step != 1 and not strided:
            self.inner = self.shape[self.kept - 1]

    @property
    def is_even(self) -> bool:
        """Whether the elements of a row lie along one axis of a view, ``step`` apart."""
        return self.access == "strided" and self.rank == self.kept + 1

    def operand(self, name: str) -> Operand:
        return Operand(name, self.dtype, self.rank, self.access)

    def add_facts(self, facts: dict[str, Any], name: str, output: str) -> None:
        if self.access == "value":
            facts.setdefault(f"{name}_value", 0)
            return
        facts |= {
            "wk_shape": self.shape,
            f"wk_{name}_strides": self.own,
            f"wk_{name}_offset": self.offset,
            f"wk_{output}_strides": self.written,
            "wk_step": self.step,
        }

    def is_wide(self, rows: int, maps: bool) -> bool:
        """Say whether the vectors that are loaded and stored lie at multiples of four.

        Of several neighbouring rows of an invocation, elements are neighbours across. With ``maps``
        fours are stored, too.
        """
        if self.access == "value" or self.dtype == "complex64" or self.offset % 4:
            return False
        both = [self.own, self.written] if maps else [self.own]
        if rows > 1:
            others = [one[: self.kept - 1] + one[self.kept :] for one in both]
            return self.inner % 4 == 0 and all(s % 4 == 0 for one in others for s in one)
        if any(one[self.kept :] != (1,) for one in both):
            return False
        return all(s % 4 == 0 for one in both for s in one[: self.kept])


class _ReductionLowering:
    """One reduction while it is lowered."""

    def __init__(
        self, call: ShaderCall, arguments: Sequence[Argument | None], adapter: Adapter
    ) -> None:
        first = arguments[0]
        assert first is not None
        self.call, self.adapter, self.x = call, adapter, first
        source = call.source
        reduced = reduced_axes(call, first)
        self.count = math.prod(first.shape[axis] for axis in reduced)
        self.maps = is_normalization(source)
        size = call.outputs[0].size
        self.rows = size // self.count if self.maps else size
        self.facts: dict[str, Any] = {**call.attrs, f"{call.output_names[0]}_size": size}
        self.facts |= {"wk_n": self.count, "wk_rows": self.rows}
        self.least = 0 if self.maps else _least_parts(call, adapter, first, reduced)
        self.walk = Walk(first, reduced, strided=self.least > 0)
        self.walk.add_facts(self.facts, call.names[0], call.output_names[0])
        call.add_facts(self.facts, arguments)
        self.facts |= {"wk_inner": self.walk.inner}
        self.operands = (self.walk.operand(call.names[0]), *_others(call, arguments))
        self.packed = frozenset(
            n for n, one in enumerate(arguments) if n and one is not None and one.layout is not None
        )
        given = call.given(arguments)
        given |= {call.names[n]: given[call.names[n]].contiguous() for n in self.packed}
        self.bound = Bound({**given, **call.made()})

    def lowered(self, variant: str | None) -> Lowered:
        every = self._spreads()
        spread = next((one for one in every if one.variant == variant), every[0])
        candidates = {str(one.variant): candidate(one.variant, maps=self.maps) for one in every}
        configuration = candidates[spread.variant].settings(spread.variant, parts=spread.parts)
        buffers = self.call.outputs
        dispatches: tuple[Dispatch, ...]
        if spread.parts == 1:
            grid = _grid(spread.variant, self.rows, self.walk.inner, 1)
            dispatches = (self._dispatch(*self._stage("whole", spread.variant), grid),)
        else:
            dispatches, partials = self._in_parts(spread)
            buffers = (*buffers, partials)
        program = Program(dispatches, buffers, (0,), configuration, self.packed)
        sizes = (self.rows, self.count, self.walk.step)
        classes = tuple(map(size_class, sizes))
        return program, self.call.choice(candidates, classes, self.rows * self.count)

    def _stage(self, which: Stage, variant: Variant) -> tuple[Composition, Composed]:
        walk = self.walk
        in_parts = which in ("partial", "apply")
        packed = in_parts and _is_packed(variant, self.rows, walk.inner)
        wide = walk.is_wide(ROWS[variant], self.maps)
        loop = reduce_loop(
            variant,
            which,
            maps=self.maps,
            packed=packed,
            vectors=walk.dtype != "complex64",
            lines=walk.kept > 1,
            even=walk.is_even,
            unbroken=wide and ROWS[variant] == 1 and self.count % 4 == 0,
            short=self.adapter.policy.reduces_in_short(self.rows * self.count),
        )
        options = Options(loop=loop, stage=which, kept=walk.kept, wide=wide)
        epilogue = "none" if which == "partial" else "elements"
        composition = self.call.composition(self.operands, self.facts, options, epilogue=epilogue)
        return composition, composition.composed()

    def _dispatch(
        self, composition: Composition, composed: Composed, grid: Grid, bound: Bound | None = None
    ) -> Dispatch:
        is_final = composition.options.stage == "final"
        return build(
            self.adapter,
            composition,
            composed,
            grid,
            bound or self.bound,
            self.facts,
            prologue=frozenset() if is_final else frozenset(self.call.names[:1]),
        )

    def _in_parts(self, spread: Spread) -> tuple[tuple[Dispatch, ...], Spec]:
        facts, rows, inner = self.facts, self.rows, self.walk.inner
        size = -(-facts["wk_n"] // spread.parts)
        if not self.least or rows == 1:  # else columns, in windows that have no room to spare
            size = -(-size // 4) * 4
        parts = -(-facts["wk_n"] // size)
        facts |= {"wk_parts": parts, "wk_part_size": size}
        facts |= {"wk_first_part": 0, "wk_last_part": parts}
        last = spread.variant
        if not self.maps:
            by_group = self.adapter.policy.joins_parts_together(parts, rows, GROUP)
            last = "lanes" if by_group else "rows"
        first = self._stage("partial", spread.variant)
        second = self._stage("apply" if self.maps else "final", last)
        nbytes = rows * parts * first[1].partial_bytes
        bound, partials = self.bound.in_parts(len(self.call.outputs), nbytes)
        grid = _grid(last, rows, inner, parts if self.maps else 1)
        if self.least:
            begun = self._in_windows(first, bound, parts, size)
        else:
            whole = _grid(spread.variant, rows, inner, parts)
            begun = [self._dispatch(*first, whole, bound)]
        return (*begun, self._dispatch(*second, grid, bound)), partials

    def _in_windows(
        self, stage: tuple[Composition, Composed], bound: Bound, parts: int, size: int
    ) -> list[Dispatch]:
        """Reduce a tensor above the binding limit run of parts by run, each in its own window."""
        name, itemsize = self.call.names[0], ITEMSIZE[self.x.dtype]
        each = max(self.adapter.largest_binding // (size * self.rows * itemsize + 256), 1)
        whole = self.facts
        found: list[Dispatch] = []
        for first in range(0, parts, each):
            last = min(first + each, parts)
            begin = first * size * self.rows * itemsize // 256 * 256
            end = min(last * size * self.rows, self.x.size) * itemsize
            self.facts = whole | {
                "wk_first_part": first,
                "wk_last_part": last,
                f"wk_{name}_offset": -(begin // itemsize),  # wraps: indices count from the window
            }
            window = replace(bound, windows={name: (begin, end - begin)})
            grid = _grid("rows", self.rows, self.rows, last - first)
            found.append(self._dispatch(*stage, grid, window))
        self.facts = whole
        return found

    def _spreads(self) -> tuple[Spread, ...]:
        call, adapter, walk = self.call, self.adapter, self.walk
        if -(-self.count // CHUNK) > CHUNK:
            raise ShapeError(
                f"{call.kernel}: {self.count} elements are reduced into one; at most "
                f"{CHUNK * CHUNK} can be. Reduce one axis after the other."
            )
        if self.least:
            return (Spread("rows", max(self.least, -(-self.count // CHUNK))),)
        layout = ReductionSizes(
            self.rows,
            self.count,
            walk.inner,
            walk.step,
            adapter.policy,
            self.maps,
            "subgroup" in adapter.features and can_exchange(call.source, call.names),
        )
        return spreads(layout)


def _others(call: ShaderCall, arguments: Sequence[Argument | None]) -> list[Operand]:
    first = arguments[0]
    assert first is not None
    operands: list[Operand] = []
    for name, one in list(zip(call.names, arguments, strict=True))[1:]:
        if one is None:
            operands.append(Operand(name, first.dtype, 0, "absent"))
        else:
            access: Any = "value" if one.is_value else "flat"
            operands.append(Operand(name, one.dtype, len(one.shape), access))
    return operands


def _least_parts(call: ShaderCall, adapter: Adapter, x: Argument, reduced: tuple[int, ...]) -> int:
    """Return into how many parts a tensor above the binding limit must go, 0 if into none."""
    leading = reduced == tuple(range(len(reduced)))
    nbytes = device_bytes(x.size, x.dtype)
    if x.is_value or x.layout is not None or not leading or nbytes <= adapter.largest_binding:
        return 0
    count = math.prod(x.shape[axis] for axis in reduced)
    row = call.outputs[0].size * ITEMSIZE[x.dtype]
    return -(-count // max(1, (int(adapter.largest_binding) - 256) // row))


def _is_packed(variant: Variant, rows: int, inner: int) -> bool:
    """Say whether there are so few rows that a workgroup takes several parts of them."""
    return variant not in LANES and _runs(variant, rows, inner) < _group(variant)


def _group(variant: Variant) -> int:
    return EIGHTS_GROUP if variant == "eights" else GROUP


def _runs(variant: Variant, rows: int, inner: int) -> int:
    return rows // inner * -(-inner // ROWS[variant])


def _grid(variant: Variant, rows: int, inner: int, parts: int) -> Grid:
    """Return the workgroup counts: rows along x and y, parts along z unless they are packed."""
    runs = _runs(variant, rows, inner)
    if _is_packed(variant, rows, inner):
        return fold(-(-runs * parts // _group(variant)))
    x, y, _ = fold(-(-runs * LANES.get(variant, 1) // _group(variant)))
    return x, y, parts
