"""Functions of tensors as SciPy's optimizers want them: a float, and an array of float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.autodiff.autodiff import value_and_grad
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.values.attributes import function

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.values.host import Array


def to_scipy(f: Callable[..., Any]) -> Callable[..., tuple[float, Array]]:
    """Return a function that gives the value of ``f`` as a float and its gradient in float64.

    It is what ``scipy.optimize.minimize(to_scipy(f), x0, jac=True)`` takes. SciPy hands over a
    vector of float64, whatever the shape of ``x0``; here it becomes float32, so ask for no more
    than some five digits.

    Args:
        f: Takes a tensor, a vector, and what SciPy's ``args`` holds; returns a tensor of one
            element.

    Raises:
        ArgumentError: ``f`` is no function.

    Example:
        >>> objective = to_scipy(lambda w: ((w - 1.0) ** 2).sum())
        >>> objective(np.zeros(2))
        (2.0, array([-2., -2.]))
    """
    function("to_scipy", "f", f)

    def objective(x: Any, *args: Any) -> tuple[float, Array]:
        value, slope = value_and_grad(lambda point: f(point, *args))(tensor(np.ravel(x)))
        return float(value), slope.numpy().astype(np.float64)

    return objective
