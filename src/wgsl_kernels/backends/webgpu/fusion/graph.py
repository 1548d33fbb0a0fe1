"""Pending arrays: what a group of them is, and what of it others still need.

A pending array has ``op``, the launch of the map that makes it, and ``inputs``, that map's arrays.
It becomes an ordinary array when its group is dispatched.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any
from weakref import ref

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray, Tail, row_major, view_of
from wgsl_kernels.engine.environment.liveness import held_outside
from wgsl_kernels.engine.environment.origin import user_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.engine.values.spec import Shape, Spec

LIGHT, HEAVY = 1, 4
"""What a map weighs that is an expression without calls, and any other."""
COST_MAX = 128
"""The most that the maps of one dispatch weigh, and about the most that one array may wait for."""
TOO_MANY = f"{COST_MAX // HEAVY} maps, or {COST_MAX} without calls"
PENDING_BYTES = 256 << 20
"""The most bytes of inputs that one array may hold back, each counted as often as it is used."""


_op = attrgetter("op")


class View:
    """What makes a reshaped array of a pending one: it shares its storage."""

    is_fusible = False
    cost = 0

    def __repr__(self) -> str:
        return "view"


VIEW = View()


def pending(
    op: Any,
    inputs: Sequence[GpuArray],
    spec: Spec,
    device: Device,
    tail: Tail | None,
    cost: int = 1,
    held_bytes: int = 0,
) -> GpuArray:
    """Return an array that ``op``, a launch, is to make; a plan calls what calls this."""
    made = GpuArray(spec.shape, spec.dtype, spec.size, None, device)
    made.op = op
    made.inputs = inputs
    made.cost = cost
    made.held_bytes = held_bytes
    made.place = user_code(6)
    if tail is not None:
        made.tail = tail
        tail.last = ref(made)
    return made


def pending_view(array: GpuArray, shape: Shape) -> GpuArray:
    """Return a pending array reshaped; it stays pending."""
    base = array.inputs[0] if array.op is VIEW else array
    if base.op is None:  # made meanwhile, which the view has not noticed
        return view_of(base, shape, row_major(shape), 0)
    view = GpuArray(shape, array.dtype, array.size, None, array.device)
    view.op = VIEW
    view.inputs = (base,)
    view.cost = base.cost
    view.held_bytes = base.held_bytes
    view.place = base.place
    view.immutable = array.immutable
    view.tail = base.tail
    return view


class FusionGroup:
    """Pending maps of one size that one array is made of.

    Attributes:
        nodes: The arrays, operands first; the last is the one asked for.
        refs: For each node its operands: a node's number, or ``~n`` for leaf ``n``.
        held: For each node whether anything outside the group refers to it.
        has_views: Whether nodes are views of others.
        foreign: The leaves that are pending: of another size, or made by another kind of kernel.
    """

    __slots__ = (
        "_leaf_uses", "_uses", "foreign", "has_views", "held", "held_leaves", "leaves", "nodes",
        "refs",
    )  # fmt: skip

    def __init__(self, roots: Sequence[GpuArray], at: int = 0, uses: int = 0) -> None:
        """Collect what one of ``roots``, the array asked for or the inputs of a kernel, is made of.

        ``uses`` references do not count as holding it; without any it counts as held.
        """
        self.nodes: list[GpuArray] = []
        self.leaves: list[GpuArray] = []
        self.refs: list[tuple[int, ...]] = []
        self.foreign: list[int] = []
        self.has_views = False
        self._uses: list[int] = []
        self._leaf_uses: list[int] = []
        _visit(roots[at], roots[at].size, {}, self)  # no name here may refer to the root
        self._uses[-1] += uses
        self.held = held_outside(self.nodes, self._uses)
        self.held_leaves = held_outside(self.leaves, self._leaf_uses) if self.foreign else []
        if not uses:
            self.held[-1] = True
            if self.has_views:
                self._hold_under_views()

    def key(self) -> tuple[Any, ...]:
        """Return what is equal where the same dispatches do, but for the leaves' layouts."""
        return (tuple(map(_op, self.nodes)), tuple(self.refs), tuple(self.held))

    def _hold_under_views(self) -> None:
        """A view that somebody holds needs its base written; one that nobody holds needs nothing.

        What a view shares is written once, as its base.
        """
        for number in range(len(self.nodes) - 1, -1, -1):
            if self.nodes[number].op is VIEW and self.held[number]:
                base = self.refs[number][0]
                if base >= 0:
                    self.held[base] = True


def _visit(array: GpuArray, size: int, number: dict[int, int], group: FusionGroup) -> int:
    refs: list[int] = []
    for one in array.inputs:
        known = number.get(id(one))
        if known is None:
            op = one.op
            if op is not None and one.size == size and not op.is_fusible:
                known = _visit(one, size, number, group)
            else:
                known = number[id(one)] = ~len(group.leaves)
                if op is not None:
                    group.foreign.append(~known)
                group.leaves.append(one)
                group._leaf_uses.append(0)
        if known >= 0:
            group._uses[known] += 1
        else:
            group._leaf_uses[~known] += 1
        refs.append(known)
    if array.op is VIEW:
        group.has_views = True
    nodes = group.nodes
    number[id(array)] = mine = len(nodes)
    nodes.append(array)
    group.refs.append(tuple(refs))
    group._uses.append(0)
    return mine


def is_pending_input(array: GpuArray, arrays: Sequence[GpuArray]) -> bool:
    """Say whether a pending array is read to make one of these, maybe through others."""
    seen: set[int] = set()
    stack: list[Any] = [*arrays]  # whose inputs may be None
    while stack:
        for one in stack.pop().inputs:
            if one is array:
                return True
            if one is not None and one.op is not None and id(one) not in seen:
                seen.add(id(one))
                stack.append(one)
    return False


def pending_cost(arrays: list[Any], most: int) -> int:
    """Return what the pending arrays weigh that these depend on; ``most`` or more if too much."""
    cost = 0
    seen: set[int] = set()
    stack = [one for one in arrays if one is not None and one.op is not None]
    while stack and cost < most:
        one = stack.pop()
        if id(one) not in seen:
            seen.add(id(one))
            cost += one.op.cost
            if not one.op.is_fusible:
                stack += [before for before in one.inputs if before.op is not None]
    return cost


def cost_of(arrays: Iterable[GpuArray]) -> int:
    """Return what pending arrays weigh by themselves."""
    return sum([one.op.cost for one in arrays])
