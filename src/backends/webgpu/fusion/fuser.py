"""Making pending arrays: the dispatches of their groups, remembered by structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from wgsl_kernels.backends.webgpu.array import device_bytes
from wgsl_kernels.backends.webgpu.fusion.anchors import Anchors
from wgsl_kernels.backends.webgpu.fusion.cut import Part, cut
from wgsl_kernels.backends.webgpu.fusion.parts import structure_of
from wgsl_kernels.backends.webgpu.fusion.pending import VIEW, Group
from wgsl_kernels.backends.webgpu.fusion.text import compose_group
from wgsl_kernels.backends.webgpu.launching.map import bound_bytes, map_grid, walk_across
from wgsl_kernels.backends.webgpu.launching.recipe import Compiled, compiled_from
from wgsl_kernels.engine.errors import (
    ArgumentError,
    DTypeError,
    OutOfMemoryError,
    ShaderError,
    ShapeError,
)
from wgsl_kernels.engine.origin import line_of
from wgsl_kernels.engine.recent import Recent

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.fusion.modes import Reading
    from wgsl_kernels.backends.webgpu.fusion.structure import Structure

CALLED = "The op was called at"
LATE = (OutOfMemoryError, ShaderError, ArgumentError, ShapeError, DTypeError)
"""What may go wrong only when a pending array is made."""
PLANS_MAX = 1024
SEEN_MAX = 4096
"""Groups, and structures that were met, that are kept at least."""


class PartRecipe:
    """One fused dispatch with all that does not change from run to run.

    ``sources`` says where its bindings come from: ``~n`` leaf ``n`` of the group, or a node.
    """

    __slots__ = (
        "compiled", "facts", "nbytes", "outputs", "ready", "sources", "values", "why",
    )  # fmt: skip

    compiled: Compiled
    facts: dict[str, Any]
    nbytes: tuple[int, ...]
    outputs: tuple[int, ...]
    ready: Ready
    sources: tuple[int, ...]
    values: tuple[tuple[str, int], ...]
    why: str


class Fuser:
    """Makes the pending arrays of one backend."""

    def __init__(self, backend: WebGpuBackend) -> None:
        self.backend = backend
        self.device: Device | None = None
        self._plans: Recent[Any, list[PartRecipe]] = Recent(PLANS_MAX)
        self._compiled: WeakValueDictionary[Any, Compiled] = WeakValueDictionary()
        self._seen: Recent[Any, bool] = Recent(SEEN_MAX)
        self._retired: list[Any] = []
        self.anchors = Anchors(self)

    def make(self, root: GpuArray, why: str) -> None:
        """Make ``root`` an ordinary array, and with it what else its dispatches write.

        Args:
            root: A pending array.
            why: Why it cannot stay pending, for `explain`.

        Raises:
            OutOfMemoryError, DeviceLostError: It cannot be made; it stays pending. The message
                names the line that called the op.
        """
        device = self.backend.open()
        with device.lock:
            before, device.cause = device.cause, why
            try:
                self._make(device, root)
            except LATE as error:
                if root.place is None or CALLED in str(error):
                    raise
                raise type(error)(f"{error}\n{CALLED} {line_of(root.place)}.") from None
            finally:
                device.cause = before

    def retire(self, launch: Any) -> None:
        """Forget the groups with a launch whose registration has changed, before the next one."""
        self._retired.append(launch)

    def _drop_retired(self) -> None:
        retired = {self._retired.pop() for _ in self._retired.copy()}
        self._plans.drop(lambda key, _: not retired.isdisjoint(key[0][0]))
        self.anchors.drop(retired)

    def _make(self, device: Device, root: GpuArray) -> None:
        if device is not self.device:
            self.device = device
            self._plans.clear()
            self._compiled.clear()
            self.anchors.clear()
        if self._retired:
            self._drop_retired()
        while root.op is not None:
            if root.op is VIEW:
                _share(root, self)
                continue
            if root.op.is_anchor:
                self.anchors.make(device, root)
                continue
            self._run_group(device, root)

    def _run_group(self, device: Device, root: GpuArray) -> None:
        """Make a map's group, or something that it needs first."""
        group = Group(root)
        if not group.foreign:
            self._run(device, group)
            return
        at = self._anchor_of(group)
        others = [n for n in group.foreign if n != at]
        if at is not None and not others:
            before = self.anchors.before(device, group.leaves[at])
            if before is None:
                return  # something was made that this group may have had in it
            behind = self.anchors.behind(device, group, at)
            if behind is not None:
                self.anchors.run(device, group, at, before, behind)
                if group.nodes[-1].op is None:
                    self._share_views(group)
                return
            others = [at]
        first = group.leaves[others[0]]
        del group  # it would count as somebody who holds these arrays
        self.make(first, "what uses it has another shape or another kernel before it")

    def _anchor_of(self, group: Group) -> int | None:
        """Return the leaf whose kernel the group may follow."""
        size = group.nodes[-1].size
        for number in group.foreign:
            one = group.leaves[number]
            if one.op.is_anchor and one.op.hands_on and one.size == size:
                return number
        return None

    def _run(self, device: Device, group: Group) -> None:
        states = self.states(device, group)
        if len(group.nodes) == 1 and _is_flat(group, states):
            self._alone(group, 0)
            return
        key = (group.key(), states)
        plan = self._plans[key]
        if plan is None:
            plan = self._plan(device, group, states)
            if plan is None:
                device.cause += "; one by one, since such a group is new or too large"
                self._apart(group)
                return
            self._plans.keep(key, plan)
        why = device.cause
        for part in plan:
            device.cause = f"a dispatch has at most {part.why}" if part.why else why
            self._dispatch(device, group, part)
        self._share_views(group)

    def _share_views(self, group: Group) -> None:
        for array, is_held in zip(group.nodes, group.held, strict=True):
            if array.op is VIEW and is_held:
                _share(array, self)

    def states(self, device: Device, group: Group, given: int | None = None) -> tuple[Any, ...]:
        """Have the leaves but ``given`` on the device; return how each lies."""
        states: list[Any] = []
        for number, array in enumerate(group.leaves):
            if number == given:
                states.append("given")
                continue
            if array.size == 1 and array.host is not None:
                states.append("value")
                continue
            if array.storage is None or array.device is not device:
                self.backend.make_resident(array)
            states.append(array.layout)
        return tuple(states)

    def _apart(self, group: Group) -> None:
        """Make the nodes one by one, giving up each that nobody needs any more."""
        nodes = group.nodes
        last = {ref: n for n, refs in enumerate(group.refs) for ref in refs if ref >= 0}
        done: dict[int, list[int]] = {}
        for ref, n in last.items():
            if not group.held[ref]:
                done.setdefault(n, []).append(ref)
        for number in range(len(nodes)):
            self._alone(group, number)
            for ref in done.get(number, ()):
                nodes[ref] = nodes[-1]

    def _alone(self, group: Group, number: int) -> None:
        """Make one node with the pipeline of its kernel."""
        array = group.nodes[number]
        if array.op is VIEW:
            _share(array, self)
            return
        array.op.was_alone = True
        made = array.op.run_now(list(array.inputs))[0]
        array.settle(made.storage, made.device)

    def _dispatch(self, device: Device, group: Group, part: PartRecipe) -> None:
        nodes, leaves = group.nodes, group.leaves
        allocate, label = device.pool.allocate, part.compiled.composed.kernel
        made: list[Storage] = []
        for nbytes in part.nbytes:
            made.append(allocate(nbytes, label, "fused"))
        storages: list[Any] = []
        for one in part.sources:
            storages.append(leaves[~one].storage if one < 0 else nodes[one].storage)
        storages += made
        ready = part.ready
        if part.values:
            facts = dict(part.facts)
            for name, leaf in part.values:
                facts[name] = leaves[leaf].scalar
            ready = ready._replace(params=part.compiled.composed.pack(facts))
        device.run(ready, storages)
        for number, storage in zip(part.outputs, made, strict=True):
            nodes[number].settle(storage, device)

    def _plan(
        self, device: Device, group: Group, states: tuple[Any, ...]
    ) -> list[PartRecipe] | None:
        """Return the dispatches of a group; None if a structure is new or cannot be fused."""
        most = device.limits["max-storage-buffers-per-shader-stage"]
        parts = cut(group, [state != "value" for state in states], most)
        made: list[tuple[Part, Structure, Reading]] = []
        fits = True
        for part in parts:
            found = structure_of(group, part)
            if found is None:
                return None
            structure, reading = found
            if self.is_new(structure.key):
                self._seen.keep(structure.maps, True)
                fits = False
            made.append((part, structure, reading))
        arrays = [group.leaves[n] for n, state in enumerate(states) if state != "value"]
        largest = max(bound_bytes(one) for one in (*arrays, *group.nodes))
        if not fits or largest > device.largest_binding:
            return None
        return [self._recipe(device, group, *one) for one in made]

    def is_new(self, key: Any) -> bool:
        """Say whether a structure was never seen: such ones are not fused until they recur."""
        if self._seen[key]:
            return False
        self._seen.keep(key, True)
        return self.backend.fusion() != "always"

    def was_apart(self, group: Group, structure: Structure) -> bool:
        """Say whether the maps of a group were done before, behind what was made by itself."""
        if len(structure.steps) == 1:
            return bool(group.nodes[-1].op.was_alone)
        return self._seen[structure.maps] is not None

    def note(self, array: GpuArray) -> None:
        """Count a pending array of a kernel that is no map."""
        self.anchors.note(array)

    def _recipe(
        self, device: Device, group: Group, part: Part, structure: Structure, reading: Reading
    ) -> PartRecipe:
        size = group.nodes[-1].size
        items = -(-size // 4) if structure.vec4 else size
        across = reading.across if device.policy.walks_across else None
        key = (structure.key, across and (across.space, across.axis))
        compiled = self._compiled.get(key)
        if compiled is None:
            composed = compose_group(structure, across=across)
            compiled = self._compiled[key] = compiled_from(device, composed)
        nodes = group.nodes
        recipe = PartRecipe()
        recipe.compiled = compiled
        recipe.why = part.why
        kernels = tuple(step.kind.kernel for step in structure.steps)
        recipe.outputs = part.outputs
        recipe.nbytes = tuple(device_bytes(nodes[n].size, nodes[n].dtype) for n in part.outputs)
        recipe.sources = tuple(
            ref for ref, leaf in zip(part.leaves, structure.leaves, strict=True) if leaf.is_bound
        )
        if across is None:
            walk, grid = {"wk_run_bits": device.policy.run_bits}, map_grid(device, items)
        else:
            walk, grid = walk_across(across.size, across.inner, items)
        recipe.facts = {"wk_size": size, **walk, **reading.facts}
        for step, number in enumerate(part.nodes):
            for name, value in nodes[number].op.fixed.items():
                recipe.facts[f"{step}.{name}"] = value
        recipe.values = tuple((f"wk_x{n}", ~part.leaves[n]) for n in reading.values)
        sources = [group.leaves[~ref] if ref < 0 else nodes[ref] for ref in recipe.sources]
        bytes_ = [bound_bytes(one) for one in sources] + list(recipe.nbytes)
        slots = [slot for slot in compiled.composed.bindings if slot.role == "tensor"]
        steps = [max(4, slot.stride) for slot in slots]
        ranges = tuple((0, -(-n // step) * step) for n, step in zip(bytes_, steps, strict=True))
        params = compiled.composed.first_block(recipe.facts, changes=bool(recipe.values))
        recipe.ready = device.ready(compiled.pipeline, ranges, params, grid, kernels)
        return recipe


def _is_flat(group: Group, states: tuple[Any, ...]) -> bool:
    """Say whether every leaf is one number, or has the elements of the group in order."""
    size = group.nodes[0].size
    return all(
        state == "value" or (state is None and leaf.size == size)
        for leaf, state in zip(group.leaves, states, strict=True)
    )


def _share(view: GpuArray, fuser: Fuser) -> None:
    """Give a view the storage of its base."""
    base = view.inputs[0]
    if base.op is not None:
        fuser.make(base, "a view of it is needed")
    view.settle(base.storage, base.device)
