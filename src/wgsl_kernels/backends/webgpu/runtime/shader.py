"""How a shader kernel is lowered, and what its form lets be done with it."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import device_bytes
from wgsl_kernels.backends.webgpu.composing.text.structure import Kind
from wgsl_kernels.backends.webgpu.fusion.graph import HEAVY, LIGHT
from wgsl_kernels.backends.webgpu.lowering.free import accepts_epilogue, lower_free, prologues
from wgsl_kernels.backends.webgpu.lowering.map import lower_map
from wgsl_kernels.backends.webgpu.lowering.reduce import lower_reduce
from wgsl_kernels.backends.webgpu.lowering.scan import lower_scan
from wgsl_kernels.backends.webgpu.lowering.window import MOST_READS, lower_window, reads_of
from wgsl_kernels.backends.webgpu.modules.kernel_source import (
    attributes_of,
    can_wait,
    is_light,
    is_normalization,
    is_plain,
)
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, arguments_of, same_buffers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.operands import Form
    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.programs.call import Lowered, ShaderCall
    from wgsl_kernels.backends.webgpu.programs.program import Program

UNKNOWN_READS = 4
"""How often a free kernel is taken to read each element."""


class ShaderLowering:
    """One call of a shader kernel, with its form.

    Attributes:
        is_ours: Whether it is one of the library's own.
        cost, accepts_prologue, accepts_epilogue, reads: As those of a `KernelLaunch`.
    """

    accepts_prologue: tuple[int, ...] = (0,)
    accepts_epilogue = True
    reads = cost = 1

    def __init__(
        self,
        call: ShaderCall,
        form: Form,
        *,
        lowering: Callable[..., Program] | None = None,
        reads: int = UNKNOWN_READS,
    ) -> None:
        """Take also what lowers the call instead of its form, and how often a free one reads."""
        self.call = call
        self.form = form
        self.is_ours = call.shader.origin.is_ours
        self._lowering = lowering
        if form == "map":
            self.cost = LIGHT if is_light(call.shader.source) else HEAVY
        elif form == "free":
            self.accepts_prologue, self.accepts_epilogue = prologues(call), accepts_epilogue(call)
            self.reads = reads
        elif form == "window":
            self.reads = reads_of(call)
            self.accepts_prologue = () if self.reads > MOST_READS else (0,)
        elif form == "scan" or is_normalization(call.shader.source):
            self.reads = 2

    def lower(self, arrays: Sequence[Any], device: Device, variant: str | None = None) -> Lowered:
        """Return the program for the layouts of these arrays, and what may run in its place."""
        arguments = arguments_of(arrays, device.largest_binding)
        call, form = self.call, self.form
        if self._lowering is not None:
            return self._lowering(call, arguments, device), None
        if self._must_check_loops(device):
            call = replace(call, checks_loops=True)
        if form == "map":
            return lower_map(call, arguments, device, same_buffers(arrays)), None
        if form in _ONE_WAY:
            return _ONE_WAY[form](call, arguments, device), None
        return _SEVERAL[form](call, arguments, device, variant)

    def _must_check_loops(self, device: Device) -> bool:
        """Say whether the adapter may end loops of an author's kernel, which has to report it."""
        if self.is_ours or not device.policy.ends_loops:
            return False
        from wgsl_kernels.backends.webgpu.composing.text.long_loops import long_loops

        return bool(long_loops(self.call.shader.source, self.form))

    def may_be_deferred(self, arrays: Sequence[Any], device: Device) -> bool:
        """Say whether the kernel may run later than it is called, on arrays of these layouts.

        It makes one array that is not empty, fits the device, and reports nothing.
        """
        outputs, largest = self.call.outputs, device.largest_binding
        if len(outputs) != 1 or outputs[0].size == 0 or not can_wait(self.call.shader.source):
            return False
        if self._must_check_loops(device):
            return False
        if self.form != "map":
            present = [one for one in arguments_of(arrays, largest) if one is not None]
            return all(one.size and one.bound_bytes <= largest for one in present)
        (spec,) = outputs
        if None in arrays or device_bytes(spec.size, spec.dtype) > largest:
            return False  # whether there can be such an array is asked before it is lowered
        return all(Argument.of(one, n).bound_bytes <= largest for n, one in enumerate(arrays))

    def kind_of(self, arrays: Sequence[Any]) -> Kind | None:
        """Return a map as a part of fused shaders, None where it must run by itself.

        It must where part of its text could not be read, where it reports errors, asks for the rank
        or the layout of a tensor, or declares variables, overrides or features of its own.
        """
        call = self.call
        source, outputs = call.shader.source, call.outputs
        if len(outputs) != 1 or not is_plain(source) or _asks_for_layout(call.shader):
            return None
        dtypes = tuple(one.dtype for one in arrays)
        given = attributes_of(source)
        if any(one.endswith(_FACTS) and one not in call.attrs for one in given):
            return None
        made = call.output_names[0], outputs[0].dtype
        key = (source.digest, call.names, dtypes, *made)
        return Kind(call.kernel, source, call.names, dtypes, *made, given, key)

    def fixed(self, arrays: Sequence[Any]) -> dict[str, Any]:
        """Return the facts that fill a map's attributes."""
        facts = dict(self.call.attrs)
        self.call.add_facts(facts, [Argument.of(one, n) for n, one in enumerate(arrays)])
        return facts


_ONE_WAY: dict[Form, Callable[..., Program]] = {"free": lower_free, "window": lower_window}
_SEVERAL: dict[Form, Callable[..., Lowered]] = {"reduce": lower_reduce, "scan": lower_scan}
_LAYOUT_FACTS = ("_strides", "_offset")
_FACTS = ("_shape", "_size", *_LAYOUT_FACTS)


def _asks_for_layout(shader: ShaderKernel) -> bool:
    if shader.params is None:
        return False
    return any(name.endswith(_LAYOUT_FACTS) for name in inspect.signature(shader.params).parameters)
