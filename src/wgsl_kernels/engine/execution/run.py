"""Running a kernel on what a user gives: the one way from a name and values to output tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DTypeError,
    ShapeError,
    WgslKernelsError,
)
from wgsl_kernels.engine.execution.creation import as_floats, tensor
from wgsl_kernels.engine.execution.execute import dispatch
from wgsl_kernels.engine.execution.input_order import in_kernels_order
from wgsl_kernels.engine.execution.scalars import scalar_tensor
from wgsl_kernels.engine.registry.op_names import name_op
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import text
from wgsl_kernels.engine.values.host import weak_dtype
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.engine.execution.execute import Result
    from wgsl_kernels.engine.values.dtypes import DType

_SCALARS = (bool, int, float, complex, str)
_WHOLE = ("int32", "bool")


def run(name: str, *inputs: Any, **attrs: Any) -> Tensor:
    """Run a kernel with one output on inputs in the signature's order.

    Inputs may be tensors, Python scalars (which take the dtype of the first tensor where that can
    hold them), anything `tensor` takes, None for an absent one, or a list of these.
    """
    try:
        return dispatch(name, inputs, attrs, (), _converted)  # type: ignore[return-value]  # it has one output
    except WgslKernelsError as error:
        name_op(error, name)
        raise


def run_many(name: str, *inputs: Any, **attrs: Any) -> tuple[Tensor, ...]:
    """Run a kernel with several outputs, or a list of them; see `run`."""
    try:
        return dispatch(name, inputs, attrs, (), _converted)  # type: ignore[return-value]  # it has several
    except WgslKernelsError as error:
        name_op(error, name)
        raise


def run_kernel(
    name: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any] | None = None
) -> Result:
    """Run the kernel ``name`` on inputs by name.

    Args:
        name: The kernel's name.
        inputs: Tensors by input name (a list where the kernel takes one); values that `tensor`
            takes are converted.
        attrs: Attributes by name.

    Returns:
        A tensor, or a tuple for a kernel with several outputs or a list of them.

    Raises:
        KernelNotFound: No kernel of that name serves these dtypes.
        ArgumentError, ShapeError, DTypeError: The signature refuses the inputs or attributes.
        DisposedTensorError: An input was disposed.
    """
    text("run_kernel", "name", name)
    if not isinstance(inputs, Mapping):
        raise ArgumentError(f"{name}: inputs is a {type(inputs).__name__}; want a dict by name.")
    declared = find_signature(name)
    if declared is None:
        inputs = in_kernels_order(name, inputs)
    given = tuple(inputs.values()) if declared is None else declared.order(inputs)
    if not isinstance(attrs, Mapping) and attrs is not None:
        raise ArgumentError(f"{name}: attrs is {shown(attrs)}; want a dict by name.")
    asked = {} if attrs is None else dict(attrs)
    return dispatch(name, given, asked, tuple(inputs), _converted)


def _converted(name: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the inputs with every value that is no tensor made one."""
    declared = find_signature(name)
    if declared is not None and len(inputs) != len(declared.inputs):
        inputs = (*inputs, *[None] * (len(declared.inputs) - len(inputs)))
    strong: DType | None = None
    for one in inputs:
        if isinstance(one, Tensor):
            strong = one.spec.dtype
            break
    found: list[Any] = []
    for index, value in enumerate(inputs):
        if value is None or isinstance(value, Tensor):
            found.append(value)
            continue
        is_list = isinstance(value, (list, tuple)) and any(isinstance(one, Tensor) for one in value)
        of_floats = False
        if declared is not None and index < len(declared.inputs):
            is_list = declared.inputs[index].is_list
            of_floats = declared.inputs[index].is_float
        try:
            one = _converted_one(name, value, is_list, strong)
            found.append(as_floats(value) if of_floats and one.dtype in _WHOLE else one)
        except (ShapeError, DTypeError) as error:
            which = declared.inputs[index].name if declared is not None else f"input {index}"
            said = str(error).removeprefix("tensor: ")
            raise type(error)(f"{name}: {which}: {said}") from None
    return tuple(found)


def _converted_one(name: str, value: Any, is_list: bool, strong: DType | None) -> Any:
    if value is None or isinstance(value, Tensor):
        return value
    if is_list:
        if not isinstance(value, (list, tuple)):
            raise ArgumentError(f"{name}: got {type(value).__name__}; want a list of tensors.")
        if any(one is None for one in value):
            raise ArgumentError(f"{name}: a list of tensors holds None; want tensors.")
        first = next((one.dtype for one in value if isinstance(one, Tensor)), strong)
        return [_converted_one(name, one, False, first) for one in value]
    if isinstance(value, _SCALARS):
        return scalar_tensor(value, weak_dtype(value, strong))
    if isinstance(value, (list, tuple)) and any(isinstance(one, Tensor) for one in value):
        raise ArgumentError(
            f"{name}: got a {type(value).__name__} of tensors where one tensor belongs; "
            "stack() them first."
        )
    return tensor(value)
