"""Running maps: deferred where they may be fused, else at once."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.fusion.graph import (
    COST_MAX,
    HEAVY,
    LIGHT,
    PENDING_BYTES,
    TOO_MANY,
    pending,
    pending_cost,
)
from wgsl_kernels.backends.webgpu.fusion.kinds import kind_of
from wgsl_kernels.backends.webgpu.lowering.lower import must_check_loops, with_loops_checked
from wgsl_kernels.backends.webgpu.lowering.map import lower_map
from wgsl_kernels.backends.webgpu.modules.eligible import is_light
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, arguments_of, same_buffers
from wgsl_kernels.backends.webgpu.programs.choices import NO_CHOICE
from wgsl_kernels.backends.webgpu.runtime.launch import VALUE, LoadedVariants, ShaderLaunch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.composing.text.structure import Kind
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.programs.choices import Lowered


class MapLaunch(ShaderLaunch):
    """Runs a map, or notes that it is to be run.

    Attributes:
        kind: The map as a part of a fused shader; None where it runs by itself.
        fixed: The facts that fill its attributes.
        checked: The device on which that was decided.
        was_alone: Whether it was dispatched by itself, or one of a group that was not fused.
    """

    was_alone = False
    cost = HEAVY

    checked: Device | None = None
    kind: Kind | None = None
    fixed: Mapping[str, Any] = MappingProxyType({})

    def __call__(self, arrays: list[Any]) -> Sequence[GpuArray]:
        """Return a pending array where fusion is on, else record the dispatches."""
        session = self.session
        if session.fusion() == "never":
            return self.run_now(arrays)
        device = session.open()
        if device is not self.checked:
            self._begin(device, arrays)
        if self.kind is None:
            return self.run_now(arrays)
        spec = self.outputs[0]
        if self.large:
            session.check_size(spec)
        cost, held_bytes, tail = self.cost, self.nbytes[0], None
        for one in arrays:
            if one.op is not None:
                cost += one.cost
                held_bytes += one.held_bytes
                if one.tail is not None and one.size == spec.size:
                    tail = one.tail
        if cost > COST_MAX:
            cost = pending_cost(arrays, COST_MAX) + self.cost
        if cost > COST_MAX or held_bytes > PENDING_BYTES:
            for one in arrays:
                if one.op is not None:
                    session.evaluator.make(one, f"a group has at most {TOO_MANY}")
            cost, held_bytes, tail = self.cost, self.nbytes[0], None
        return (pending(self, arrays, spec, device, tail, cost, held_bytes),)

    def key_of(self, device: Device, arrays: Sequence[Any]) -> Any:
        """Return also which inputs are the same array: their loads are held."""
        key = super().key_of(device, arrays)
        return (key, same_buffers(arrays)) if len(arrays) > 1 else key

    def lower(self, arrays: Sequence[Any], device: Device, variant: str | None) -> Lowered:
        """Return the map's program; there is one way alone."""
        shared = same_buffers(arrays) if len(arrays) > 1 else ()
        call = with_loops_checked(self.call, "map", device)
        arguments = arguments_of(arrays, device.largest_binding)
        return lower_map(call, arguments, device, shared), NO_CHOICE

    def run_alone(self, device: Device, made: GpuArray) -> bool:
        """Record the map of a deferred array by itself, if nothing stands in the way.

        That is a program that is known, of one dispatch, on inputs that are on the device and
        fill the array's elements in order. Else nothing is done.
        """
        arrays = made.inputs
        states: list[Any] = []
        for one in arrays:
            if one.size == 1 and one.host is not None:
                states.append(VALUE)
            elif one.op is None and one.device is device and one.layout is None:
                if one.size != made.size or one.storage is None:
                    return False
                states.append(None)
            else:
                return False
        key: Any = tuple(states)
        if len(states) == 2:
            one, two = arrays
            same = one.storage is not None and one.storage is two.storage
            key = (key, (1,) if same else ())
        elif len(states) > 2:
            key = (key, same_buffers(arrays))
        entry = self.entries[key]
        if entry is None or device is not self.entries.device or not entry.loaded.makes_one:
            return False
        if self.large:
            self.session.check_size(self.outputs[0])
        self.was_alone = True
        made.materialise(entry.loaded.make(arrays), device)
        return True

    def _begin(self, device: Device, arrays: list[Any]) -> None:
        """Compile a user's kernel alone, so that its errors show where it is called, not later.

        One of the library's own has none: it is compiled when it runs alone, which it may never do.
        """
        if device is not self.entries.device:
            self.entries.begin(device)
        self.checked = device
        self.kind = None
        call = self.call
        self.cost = LIGHT if is_light(call.shader.source) else HEAVY
        if None in arrays or self.outputs[0].size == 0:
            return
        kind = kind_of(call.shader, call.names, arrays, call.outputs, call.output_names, call.attrs)
        arguments = [Argument.of(one, n) for n, one in enumerate(arrays)]
        largest = device.largest_binding
        if kind is None or any(one.bound_bytes > largest for one in arguments):
            return
        if must_check_loops(call, "map", device):
            return  # what reports runs by itself
        if self.nbytes[0] > largest:
            return  # whether there can be such an array is asked before it is lowered
        if call.shader.origin.is_ours:
            self._become_deferrable(kind, arguments)
            return
        states = [VALUE if one.is_value else one.layout for one in arguments]
        key: Any = tuple(states)
        if len(arrays) > 1:
            key = (key, same_buffers(arrays))
        entry = self.remember(key, LoadedVariants(device, self.lower(arrays, device, None)))
        entry.loaded.compile()
        if entry.loaded.makes_one:
            self._become_deferrable(kind, arguments)

    def _become_deferrable(self, kind: Kind, arguments: list[Argument]) -> None:
        facts = dict(self.call.attrs)
        self.call.add_facts(facts, arguments)
        self.fixed = facts
        self.kind = kind
