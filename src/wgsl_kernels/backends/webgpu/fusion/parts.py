"""What a part of a group is as a shader, and how the arrays at hand fill it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.backends.webgpu.composing.forms.expressions import FEW
from wgsl_kernels.backends.webgpu.composing.text.structure import (
    Across,
    After,
    Before,
    Leaf,
    Mode,
    Step,
    Structure,
)
from wgsl_kernels.backends.webgpu.fusion.graph import VIEW
from wgsl_kernels.backends.webgpu.fusion.groups import GroupDispatch, resolved
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, broadcast_strides, collapse
from wgsl_kernels.backends.webgpu.programs.program import BindingResource
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.fusion.graph import FusionGroup
    from wgsl_kernels.engine.values.spec import Shape


Strides = tuple[int, ...]

LINE = 16
"""Elements of a line of memory: from so many on, lying side by side along an axis matters."""


class LeafReads:
    """The leaves of one dispatch.

    Attributes:
        spaces: The rank of each coordinate system.
        vec4: Whether an item is four elements.
        few: Whether coordinates are of at most FEW items.
        facts: What fills the parameter block, but for values, by names without a prefix.
        across: Where items are four elements, and a leaf lies side by side along another axis than
            the result.
    """

    def __init__(
        self,
        arrays: Sequence[GpuArray],
        shapes: Sequence[Shape],
        dtypes: set[str],
        *,
        vec4: bool = True,
        given: GpuArray | None = None,
    ) -> None:
        """Decide for each leaf, which is broadcast to its shape among ``shapes``.

        ``dtypes`` are those of outputs and steps; the kernel that the group is fused into gives the
        elements of the leaf ``given``.
        """
        self.facts: dict[str, Any] = {}
        strided: dict[Shape, list[int]] = {}
        found: dict[int, Leaf] = {}
        for number, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
            if array is given:
                found[number] = Leaf(array.dtype, "given")
            elif array.is_scalar_on_host:
                found[number] = Leaf(array.dtype, "value")
            elif array.layout is None and fills(array, shape):
                found[number] = Leaf(array.dtype, "flat")
            else:
                strided.setdefault(shape, []).append(number)
        spaces = [
            (members, *collapse(shape, [broadcast_strides(arrays[n], shape) for n in members])[:2])
            for shape, members in strided.items()
        ]
        all_dtypes = dtypes | {array.dtype for array in arrays}
        self.vec4 = (
            vec4
            and "complex64" not in all_dtypes
            and all(shape and shape[-1] % 4 == 0 for _, shape, _ in spaces)
        )
        most = max((math.prod(shape) for _, shape, _ in spaces), default=0)
        self.few = most // (4 if self.vec4 else 1) <= FEW
        self.across: Across | None = None
        self.spaces = tuple(len(shape) for _, shape, _ in spaces)
        for space, (members, shape, strides) in enumerate(spaces):
            inner = shape[-1] // 4 if self.vec4 else 0
            self.facts[f"space{space}"] = (*shape[:-1], inner) if self.vec4 else shape
            for number, own in zip(members, strides, strict=True):
                mode = self._place(number, own, arrays[number].offset)
                if mode == "gather" and self.across is None:
                    self.across = _across(space, shape, own)
                found[number] = Leaf(arrays[number].dtype, mode, space)
        self.leaves = tuple(found[n] for n in range(len(arrays)))

    def _place(self, number: int, strides: Strides, offset: int) -> Mode:
        """Note the strides and the offset of a leaf in items; return how it is read."""
        mode: Mode = "strided"
        if self.vec4:
            inner = strides[-1]
            aligned = not any(one % 4 for one in (offset, *strides[:-1]))
            if inner == 0:
                mode = "splat"
            elif inner == 1 and aligned:
                mode = "wide"
                offset, strides = offset // 4, (*(one // 4 for one in strides[:-1]), 1)
            else:
                mode = "gather"
                self.facts[f"l{number}_step"] = inner
                strides = (*strides[:-1], 4 * inner)
        self.facts[f"l{number}_strides"] = strides
        self.facts[f"l{number}_offset"] = offset
        return mode


def _across(space: int, shape: Shape, strides: Strides) -> Across | None:
    for axis, (size, step) in enumerate(zip(shape[:-1], strides, strict=False)):
        if step == 1 and min(size, strides[-1]) >= LINE:
            return Across(space, axis, size, math.prod(shape[axis + 1 :]) // 4)
    return None


def fills(array: GpuArray, shape: Shape) -> bool:
    """Say whether a row-major array has the elements of ``shape`` in its order."""
    return array.size == math.prod(shape)


def structure_of(
    group: FusionGroup, part: GroupDispatch, *, vec4: bool = True, given: GpuArray | None = None
) -> FusedStructure | None:
    """Return what one dispatch is made for; None if it cannot be."""
    refs = resolved(group)
    inside = {n: step for step, n in enumerate(part.nodes)}
    leaf_of = {ref: n for n, ref in enumerate(part.leaves)}
    seen_as: dict[int, set[Shape]] = {}
    steps: list[Step] = []
    for number in part.nodes:
        operands = [inside[ref] if ref in inside else ~leaf_of[ref] for ref in refs[number]]
        for ref in refs[number]:
            if ref not in inside:
                seen_as.setdefault(ref, set()).add(group.nodes[number].shape)
        steps.append(Step(group.nodes[number].op.kind, tuple(operands)))
    leaves = [group.leaves[~ref] if ref < 0 else group.nodes[ref] for ref in part.leaves]
    dtypes = {step.kind.output for step in steps}
    shapes = [next(iter(seen_as[ref])) for ref in part.leaves]
    if any(
        len(seen_as[ref]) > 1 and not fills(array, shape)
        for ref, array, shape in zip(part.leaves, leaves, shapes, strict=True)
    ):
        return None  # it is broadcast to two shapes, before and after a reshape
    reading = LeafReads(leaves, shapes, dtypes, vec4=vec4, given=given)
    outputs = tuple(inside[n] for n in part.outputs)
    structure = Structure(
        tuple(steps), reading.leaves, reading.spaces, outputs, reading.vec4, reading.few
    )
    return FusedStructure(structure, reading.facts, reading.across)


class FusedStructure(NamedTuple):
    """What a group is as a shader, or as a part of one.

    Attributes:
        structure: What its text is made for.
        facts: What fills its part of the parameter block, but for values, by names without prefix.
        across: An axis along which a leaf lies side by side and the result does not.
    """

    structure: Structure
    facts: Mapping[str, Any]
    across: Across | None = None

    def then(self, behind: FusedStructure, *, keeps: bool) -> FusedStructure:
        """Return this group, with another behind it that is given its one result.

        That is written, too, if this one ``keeps`` it.
        """
        own, other = self.structure, behind.structure
        first, leaves, spaces = len(own.steps), len(own.leaves), len(own.spaces)
        (result,) = own.outputs

        def moved(ref: int) -> int:
            if ref >= 0:
                return ref + first
            return result if other.leaves[~ref].mode == "given" else ref - leaves

        steps = [Step(one.kind, tuple(map(moved, one.operands))) for one in other.steps]
        structure = Structure(
            (*own.steps, *steps),
            (*own.leaves, *(replace(one, space=one.space + spaces) for one in other.leaves)),
            (*own.spaces, *other.spaces),
            (*((result,) if keeps else ()), *map(moved, other.outputs)),
            own.vec4,
            own.few and other.few,
        )
        facts = {_moved(name, spaces, leaves): value for name, value in behind.facts.items()}
        return FusedStructure(structure, {**self.facts, **facts})


def _moved(name: str, spaces: int, leaves: int) -> str:
    """Return the name of a fact behind so many other spaces and leaves."""
    if name.startswith("space"):
        return f"space{int(name[5:]) + spaces}"
    number, _, rest = name[1:].partition("_")
    return f"l{int(number) + leaves}_{rest}"


@dataclass(frozen=True, eq=False, slots=True)
class Fused:
    """A group that is computed inside of another kernel, for any arrays of the same layouts.

    Attributes:
        key: What tells it apart from other groups of the same kernel.
        plain: What it is for items of one element; None where it cannot be one.
        quads: The same for items of four, None where they do not fit.
        leaves: What it reads; the one that the kernel gives is among them.
        fixed: The facts that fill the attributes of each step.
        placed: How many leaves, from the first on, are where they say; the others are inputs.
    """

    prefix: str
    part: GroupDispatch
    key: Any
    plain: FusedStructure | None
    quads: FusedStructure | None
    kernels: tuple[str, ...]
    leaves: tuple[Argument, ...]
    specs: tuple[Spec, ...]
    fixed: tuple[Mapping[str, Any], ...]
    placed: int = 0

    @classmethod
    def of(
        cls,
        prefix: str,
        group: FusionGroup,
        part: GroupDispatch,
        key: Any,
        given: GpuArray | None = None,
    ) -> Fused:
        """Return a part of a group; ``given`` is the leaf that the kernel gives."""
        plain = structure_of(group, part, vec4=False, given=given)
        quads = structure_of(group, part, given=given)
        nodes = [group.nodes[n] for n in part.nodes]
        arrays = [group.leaves[~ref] for ref in part.leaves]
        return cls(
            prefix,
            part,
            key,
            plain,
            None if quads is None or not quads.structure.vec4 else quads,
            tuple([one.op.kind.kernel for one in nodes]),
            tuple([Argument(one.shape, one.dtype, one.layout) for one in arrays]),
            tuple([Spec(one.shape, one.dtype) for one in nodes]),
            tuple([one.op.fixed for one in nodes]),
        )

    def within(self, places: Sequence[BindingResource]) -> Fused:
        """Return the same as a part of the kernel itself, with leaves at these places."""
        leaves = [replace(one, place=at) for one, at in zip(self.leaves, places, strict=True)]
        return replace(self, kernels=(), leaves=tuple(leaves), placed=len(leaves))

    def then(self, behind: Fused, *, keeps: bool) -> Fused:
        """Return this group with another behind it, as of `FusedStructure`."""
        assert self.plain is not None
        assert behind.plain is not None
        quads = None
        if self.quads is not None and behind.quads is not None:
            quads = self.quads.then(behind.quads, keeps=keeps)
        return replace(
            self,
            plain=self.plain.then(behind.plain, keeps=keeps),
            quads=quads,
            kernels=self.kernels + behind.kernels,
            leaves=self.leaves + behind.leaves,
            specs=self.specs + behind.specs,
            fixed=self.fixed + behind.fixed,
        )

    def before(self, name: str, *, wide: bool) -> Before:
        return Before(name, self._chosen(wide=wide).structure)

    def after(self, *, keeps: bool, wide: bool = False, loops: bool = False) -> After:
        """Return it as what a result goes on to: in fours if ``wide``, in a loop if ``loops``."""
        return After(self._chosen(wide=wide).structure, keeps, loops)

    def facts(self, *, wide: bool = False) -> dict[str, Any]:
        """Return what fills its part of the parameter block, but for values."""
        found = {
            f"{self.prefix}{step}.{name}": value
            for step, attrs in enumerate(self.fixed)
            for name, value in attrs.items()
        }
        own = self._chosen(wide=wide).facts
        return {**found, **{self.prefix + name: value for name, value in own.items()}}

    def values(self, first: int) -> list[tuple[str, int]]:
        """Return the facts of leaves that travel as parameters, with their numbers as inputs.

        The first leaf that has no place of its own is input ``first``.
        """
        start, reads = first - self.placed, self._chosen(wide=False).structure.leaves
        values = [n for n, leaf in enumerate(reads) if leaf.mode == "value"]
        return [(f"{self.prefix}l{n}_value", start + n) for n in values]

    def arguments(self, first: int) -> dict[str, Argument]:
        """Return the leaves that are bound, by the names that they have in the kernel."""
        start, reads = first - self.placed, self._chosen(wide=False).structure.leaves
        return {
            f"{self.prefix}l{n}": one
            if n < self.placed
            else replace(one, place=BindingResource("input", start + n))
            for n, (one, leaf) in enumerate(zip(self.leaves, reads, strict=True))
            if leaf.is_bound
        }

    def made(self) -> list[tuple[str, Spec]]:
        """Return what an epilogue writes: its name in the kernel, and its spec."""
        outputs = self._chosen(wide=False).structure.outputs
        return [(f"{self.prefix}y{step}", self.specs[step]) for step in outputs]

    def _chosen(self, *, wide: bool) -> FusedStructure:
        chosen = self.quads if wide else self.plain
        assert chosen is not None
        return chosen


def whole(group: FusionGroup) -> GroupDispatch | None:
    """Return all of a group as one part whose one output is the last map; None without maps."""
    refs = resolved(group)
    last = len(group.nodes) - 1
    while last >= 0 and group.nodes[last].op is VIEW:
        last = group.refs[last][0]
    nodes = tuple(n for n, array in enumerate(group.nodes) if array.op is not VIEW)
    if last < 0 or not nodes:
        return None
    inside = set(nodes)
    leaves = dict.fromkeys(ref for n in nodes for ref in refs[n] if ref not in inside)
    return GroupDispatch(nodes, tuple(leaves), (last,), "")
