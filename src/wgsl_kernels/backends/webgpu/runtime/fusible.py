"""Running kernels with loops of their own: deferred, so that maps may be fused with them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray, Tail
from wgsl_kernels.backends.webgpu.composing.forms.reductions import is_normalization
from wgsl_kernels.backends.webgpu.fusion.graph import pending
from wgsl_kernels.backends.webgpu.fusion.splice import splice
from wgsl_kernels.backends.webgpu.lowering.free import accepts_epilogue, prologues
from wgsl_kernels.backends.webgpu.lowering.lower import lower, must_check_loops
from wgsl_kernels.backends.webgpu.lowering.window import MOST_READS, reads_of
from wgsl_kernels.backends.webgpu.modules.eligible import can_wait
from wgsl_kernels.backends.webgpu.programs.arguments import arguments_of
from wgsl_kernels.backends.webgpu.runtime.launch import ABSENT, VALUE, LoadedVariants, ShaderLaunch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.operands import Form
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.fusion.splice import Maps
    from wgsl_kernels.backends.webgpu.programs.call import ShaderCall
    from wgsl_kernels.backends.webgpu.programs.choices import Lowered
    from wgsl_kernels.backends.webgpu.runtime.runner import Loaded
    from wgsl_kernels.backends.webgpu.runtime.session import Session

UNKNOWN_READS = 4
"""How often a free kernel is taken to read each element."""


class FusibleLaunch(ShaderLaunch):
    """Runs a kernel with its own loop over elements, or notes that it is to be run.

    Attributes:
        accepts_prologue: The inputs that are read through accessors: a group can stand for them.
        accepts_epilogue: Whether each element of the result is written through an accessor.
        reads: How often an element is read; one group of maps is computed so often.
        is_deferrable: Whether it may be deferred.
        checked: The device on which it was compiled.
    """

    is_fusible = True
    cost = 1
    is_deferrable = False
    checked: Device | None = None

    def __init__(
        self,
        session: Session,
        call: ShaderCall,
        form: Form,
        *,
        lowering: Callable[..., Lowered] | None = None,
        reads: int = UNKNOWN_READS,
    ) -> None:
        """Take the call and its form.

        Args:
            session: What has the device.
            call: The kernel and what it is called with.
            form: Its form.
            lowering: What lowers the call instead of its form.
            reads: How often a free kernel reads each element.
        """
        super().__init__(session, call)
        self.form = form
        self._lowering = lowering or partial(lower, form)
        self.accepts_prologue: tuple[int, ...] = (0,)
        self.accepts_epilogue = True
        self.reads = 1
        if form == "free":
            self.accepts_prologue, self.accepts_epilogue = prologues(call), accepts_epilogue(call)
            self.reads = reads
        elif form == "window":
            self.reads = reads_of(call)
            self.accepts_prologue = () if self.reads > MOST_READS else (0,)
        elif form == "scan" or is_normalization(call.shader.source):
            self.reads = 2

    def __call__(self, arrays: list[Any]) -> Sequence[GpuArray]:
        """Return a pending array where fusion is on, else record the dispatches."""
        session = self.session
        if session.fusion() == "never":
            return self.run_now(arrays)
        device = session.open()
        if device is not self.checked:
            self._begin(device, arrays)
        if not self.is_deferrable:
            return self.run_now(arrays)
        spec = self.outputs[0]
        if self.large:
            session.check_size(spec)
        made = pending(self, arrays, spec, device, Tail())
        session.evaluator.note(made)
        return (made,)

    def lower(self, arrays: Sequence[Any], device: Device, variant: str | None) -> Lowered:
        """Return the kernel's program."""
        arguments = arguments_of(arrays, device.largest_binding)
        return self._lowering(self.call, arguments, device, variant)

    def layouts_key(self, device: Device, arrays: Sequence[Any]) -> Any:
        """Return the layouts of arrays that are on the device, None if one is not."""
        if device is not self.entries.device:
            return None
        states: list[Any] = []
        for one in arrays:
            if one is None:
                states.append(ABSENT)
            elif one.size == 1 and one.host is not None:
                states.append(VALUE)
            elif one.storage is None or one.device is not device:
                return None
            else:
                states.append(one.layout)
        return tuple(states)

    def repeat(self, device: Device, arrays: Sequence[Any]) -> Storage | None:
        """Record the one dispatch that is known for such layouts; None: there is none."""
        key = self.layouts_key(device, arrays)
        entry = self.entries[key]
        if entry is None or entry.is_open or not entry.loaded.makes_one or entry.loaded.packed:
            return None
        for n in entry.loaded.bound:
            if key[n] == VALUE:
                return None
        for spec in self.large:
            self.session.check_size(spec)
        return entry.loaded.make(arrays)

    def fused(
        self, device: Device, arrays: Sequence[Any], maps: Maps, leaves: list[Any]
    ) -> tuple[Loaded, bool]:
        """Return the program fused with ``maps``, and whether it stays the same for such arrays.

        Args:
            device: The device.
            arrays: The kernel's inputs; those that maps stand for are pending.
            maps: The groups.
            leaves: The arrays that the groups read, in order.
        """
        session = self.session
        if device is not self.entries.device:
            self.entries.begin(device)
        states: list[Any] = []
        for n, one in enumerate(arrays):
            if n in maps.prologues:
                states.append("computed")
                continue
            if one is not None and not one.is_scalar_on_host:
                session.make_resident(one)
            states.append(_state_of(one))

        def lowered(name: str | None) -> Lowered:
            program, choices = self.lower(arrays, device, name)
            fused = splice(device, program, maps)
            assert fused is not None
            return fused, choices

        key = (tuple(states), maps.key)
        entry = self.entries[key]
        if entry is None:
            entry = self.remember(key, LoadedVariants(device, lowered(None)))
        if maps.keeps:
            for spec in self.large:
                session.check_size(spec)
        if entry.is_open:
            return self.chosen(entry, lowered, [*arrays, *leaves]), False
        return entry.loaded, len(entry.choices.names) < 2

    def _begin(self, device: Device, arrays: list[Any]) -> None:
        """Compile a user's kernel alone, so that its errors show where it is called, not later."""
        if device is not self.entries.device:
            self.entries.begin(device)
        self.checked = device
        self.is_deferrable = False
        if len(self.outputs) != 1 or self.outputs[0].size == 0:
            return
        present = [one for one in arguments_of(arrays, device.largest_binding) if one is not None]
        if any(one.size == 0 for one in present) or not can_wait(self.call.shader.source):
            return
        if must_check_loops(self.call, self.form, device):
            return
        if any(one.bound_bytes > device.largest_binding for one in present):
            return
        for spec in self.large:
            self.session.check_size(spec)
        key = tuple([_state_of(one) for one in arrays])
        if self.entries[key] is None:
            entry = self.remember(key, LoadedVariants(device, self.lower(arrays, device, None)))
            if not self.call.shader.origin.is_ours:
                entry.loaded.compile()
        self.is_deferrable = bool(self.accepts_prologue or self.accepts_epilogue)


def _state_of(array: GpuArray | None) -> Any:
    if array is None:
        return ABSENT
    return VALUE if array.is_scalar_on_host else array.layout
