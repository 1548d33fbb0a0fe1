"""Launching maps: the shortest way from arrays to a dispatch."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import ITEMSIZE, GpuArray
from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.operands import Operand
from wgsl_kernels.backends.webgpu.fusion.eligible import is_light, kind_of, reports
from wgsl_kernels.backends.webgpu.fusion.extras import ALONE, Extras
from wgsl_kernels.backends.webgpu.fusion.pending import (
    HEAVY,
    LIGHT,
    PENDING_BYTES,
    TOO_MANY,
    WEIGHT_MAX,
    pending,
    waiting,
)
from wgsl_kernels.backends.webgpu.launching.collapse import collapse
from wgsl_kernels.backends.webgpu.launching.launch import ABSENT, VALUE, ShaderLaunch, State
from wgsl_kernels.backends.webgpu.launching.recipe import (
    Compiled,
    broadcast_strides,
    compile_kernel,
    fold,
    record,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.fusion.structure import Kind

GROUP = 64
RUN = 16
"""Items of a run in families/map_across.wgsl."""


class MapRecipe:
    """A map's shader, grid and parameters for one layout of its inputs."""

    __slots__ = ("bound", "compiled", "facts", "groups", "ready", "values")

    ready: Ready

    def __init__(
        self,
        compiled: Compiled,
        facts: dict[str, Any],
        groups: tuple[int, int, int],
        values: tuple[tuple[int, str], ...],
    ) -> None:
        self.compiled = compiled
        self.facts = facts
        self.groups = groups
        self.values = values
        self.bound: tuple[int, ...] | None = None


