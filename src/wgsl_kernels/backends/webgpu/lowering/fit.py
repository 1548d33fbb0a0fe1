"""Whether a plan's tensors fit a shader's form, which trusts their shapes: asked once per plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.text.operands import classify, op_parameters
from wgsl_kernels.backends.webgpu.declare.slips import refuse_for_main
from wgsl_kernels.backends.webgpu.lowering.reduce import AXIS_ATTRS, known_attrs, reduced_axes
from wgsl_kernels.backends.webgpu.modules.kernel_source import apply_parameters, is_normalization
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.call import ShaderCall
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.values.shapes import broadcast, broadcast_shapes, show
from wgsl_kernels.engine.values.windows import require_images
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.operands import Form
    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.engine.values.spec import Shape, Spec


def fitting_call(
    shader: ShaderKernel,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any],
    outputs: tuple[Spec, ...],
    output_names: Sequence[str],
) -> tuple[ShaderCall, Form]:
    """Return the call of a shader on tensors of these specs, and its form.

    Raises:
        ShapeError, ArgumentError: They do not fit it, as `check_fit` says.
    """
    names = shader.names()
    if len(names) != len(inputs):
        raise ArgumentError(
            f"{shader.name}: got {len(inputs)} inputs; want {', '.join(names) or 'none'}."
        )
    form = classify(shader.source, shader.form)
    call = ShaderCall(shader, tuple(names), attrs, outputs, tuple(output_names))
    check_fit(form, call, inputs)
    return call, form


def check_fit(form: Form, call: ShaderCall, inputs: Sequence[Any]) -> None:
    """Refuse tensors that a shader of this form would read or write past their ends.

    A shader with its own ``main`` looks after its indices itself. An absent input is None.

    Raises:
        ShapeError: The inputs do not broadcast, or the output's shape is not what the form gives.
        ArgumentError: An input is a list, or the form has not so many inputs or outputs.
    """
    kernel = call.kernel
    given: dict[str, Spec] = {}
    for name, spec in zip(call.names, inputs, strict=True):
        if isinstance(spec, (list, tuple)):
            raise ArgumentError(
                f"{kernel}: input {name!r} is a list, which a shader cannot bind; want one tensor. "
                "Register a function with full control."
            )
        if spec is not None:
            given[name] = spec
    if form == "free":
        return
    refuse_for_main(call.shader, form)
    if len(call.outputs) != 1:
        raise ArgumentError(
            f"{kernel}: its signature says {len(call.outputs)} outputs; a {form} gives one. "
            "Write a shader with its own main."
        )
    shape = call.outputs[0].shape
    if form == "map":
        whole = broadcast(kernel, **given) if given else shape
        fits = broadcast_shapes(whole, shape) if given and _takes_index(call, given) else whole
        if fits != shape:
            raise _other_shape(kernel, whole, shape)
    elif form in ("reduce", "scan", "window"):
        first = next(iter(given.values()), None)
        if first is None:
            raise ArgumentError(f"{kernel}: a {form} without an input; want one tensor.")
        if form == "reduce":
            _check_reduction(call, given, first, shape)
        elif len(call.names) != 1:
            names = ", ".join(call.names)
            raise ArgumentError(f"{kernel}: its inputs are {names}; a {form} has one.")
        elif form == "window":
            require_images(kernel, first.shape)
        elif first.shape != shape:
            raise _other_shape(kernel, first.shape, shape)


def _takes_index(call: ShaderCall, given: Mapping[str, Spec]) -> bool:
    """Say whether a map takes the flat index: its output may then be larger than its inputs."""
    parameters = op_parameters(call.source, call.kernel, next(iter(given.values())).dtype)
    names = {name for one in given for name in (one, wgsl_name(one))}
    return any(one not in names for one in parameters)


def _check_reduction(call: ShaderCall, given: Mapping[str, Spec], x: Spec, shape: Shape) -> None:
    twin = Argument(x.shape, x.dtype)
    axes = reduced_axes(call, twin)
    if is_normalization(call.source):
        if shape != x.shape:
            raise _other_shape(call.kernel, x.shape, shape)
        if x.ndim > 1 and not any(name in known_attrs(call, twin) for name in AXIS_ATTRS):
            raise ArgumentError(
                f"{call.kernel}: x is {show(x.shape)}, and no attribute says along which axis "
                "apply goes; want one called axis, None for all. Declare it in the signature, or "
                "return it from params=."
            )
        _check_apply(call, given, math.prod(x.shape[axis] for axis in axes))
        return
    gone = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(x.shape))
    if shape not in (gone, kept):
        raise _other_shape(call.kernel, gone, shape)


def _check_apply(call: ShaderCall, given: Mapping[str, Spec], count: int) -> None:
    """Refuse inputs of ``apply`` that have not one element for each that is reduced."""
    named = {*apply_parameters(call.source)}
    for name, spec in list(given.items())[1:]:
        if named & {name, wgsl_name(name)} and spec.size != count:
            raise ShapeError(
                f"{call.kernel}: {name} is {show(spec.shape)}, but apply takes one element of it "
                f"for each that is reduced; want {count}."
            )


def _other_shape(kernel: str, gave: Shape, says: Shape) -> ShapeError:
    error = ShapeError(
        f"{kernel}: its shader gave shape {show(gave)}, its signature says {show(says)}."
    )
    error.blames_kernel = True
    return error
