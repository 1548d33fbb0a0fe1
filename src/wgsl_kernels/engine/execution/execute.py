"""Running a kernel on tensors: past the interceptors, along the plan, to output tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from wgsl_kernels.engine.drivers.backends import default_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError, WgslKernelsError
from wgsl_kernels.engine.execution.numerics import check_results
from wgsl_kernels.engine.execution.plans import Plan, check_pattern, find_plan, make_plan, plans
from wgsl_kernels.engine.registry.op_names import name_op
from wgsl_kernels.engine.registry.registry import note_failure
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.registry.widening import WIDE, widened_attrs
from wgsl_kernels.engine.tensors.committed import commit, committed_driver
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import attr_key
from wgsl_kernels.engine.values.dtypes import BYTES

if TYPE_CHECKING:
    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.registry.widening import Narrows
    from wgsl_kernels.engine.values.dtypes import DType


class KernelRun:
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


class Observer:
    """An interceptor that leaves a kernel run as it is and is notified afterwards, as a tape does.

    One by itself is notified without a `KernelRun`, which a small op would notice.
    """

    def __call__(self, call: KernelRun, proceed: Proceed) -> Result:
        """Let the kernel run, then hear of it."""
        depends = self.depends(call.inputs)  # before another interceptor replaces a variable
        result = proceed(call)
        if depends and call.plan is not None:
            self.ran(call.plan, call.inputs, result)
        return result

    def depends(self, inputs: Iterable[Any]) -> bool:
        """Say before the run whether it shall hear of it."""
        raise AssertionError("each observer says itself what it depends on")

    def ran(self, plan: Plan, inputs: tuple[Any, ...], result: Result) -> None:
        """Hear of a run along ``plan``."""
        raise AssertionError("each observer is notified in its own way")


Result = Tensor | tuple[Tensor, ...]
Proceed = Callable[[KernelRun], Result]
Interceptor = Callable[[KernelRun, Proceed], Result]
"""Sees every kernel run of its thread: calls ``proceed(call)`` for the result, once or not."""


@runtime_checkable
class ReplayObserver(Protocol):
    """An interceptor that lets captured functions replay, in which no kernel runs by name."""

    def __call__(self, call: KernelRun, proceed: Proceed) -> Result:
        """Return what the kernel gives."""

    def replayed(
        self,
        name: str,
        driver: Driver,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        wall_ms: float,
        dispatches: int,
    ) -> None:
        """Note that the captured function ``name`` was replayed, in ``wall_ms`` milliseconds."""


def run_tensors(name: str, *inputs: Any, **attrs: Any) -> Tensor:
    """Run a kernel with one output on tensors alone, or lists of them; see `run`."""
    try:
        return dispatch(name, inputs, attrs, ())  # type: ignore[return-value]  # it has one output
    except WgslKernelsError as error:
        name_op(error, name)
        raise


def dispatch(
    name: str,
    inputs: tuple[Any, ...],
    attrs: dict[str, Any],
    names: tuple[str, ...],
    convert: Callable[[str, tuple[Any, ...]], tuple[Any, ...]] | None = None,
) -> Result:
    """Run a kernel past the interceptors of this thread or task.

    Args:
        name: The kernel's name.
        inputs: Its inputs in the signature's order.
        attrs: Its attributes.
        names: The inputs' names, where the caller gave them by name.
        convert: What makes tensors of inputs of which one is no tensor, where there may be such.
    """
    if convert is not None:
        for value in inputs:
            if not isinstance(value, Tensor):
                inputs = convert(name, inputs)
                break
    try:
        interceptors = context.current().interceptors
        if not interceptors:
            return _execute(name, inputs, attrs, names, None)
        if len(interceptors) == 1:
            one = interceptors[0]
            if isinstance(one, Observer):
                observer = one if one.depends(inputs) else None
                return _execute(name, inputs, attrs, names, None, observer)
            result: Result = one(KernelRun(name, inputs, attrs, names), _execute_call)
            return result
        return _chain(interceptors, len(interceptors) - 1)(KernelRun(name, inputs, attrs, names))
    except ShaderError:
        note_failure(name)
        raise


def _chain(interceptors: tuple[Interceptor, ...], last: int) -> Proceed:
    if last < 0:
        return _execute_call
    one = interceptors[last]
    proceed = _chain(interceptors, last - 1)
    return lambda call: one(call, proceed)


def _execute_call(call: KernelRun) -> Result:
    return _execute(call.name, call.inputs, call.attrs, call.names, call)


def _execute(
    name: str,
    inputs: tuple[Any, ...],
    attrs: dict[str, Any],
    names: tuple[str, ...],
    call: KernelRun | None,
    observer: Observer | None = None,
) -> Result:
    """Find the plan and launch it. This is the hot path: one function, for the common case."""
    now = context.current()
    driver = now.driver or default_driver()
    key: list[Any] = [name, driver.name]
    arrays: list[Any] = []
    is_here = True
    watch = now.watch
    shown = inputs if watch is None else watch.seen(inputs)
    for value in shown:
        if isinstance(value, Tensor):
            key.append(value.spec)
            array = value._array
            arrays.append(array)
            if array is None or value._driver is not driver:
                is_here = False
        elif value is None:
            key.append(None)
            arrays.append(None)
        else:
            key.append(tuple([one.spec for one in value]))
            is_here = False
    if not is_here and now.driver is None:
        committed = committed_driver(inputs)
        if committed is not None and committed is not driver:
            with context.changed(driver=committed):
                found = _execute(name, inputs, attrs, names, call, observer)
            commit(found)
            return found
    try:
        if attrs:
            for one, value in attrs.items():
                kind = type(value)
                if kind is int or kind is bool or kind is str:
                    key += (one, kind, value)
                else:
                    key += (one, attr_key(value))
        found = tuple(key)
        plan = find_plan(found)
    except Exception:  # of the attributes' own making: no dictionary can hold one
        raise odd_attribute(name, attrs) from None
    if plan is None:
        plan = plans[found]  # one that was not used lately
    if plan is None:
        declared = find_signature(name)
        if declared is not None and len(inputs) < len(declared.inputs):
            absent = [None] * (len(declared.inputs) - len(inputs))
            return _execute(name, (*inputs, *absent), attrs, names, call, observer)
        plan = make_plan(found, name, driver, [spec_of(one) for one in inputs], attrs, names)
    if watch is not None:
        watch.met(plan.uses)
    if plan.casts is not None:
        if plan.narrows is None:
            return _execute(name, cast_inputs(inputs, plan.casts), attrs, names, call, observer)
        return widened(
            plan.narrows,
            inputs,
            lambda wide: _execute(name, wide, widened_attrs(attrs), names, call, observer),
        )
    if call is not None:
        call.plan = plan
        call.inputs = inputs
    if not is_here or plan.driver is not driver:
        driver = plan.driver
        arrays = [_on(driver, one) for one in shown]
    if plan.output is None:
        results = _launch(plan, inputs, arrays)
        if observer is not None:
            observer.ran(plan, inputs, results)
        return results
    (made,) = plan.launch(arrays)
    output = Tensor(plan.output, made, driver)
    if now.scope is not None:
        now.scope.add(output)
    if now.config or config.looks_at_results:
        check_results(name, driver, inputs, [output])
    if observer is not None:
        observer.ran(plan, inputs, output)
    return output


def _launch(plan: Plan, inputs: tuple[Any, ...], arrays: list[Any]) -> Result:
    """Launch a plan with several outputs, or with such as are known only afterwards."""
    results = plan.launch(arrays)
    now = context.current()
    outputs: list[Tensor] = []
    if plan.outputs is None:
        check_pattern(plan, [spec for _, spec in results])
        outputs = [Tensor(spec, array, plan.driver) for array, spec in results]
    else:
        for spec, array in zip(plan.outputs, results, strict=True):
            outputs.append(Tensor(spec, array, plan.driver))
    if now.scope is not None:
        for one in outputs:
            now.scope.add(one)
    if now.config or config.looks_at_results:
        check_results(plan.name, plan.driver, inputs, outputs)
    if plan.single or (plan.pattern is None and len(outputs) == 1):
        return outputs[0]
    return tuple(outputs)


def spec_of(value: Any) -> Any:
    """Return the spec of a kernel's input; of a list of tensors a list, of an absent one None."""
    if value is None:
        return None
    return value.spec if isinstance(value, Tensor) else [one.spec for one in value]


