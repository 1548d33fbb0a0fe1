"""Whether a plan's tensors fit a shader's form, which trusts their shapes: asked once per plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import GpuArray
from wgsl_kernels.backends.webgpu.composing.maps import choose_op
from wgsl_kernels.backends.webgpu.composing.reductions import is_normalization
from wgsl_kernels.backends.webgpu.launching.reduce import AXIS_ATTRS, ReduceLaunch
from wgsl_kernels.backends.webgpu.outputs import refuse_init
from wgsl_kernels.backends.webgpu.wgsl.names import wgsl_name
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.shapes import broadcast, broadcast_shapes, show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.operands import Form
    from wgsl_kernels.backends.webgpu.launching.launch import ShaderLaunch
    from wgsl_kernels.engine.spec import Shape, Spec


def check_fit(form: Form, launch: ShaderLaunch, inputs: Sequence[Any]) -> None:
    """Refuse tensors that a shader of this form would read or write past their ends.

    Args:
        form: The shader's form; one with its own ``main`` looks after its indices itself.
        launch: What runs it.
        inputs: A `Spec` per input, or None where it is absent.

    Raises:
        ShapeError: The inputs do not broadcast, or the output's shape is not what the form gives.
        ArgumentError: An input is a list, or the form has not so many inputs or outputs.
    """
    kernel = launch.kernel
    given: dict[str, Spec] = {}
    for name, spec in zip(launch.names, inputs, strict=True):
        if isinstance(spec, (list, tuple)):
            raise ArgumentError(
                f"{kernel}: input {name!r} is a list, which a shader cannot bind; want one tensor. "
                "Register a function with full control."
            )
        if spec is not None:
            given[name] = spec
    if form == "free":
        return
    if launch.shader.init:
        refuse_init(kernel, form)
    if len(launch.outputs) != 1:
        raise ArgumentError(
            f"{kernel}: its signature says {len(launch.outputs)} outputs; a {form} gives one. "
            "Write a shader with its own main."
        )
    shape = launch.outputs[0].shape
    if form == "map":
        whole = broadcast(kernel, **given) if given else shape
        fits = broadcast_shapes(whole, shape) if given and _takes_index(launch, given) else whole
        if fits != shape:
            raise _other_shape(kernel, whole, shape)
    elif isinstance(launch, ReduceLaunch):
        first = next(iter(given.values()), None)
        if first is None:
            raise ArgumentError(f"{kernel}: a {form} without an input; want one tensor.")
        if form == "reduce":
            _check_reduction(launch, given, first, shape)
        elif len(launch.names) != 1:
            names = ", ".join(launch.names)
            raise ArgumentError(f"{kernel}: its inputs are {names}; a {form} has one.")
        elif form == "scan" and first.shape != shape:
            raise _other_shape(kernel, first.shape, shape)


def _takes_index(launch: ShaderLaunch, given: Mapping[str, Spec]) -> bool:
    """Say whether a map takes the flat index: its output may then be larger than its inputs."""
    op = choose_op(launch.kernel, launch.shader.source, next(iter(given.values())).dtype)
    names = {name for one in given for name in (one, wgsl_name(one))}
    return any(parameter.name not in names for parameter in op.parameters)


def _check_reduction(
    launch: ReduceLaunch, given: Mapping[str, Spec], x: Spec, shape: Shape
) -> None:
    twin = GpuArray(x.shape, x.dtype, x.size, None, None)
    axes = launch.axes(twin)
    if is_normalization(launch.shader.source):
        if shape != x.shape:
            raise _other_shape(launch.kernel, x.shape, shape)
        if x.ndim > 1 and not any(name in launch.known_attrs(twin) for name in AXIS_ATTRS):
            raise ArgumentError(
                f"{launch.kernel}: x is {show(x.shape)}, and no attribute says along which axis "
                "apply goes; want one called axis, None for all. Declare it in the signature, or "
                "return it from params=."
            )
        _check_apply(launch, given, math.prod(x.shape[axis] for axis in axes))
        return
    gone = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(x.shape))
    if shape not in (gone, kept):
        raise _other_shape(launch.kernel, gone, shape)


def _check_apply(launch: ReduceLaunch, given: Mapping[str, Spec], count: int) -> None:
    """Refuse inputs of ``apply`` that have not one element for each that is reduced."""
    apply = launch.shader.source.functions["apply"]
    named = {parameter.name for parameter in apply.parameters}
    for name, spec in list(given.items())[1:]:
        if named & {name, wgsl_name(name)} and spec.size != count:
            raise ShapeError(
                f"{launch.kernel}: {name} is {show(spec.shape)}, but apply takes one element of it "
                f"for each that is reduced; want {count}."
            )


def _other_shape(kernel: str, gave: Shape, says: Shape) -> ShapeError:
    return ShapeError(
        f"{kernel}: the webgpu kernel gave shape {show(gave)}, its signature says {show(says)}."
    )
