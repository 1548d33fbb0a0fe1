"""Kernels that wait, as maps do: what they read may be fused into them, and what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import GpuArray, Tail
from wgsl_kernels.backends.webgpu.fusion.eligible import can_wait
from wgsl_kernels.backends.webgpu.fusion.pending import pending
from wgsl_kernels.backends.webgpu.launching.launch import ABSENT, VALUE, ShaderLaunch, State
from wgsl_kernels.backends.webgpu.launching.map import bound_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.fusion.extras import Extras
    from wgsl_kernels.backends.webgpu.launching.recipe import Fixed

COMPUTED = "computed"


class AnchorLaunch(ShaderLaunch):
    """Runs a kernel with its own loop over elements, or notes that it is to be run.

    Attributes:
        swallows: The inputs that are read through accessors, so that a group can stand for them.
        hands_on: Whether each element of the result is written through an accessor.
        reads: How often an element is read; one group of maps is computed so often.
        waits: Whether it may be put off.
        checked: The device on which it was compiled.
    """

    is_anchor = True
    weight = 1
    swallows: tuple[int, ...] = ()
    hands_on = False
    reads = 1
    waits = False
    checked: Device | None = None

    def __call__(self, arrays: list[Any]) -> Sequence[GpuArray]:
        """Return a pending array where fusion is on, else record the dispatches."""
        backend = self.backend
        if backend.fusion() == "never":
            return self.run_now(arrays)
        device = backend.open()
        if device is not self.checked:
            self._begin(device, arrays)
        if not self.waits:
            return self.run_now(arrays)
        spec = self.outputs[0]
        if self.large:
            backend.check_size(spec)
        made = pending(self, arrays, spec, device, Tail())
        backend.fuser.note(made)
        return (made,)

    def repeat(self, device: Device, arrays: Sequence[Any]) -> Storage | None:
        """Record the one dispatch that arrays as these had before; None: it is not known."""
        if device is not self.device:
            return None
        states: list[State] = []
        for one in arrays:
            if one is None:
                states.append(ABSENT)
            elif one.storage is None or one.device is not device:
                return None
            else:
                states.append(VALUE if one.is_scalar_on_host else one.layout)
        known = self.known(tuple(states))
        if known is None:
            return None
        for spec in self.large:
            self.backend.check_size(spec)
        return known.make(arrays, self.nbytes[0], self.labels[0])

    def known(self, states: tuple[State, ...]) -> Fixed | None:
        """Return the one dispatch for arrays that lie so, if they were met before."""
        recipe = self.recipes[states]
        return None if recipe is None else recipe.fixed

    def _begin(self, device: Device, arrays: list[Any]) -> None:
        """Compile the kernel alone, so that its errors show where it is called, not later."""
        if device is not self.device:
            self.recipes.clear()
        self.device = self.checked = device
        self.waits = False
        if len(self.outputs) != 1 or self.outputs[0].size == 0:
            return
        present = [one for one in arrays if one is not None]
        if any(one.size == 0 for one in present) or not can_wait(self.shader.source):
            return
        if any(bound_bytes(one) > device.largest_binding for one in present):
            return
        states = [_state_of(one) for one in arrays]
        if self.recipes[tuple(states)] is None:
            self.remember(tuple(states), self.build(device, arrays, states))
        self.waits = bool(self.swallows or self.hands_on)

    def build(self, device: Device, arrays: list[Any], states: list[Any]) -> Any:
        """Compose the kernel for these layouts; each form has its own."""
        raise AssertionError("each form has its own build")

    def fuse(self, arrays: Sequence[Any], extras: Extras) -> Sequence[GpuArray]:
        """Record the dispatches, fused with ``extras``; the result is empty if not kept."""
        device = self.backend.open()
        present = list(arrays)
        states: list[Any] = []
        for index, array in enumerate(present):
            if index in extras.before:
                states.append(COMPUTED)
                continue
            if array is not None and not array.is_scalar_on_host:
                self.backend.make_resident(array)
            states.append(_state_of(array))
        return self.start(device, present, states, extras)


def _state_of(array: GpuArray | None) -> State:
    if array is None:
        return ABSENT
    return VALUE if array.is_scalar_on_host else array.layout
