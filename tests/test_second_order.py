"""Hessian-vector products of families of ops, on both backends, against differences in float64.

The samples' own second derivatives are of one kernel and on the CPU; here ops are what users call,
of one kernel or many, and a nonlinear loss behind them makes every part of the rules count. One
family in eight runs, with WGSL_KERNELS_TEST_MODES=all every one.
"""

from __future__ import annotations

import functools
import operator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.autodiff.double import double_precision
from wgsl_kernels.engine.tensors.scopes import tensors_in
from wgsl_kernels.testing.gradients.differences import second_differences
from wgsl_kernels.testing.gradients.evaluation import UpstreamGradients

if TYPE_CHECKING:
    from collections.abc import Callable

Shape = tuple[int, ...]


class Family(NamedTuple):
    """An op, and the shapes of its inputs."""

    f: Callable[..., Any]
    shapes: tuple[Shape, ...]
    low: float = -2.0
    high: float = 2.0


def _nonlinear(y: Any) -> Any:
    """Return real numbers of which the second derivative is none of zeros."""
    if isinstance(y, (tuple, list)):
        return [_nonlinear(one) for one in y]
    if y.dtype in ("complex64", "complex128"):
        return _nonlinear(wk.real(y) + 0.5 * wk.imag(y))
    return y + 0.25 * wk.square(y)


