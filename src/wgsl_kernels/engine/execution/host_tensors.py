"""Tensors of values on the host, which no tape watches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import active_driver, find_driver
from wgsl_kernels.engine.drivers.fallbacks import note_fallback
from wgsl_kernels.engine.drivers.host_memory import check_room, too_large
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.tensors.entries import note_entry
from wgsl_kernels.engine.tensors.tensor import Tensor, made
from wgsl_kernels.engine.values.dtypes import WIDE, DType, canonical, numpy_dtype
from wgsl_kernels.engine.values.host import Array, default_dtype, reshape_host, to_host
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import TensorLike
    from wgsl_kernels.engine.values.dtypes import DTypeLike
    from wgsl_kernels.engine.values.spec import Shape


LENT_BYTES = 1 << 16
"""Smaller arrays are kept on the host, where kernels may find them."""


def of_host(values: TensorLike, wanted: Shape | None, dtype: DTypeLike | None) -> Tensor:
    """Return a new tensor with a copy of ``values``; see `wgsl_kernels.tensor`."""
    if isinstance(values, Tensor):
        values, dtype = values.numpy(), values.dtype if dtype is None else dtype
    host = to_host(values, dtype, double=context.current().double, check_size=check_room)
    name = _dtype_of(host, dtype)
    if wanted and not host.ndim:
        check_room(wanted, name)
    try:
        whole = reshape_host(host, wanted)
    except MemoryError:
        raise too_large(Spec(wanted or (), name)) from None
    return new_tensor(whole, name)


def of_lent(values: Array, dtype: DType) -> Tensor:
    """Return a new tensor with a copy of ``values``, for one run: a loss of the device ends it.

    A driver that has memory of its own copies large arrays there at once, and the host makes no
    copy beside; nothing may be recording.
    """
    driver = active_driver()
    direct = abilities_of(driver).direct
    if direct is None or values.nbytes < LENT_BYTES or not driver.supports(dtype):
        return of_host(values, None, numpy_dtype(dtype))
    spec = Spec(values.shape, dtype)
    return made(Tensor(spec, direct.upload_now(values, spec), driver))


def new_tensor(values: Array, dtype: DType) -> Tensor:
    """Return a tensor of host values that belong to the engine from now on."""
    spec = Spec(values.shape, dtype)
    driver = active_driver()
    if not driver.supports(dtype):
        if dtype != "string":
            _leave_to_cpu(dtype, driver.name)
        driver = find_driver("cpu")
    new = made(Tensor(spec, driver.upload(values, spec), driver))
    if context.current().interceptors:
        note_entry(new, values)
    return new


def _leave_to_cpu(dtype: DType, backend: str) -> None:
    """Note that values of a dtype that a backend lacks live on the CPU.

    Raises:
        DTypeError: ``config.fallback`` forbids it.
    """
    if config.fallback == "error":
        raise DTypeError(
            f"tensor: dtype {dtype} cannot live on backend {backend!r}. "
            'Use use_backend("cpu"), or another dtype.'
        )
    note_fallback(f"tensor of {dtype}", backend, f"backend {backend!r} has none; it lives on cpu")


def _dtype_of(host: Array, asked: Any) -> DType:
    if asked is not None:
        wanted = canonical(asked)
        return WIDE[wanted] if numpy_dtype(wanted) != host.dtype else wanted
    if host.dtype == np.float64:
        return "float64"
    if host.dtype == np.complex128:
        return "complex128"
    return default_dtype(host)
