"""Running a kernel: the one way from a name, inputs and attributes to output tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from wgsl_kernels.engine import context
from wgsl_kernels.engine.backends import default_driver
from wgsl_kernels.engine.config import config
from wgsl_kernels.engine.errors import ArgumentError
from wgsl_kernels.engine.host import weak_dtype
from wgsl_kernels.engine.numerics import check_numerics
from wgsl_kernels.engine.plans import Plan, check_pattern, find_plan, make_plan
from wgsl_kernels.engine.registry import get_kernel
from wgsl_kernels.engine.signature import find_signature, plain
from wgsl_kernels.engine.tensor import Tensor, tensor

if TYPE_CHECKING:
    from wgsl_kernels.engine.dtypes import DType


class Call:
    """One kernel run, as interceptors see it.

    Attributes:
        name: The kernel's name.
        inputs: Tensors in the signature's order; None where absent, a list where one is taken.
            An interceptor may replace them before it proceeds.
        attrs: The attributes as the caller gave them; replaceable too.
        names: The inputs' names, where the caller gave them by name.
        plan: How it was run; None before that.
    """

    __slots__ = ("attrs", "inputs", "name", "names", "plan")

    def __init__(
        self, name: str, inputs: tuple[Any, ...], attrs: dict[str, Any], names: tuple[str, ...]
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.attrs = attrs
        self.names = names
        self.plan: Plan | None = None


Result = Tensor | tuple[Tensor, ...]
Proceed = Callable[[Call], Result]
Interceptor = Callable[[Call, Proceed], Result]
"""Sees every kernel run of its thread: calls ``proceed(call)`` for the result, once or not."""

_SCALARS = (bool, int, float, complex, str)


def run(name: str, *inputs: Any, **attrs: Any) -> Tensor:
    """Run a kernel with one output on inputs in the signature's order.

    Inputs may be tensors, Python scalars (which take the dtype of the first tensor where that can
    hold them), anything `tensor` takes, None for an absent one, or a list of these.
    """
    return cast("Tensor", _dispatch(name, inputs, attrs, ()))


def run_many(name: str, *inputs: Any, **attrs: Any) -> tuple[Tensor, ...]:
    """Run a kernel with several outputs, or a list of them; see `run`."""
    return cast("tuple[Tensor, ...]", _dispatch(name, inputs, attrs, ()))


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
    if not isinstance(inputs, Mapping):
        raise ArgumentError(f"{name}: inputs is a {type(inputs).__name__}; want a dict by name.")
    declared = find_signature(name)
    if declared is None:
        inputs = _in_kernels_order(name, inputs)
    given = tuple(inputs.values()) if declared is None else declared.order(inputs)
    return _dispatch(name, given, dict(attrs or {}), tuple(inputs))


def _in_kernels_order(name: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return inputs of a kernel without a signature in the order of its own parameters.

    Raises:
        ArgumentError: A shader has no input of that name.
    """
    driver = context.current().driver or default_driver()
    kernel = get_kernel(name, driver.name) or get_kernel(name, "cpu")
    names = () if kernel is None else kernel.input_names
    unknown = next((one for one in inputs if one not in names), None)
    if unknown is None:
        return {one: inputs[one] for one in names if one in inputs}
    if kernel is not None and kernel.names is not None:
        known = ", ".join(names)
        raise ArgumentError(f"{name}: input {unknown!r} is unknown; known: {known}.")
    return inputs


def _dispatch(
    name: str, inputs: tuple[Any, ...], attrs: dict[str, Any], names: tuple[str, ...]
) -> Result:
    for value in inputs:
        if not isinstance(value, Tensor):
            inputs = _converted(name, inputs)
            break
    now = context.current()
    call = Call(name, inputs, attrs, names)
    if not now.interceptors:
        return _execute(call)
    return _chain(now.interceptors, len(now.interceptors) - 1)(call)


def _chain(interceptors: tuple[Interceptor, ...], last: int) -> Proceed:
    if last < 0:
        return _execute
    one = interceptors[last]
    return lambda call: one(call, _chain(interceptors, last - 1))


def _execute(call: Call) -> Result:
    now = context.current()
    driver = now.driver or default_driver()
    specs: list[Any] = []
    key: list[Any] = [call.name, driver.name]
    for value in call.inputs:
        if isinstance(value, Tensor):
            specs.append(value.spec)
            key.append(value.spec)
        elif value is None:
            specs.append(None)
            key.append(None)
        else:
            several = [one.spec for one in value]
            specs.append(several)
            key.append(tuple(several))
    try:
        if call.attrs:
            key.extend([(name, attr_key(value)) for name, value in call.attrs.items()])
        found = tuple(key)
        plan = find_plan(found)
    except TypeError:
        raise _odd_attribute(call) from None
    if plan is None:
        declared = find_signature(call.name)
        if declared is not None and len(call.inputs) < len(declared.inputs):
            absent = [None] * (len(declared.inputs) - len(call.inputs))
            call.inputs = (*call.inputs, *absent)
            return _execute(call)
        plan = make_plan(found, call.name, driver, specs, call.attrs, call.names)
    if plan.casts is not None:
        call.inputs = _cast(call.inputs, plan.casts)
        return _execute(call)
    call.plan = plan
    return _launch(plan, call.inputs)


