"""Making pending arrays: the dispatches of their groups, remembered by structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import device_bytes
from wgsl_kernels.backends.webgpu.fusion.cut import Part, cut, resolved
from wgsl_kernels.backends.webgpu.fusion.modes import Reading, fills
from wgsl_kernels.backends.webgpu.fusion.pending import VIEW, Group
from wgsl_kernels.backends.webgpu.fusion.structure import Step, Structure
from wgsl_kernels.backends.webgpu.fusion.text import compose_group
from wgsl_kernels.backends.webgpu.launch_map import GROUP, MANY, PER_INVOCATION, bound_bytes
from wgsl_kernels.backends.webgpu.recipe import Compiled, compiled_from, fold
from wgsl_kernels.engine.errors import OutOfMemoryError
from wgsl_kernels.engine.origin import line_of

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.backends.webgpu.device import Device
    from wgsl_kernels.engine.spec import Shape

PLANS_MAX = 4096
SEEN_MAX = 65536


class PartRecipe:
    """One fused dispatch with all that does not change from run to run.

    ``sources`` says where its bindings come from: ``~n`` leaf ``n`` of the group, or a node.
    """

    __slots__ = (
        "compiled", "facts", "groups", "kernels", "nbytes", "outputs", "params", "ranges",
        "sources", "values", "why",
    )  # fmt: skip

    compiled: Compiled
    facts: dict[str, Any]
    groups: tuple[int, int, int]
    kernels: tuple[str, ...]
    nbytes: tuple[int, ...]
    outputs: tuple[int, ...]
    params: bytes
    ranges: tuple[tuple[int, int], ...]
    sources: tuple[int, ...]
    values: tuple[tuple[str, int], ...]
    why: str


class Fuser:
    """Makes the pending arrays of one backend.

    Attributes:
        log: Where given, a row per dispatch: kernels, and why the group was cut there.
    """

    def __init__(self, backend: WebGpuBackend) -> None:
        self.backend = backend
        self.device: Device | None = None
        self._plans: dict[Any, list[PartRecipe]] = {}
        self._compiled: dict[Any, Compiled] = {}
        self._seen: set[Any] = set()

    def make(self, root: GpuArray, why: str) -> None:
        """Make ``root`` an ordinary array, and with it what else its dispatches write.

        Args:
            root: A pending array.
            why: Why it cannot stay pending, for `explain`.

        Raises:
            OutOfMemoryError, DeviceLostError: It cannot be made; it stays pending.
        """
        device = self.backend.open()
        with device.lock:
            before, device.cause = device.cause, why
            try:
                self._make(device, root)
            finally:
                device.cause = before

    def _make(self, device: Device, root: GpuArray) -> None:
        if device is not self.device:
            self.device = device
            self._plans.clear()
            self._compiled.clear()
        while root.op is not None:
            if root.op is VIEW:
                _share(root, self)
                continue
            group = Group(root)
            foreign = group.foreign
            if foreign:
                del group  # it would count as somebody who holds these arrays
                while foreign:
                    self.make(foreign.pop(), "it has another shape than what it is used for")
                continue
            self._run(device, group)

    def _run(self, device: Device, group: Group) -> None:
        try:
            states = self._states(device, group)
            if len(group.nodes) == 1 and _is_flat(group, states):
                self._alone(group, 0)
                return
            key = (group.key(), states)
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plan(device, group, states)
                if plan is None:
                    self._apart(group)
                    return
                if len(self._plans) >= PLANS_MAX:
                    self._plans.clear()
                self._plans[key] = plan
            why = device.cause
            for part in plan:
                device.cause = f"a dispatch has at most {part.why}" if part.why else why
                self._dispatch(device, group, part)
        except OutOfMemoryError as error:
            place = group.nodes[-1].place
            line = "" if place is None else f"\nThe op was called at {line_of(place)}."
            raise OutOfMemoryError(f"{error}{line}") from None
        for array, is_held in zip(group.nodes, group.held, strict=True):
            if array.op is VIEW and is_held:
                _share(array, self)

    def _states(self, device: Device, group: Group) -> tuple[Any, ...]:
        """Have the leaves on the device; return how each lies and which share a buffer."""
        states: list[Any] = []
        for array in group.leaves:
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
        settle(array, array.op.run_now(list(array.inputs))[0])

    def _dispatch(self, device: Device, group: Group, part: PartRecipe) -> None:
        nodes, leaves = group.nodes, group.leaves
        pool = device.pool
        made = [
            pool.allocate(nbytes, part.compiled.composed.kernel, "fused") for nbytes in part.nbytes
        ]
        storages: list[Any] = [
            leaves[~one].storage if one < 0 else nodes[one].storage for one in part.sources
        ]
        storages += made
        params = part.params
        if part.values:
            facts = dict(part.facts)
            for name, leaf in part.values:
                facts[name] = leaves[leaf].scalar
            params = part.compiled.composed.pack(facts)
        device.dispatch(
            part.compiled.pipeline, storages, part.ranges, params, part.groups, part.kernels
        )
        for number, storage in zip(part.outputs, made, strict=True):
            array = nodes[number]
            array.storage = storage
            array.op = None
            array.inputs = ()
            array.weight = 0

    def _plan(
        self, device: Device, group: Group, states: tuple[Any, ...]
    ) -> list[PartRecipe] | None:
        """Return the dispatches of a group; None if a structure is new or cannot be fused."""
        most = device.limits["max-storage-buffers-per-shader-stage"]
        parts = cut(group, [state != "value" for state in states], most)
        always = self.backend.fusion() == "always"
        refs = resolved(group)
        made: list[tuple[Part, Structure, Reading]] = []
        fits = True
        for part in parts:
            found = _structure(group, part, refs)
            if found is None:
                return None
            structure, reading = found
            key = structure.key
            if key not in self._seen and not always:
                if len(self._seen) > SEEN_MAX:
                    self._seen.clear()
                self._seen.add(key)
                fits = False
            made.append((part, structure, reading))
        arrays = [group.leaves[n] for n, state in enumerate(states) if state != "value"]
        largest = max(bound_bytes(one) for one in (*arrays, *group.nodes))
        if not fits or largest > device.largest_binding:
            return None
        return [self._recipe(device, group, *one) for one in made]

    def _recipe(
        self, device: Device, group: Group, part: Part, structure: Structure, reading: Reading
    ) -> PartRecipe:
        key = structure.key
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = compiled_from(device, compose_group(structure))
        nodes = group.nodes
        recipe = PartRecipe()
        recipe.compiled = compiled
        recipe.why = part.why
        recipe.kernels = tuple(step.kind.kernel for step in structure.steps)
        recipe.outputs = part.outputs
        recipe.nbytes = tuple(device_bytes(nodes[n].size, nodes[n].dtype) for n in part.outputs)
        recipe.sources = tuple(
            ref for ref, leaf in zip(part.leaves, structure.leaves, strict=True) if leaf.is_bound
        )
        size = nodes[-1].size
        recipe.facts = {"wk_size": size, **reading.facts}
        for step, number in enumerate(part.nodes):
            for name, value in nodes[number].op.fixed.items():
                recipe.facts[f"{step}.{name}"] = value
        recipe.values = tuple((f"wk_x{n}", ~part.leaves[n]) for n in reading.values)
        sources = [group.leaves[~ref] if ref < 0 else nodes[ref] for ref in recipe.sources]
        bytes_ = [bound_bytes(one) for one in sources] + list(recipe.nbytes)
        slots = [slot for slot in compiled.composed.bindings if slot.role == "tensor"]
        steps = [max(4, slot.stride) for slot in slots]
        recipe.ranges = tuple(
            (0, -(-n // step) * step) for n, step in zip(bytes_, steps, strict=True)
        )
        items = -(-size // 4) if structure.vec4 else size
        recipe.groups = fold(-(-items // (GROUP * (PER_INVOCATION if items > MANY else 1))))
        recipe.params = b"" if recipe.values else compiled.composed.pack(recipe.facts)
        return recipe


def _structure(
    group: Group, part: Part, refs: list[tuple[int, ...]]
) -> tuple[Structure, Reading] | None:
    """Return what one dispatch is made for, and how its leaves lie; None if it cannot be."""
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
    reading = Reading(leaves, shapes, dtypes)
    outputs = tuple(inside[n] for n in part.outputs)
    structure = Structure(tuple(steps), reading.leaves, reading.spaces, outputs, reading.vec4)
    return structure, reading


def _is_flat(group: Group, states: tuple[Any, ...]) -> bool:
    """Say whether every leaf is one number, or has the elements of the group in order."""
    size = group.nodes[0].size
    return all(
        state == "value" or (state is None and leaf.size == size)
        for leaf, state in zip(group.leaves, states, strict=True)
    )


def settle(array: GpuArray, made: GpuArray) -> None:
    """Give a pending array what was made for it."""
    array.storage = made.storage
    array.device = made.device
    array.op = None
    array.inputs = ()
    array.weight = 0


def _share(view: GpuArray, fuser: Fuser) -> None:
    """Give a view the storage of its base."""
    base = view.inputs[0]
    if base.op is not None:
        fuser.make(base, "a view of it is needed")
    view.storage = base.storage
    view.device = base.device
    view.op = None
    view.inputs = ()
    view.weight = 0
