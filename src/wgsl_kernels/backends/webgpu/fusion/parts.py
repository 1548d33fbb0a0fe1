"""What a part of a group is as a shader, and how the arrays at hand fill it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.text.structure import After, Before, Step, Structure
from wgsl_kernels.backends.webgpu.fusion.cut import GroupDispatch, resolved
from wgsl_kernels.backends.webgpu.fusion.graph import VIEW
from wgsl_kernels.backends.webgpu.fusion.modes import LeafReads, fills
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.program import BindingResource
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.fusion.graph import FusionGroup
    from wgsl_kernels.engine.values.spec import Shape


def structure_of(
    group: FusionGroup, part: GroupDispatch, *, vec4: bool = True, given: GpuArray | None = None
) -> tuple[Structure, LeafReads] | None:
    """Return what one dispatch is made for, and its leaves' layouts; None if it cannot be."""
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
    return structure, reading


class Fused:
    """A group that is computed inside of another kernel, for any arrays of the same layouts.

    Attributes:
        prefix: What its names begin with.
        part: Its nodes, leaves and outputs.
        plain: What it is for items of one element.
        quads: The same for items of four, None where they do not fit.
        key: What tells it apart from other groups of the same kernel.
        leaves: What it reads; the one that the kernel gives stands among them.
    """

    def __init__(
        self,
        prefix: str,
        group: FusionGroup,
        part: GroupDispatch,
        key: Any,
        given: GpuArray | None = None,
    ) -> None:
        self.prefix = prefix
        self.part = part
        self.key = key
        self.plain = structure_of(group, part, vec4=False, given=given)
        quads = structure_of(group, part, given=given)
        self.quads = None if quads is None or not quads[0].vec4 else quads
        self.kernels = tuple(group.nodes[n].op.kind.kernel for n in part.nodes)
        arrays = [group.leaves[~ref] for ref in part.leaves]
        self.leaves = tuple([Argument(one.shape, one.dtype, one.layout) for one in arrays])
        nodes = [group.nodes[n] for n in part.nodes]
        self._specs = [Spec(one.shape, one.dtype) for one in nodes]
        self._fixed = {
            f"{prefix}{step}.{name}": value
            for step, number in enumerate(part.nodes)
            for name, value in group.nodes[number].op.fixed.items()
        }

    def before(self, name: str, *, wide: bool) -> Before:
        """Return it as what stands for an input."""
        chosen = self.quads if wide else self.plain
        assert chosen is not None
        return Before(name, chosen[0])

    def after(self, *, keeps: bool, wide: bool = False, loops: bool = False) -> After:
        """Return it as what a result goes on to: in fours if ``wide``, in a loop if ``loops``."""
        chosen = self.quads if wide else self.plain
        assert chosen is not None
        return After(chosen[0], keeps, loops)

    def facts(self, *, wide: bool = False) -> dict[str, Any]:
        """Return what fills its part of the parameter block, but for values."""
        chosen = self.quads if wide else self.plain
        assert chosen is not None
        own = {self.prefix + name: value for name, value in chosen[1].facts.items()}
        return {**self._fixed, **own}

    def values(self, first: int) -> list[tuple[str, int]]:
        """Return the facts of leaves that travel as parameters, with their numbers as inputs.

        The first leaf is input ``first``.
        """
        assert self.plain is not None
        return [(f"{self.prefix}l{n}_value", first + n) for n in self.plain[1].values]

    def arguments(self, first: int) -> dict[str, Argument]:
        """Return the leaves that are bound, by the names that they have in the kernel."""
        assert self.plain is not None
        return {
            f"{self.prefix}l{n}": replace(one, place=BindingResource("input", first + n))
            for n, (one, leaf) in enumerate(zip(self.leaves, self.plain[0].leaves, strict=True))
            if leaf.is_bound
        }

    def made(self) -> list[tuple[str, Spec]]:
        """Return what an epilogue writes: its name in the kernel, and its spec."""
        assert self.plain is not None
        return [(f"{self.prefix}y{step}", self._specs[step]) for step in self.plain[0].outputs]


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
