"""Making kernels that are no maps: with the maps before and behind them in one dispatch."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.text.structure import AFTER, prefix_of
from wgsl_kernels.backends.webgpu.devices.lifetime import DeviceCache
from wgsl_kernels.backends.webgpu.fusion.graph import COST_MAX, FusionGroup, cost_of
from wgsl_kernels.backends.webgpu.fusion.groups import GroupDispatch, cut
from wgsl_kernels.backends.webgpu.fusion.parts import Fused, whole
from wgsl_kernels.backends.webgpu.fusion.splice import Maps
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded, bytes_of_loaded
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DTypeError,
    ShaderError,
    ShapeError,
    WgslKernelsError,
)

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.runtime.evaluator import Evaluator
    from wgsl_kernels.engine.values.spec import Spec

DEFERRED_MAX = 6
"""The most pending kernels that are no maps; they keep inputs larger than their results."""
REPEATED_MAPS_MAX = 3
"""The most maps that are computed more than once for an element rather than written."""
COST_WITH_KERNEL = 4
"""For how many structures of maps one counts that such a kernel is in, such as a product."""
OWN_BINDINGS = 3
"""What a kernel binds besides inputs: its result, partial results, the status."""


@dataclass(frozen=True, eq=False, slots=True)
class GroupRun:
    """What runs for a group, and what becomes of its results.

    Attributes:
        loaded: The program; its inputs are those of the kernel that the group is fused behind, then
            leaves of the group.
        nodes: Which nodes the results are, behind the kernel's own if that is kept.
        leaves: Which leaves are read; None for all.
        keeps: Whether the kernel's own result is kept.
        large: What is to be checked against limits before.
    """

    loaded: Loaded
    nodes: tuple[int, ...]
    leaves: tuple[int, ...] | None = None
    keeps: bool = False
    large: tuple[Spec, ...] = ()


GroupRuns = DeviceCache[Any, "GroupRun | Fused | bool"]
"""What is known of groups, by a kernel or None, the group's key and the layouts of what they read:
what runs, or what a group is as a part of that kernel; False where it cannot be one."""


def bytes_of_group(found: GroupRun | Fused | bool) -> int:
    if isinstance(found, GroupRun):
        return 1500 + (bytes_of_loaded(found.loaded) if found.leaves is None else 0)
    return 3000


class _Deferred(threading.local):
    """The pending kernels of one thread: what another is about to record must be left to it.

    Those of a device that is lost are left to who needs them, and raise there.
    """

    def __init__(self) -> None:
        self.kernels: deque[weakref.ref[GpuArray]] = deque()
        self.device: Device | None = None


class FusibleKernels:
    """Makes the pending arrays of kernels with loops of their own."""

    def __init__(self, evaluator: Evaluator, runs: GroupRuns) -> None:
        self.evaluator = evaluator
        self._deferred = _Deferred()
        self._runs = runs

    def note(self, array: GpuArray) -> None:
        """Count a pending array; of too many the oldest is made, with what follows it if it can."""
        deferred = self._deferred.kernels
        if array.device is not self._deferred.device:
            self._deferred.device = array.device
            deferred.clear()
        deferred.append(weakref.ref(array))
        if len(deferred) <= DEFERRED_MAX:
            return
        if not _all_deferred(deferred):
            left = [each for each in deferred if (one := each()) is not None and one.op is not None]
            one = None  # nothing here may count as what holds an array
            self._deferred.kernels = deferred = deque(left)
        if len(deferred) > DEFERRED_MAX:
            with suppress(ShaderError, ArgumentError, ShapeError, DTypeError):
                self._make_oldest(deferred.popleft())  # what is wrong is told to whoever needs it

    def make_deferred(self) -> None:
        """Make what this thread has pending; what cannot be made is left to whoever needs it."""
        deferred = self._deferred.kernels
        while deferred:
            with suppress(WgslKernelsError):
                self._make_oldest(deferred.popleft())

    def _make_oldest(self, oldest: weakref.ref[GpuArray]) -> None:
        """Make what was put last behind a kernel, or what the kernel gives if that is gone."""
        one = oldest()
        tail = None if one is None else one.tail
        if tail is not None and tail.last is not None:
            one = tail.last() or one
        if one is not None and one.op is not None:
            self.evaluator.make(one, f"at most {DEFERRED_MAX} kernels but maps are deferred")

    def make(self, device: Device, fusible: GpuArray) -> None:
        while True:
            before = self.before(device, fusible)
            if before is not None:
                break
        if fusible.op is None:
            return  # made meanwhile, for one of its inputs
        op = fusible.op
        if before:
            maps, leaves = _maps(fusible, before), _leaves(before)
            loaded, _ = op.fused(device, fusible.inputs, maps, leaves)
            fusible.materialise(op.run_loaded(loaded, [*fusible.inputs, *leaves])[0], device)
        else:
            own = self._whole(op.run_now(list(fusible.inputs))[0])
            fusible.materialise(own.storage, own.device)

    def follow(self, device: Device, group: FusionGroup, at: int) -> bool:
        """Make a group behind the kernel that makes its leaf ``at``.

        Returns:
            Whether there is nothing to do for the caller but to look again: the group was made, or
            something that it may have had in it.
        """
        fusible = group.leaves[at]
        layouts = fusible.op.key_if_there(device, fusible.inputs)
        key: Any = None
        if layouts is not None:
            states = self.evaluator.states(device, group, at)
            key = (fusible.op, group.key(), at, group.held_leaves[at], states, layouts)
            known = self._runs[key]
            if known is not None:
                assert isinstance(known, GroupRun)
                self._repeat(device, group, at, known)
                return True
        before = self.before(device, fusible)
        if before is None:
            return True
        behind = self.epilogue(device, group, at)
        if behind is None:
            return False
        self.run(device, group, at, before, behind, key)
        if group.nodes[-1].op is None:
            self.evaluator.share_views(group)
        return True

    def _repeat(self, device: Device, group: FusionGroup, at: int, known: GroupRun) -> None:
        """Run what was fused before for a group like this one, behind a kernel like this one."""
        leaves, session = group.leaves, self.evaluator.session
        fusible = leaves[at]
        for spec in known.large:
            session.check_size(spec)
        inputs = [*fusible.inputs]
        for n in known.leaves or ():
            inputs.append(leaves[n])
        for n in known.loaded.bound:
            if inputs[n].storage is None:  # a number that the kernel reads from a buffer
                session.make_resident(inputs[n])
        made = known.loaded.run(inputs)
        if known.keeps:
            fusible.materialise(made[0], device)
        first = int(known.keeps)
        for number in known.nodes:
            group.nodes[number].materialise(made[first], device)
            first += 1
        if group.has_views:
            self.evaluator.share_views(group)

    def before(
        self, device: Device, fusible: GpuArray
    ) -> dict[int, tuple[Fused, FusionGroup]] | None:
        """Return the groups that stand for inputs; make the other inputs that are pending.

        None if something was made: then what was collected before may be out of date.
        """
        op, inputs = fusible.op, fusible.inputs
        if op is None:
            return {}
        found: dict[int, tuple[Fused, FusionGroup]] = {}
        left = _bindings(device, fusible)
        for index in range(len(inputs)):
            if inputs[index] is None or inputs[index].op is None:
                continue
            taken = None
            if index in op.accepts_prologue and not inputs[index].op.is_fusible:
                taken = self._prologue(device, fusible, index, left)
            if taken is None:
                self.evaluator.make(inputs[index], f"{op.kernel} takes buffers")
                return None
            left -= len(taken[0].part.leaves)
            found[index] = taken
        return found

    def epilogue(self, device: Device, group: FusionGroup, at: int) -> tuple[Fused, bool] | None:
        """Return how ``group`` can follow the kernel that makes its leaf ``at``.

        Returns:
            The group, and whether the kernel's own result is needed too; None if the group must be
            made by itself.
        """
        fusible = group.leaves[at]
        if not fusible.op.accepts_epilogue or fusible.size != group.nodes[-1].size:
            return None
        states = self.evaluator.states(device, group, at)
        keeps = group.held_leaves[at]
        key = (fusible.op, group.key(), AFTER, at, keeps, states)
        found = self._runs[key]
        fused: Fused | None
        if found is not None:
            fused = found if isinstance(found, Fused) else None
        else:
            bound = [state != "value" and n != at for n, state in enumerate(states)]
            parts = cut(group, bound, _bindings(device, fusible) + 1 - keeps)
            if len(parts) != 1 or self.evaluator.is_too_large(device, group):
                return None
            fused = self._find(key, AFTER, group, parts[0], fusible)
        return None if fused is None else (fused, keeps)

    def run(
        self,
        device: Device,
        group: FusionGroup,
        at: int,
        before: dict[int, tuple[Fused, FusionGroup]],
        behind: tuple[Fused, bool],
        key: Any,
    ) -> None:
        """Record a kernel with the maps before and behind it; remember it under ``key``."""
        fusible = group.leaves[at]
        fused, keeps = behind
        op = fusible.op
        maps = _maps(fusible, before, fused, keeps=keeps)
        leaves = _leaves(before) + [group.leaves[~ref] for ref in fused.part.leaves]
        loaded, is_final = op.fused(device, fusible.inputs, maps, leaves)
        if (
            loaded is None
        ):  # a function for whose program the tuner is to measure, or which has none
            own = self._whole(op.run_now(list(fusible.inputs))[0])
            fusible.materialise(own.storage, own.device)
            return
        made = op.run_loaded(loaded, [*fusible.inputs, *leaves])
        if key is not None and not before and is_final and not loaded.packed:
            large = tuple(op.large) if keeps else ()
            read = tuple([~ref for ref in fused.part.leaves])
            outputs = fused.part.outputs
            self._runs.keep(key, GroupRun(loaded, outputs, read, keeps, large))
        if keeps:
            fusible.materialise(made[0], device)
        for number, storage in zip(fused.part.outputs, made[keeps:], strict=True):
            group.nodes[number].materialise(storage, device)

    def _whole(self, result: GpuArray) -> GpuArray:
        """Return what a kernel gave as a contiguous array that was made."""
        if result.op is not None or result.storage is None:
            self.evaluator.session.make_resident(result)
        return result if result.layout is None else self.evaluator.session.contiguous(result)

    def _prologue(
        self, device: Device, fusible: GpuArray, index: int, left: int
    ) -> tuple[Fused, FusionGroup] | None:
        group = FusionGroup(fusible.inputs, index, 1)
        part = whole(group)
        if part is None or any(group.held) or group.foreign or len(part.leaves) > left:
            return None
        op = fusible.op
        if op.reads > 1 and len(part.nodes) > REPEATED_MAPS_MAX:
            return None
        if cost_of(group.nodes) > COST_MAX:
            return None
        states = self.evaluator.states(device, group)
        if self.evaluator.is_too_large(device, group):
            return None
        name = op.names[index]
        key = (op, group.key(), name, states)
        fused = self._find(key, prefix_of(name), group, part, None)
        return None if fused is None else (fused, group)

    def _find(
        self, key: Any, prefix: str, group: FusionGroup, part: GroupDispatch, given: GpuArray | None
    ) -> Fused | None:
        """Return what is composed for a structure; None if it is new or cannot be."""
        found = self._runs[key]
        if found is not None:
            return found if isinstance(found, Fused) else None
        fused = Fused.of(prefix, group, part, key, given)
        if fused.plain is None:
            self._runs.keep(key, False)
            return None
        structure = fused.plain.structure
        was_separate = given is not None and self.evaluator.seen.was_separate(group, structure)
        new = (prefix, key[0].kernel, structure.key)
        if not was_separate and self.evaluator.is_new(new, COST_WITH_KERNEL):
            return None
        self._runs.keep(key, fused)
        return fused


def _maps(
    fusible: GpuArray,
    before: dict[int, tuple[Fused, FusionGroup]],
    behind: Fused | None = None,
    *,
    keeps: bool = True,
) -> Maps:
    names = fusible.op.names if before else ()
    return Maps(
        len(fusible.inputs), names, {n: one for n, (one, _) in before.items()}, behind, keeps
    )


def _leaves(before: dict[int, tuple[Fused, FusionGroup]]) -> list[GpuArray]:
    return [group.leaves[~ref] for one, group in before.values() for ref in one.part.leaves]


def _bindings(device: Device, fusible: GpuArray) -> int:
    """Return how many more bindings a kernel's dispatch may have."""
    most: int = device.limits["max-storage-buffers-per-shader-stage"]
    return most - len(fusible.inputs) - OWN_BINDINGS


def _all_deferred(references: deque[weakref.ref[GpuArray]]) -> bool:
    for each in references:
        one = each()
        if one is None or one.op is None:
            return False
    return True
