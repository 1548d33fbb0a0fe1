"""Double precision for a block: how a function is evaluated in float64, to check its gradient."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.tape import Tape
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import WIDE, DType, canonical, numpy_dtype
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result

_WIDER = {**WIDE, "float16": "float64"}


@contextmanager
def double_precision() -> Iterator[None]:
    """Evaluate the block's ops on ``cpu`` in float64 and complex128, whatever they are given.

    New floats are float64, captured tensors are widened on their way into a kernel, and so is
    what a kernel makes from nothing. Tapes around the block do not see it.
    """
    cpu = find_driver("cpu")
    widening = _Float64Interceptor(cpu)
    double = context.changed(double=True, driver=cpu)
    with double, context.hidden(Tape), context.intercepted(widening):
        try:
            yield
        finally:
            widening.copies.clear()


class _Float64Interceptor:
    """The interceptor that lets no float narrower than float64 into a kernel."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.copies: dict[int, tuple[weakref.ref[Tensor], Any, Tensor]] = {}

    def __call__(self, call: KernelRun, proceed: Proceed) -> Result:
        call.inputs = tuple(
            [self._widened(one) for one in value]
            if isinstance(value, (list, tuple))
            else self._widened(value)
            for value in call.inputs
        )
        declared = find_signature(call.name)
        if declared is not None and "dtype" in declared.attrs:
            asked = call.attrs.get("dtype", declared.attrs["dtype"])
            if asked is not None and canonical(asked) in _WIDER:
                call.attrs = {**call.attrs, "dtype": _widened_dtype(call, canonical(asked))}
        return proceed(call)

    def _widened(self, given: Any) -> Any:
        if not isinstance(given, Tensor) or given.dtype not in _WIDER:
            return given
        key = id(given)
        found = self.copies.get(key)
        array = given._array_on(given._driver)
        if found is not None and found[1] is array:  # a variable may have been assigned
            return found[2]
        dtype = _WIDER[given.dtype]
        values = given.numpy().astype(numpy_dtype(dtype))
        spec = Spec(given.shape, dtype)
        wide = Tensor(spec, self._driver.upload(values, spec), self._driver, given._id)
        gone = weakref.ref(given, lambda _: self.copies.pop(key, None))
        self.copies[key] = (gone, array, wide)
        return wide


def _widened_dtype(call: KernelRun, asked: DType) -> DType:
    """Return the wide dtype to make instead; refuse to narrow what is wide already."""
    have = next((one.dtype for one in call.inputs if isinstance(one, Tensor)), None)
    wanted = _WIDER[asked]
    if call.name == "Cast" and have == wanted:
        raise ArgumentError(
            f"Cast: x would be rounded to {asked}, but here the function runs in {wanted} to check "
            "its gradient. Leave the cast out, or write astype(x, y.dtype) with a tensor y that "
            "has the dtype meant."
        )
    return wanted
