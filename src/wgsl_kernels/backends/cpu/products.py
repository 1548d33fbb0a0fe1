"""Products of matrices and of stacks of them, through NumPy's BLAS.

BLAS shares every product above a quarter of a million multiply-adds among all cores, and its
threads spin while they wait for each other. Where the cores have other work, a product of some ten
microseconds then takes milliseconds, so small ones stay on the calling thread.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from types import TracebackType

    from wgsl_kernels.backends.cpu.kernel import Array

SHARED = 1 << 18
"""Multiply-adds of a matrix product from which on BLAS uses several threads."""
WORTH_SHARING = 1 << 23
"""Multiply-adds from which on that gains more than it may cost: some 0.2 ms of one core."""
STACK_WORTH_SHARING = 1 << 25
"""The same for a stack of matrices that is one product."""


def matmul(left: Array, right: Array) -> Array:
    """Return ``left @ right``, as NumPy broadcasts stacks of matrices.

    A stack times one matrix is one product of all rows.
    """
    shape = left.shape
    if left.ndim > 2 and right.ndim == 2 and left.size and left.flags.c_contiguous:
        left = left.reshape(-1, shape[-1])
    each = left.shape[-2] * left.shape[-1] * right.shape[-1] if left.ndim > 1 else 0
    worth = WORTH_SHARING if left.ndim == len(shape) else STACK_WORTH_SHARING
    if SHARED <= each < worth and left.dtype.kind in "fc":
        with one_thread:
            product = np.matmul(left, right)
    else:
        product = np.matmul(left, right)
    if left.ndim == len(shape):
        return np.asarray(product)
    return np.asarray(product).reshape(*shape[:-1], right.shape[-1])


class _OneThread:
    """A block in which BLAS stays on the calling thread; entered by several threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = [(one, one.get_num_threads()) for one in _libraries()]
                for one, count in self._before:
                    if count != 1:
                        one.set_num_threads(1)
            self._inside += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                for one, count in self._before:
                    if count != 1:
                        one.set_num_threads(count)


one_thread = _OneThread()


@functools.cache
def _libraries() -> tuple[Any, ...]:
    """Return what sets the number of threads of each BLAS that is loaded."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)