def _on(driver: Driver, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Tensor):
        return value._array_on(driver)
    return [one._array_on(driver) for one in value]


def cast_inputs(inputs: tuple[Any, ...], casts: Sequence[DType | None]) -> tuple[Any, ...]:
    """Return a kernel's inputs in the dtypes of its plan, by recorded runs of Cast."""
    return tuple(
        value if wanted is None or value is None else _cast_one(value, wanted)
        for value, wanted in zip(inputs, casts, strict=True)
    )


def _cast_one(value: Any, wanted: DType, only: frozenset[DType] | None = None) -> Any:
    if isinstance(value, list):
        return [_cast_one(one, wanted, only) for one in value]
    kept = value is None or value.dtype == wanted or (only and value.dtype not in only)
    return value if kept else run_tensors("Cast", value, dtype=wanted)


def widened(
    narrows: Narrows, inputs: tuple[Any, ...], compute: Callable[[tuple[Any, ...]], Result]
) -> Result:
    """Return what a kernel of bytes computes in int32, in the dtypes of its plan."""
    return _narrowed(compute(tuple([_cast_one(one, WIDE, only=BYTES) for one in inputs])), narrows)


def _narrowed(result: Result, narrows: Narrows) -> Result:
    if not any(narrows):
        return result
    return (
        cast_inputs((result,), narrows)[0]
        if isinstance(result, Tensor)
        else cast_inputs(result, narrows)
    )


def odd_attribute(kernel: str, attrs: dict[str, Any]) -> ArgumentError:
    """Return the error for the attribute that is a tensor, or that no dictionary can hold."""
    name, value = next(pair for pair in attrs.items() if not _is_plain(pair[1]))
    if isinstance(value, Tensor):
        return ArgumentError(
            f"{kernel}: {name} is a tensor, but it is an attribute: a plain value. "
            "Pass item() or tolist() of it."
        )
    kind = type(value).__name__
    return ArgumentError(f"{kernel}: {name} is a {kind}; want numbers, strings or a tuple.")


def _is_plain(value: Any) -> bool:
    try:
        hash(attr_key(value))
    except Exception:
        return False
    return True