def _launch(plan: Plan, inputs: tuple[Any, ...]) -> Result:
    driver = plan.driver
    arrays: list[Any] = []
    for value in inputs:
        if isinstance(value, Tensor):
            same = value.driver is driver and value.array is not None
            arrays.append(value.array if same else value.array_on(driver))
        else:
            arrays.append(value if value is None else [one.array_on(driver) for one in value])
    results = plan.launch(arrays)
    now = context.current()
    scope = now.scope
    outputs: list[Tensor] = []
    if plan.outputs is None:
        check_pattern(plan, [spec for _, spec in results])
        outputs = [Tensor(spec, array, driver) for array, spec in results]
    else:
        for spec, array in zip(plan.outputs, results, strict=True):
            outputs.append(Tensor(spec, array, driver))
    if scope is not None:
        for one in outputs:
            scope.add(one)
    if config.is_on("check_numerics", now):
        check_numerics(plan.name, inputs, outputs)
    if plan.single or (plan.pattern is None and len(outputs) == 1):
        return outputs[0]
    return tuple(outputs)


def _cast(inputs: tuple[Any, ...], casts: Sequence[DType | None]) -> tuple[Any, ...]:
    return tuple(
        value if wanted is None or value is None else _cast_one(value, wanted)
        for value, wanted in zip(inputs, casts, strict=True)
    )


def _cast_one(value: Any, wanted: DType) -> Any:
    if isinstance(value, list):
        return [_cast_one(one, wanted) for one in value]
    return value if value.dtype == wanted else run("Cast", value, dtype=wanted)


def _converted(name: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the inputs with every value that is no tensor made one."""
    declared = find_signature(name)
    if declared is not None and len(inputs) != len(declared.inputs):
        inputs = (*inputs, *[None] * (len(declared.inputs) - len(inputs)))
    lists = (
        [isinstance(value, (list, tuple)) for value in inputs]
        if declared is None
        else [one.is_list for one in declared.inputs]
    )
    anchor = next((one.dtype for one in inputs if isinstance(one, Tensor)), None)
    return tuple(
        _converted_one(name, value, is_list, anchor)
        for value, is_list in zip(inputs, lists, strict=True)
    )


def _converted_one(name: str, value: Any, is_list: bool, anchor: DType | None) -> Any:
    if value is None or isinstance(value, Tensor):
        return value
    if is_list:
        if not isinstance(value, (list, tuple)):
            raise ArgumentError(f"{name}: got {type(value).__name__}; want a list of tensors.")
        first = next((one.dtype for one in value if isinstance(one, Tensor)), anchor)
        return [_converted_one(name, one, False, first) for one in value]
    if isinstance(value, _SCALARS):
        return tensor(value, dtype=weak_dtype(value, anchor))
    if isinstance(value, (list, tuple)) and any(isinstance(one, Tensor) for one in value):
        raise ArgumentError(
            f"{name}: got a {type(value).__name__} of tensors where one tensor belongs; "
            "stack() them first."
        )
    return tensor(value)


def attr_key(value: Any) -> Any:
    """Return what tells attribute values apart: 0.0 from -0.0, 1 from True, NaN as one value."""
    if isinstance(value, float):
        return ("f", value.hex())
    if isinstance(value, (bool, int)):
        return (type(value).__name__, value)
    if isinstance(value, (list, tuple)):
        return tuple([attr_key(one) for one in value])
    if isinstance(value, Tensor):
        raise TypeError("a tensor is no attribute")
    clean = plain(value)
    return value if clean is value else attr_key(clean)


def _odd_attribute(call: Call) -> ArgumentError:
    """Return the error for an attribute that is a tensor, or that no dictionary can hold."""
    name, value = next(pair for pair in call.attrs.items() if not _is_plain(pair[1]))
    if isinstance(value, Tensor):
        return ArgumentError(
            f"{call.name}: {name} is a tensor, but it is an attribute: a plain value. "
            "Pass item() or tolist() of it."
        )
    kind = type(value).__name__
    return ArgumentError(f"{call.name}: {name} is a {kind}; want numbers, strings or a tuple.")


def _is_plain(value: Any) -> bool:
    try:
        hash(attr_key(value))
    except TypeError:
        return False
    return True
