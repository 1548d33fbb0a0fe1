"""Products along tangents and whole Jacobians and Hessians, beside differences in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.modes import ALL_MODES

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

ON_A_GPU = ("convolution", "layer norm", "fft", "scatter", "complex arithmetic")
"""What runs on webgpu, too, in every run; all does under WGSL_KERNELS_TEST_MODES=all."""

RNG = np.random.default_rng(17)


def drawn(*shape: int) -> np.ndarray:
    """Return numbers between 0.3 and 1.7, no two alike, in random order."""
    count = int(np.prod(shape))
    return np.asarray(RNG.permutation(np.linspace(0.3, 1.7, count)).reshape(shape))


FILTER, ROWS = drawn(2, 2, 2, 3), [[1], [0], [2]]


def _filter(like: wk.Tensor) -> wk.Tensor:
    return wk.tensor(FILTER, dtype=like.dtype)


def _attention(x: wk.Tensor) -> wk.Tensor:
    return wk.matmul(wk.softmax(wk.matmul(x, wk.transpose(x)), axis=-1), x)


SMOOTH: dict[str, tuple[Callable[[wk.Tensor], wk.Tensor], tuple[int, ...]]] = {
    "convolution": (lambda x: wk.square(wk.conv2d(x, _filter(x), pad="same")), (1, 4, 4, 2)),
    "depthwise": (
        lambda x: wk.square(wk.depthwise_conv2d(x, _filter(x), strides=2)), (1, 4, 4, 2)
    ),
    "max pooling": (lambda x: wk.square(wk.max_pool(x, 2, strides=1)), (1, 4, 4, 1)),
    "average pooling": (lambda x: wk.square(wk.avg_pool(x, 2, strides=1)), (1, 4, 4, 1)),
    "batch norm": (
        lambda x: wk.batch_norm(x, wk.mean(x, axis=0), wk.var(x, axis=0)) ** 3.0, (5, 3)
    ),
    "layer norm": (lambda x: wk.layer_norm(x) ** 3.0, (3, 5)),
    "response norm": (
        lambda x: wk.local_response_normalization(x, depth_radius=1) ** 2.0, (1, 2, 2, 4)
    ),
    "softmax": (_attention, (3, 4)),
    "fft": (lambda x: wk.square(wk.abs(wk.fft(wk.complex(x, x * x)))), (2, 6)),
    "stft": (lambda x: wk.square(wk.real(wk.stft(x, 4, 2))) * x[0], (8,)),
    "gather": (lambda x: wk.take(x, [2, 0, 2], axis=0) ** 3.0, (3, 2)),
    "scatter": (lambda x: wk.scatter_nd(wk.tensor(ROWS), x, (4, 2)) ** 3.0, (3, 2)),
    "segments": (
        lambda x: wk.unsorted_segment_sum(x, [0, 1, 0], num_segments=2) ** 3.0, (3, 2)
    ),
    "resize": (lambda x: wk.resize_bilinear(x, (5, 3)) ** 3.0, (1, 3, 4, 1)),
    "top-k": (lambda x: wk.topk(x, 2)[0] ** 3.0, (2, 5)),
    "sort": (lambda x: wk.sort(x, axis=0) ** 3.0, (5, 2)),
    "cumulative product": (lambda x: wk.cumulative_prod(x, axis=1), (2, 4)),
    "product": (lambda x: wk.prod(x, axis=1), (2, 4)),
    "complex arithmetic": (
        lambda x: wk.abs(wk.complex(x, x * x) * wk.complex(x, -x) / wk.complex(1.0 + x, x)), (4,)
    ),
    "norm": (lambda x: wk.stack(list(wk.gram_schmidt(x))), (2, 3)),
}  # fmt: skip


def loss(name: str) -> Callable[[wk.Tensor], wk.Tensor]:
    """Return the function of that name, weighed so that no two elements count alike."""
    f = SMOOTH[name][0]

    def weighed(x: wk.Tensor) -> wk.Tensor:
        y = f(x)
        return wk.sum(y * wk.tensor(np.linspace(0.5, 1.5, y.size).reshape(y.shape), dtype=y.dtype))

    return weighed


def wide(x: np.ndarray) -> wk.Tensor:
    """Return a tensor in double precision."""
    return wk.tensor(x, dtype="float64")


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_are_how_gradients_change(name: str) -> None:
    f, shape = loss(name), SMOOTH[name][1]
    x, along, step = drawn(*shape), RNG.standard_normal(shape), 1e-5
    with wk.use_backend("cpu"):
        at = [wide(x + s * along) for s in (0, step, -step)]
        found = wk.hvp(f, at[0], wide(along)).numpy()
        ends = [wk.grad(f)(one).numpy() for one in at[1:]]
        slope = wk.jvp(f, at[0], wide(along))[1].item()
        values = [f(one).item() for one in at[1:]]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-6)
    assert slope == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-6, abs=1e-7)
    if not (ALL_MODES or name in ON_A_GPU):
        return
    single = wk.tensor(x, dtype="float32"), wk.tensor(along, dtype="float32")
    with wk.use_backend("webgpu"):
        near = wk.hvp(f, *single).numpy()
    np.testing.assert_allclose(near, found, rtol=2e-3, atol=2e-4 * float(np.abs(found).max()))


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_whole_jacobians_and_hessians_have_both_shapes(backend: str) -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    with wk.use_backend(backend):
        x = wk.tensor([0.5, 1.0, 2.0])
        np.testing.assert_array_equal(wk.jacobian(lambda x: wk.matmul(a, x))(x).numpy(), a)
        quadratic = wk.hessian(lambda x: wk.sum(wk.square(wk.matmul(a, x))))(x)
        np.testing.assert_allclose(quadratic.numpy(), 2 * a.T @ a)
        outer = wk.jacobian(lambda x: wk.reshape(x, (3, 1)) * x)(x)
        assert outer.shape == (3, 3, 3)
        assert wk.jacobian(lambda x: x[:0])(x).shape == (0, 3)


def test_vjp_and_jvp_take_and_give_several_tensors() -> None:
    def f(a: wk.Tensor, b: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor, wk.Tensor]:
        return a * b, wk.sum(a), wk.argmax(b)

    a, b = wk.tensor([2.0, 3.0]), wk.tensor([5.0, 7.0])
    value, change = wk.jvp(f, (a, b), ([1.0, 0.0], [0.0, 10.0]))
    assert [one.tolist() for one in value] == [[10.0, 21.0], 5.0, 1]
    assert [one.tolist() for one in change] == [[5.0, 30.0], 1.0, 0]
    _, back = wk.vjp(lambda a, b: (a * b, wk.sum(a)), a, b)
    found = back(([1.0, 1.0], 4.0)), back(([0.0, 0.0], 1.0))
    assert [[one.tolist() for one in pair] for pair in found] == [
        [[9.0, 11.0], [2.0, 3.0]],
        [[1.0, 1.0], [0.0, 0.0]],
    ]
    first, second = wk.vjp(lambda a, b: a * b * b, a, a)[1](wk.tensor([1.0, 1.0]))
    assert (first.tolist(), second.tolist()) == ([4.0, 9.0], [8.0, 18.0])


def test_arguments_may_be_trees_in_every_derivative() -> None:
    def f(p: dict[str, Any], scale: Any, *, shift: float = 0.0) -> Any:
        return p["w"][0] ** 2.0 * p["b"] * scale + shift

    with wk.use_backend("cpu"):
        p = {"w": [wk.tensor([2.0, 3.0])], "b": wk.tensor(5.0)}
        y, back = wk.vjp(lambda q: {"y": f(q, 1.0)}, p)
        (found,) = back({"y": wk.tensor([1.0, 10.0])})
        assert y["y"].tolist() == [20.0, 45.0]
        assert found["w"][0].tolist() == [20.0, 300.0]
        assert found["b"].item() == 94.0

        along = {"w": [wk.tensor([1.0, 0.0])], "b": wk.tensor(2.0)}
        _, change = wk.jvp(lambda q: {"y": f(q, 1.0)}, (p,), (along,))
        assert change["y"].tolist() == [28.0, 18.0]
        assert wk.hvp(lambda q: f(q, 1.0), p, along)["b"].item() == 4.0

        slope = wk.jacobian(f)(p, 2.0, shift=1.0)
        assert slope["w"][0].tolist() == [[40.0, 0.0], [0.0, 60.0]]
        assert slope["b"].tolist() == [8.0, 18.0]
        by_both = wk.jacobian(f, argnums=(1, 0))(p, wk.tensor(2.0))
        assert by_both[0].tolist() == [20.0, 45.0]
        assert by_both[1]["b"].tolist() == [8.0, 18.0]

        curved = wk.hessian(f)(p, 2.0)
        assert curved["w"][0]["w"][0].tolist() == [[20.0, 0.0], [0.0, 20.0]]
        assert curved["w"][0]["b"].tolist() == curved["b"]["w"][0].tolist() == [8.0, 12.0]
        assert curved["b"]["b"].item() == 0.0
        mixed = wk.hessian(f, argnums=(0, 1))(p, wk.tensor(2.0))
        assert mixed[1][0]["b"].item() == mixed[0]["b"][1].item() == 13.0
        assert wk.hessian(f, argnums=1)(p, wk.tensor(2.0)).item() == 0.0
        for derivative in (wk.jacobian, wk.hessian):
            with pytest.raises(wk.ArgumentError, match="want each argument once"):
                derivative(f, argnums=(0, -2))(p, wk.tensor(2.0))
        with pytest.raises(wk.ArgumentError, match="jacobian: argnums has 2"):
            wk.jacobian(f, 2)(p, 1.0)
        with pytest.raises(wk.ArgumentError, match=r"jvp: tangents is .*; want 2 tensors"):
            wk.jvp(lambda q: f(q, 1.0), (p,), ([1.0, 2.0],))


def test_what_does_not_depend_has_zeros() -> None:
    x, one = wk.tensor([1.0, 2.0]), wk.tensor([1.0, 1.0])
    assert wk.hvp(lambda x: wk.sum(x * 3.0), x, one).tolist() == [0.0, 0.0]
    assert wk.hvp(lambda _: wk.tensor(1.0), x, one).tolist() == [0.0, 0.0]
    assert wk.jvp(lambda _: wk.tensor(1.0), x, one)[1].item() == 0.0
    assert wk.hessian(lambda x: wk.sum(x))(x).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_derivatives_are_captured_and_differentiated_again() -> None:
    x, along = wk.tensor([1.0, 2.0]), wk.tensor([0.0, 1.0])
    fast = wk.capture(lambda x, v: wk.hvp(lambda x: wk.sum(x**4.0), x, v))
    for _ in range(2):
        np.testing.assert_allclose(fast(x, along).numpy(), [0.0, 48.0], rtol=1e-5)
    third = wk.grad(lambda x: wk.hvp(lambda x: wk.sum(x**4.0), x, along))(x)
    np.testing.assert_allclose(third.numpy(), [0.0, 48.0], rtol=1e-5)
    through = wk.grad(lambda x: wk.jvp(wk.square, x, along)[1])(x)
    np.testing.assert_allclose(through.numpy(), [0.0, 2.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wk.jvp(wk.square, [1], [1.0]), "jvp: no gradient flows through dtype int32"),
        (
            lambda: wk.jvp(wk.square, [1.0], [1.0, 2.0]),
            "jvp: tangents .*; want 1 tensors or trees",
        ),
        (
            lambda: wk.hvp(wk.square, wk.ones((2,)), wk.ones((3,))),
            r"hvp: one of tangents has shape \[3\]; want \[2\]",
        ),
        (lambda: wk.vjp(lambda x: 1.0, 1.0), "vjp: f gave 1.0; want a tensor, or a tuple"),
        (lambda: wk.hvp(lambda x: (x, x), [1.0], [1.0]), "hvp: f gave .*; want a tensor"),
        (lambda: wk.jacobian(lambda x: (x, x))(1.0), "jacobian: f gave .*; want a tensor"),
    ],
)
def test_what_has_no_derivative_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(wk.WgslKernelsError, match=message):
        call()
