"""What a sample gives a kernel, and whether that combines elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.derived.accumulations import form_of
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.engine.autodiff.double import double_precision
from wgsl_kernels.engine.observe.facade import engine
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.testing.gradients.evaluation import outputs_of, wide_tensor
from wgsl_kernels.testing.inputs import arrays_for, call_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result
    from wgsl_kernels.testing.gradients.evaluation import Array
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.derive.accumulations import Form


@dataclass(frozen=True)
class Combined:
    """A kernel that has ``init`` and ``combine``, and a call of it.

    Attributes:
        shader: Its shader.
        form: How it combines elements.
        arrays: The inputs, floats as float64.
        attrs: The attributes.
    """

    shader: ShaderKernel
    form: Form
    arrays: list[Array]
    attrs: Mapping[str, Any]


def combined_by(sample: Sample) -> Combined | None:
    """Return what a sample has a kernel combine; None where that is nothing, or complex."""
    kernel = get_kernel(sample.kernel, "webgpu")
    shader = None if kernel is None else kernel.func
    form = form_of(shader) if isinstance(shader, ShaderKernel) else None
    call = None if form is None else kernel_call(sample.kernel, sample)
    if form is None or call is None or not isinstance(shader, ShaderKernel):
        return None
    arrays, attrs = call
    if any(one.dtype.kind == "c" or not one.size for one in arrays):
        return None
    return Combined(shader, form, arrays, attrs)


def kernel_call(name: str, sample: Sample) -> tuple[list[Array], dict[str, Any]] | None:
    """Return what a sample gives the kernel, None where it does not run it once on its inputs."""
    found: list[tuple[list[Array], dict[str, Any]]] = []
    declared = find_signature(name)

    def note(call: KernelRun, proceed: Proceed) -> Result:
        if call.name == name and all(isinstance(one, Tensor) for one in call.inputs):
            attrs = call.attrs if declared is None else declared.check_attrs(call.attrs)
            found.append(([one.numpy() for one in call.inputs], attrs))
        return proceed(call)

    def run() -> bool:
        with double_precision(), engine().intercept(note):
            outputs_of(call_of(sample), [wide_tensor(one) for one in arrays_for(sample)])
        return len(found) == 1

    return found[0] if faults.attempted(run, False) else None
