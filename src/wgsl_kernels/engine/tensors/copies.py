"""Copies and pickles of tensors and variables.

A copy shares the values, which never change, so it costs no memory and stays where they are. A
pickle carries host values and the backend's name. Gradients do not flow through either.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import active_driver, find_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array


_PROCESS = uuid.uuid4().hex
"""Tells this process from others; with the number of the process also from those that it forks."""


class Copies:
    """Mixin: what `copy.copy`, `copy.deepcopy` and pickle ask for."""

    __slots__ = ()

    def __copy__(self: Tensor) -> Tensor:  # type: ignore[misc]  # the mixin's only class is Tensor
        array, driver = self._array_on(self._driver), self._driver
        if self.is_variable and context.current().watch is not None:
            # what records or puts back knows a variable by its array
            array = driver.upload(self.numpy(), self.spec)
        twin = _holding(array, self.spec, driver, *_facts(self))
        twin._is_kept = self._is_kept
        return twin

    def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:  # type: ignore[misc]  # as above
        del memo  # holds nothing of a tensor's; the caller notes the copy there
        return self.__copy__()

    def __dask_tokenize__(self: Tensor) -> tuple[Any, ...]:  # type: ignore[misc]  # as above
        """Return what tells this tensor from others to Dask, which names its results by it.

        It is the values where the host has them, and of a variable, and else the tensor itself.
        """
        array = self._array_on(self._driver)
        readable = abilities_of(self._driver).host_readable
        values = None if readable is None else readable.known(array)
        if values is None and not self.is_variable:
            return "wgsl_kernels.Tensor", os.getpid(), _PROCESS, self._id
        values = self._values() if values is None else values
        held = repr(values.tolist()).encode() if self.spec.dtype == "string" else values.tobytes()
        digest = hashlib.blake2b(held, digest_size=16).hexdigest()
        return "wgsl_kernels.Tensor", self.backend, self.spec.dtype, self.shape, digest

    def __reduce__(self: Tensor) -> tuple[Any, ...]:  # type: ignore[misc]  # as above
        return restored, (self.numpy(), self.dtype, self.backend, *_facts(self))


def restored(values: Array, dtype: DType, backend: str, *facts: Any) -> Tensor:
    """Return the tensor or variable of a pickle.

    It is on the backend where it was, if that runs here and takes its dtype; else on the backend in
    force, or on ``cpu``.
    """
    spec = Spec(values.shape, dtype)
    driver = _driver_for(backend, dtype)
    return _holding(driver.upload(np.array(values, order="C"), spec), spec, driver, *facts)


def _facts(one: Any) -> tuple[Any, ...]:
    return (one.trainable, one.name) if one.is_variable else ()


def _holding(array: Any, spec: Spec, driver: Driver, *facts: Any) -> Tensor:
    """Return a new tensor, or with ``facts``, whether it trains and its name, a new variable."""
    from wgsl_kernels.engine.tensors.tensor import Tensor, Variable, made

    if not facts:
        return made(Tensor(spec, array, driver))
    trainable, name = facts
    twin = Variable(spec, array, driver, trainable=trainable, name=name)
    twin._is_kept = True
    watch = context.current().watch
    if watch is not None:
        watch.created(twin)
    return twin


def _driver_for(backend: str, dtype: DType) -> Driver:
    try:
        driver = find_driver(backend)
    except Exception:  # whatever a backend says that does not run here
        driver = active_driver()
    return driver if driver.supports(dtype) else find_driver("cpu")
