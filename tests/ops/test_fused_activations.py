"""Fused products and convolutions with activations that they do not know themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME = "TestBump"
DRAW = np.random.default_rng(3)
SHAPES = (9, 20), (20, 12), (12,)
A, B, BIAS = (DRAW.standard_normal(shape).astype(np.float32) for shape in SHAPES)
SLOPES = DRAW.standard_normal(12).astype(np.float32)
IMAGE = DRAW.standard_normal((1, 6, 6, 4)).astype(np.float32)
FILTER = DRAW.standard_normal((3, 3, 4, 12)).astype(np.float32)
CHANNELS = DRAW.standard_normal((3, 3, 4, 3)).astype(np.float32)
FUSED: dict[str, Callable[..., wk.Tensor]] = {
    "_FusedMatMul": lambda **more: wk.fused_mat_mul(A, B, bias=BIAS, **more),
    "FusedConv2D": lambda **more: wk.fused_conv2d(IMAGE, FILTER, bias=BIAS, **more),
    "FusedDepthwiseConv2D": lambda **more: wk.fused_depthwise_conv2d(
        IMAGE, CHANNELS, bias=BIAS, **more
    ),
}


@pytest.fixture(name="bump")
def _bump() -> Iterator[None]:
    wk.signature(NAME)(lambda x, /: x.like())
    wk.wgsl_kernel(NAME, "fn op(x: T) -> T {\n  return x / (1.0 + x * x);\n}\n")
    wk.cpu_kernel(NAME)(lambda x: x / (1 + x * x))
    wk.gradient(NAME)(lambda dy, x: dy * (1.0 - x * x) / (1.0 + x * x) ** 2.0)
    yield
    wk.unregister_gradient(NAME)
    for backend in ("cpu", "webgpu"):
        wk.unregister_kernel(NAME, backend)


COMPOSED: dict[str, Callable[[], wk.Tensor]] = {
    "_FusedMatMul": lambda: wk.matmul(A, B),
    "FusedConv2D": lambda: wk.conv2d(IMAGE, FILTER),
    "FusedDepthwiseConv2D": lambda: wk.depthwise_conv2d(IMAGE, CHANNELS),
}
OWN: dict[str, Callable[[wk.Tensor], wk.Tensor]] = {
    "linear": lambda z: z,
    "relu": wk.relu,
    "relu6": wk.relu6,
    "elu": wk.elu,
    "sigmoid": wk.sigmoid,
    "leakyrelu": lambda z: wk.leaky_relu(z, alpha=0.3),
    "prelu": lambda z: wk.prelu(z, SLOPES),
}


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", FUSED)
@pytest.mark.parametrize("activation", OWN)
def test_it_is_one_dispatch_in_every_mode_with_the_bits_of_its_parts(
    kernel: str, activation: str
) -> None:
    more: dict[str, Any] = {"activation": activation, "leakyrelu_alpha": 0.3}
    if activation == "prelu":
        more["prelu_activation_weights"] = SLOPES

    def kept() -> list[wk.Tensor]:
        y = FUSED[kernel](**more)
        return [y * 0.5 - 1.0, y]

    with wk.use_backend("webgpu"), wk.config.using(fusion="never"):
        expected = OWN[activation](COMPOSED[kernel]() + BIAS)
        halves = (expected * 0.5 - 1.0).numpy()
        for fusion in ("never", "auto", "always"):
            with wk.config.using(fusion=fusion):
                seen = wk.profile(lambda: FUSED[kernel](**more))
                half, y = kept()
                assert [row.kernels for row in seen.dispatches] == [(kernel,)]
                assert half.numpy().tobytes() == halves.tobytes()
                assert y.numpy().tobytes() == expected.numpy().tobytes()
        with wk.config.using(fusion="always"):
            seen = wk.profile(kept)
        assert [row.kernels for row in seen.dispatches] == [(kernel, "Multiply", "Sub")]


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", FUSED)
@pytest.mark.parametrize(("activation", "second"), [("tanh", "Tanh"), (NAME, NAME)])
def test_any_map_is_an_epilogue(kernel: str, activation: str, second: str, bump: None) -> None:
    fused = FUSED[kernel]
    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        for _ in range(3):
            wk.evaluate(fused(activation=activation))
        seen = wk.profile(lambda: fused(activation=activation))
        assert [row.kernels for row in seen.dispatches] == [(kernel, second)]
        assert isinstance(seen.result, wk.Tensor)
        found = seen.result.numpy()
    with wk.use_backend("webgpu"), wk.config.using(fusion="never"):
        apart = wk.engine().run_kernel(second, {"x": fused()})
        assert isinstance(apart, wk.Tensor)
        assert found.tobytes() == apart.numpy().tobytes()


def test_its_gradient_flows_through_the_product(bump: None) -> None:
    with wk.use_backend("cpu"):
        wk.testing.check_gradient(
            lambda a, b, bias: wk.fused_mat_mul(a, b, bias=bias, activation=NAME), [A, B, BIAS]
        )


@pytest.mark.parametrize(
    ("activation", "message"),
    [
        ("gelu", "want one of linear, .*, prelu, or the name of a kernel of one input"),
        ("Add", "a kernel of 2 inputs; want one"),
        ("Sum", r"makes \[\] of \[9, 12\]; want the same shape"),
        (7, "activation"),
    ],
)
def test_what_is_no_activation_is_refused(activation: Any, message: str) -> None:
    with wk.use_backend("cpu"), pytest.raises(wk.ArgumentError, match=message):
        wk.fused_mat_mul(A, B, activation=activation)
