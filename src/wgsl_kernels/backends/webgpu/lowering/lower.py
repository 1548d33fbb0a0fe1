"""Lowering any form of kernel: from a call and the layouts of its inputs to a program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.long_loops import long_loops
from wgsl_kernels.backends.webgpu.lowering.free import lower_free
from wgsl_kernels.backends.webgpu.lowering.map import lower_map
from wgsl_kernels.backends.webgpu.lowering.reduce import lower_reduce
from wgsl_kernels.backends.webgpu.lowering.scan import lower_scan
from wgsl_kernels.backends.webgpu.lowering.window import lower_window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.operands import Form
    from wgsl_kernels.backends.webgpu.programs.arguments import Argument
    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.call import Lowered, ShaderCall
    from wgsl_kernels.backends.webgpu.programs.program import Program

_ONE_WAY: dict[Form, Callable[..., Program]] = {"free": lower_free, "window": lower_window}
_SEVERAL: dict[Form, Callable[..., Lowered]] = {"reduce": lower_reduce, "scan": lower_scan}


def lower(
    form: Form,
    call: ShaderCall,
    arguments: Sequence[Argument | None],
    adapter: Adapter,
    variant: str | None = None,
    shared: tuple[int, ...] = (),
) -> Lowered:
    """Return the program of a kernel, and the variants that may run in its place; nothing runs.

    By default the variant is the static choice. The inputs in ``shared`` are the same array as one
    before: a map loads them once.
    """
    if must_check_loops(call, form, adapter):
        call = replace(call, checks_loops=True)
    if form == "map":
        return lower_map(call, arguments, adapter, shared), None
    if form in _ONE_WAY:
        return _ONE_WAY[form](call, arguments, adapter), None
    return _SEVERAL[form](call, arguments, adapter, variant)


def must_check_loops(call: ShaderCall, form: Form, adapter: Adapter) -> bool:
    """Say whether the adapter may end loops of an author's kernel, which then has to report it."""
    if not adapter.policy.ends_loops or call.shader.origin.is_ours:
        return False
    return bool(long_loops(call.shader.source, form))
