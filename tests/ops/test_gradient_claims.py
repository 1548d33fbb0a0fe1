"""What docstrings say of gradients at corners and ties holds on both backends, in every mode."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

NAN = np.nan

CLAIMS: dict[str, tuple[Callable[..., Any], list[list[float]], list[list[float]]]] = {
    "abs at 0": (wk.abs, [[-2.0, -0.0, 0.0, 3.0]], [[-1.0, 0.0, 0.0, 1.0]]),
    "clip on its limits": (
        lambda x: wk.clip(x, -1.0, 3.0),
        [[-2.0, -1.0, 0.0, 3.0, 4.0]],
        [[0.0, 1.0, 1.0, 1.0, 0.0]],
    ),
    "elu at 0": (wk.elu, [[0.0, 2.0]], [[1.0, 1.0]]),
    "floor_divide": (wk.floor_divide, [[7.0, -7.0], [2.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]),
    "leaky_relu at 0": (
        lambda x: wk.leaky_relu(x, alpha=0.25),
        [[-1.0, 0.0, 1.0]],
        [[0.25, 0.25, 1.0]],
    ),
    "max of ties": (wk.max, [[3.0, 1.0, 3.0]], [[1.0, 0.0, 1.0]]),
    "max of NaN": (wk.max, [[3.0, NAN, 3.0]], [[0.0, 0.0, 0.0]]),
    "max_pool of ties": (
        lambda x: wk.max_pool(wk.reshape(x, (1, 2, 2, 1)), 2),
        [[1.0, 2.0, 2.0, 2.0]],
        [[0.0, 1.0, 0.0, 0.0]],
    ),
    "maximum of equals and of NaN": (
        wk.maximum,
        [[1.0, 2.0, NAN], [1.0, 3.0, 0.0]],
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
    ),
    "min of ties": (wk.min, [[1.0, 3.0, 1.0]], [[1.0, 0.0, 1.0]]),
    "min of NaN": (wk.min, [[1.0, NAN, 1.0]], [[0.0, 0.0, 0.0]]),
    "minimum of equals and of NaN": (
        wk.minimum,
        [[1.0, 2.0, NAN], [1.0, 3.0, 0.0]],
        [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
    ),
    "pow of 0 and below": (
        wk.pow,
        [[0.0, -1.0, 1.0], [0.0, 2.0, 3.0]],
        [[0.0, -2.0, 3.0], [0.0, 0.0, 0.0]],
    ),
    "prelu at 0": (
        wk.prelu,
        [[-1.0, 0.0, 1.0], [0.25, 0.25, 0.25]],
        [[0.25, 0.25, 1.0], [-1.0, 0.0, 0.0]],
    ),
    "relu at 0": (wk.relu, [[-1.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]),
    "relu6 on its limits": (wk.relu6, [[0.0, 1.0, 6.0, 7.0]], [[0.0, 1.0, 1.0, 0.0]]),
    "std of equals": (wk.std, [[2.0, 2.0]], [[NAN, NAN]]),
    "step": (wk.step, [[-1.0, 0.0, 1.0]], [[0.0, 0.0, 0.0]]),
    "topk of the smallest ties": (
        lambda x: wk.topk(x, 2, largest=False)[0],
        [[3.0, 1.0, 1.0, 1.0]],
        [[0.0, 1.0, 1.0, 0.0]],
    ),
    "topk of ties": (
        lambda x: wk.topk(x, 2)[0],
        [[2.0, 1.0, 2.0, 2.0]],
        [[1.0, 0.0, 1.0, 0.0]],
    ),
}


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("claim", CLAIMS)
def test_the_gradient_is_what_the_docstring_says(backend: str, claim: str) -> None:
    f, inputs, want = CLAIMS[claim]

    def gradients(*xs: wk.Tensor) -> tuple[wk.Tensor, ...]:
        found: tuple[wk.Tensor, ...] = wk.grads(lambda *xs: wk.sum(f(*xs)))(*xs)
        return found

    with wk.use_backend(backend):
        xs = [wk.tensor(one) for one in inputs]
        fast = wk.capture(gradients)
        fast(*xs)
        found = [fast(*xs)]
        for fusion in ("auto", "always", "never"):
            with wk.config.using(fusion=fusion):
                found.append(gradients(*xs))
        for each in found:
            np.testing.assert_array_equal([one.numpy() for one in each], want)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize(
    ("f", "scale"), [(wk.elu, 1.0), (wk.selu, 1.7580993408473766)], ids=["elu", "selu"]
)
def test_gradients_of_exponential_units_have_all_digits(
    backend: str, f: Callable[..., Any], scale: float
) -> None:
    x = -np.geomspace(2.0**-40, 87.0, 400).astype(np.float32)
    with wk.use_backend(backend):
        found = wk.grad(f)(wk.tensor(x)).numpy()
        second = wk.grad(wk.grad(f))(wk.tensor(x)).numpy()
    want = scale * np.exp(x.astype(np.float64))
    np.testing.assert_allclose(found, want, rtol=4 * 2.0**-24)
    np.testing.assert_allclose(second, want, rtol=4 * 2.0**-24)