def _complex(x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
    return wk.complex(x, y)


IMAGE, FILTER = (1, 5, 6, 2), (3, 3, 2, 2)
FAMILIES: dict[str, Family] = {
    "conv1d": Family(lambda x, f: wk.conv1d(x, f, stride=2, pad="same"), ((2, 7, 2), (3, 2, 3))),
    "conv2d": Family(lambda x, f: wk.conv2d(x, f, strides=2, pad="same"), (IMAGE, FILTER)),
    "conv2d dilated": Family(lambda x, f: wk.conv2d(x, f, dilations=2), (IMAGE, (2, 2, 2, 2))),
    "conv2d transposed": Family(
        lambda x, f: wk.conv2d_transpose(x, f, (1, 10, 12, 2), strides=2, pad="same"),
        (IMAGE, FILTER),
    ),
    "conv3d": Family(
        lambda x, f: wk.conv3d(x, f, pad="same"), ((1, 3, 4, 3, 2), (2, 2, 2, 2, 2))
    ),
    "depthwise": Family(lambda x, f: wk.depthwise_conv2d(x, f, pad="same"), (IMAGE, (3, 3, 2, 2))),
    "separable": Family(
        lambda x, f, g: wk.separable_conv2d(x, f, g, pad="same"),
        (IMAGE, (3, 3, 2, 1), (1, 1, 2, 3)),
    ),
    "fused conv2d": Family(
        lambda x, f, b: wk.fused_conv2d(x, f, bias=b, activation="sigmoid", pad="same"),
        (IMAGE, FILTER, (2,)),
    ),
    "dilation2d": Family(lambda x, f: wk.dilation2d(x, f), (IMAGE, (2, 2, 2))),
    "avg_pool": Family(lambda x: wk.avg_pool(x, 3, strides=2, pad="same"), (IMAGE,)),
    "max_pool": Family(lambda x: wk.max_pool(x, 2, strides=1), (IMAGE,)),
    "avg_pool3d": Family(lambda x: wk.avg_pool3d(x, 2, pad="same"), ((1, 3, 4, 3, 2),)),
    "max_pool3d": Family(lambda x: wk.max_pool3d(x, 2), ((1, 4, 4, 2, 2),)),
    "batch_norm": Family(
        lambda x, m, v, o, s: wk.batch_norm(x, m, v, o, s),
        (IMAGE, (2,), (2,), (2,), (2,)), 0.5, 2.0,
    ),
    "layer_norm": Family(wk.layer_norm, ((3, 5), (5,), (5,))),
    "local response": Family(wk.local_response_normalization, ((1, 2, 2, 6),)),
    "variance": Family(lambda x: wk.moments(x, axis=0), ((4, 3),)),
    "norms": Family(
        lambda x: [wk.norm(x), wk.norm(x, 1.5), wk.linalg.matrix_norm(x)], ((3, 4),), 0.3, 2.0
    ),
    "softmax": Family(lambda x: [wk.softmax(x), wk.log_softmax(x, 0)], ((3, 5),)),
    "logsumexp": Family(lambda x: wk.logsumexp(x, 1), ((3, 5),)),
    "fft": Family(lambda x, y: wk.fft.fft(_complex(x, y), axis=0), ((6, 2), (6, 2))),
    "rfft": Family(lambda x: wk.fft.irfft(wk.square(wk.fft.rfft(x)), n=7), ((2, 7),)),
    "stft": Family(lambda x: wk.square(wk.stft(x, 4, 2)), ((12,),)),
    "einsum": Family(
        lambda a, b, c: wk.einsum("aij,jk,kl->ail", a, b, c), ((2, 3, 2), (2, 4), (4, 2))
    ),
    "einsum of diagonals": Family(lambda a, b: wk.einsum("iij,j->i", a, b), ((3, 3, 2), (2,))),
    "einsum of complex": Family(
        lambda a, b, c: wk.einsum("ij,jk,k->i", _complex(a, b), c, _complex(c[0], c[1])),
        ((2, 3), (2, 3), (3, 3)),
    ),
    "matmul of complex": Family(
        lambda a, b: _complex(a, b) @ _complex(wk.matrix_transpose(b), wk.matrix_transpose(a)),
        ((2, 3), (2, 3)),
    ),
    "complex": Family(
        lambda x, y: [
            wk.exp(_complex(x, y)), wk.abs(_complex(x, y)), wk.sqrt(_complex(x, y)),
            wk.log(_complex(x, y)), _complex(x, y) / _complex(y, x), _complex(x, y) ** 2.0,
        ],
        ((3,), (3,)), 0.4, 1.6,
    ),
    "take": Family(lambda x: wk.take(wk.square(x), wk.tensor([2, 0, 2]), axis=1), ((2, 4),)),
    "gather_nd": Family(lambda x: wk.gather_nd(x, wk.tensor([[1, 2], [0, 0], [1, 2]])), ((2, 4),)),
    "take_along_axis": Family(
        lambda x: wk.take_along_axis(x, wk.tensor([[3, 3], [0, 1]]), axis=1), ((2, 4),)
    ),
    "scatter_nd": Family(lambda x: wk.scatter_nd(wk.tensor([[3], [1], [3]]), x, (5,)), ((3,),)),
    "tensor_scatter_update": Family(
        lambda x, y: wk.tensor_scatter_update(x, wk.tensor([[3], [1]]), y), ((5,), (2,))
    ),
    "segment sums": Family(
        lambda x: wk.unsorted_segment_sum(x, wk.tensor([1, 0, 1]), 2), ((3, 2),)
    ),
    "resize bilinear": Family(lambda x: wk.resize_bilinear(x, (7, 4)), (IMAGE,)),
    "resize nearest": Family(lambda x: wk.resize_nearest_neighbor(x, (3, 8)), (IMAGE,)),
    "crop_and_resize": Family(
        lambda x, b: wk.crop_and_resize(x, b, wk.tensor([0, 0]), (2, 3)), (IMAGE, (2, 4)), 0.1, 0.9
    ),
    "transform": Family(
        lambda x, t: wk.transform(
            x, wk.reshape(t, (1, 8)) * 0.05 + wk.tensor([[1.0, 0, 0.3, 0, 1, 0.4, 0, 0]]),
            interpolation="bilinear",
        ),
        (IMAGE, (8,)), 0.1, 1.0,
    ),
    "top-k": Family(lambda x: wk.topk(x, 3)[0], ((2, 6),)),
    "sort": Family(lambda x: wk.sort(wk.square(x), axis=0), ((5, 2),), 0.5, 2.0),
    "extremes": Family(lambda x: [wk.max(x, axis=0), wk.min(x)], ((4, 3),)),
    "cumulative_prod": Family(
        lambda x: [wk.cumulative_prod(x, axis=1), wk.prod(x, axis=0)], ((2, 4),)
    ),
    "cumulative_sum": Family(lambda x: wk.cumulative_sum(wk.square(x), axis=0), ((4, 2),)),
    "blocks": Family(
        lambda x: [
            wk.depth_to_space(x, 2),
            wk.mirror_pad(x, ((0, 0), (1, 1), (1, 2), (0, 0)), "reflect"),
        ],
        ((1, 3, 4, 4),),
    ),
    "shapes": Family(
        lambda x: [wk.band_part(x, 1, 0), wk.roll(x, 1, axis=0), wk.repeat(x, 2, axis=1)],
        ((3, 4),),
    ),
    "recurrent": Family(
        lambda x, k: wk.scan(
            lambda h, one: (lambda y: (y, y))(wk.tanh(wk.concat([h, one], axis=1) @ k)),
            wk.zeros((2, 2)) + 0.5, x,
        )[1],
        ((4, 2, 3), (5, 2)),
    ),
    "losses": Family(
        lambda x, y: [
            wk.softmax_cross_entropy(wk.softmax(y), x), wk.huber_loss(y, x, delta=0.7),
            wk.log_loss(wk.sigmoid(y), wk.sigmoid(x)), wk.cosine_distance(y, x, 1),
        ],
        ((3, 4), (3, 4)),
    ),
    "linalg": Family(
        lambda x: [
            wk.linalg.det(x), wk.linalg.inv(x + 3.0 * wk.eye(3)),
            wk.linalg.cholesky(x @ wk.matrix_transpose(x) + wk.eye(3)),
            wk.linalg.svdvals(x), wk.linalg.eigvalsh(x + wk.matrix_transpose(x)),
        ],
        ((3, 3),),
    ),
}  # fmt: skip


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_a_hessian_times_a_vector_is_how_the_gradient_changes(name: str, backend: str) -> None:
    family = FAMILIES[name]
    draw = np.random.default_rng(len(name))
    given = [draw.uniform(family.low, family.high, one) for one in family.shapes]
    arrays = [np.asarray(one, np.float32) for one in given]

    def f(*xs: wk.Tensor) -> Any:
        return list(tensors_in(_nonlinear(family.f(*xs))))

    weights, directions = UpstreamGradients(), UpstreamGradients(seed=1)
    expected, _, noise = second_differences(f, arrays, weights, directions)

    def loss(*xs: wk.Tensor) -> wk.Tensor:
        terms = [
            wk.sum(y * wk.tensor(weights.of(index, y), dtype=y.dtype))
            for index, y in enumerate(f(*xs))
        ]
        return functools.reduce(operator.add, terms)

    along = [directions.of(index, one) for index, one in enumerate(arrays)]
    is_double = backend == "cpu"
    with wk.use_backend(backend), double_precision() if is_double else nullcontext():
        dtype = wk.float64 if is_double else wk.float32
        found = wk.hvp(
            loss,
            [wk.tensor(one, dtype=dtype) for one in arrays],
            [wk.tensor(one, dtype=dtype) for one in along],
        )
        values = [one.numpy() for one in found]
    for a, e in zip(values, expected, strict=True):
        allowed = (2e-5 if is_double else 2e-3) * max(np.abs(e).max(), 1e-2) + noise
        np.testing.assert_allclose(a, e, rtol=0, atol=allowed)