class MapLaunch(ShaderLaunch):
    """Runs a map, or notes that it is to be run.

    Attributes:
        kind: The map as a part of a fused shader; None where it runs by itself.
        fixed: The facts that fill its attributes.
        checked: The device on which that was decided.
        was_alone: Whether it was dispatched by itself, or one of a group that was not fused.
    """

    was_alone = False
    weight = HEAVY

    checked: Device | None = None
    kind: Kind | None = None
    fixed: Mapping[str, Any] = MappingProxyType({})

    def __call__(self, arrays: list[Any]) -> Sequence[GpuArray]:
        """Return a pending array where fusion is on, else record the dispatches."""
        backend = self.backend
        if backend.fusion() == "never":
            return self.run_now(arrays)
        device = backend.open()
        if device is not self.checked:
            self._begin(device, arrays)
        if self.kind is None:
            return self.run_now(arrays)
        spec = self.outputs[0]
        if self.large:
            backend.check_size(spec)
        weight, burden, tail = self.weight, self.nbytes[0], None
        for one in arrays:
            if one.op is not None:
                weight += one.weight
                burden += one.burden
                if one.tail is not None and one.size == spec.size:
                    tail = one.tail
        if weight > WEIGHT_MAX:
            weight = waiting(arrays, WEIGHT_MAX) + self.weight
        if weight > WEIGHT_MAX or burden > PENDING_BYTES:
            for one in arrays:
                if one.op is not None:
                    backend.fuser.make(one, f"a group has at most {TOO_MANY}")
            weight, burden, tail = self.weight, self.nbytes[0], None
        return (pending(self, arrays, spec, device, tail, weight, burden),)

    def _begin(self, device: Device, arrays: list[Any]) -> None:
        """Compile the kernel alone, so that its errors show where it is called, not later.

        One of the library's own has none, so where it is fused in any case it is not compiled.
        """
        if device is not self.device:
            self.recipes.clear()
        self.device = self.checked = device
        self.kind = None
        self.weight = LIGHT if is_light(self.shader.source) else HEAVY
        if None in arrays or self.outputs[0].size == 0:
            return
        kind = kind_of(self.shader, self.names, arrays, self.outputs, self.output_names, self.attrs)
        if kind is None or any(bound_bytes(one) > device.largest_binding for one in arrays):
            return
        fits = self.nbytes[0] <= device.largest_binding
        if fits and self.shader.origin.is_ours and self.backend.fusion() == "always":
            self._may_wait(kind, arrays)
            return
        states = [VALUE if one.is_scalar_on_host else one.layout for one in arrays]
        key: Any = tuple(states)
        if len(arrays) > 1:
            key = (key, same_buffers(arrays))
        if self.remember(key, self.build(device, arrays, states)).bound is not None:
            self._may_wait(kind, arrays)

    def _may_wait(self, kind: Kind, arrays: list[Any]) -> None:
        facts = dict(self.attrs)
        self.add_facts(facts, arrays)
        self.fixed = facts
        self.kind = kind

    def start(
        self, device: Device, arrays: list[Any], states: list[State], extras: Extras = ALONE
    ) -> Sequence[GpuArray]:
        """Record the one dispatch, several where arrays are above the binding limit."""
        key: Any = tuple(states)
        if len(arrays) > 1:
            key = (key, same_buffers(arrays))
        recipe: MapRecipe | None = self.recipes[key]
        if recipe is None:
            recipe = self.remember(key, self.build(device, arrays, states))
        if recipe.bound is None:
            return self._general(device, recipe, arrays)
        spec = self.outputs[0]
        if self.large:
            self.backend.check_size(spec)
        with device.lock:
            storage = device.pool.allocate(self.nbytes[0], self.kernel, self.labels[0])
            made = GpuArray(spec.shape, spec.dtype, spec.size, storage, device)
            storages = [storage if one < 0 else arrays[one].storage for one in recipe.bound]
            ready = recipe.ready
            if recipe.values:
                facts = dict(recipe.facts)
                for index, fact in recipe.values:
                    facts[fact] = arrays[index].scalar
                ready = ready._replace(params=recipe.compiled.composed.pack(facts))
            device.run(ready, storages)
        return (made,)

    def build(self, device: Device, arrays: list[Any], states: list[State]) -> MapRecipe:
        """Compose the map for these layouts."""
        spec = self.outputs[0]
        strided = [
            index
            for index, (array, state) in enumerate(zip(arrays, states, strict=True))
            if state not in (VALUE, ABSENT) and not (state is None and array.shape == spec.shape)
        ]
        shape, strides, _ = collapse(
            spec.shape, [broadcast_strides(arrays[index], spec.shape) for index in strided]
        )
        operands: list[Operand] = []
        facts = {**self.attrs, f"{self.output_names[0]}_size": spec.size, "wk_shape": shape}
        facts |= {"wk_run_bits": device.policy.run_bits, "wk_first": 0}
        values: list[tuple[int, str]] = []
        for index, (name, state) in enumerate(zip(self.names, states, strict=True)):
            array = arrays[index]
            if state is ABSENT:
                operands.append(Operand(name, "float32", 0, "absent"))
            elif state is VALUE:
                operands.append(Operand(name, array.dtype, 0, "value"))
                values.append((index, f"{name}_value"))
            elif index in strided:
                operands.append(Operand(name, array.dtype, len(shape), "strided"))
                facts[f"wk_{name}_strides"] = strides[strided.index(index)]
                facts[f"wk_{name}_offset"] = array.offset
            else:
                operands.append(Operand(name, array.dtype, len(array.shape), "flat"))
        return self._compiled(device, arrays, operands, facts, values)

    def _compiled(
        self,
        device: Device,
        arrays: list[Any],
        operands: list[Operand],
        facts: dict[str, Any],
        values: list[tuple[int, str]],
    ) -> MapRecipe:
        spec = self.outputs[0]
        self.add_facts(facts, arrays)
        extra = [*self.attrs, *(one for one in facts if one not in self.attrs)]
        held = tuple(self.names[index] for index in same_buffers(arrays))
        # behind the last element a vec4 has no index that may be reported
        options = Options(vec4=not reports(self.shader.source), held=held)
        compiled = compile_kernel(
            device,
            self.kernel,
            self.shader.source,
            operands,
            self.output_operands(),
            extra,
            options,
        )
        items = -(-spec.size // 4) if compiled.composed.vec4 else spec.size
        recipe = MapRecipe(compiled, facts, map_grid(device, items), tuple(values))
        largest = max([self.nbytes[0], *(bound_bytes(a) for a in arrays if a is not None)])
        if not compiled.composed.uses_status and largest <= device.largest_binding:
            self._bind(device, recipe, arrays)
        return recipe

    def _bind(self, device: Device, recipe: MapRecipe, arrays: list[Any]) -> None:
        """Fix everything but the storages and the values that travel as parameters."""
        bound: list[int] = []
        ranges: list[tuple[int, int]] = []
        for slot in recipe.compiled.slots:
            step = max(4, slot.stride)
            if slot.name in self.output_names:
                index, nbytes = -1, self.nbytes[0]
            else:
                index = self.names.index(slot.name)
                nbytes = bound_bytes(arrays[index])
            bound.append(index)
            ranges.append((0, -(-nbytes // step) * step))
        recipe.bound = tuple(bound)
        composed = recipe.compiled.composed
        params = composed.first_block(recipe.facts, changes=bool(recipe.values))
        recipe.ready = device.ready(
            recipe.compiled.pipeline, tuple(ranges), params, recipe.groups, self.kernel
        )

    def _general(self, device: Device, recipe: MapRecipe, arrays: list[Any]) -> Sequence[GpuArray]:
        outputs = self.allocate(device)
        facts = dict(recipe.facts)
        for index, fact in recipe.values:
            facts[fact] = arrays[index].scalar
        bound = dict(zip(self.names, arrays, strict=True))
        bound.update(zip(self.output_names, outputs, strict=True))
        if recipe.compiled.composed.uses_status or not recipe.compiled.composed.vec4:
            record(device, recipe.compiled, bound, facts, recipe.groups)
        else:
            self._in_parts(device, recipe, bound, facts)
        return outputs

    def _in_parts(
        self, device: Device, recipe: MapRecipe, bound: dict[str, Any], facts: dict[str, Any]
    ) -> None:
        """Split a map over flat arrays that are above the binding limit at aligned offsets."""
        sizes = [ITEMSIZE[bound[slot.name].dtype] for slot in recipe.compiled.slots]
        step = device.largest_binding // max(sizes) // 256 * 256
        total = self.outputs[0].size
        for first in range(0, total, step):
            count = min(step, total - first)
            facts |= {f"{self.output_names[0]}_size": count, "wk_first": first}
            storages = [bound[slot.name].storage for slot in recipe.compiled.slots]
            ranges = tuple((first * size, -(-count * size // 16) * 16) for size in sizes)
            params = recipe.compiled.composed.pack(facts)
            groups = map_grid(device, -(-count // 4))
            device.dispatch(recipe.compiled.pipeline, storages, ranges, params, groups, self.kernel)


def map_grid(device: Device, items: int) -> tuple[int, int, int]:
    """Return the workgroups of a map over ``items`` items."""
    return fold(-(-items // (GROUP * max(device.policy.map_run(items, GROUP), 1))))


def walk_across(across: int, inner: int, items: int) -> tuple[dict[str, int], tuple[int, int, int]]:
    """Return the facts and the grid of families/map_across.wgsl.

    Args:
        across: The length of the axis that invocations go along.
        inner: The items of what follows it.
        items: All of them.
    """
    bits = min((-(-across // RUN) - 1).bit_length(), 3)
    beside = 8 >> bits
    tiles = items // (across * inner) * -(-across // (RUN << bits)) * -(-inner // beside)
    facts = {"wk_run_bits": bits, "wk_across": across, "wk_inner": inner}
    return facts, fold(-(-tiles * 8 // GROUP))


def same_buffers(arrays: Sequence[Any]) -> tuple[int, ...]:
    """Return the inputs that are the same array as one before."""
    if len(arrays) == 2:
        one, two = arrays
        if one is None or two is None or one.storage is None:
            return ()
        return (1,) if one.storage is two.storage else ()
    seen: set[int] = set()
    found: list[int] = []
    for index, array in enumerate(arrays):
        if array is not None and array.storage is not None:
            if id(array.storage) in seen:
                found.append(index)
            seen.add(id(array.storage))
    return tuple(found)


def bound_bytes(array: GpuArray) -> int:
    """Return the bytes to bind: of a view up to its last element, whatever lies behind it."""
    reach = array.size
    if array.layout is not None and array.size:
        steps = zip(array.shape, array.layout[0], strict=True)
        reach = array.layout[1] + sum((n - 1) * max(step, 0) for n, step in steps) + 1
    return -(-reach * ITEMSIZE[array.dtype] // 4) * 4
