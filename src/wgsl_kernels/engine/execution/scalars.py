"""Tensors of one Python number, which kernels are given most often beside tensors."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.drivers.backends import default_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.tensors.entries import note_entry
from wgsl_kernels.engine.tensors.tensor import Tensor, made
from wgsl_kernels.engine.values.dtypes import OBJECTS
from wgsl_kernels.engine.values.host import Array, to_host
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.dtypes import DType


_SPECS = {dtype: Spec((), dtype) for dtype in OBJECTS}


def scalar_tensor(value: Any, dtype: DType) -> Tensor:
    """Return a new tensor of one Python number or string."""
    now = context.current()
    driver = now.driver or default_driver()
    if now.double or dtype == "string" or not driver.supports(dtype):
        return tensor(value, dtype=OBJECTS[dtype])
    # 0.0 equals -0.0, so that it cannot be looked up
    host = _host_scalar(value, dtype) if value else to_host(value, dtype)
    spec = _SPECS[dtype]
    new = made(Tensor(spec, driver.upload(host.copy(), spec), driver))
    if now.interceptors:
        note_entry(new, host)
    return new


@lru_cache(maxsize=1024, typed=True)
def _host_scalar(value: Any, dtype: DType) -> Array:
    return to_host(value, dtype)
