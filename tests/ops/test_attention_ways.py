"""Attention in tiles and as products: blocks, parts, views, large values, memory, derivatives."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter.policy import Policy
from wgsl_kernels.backends.webgpu.tuning.tuner import forced
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.registry.registry import announce_change
from wgsl_kernels.ops.linear_algebra import attention, attention_gradient
from wgsl_kernels.ops.linear_algebra.attention_blocks import AttentionSizes, blocks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Array = np.ndarray[Any, Any]
WAYS = pytest.mark.parametrize("way", ["cpu", "products", "tiles"])
SIZES = [
    # heads, key heads, steps, length, size, value size, causal, mask
    (3, 3, 5, 9, 4, 8, False, ""),
    (4, 2, 7, 6, 3, 5, True, "bool"),
    (2, 1, 40, 70, 12, 33, True, "floats"),
    (2, 2, 35, 33, 64, 3, False, "bool"),
]

SMALL = (2, 1, 3, 4, 3, 2)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, int], None]]:
    """Have blocks of so many scores, and rows in parts of so many keys, in this test."""

    def limit(scores: int, keys: int) -> None:
        monkeypatch.setattr(Policy, "attention_scores", scores)
        monkeypatch.setattr(Policy, "attention_parts", lambda self, rows, n: -(-n // keys))
        for module in (attention, attention_gradient):
            monkeypatch.setattr(module, "SCORES_ON_CPU", scores)
        announce_change()  # what was prepared by other rules is forgotten

    yield limit
    announce_change()


def _inputs(sizes: Sequence[int], mask: str = "") -> tuple[list[Array], Array | None]:
    heads, key_heads, steps, length, size, value_size = sizes
    rng = np.random.default_rng(3)
    shapes = [(2, heads, steps, size), (2, key_heads, length, size)]
    shapes.append((2, key_heads, length, value_size))
    given = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    if mask == "floats":
        return given, rng.normal(size=(heads, 1, length)).astype(np.float32)
    allowed = rng.random((2, 1, steps, length)) < 0.7
    allowed[:, :, 1] = False  # a query that attends to nothing
    return given, allowed if mask else None


def _summed(q: wk.Tensor, k: wk.Tensor, v: wk.Tensor) -> wk.Tensor:
    return wk.sum(wk.scaled_dot_product_attention(q, k, v))


def _way(way: str) -> ExitStack:
    stack = ExitStack()
    stack.enter_context(wk.use_backend("cpu" if way == "cpu" else "webgpu"))
    if way != "cpu":
        stack.enter_context(forced("Attention", way))
        stack.enter_context(forced("AttentionGradient", way))
    return stack


def _exact(
    given: list[Array], mask: Array | None, causal: bool, dy: Array, scale: float
) -> list[Array]:
    """Return the means, and the gradients of query, key and value, in float64."""
    q, k, v = (one.astype(np.float64) for one in given)
    sharing = q.shape[1] // k.shape[1]
    keys, values = np.repeat(k, sharing, 1), np.repeat(v, sharing, 1)
    scores = scale * q @ keys.swapaxes(-1, -2)
    steps, length = scores.shape[-2:]
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(steps, length, length - steps, dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True, initial=-1e300)
    weights = np.exp(scores - top)
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    y = weights @ values
    slopes = weights * (dy @ values.swapaxes(-1, -2) - (dy * y).sum(-1, keepdims=True))
    of_keys = [slopes.swapaxes(-1, -2) @ q * scale, weights.swapaxes(-1, -2) @ dy]
    apart = (*k.shape[:2], sharing)
    shared = [one.reshape(*apart, *one.shape[2:]).sum(2) for one in of_keys]
    return [y, slopes @ keys * scale, *shared]


def _found(way: str, given: list[Array], dy: Array, **options: Any) -> list[Array]:
    """Return the means and the gradients that a way gives."""
    with _way(way):
        tensors = [wk.tensor(one) for one in given]
        with wk.GradientTape(persistent=True) as tape:
            for one in tensors:
                tape.watch(one)
            y = wk.scaled_dot_product_attention(*tensors, **options)
        return [y.numpy(), *(one.numpy() for one in tape.gradient(y, tensors, dy=wk.tensor(dy)))]


def _check(way: str, case: tuple[Any, ...]) -> None:
    *sizes, causal, masked = case
    given, mask = _inputs(sizes, masked)
    dy = np.random.default_rng(4).normal(size=(*given[0].shape[:3], given[2].shape[3]))
    found = _found(way, given, dy.astype(np.float32), mask=mask, causal=causal, scale=0.4)
    for one, exact in zip(found, _exact(given, mask, causal, dy, 0.4), strict=True):
        np.testing.assert_allclose(one, exact, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    ("way", "case"),
    [("cpu", SIZES[0]), ("cpu", SIZES[2]), *(("products", one) for one in SIZES)]
    + [("tiles", one) for one in SIZES[1:3]],
    ids=str,
)
def test_means_and_gradients_are_those_of_numpy(way: str, case: tuple[Any, ...]) -> None:
    _check(way, case)


@pytest.mark.parametrize("way", ["cpu", "products"])
@pytest.mark.parametrize("scores", [1, 50, 300])
def test_they_are_in_blocks_and_parts_too(
    way: str, scores: int, small_blocks: Callable[[int, int], None]
) -> None:
    small_blocks(scores, 4)
    for case in SIZES[:2]:
        _check(way, case)


@pytest.mark.parametrize("shape", [(2, 4, 7, 6), (4, 7, 6), (2, 1, 1, 6)])
@pytest.mark.parametrize("scores", [20, 60, 200])
def test_a_mask_above_the_binding_limit_is_read_in_parts(
    shape: tuple[int, ...],
    scores: int,
    small_blocks: Callable[[int, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given, _ = _inputs((4, 2, 7, 6, 3, 5))
    mask = np.random.default_rng(2).random(shape) < 0.6
    mask[..., 0] = True
    dy = np.ones((2, 4, 7, 5), np.float32)
    small_blocks(scores, 64)
    driver: Any = find_driver("webgpu")
    monkeypatch.setattr(driver.open(), "largest_binding", 1280)
    found = _found("products", given, dy, mask=mask, scale=0.4)
    for one, exact in zip(found, _exact(given, mask, False, dy, 0.4), strict=True):
        np.testing.assert_allclose(one, exact, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("most", [1, 7, 24, 100, 1000])
def test_blocks_cover_every_row_once(most: int, causal: bool) -> None:
    sizes = AttentionSizes(2, 3, 2, 5, 9, 4, 4)
    met = np.zeros((sizes.groups, sizes.rows), int)
    for block in blocks_of(sizes, most, causal=causal):
        rows = np.arange(block.row, block.row + block.rows)
        met[block.group : block.group + block.groups, rows] += 1
        last = rows % sizes.steps + sizes.length - sizes.steps if causal else sizes.length - 1
        assert block.keys > np.max(last)
        assert block.groups * block.rows * block.keys <= max(most, sizes.length)
    assert (met == 1).all()


@WAYS
def test_views_are_read_as_they_are(way: str) -> None:
    rng = np.random.default_rng(5)
    q, k, v = (rng.normal(size=(2, 6, 4, 8)).astype(np.float32) for _ in range(3))
    with _way(way):
        views = [wk.tensor(one).transpose((0, 2, 1, 3))[:, :, 1:] for one in (q, k, v)]
        found = wk.scaled_dot_product_attention(*views, causal=True).numpy()
        whole = [one.transpose(0, 2, 1, 3)[:, :, 1:].copy() for one in (q, k, v)]
        expected = wk.scaled_dot_product_attention(*whole, causal=True).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@WAYS
def test_large_scores_overflow_nothing(way: str) -> None:
    q = np.full((1, 2, 4), 1e4, np.float32) * np.array([[1], [-1]], np.float32)
    k = np.arange(33, dtype=np.float32).reshape(1, 33, 1).repeat(4, -1) * 100
    v = np.arange(33, dtype=np.float32).reshape(1, 33, 1)
    with _way(way):
        found = wk.scaled_dot_product_attention(q, k, v).numpy()
        given = [wk.tensor(one) for one in (q, k, v)]
        slopes = wk.grads(_summed)(*given)
    assert found.tolist() == [[[32.0], [0.0]]]
    assert [np.abs(one.numpy()).max() for one in slopes] == [0, 0, 1]


@WAYS
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_with_a_score_that_is_no_number_gives_nan(way: str, bad: float) -> None:
    rng = np.random.default_rng(6)
    q, k, v = (rng.normal(size=(1, 3, 2)).astype(np.float32) for _ in range(3))
    mask = np.zeros((3, 3), np.float32)
    mask[1, 2] = bad
    with _way(way):
        found = wk.scaled_dot_product_attention(q, k, v, mask=mask).numpy()
    assert np.isnan(found[0]).tolist() == [[False] * 2, [True] * 2, [False] * 2]


@WAYS
def test_what_is_0_long_gives_zeros(way: str) -> None:
    with _way(way):
        for steps, length, size, value_size in [(0, 3, 4, 4), (3, 0, 4, 4), (2, 3, 0, 4)]:
            q, k = wk.ones((2, 2, steps, size)), wk.ones((2, 2, length, size))
            v = wk.ones((2, 2, length, value_size))
            y = wk.scaled_dot_product_attention(q, k, v).numpy()
            assert y.tolist() == np.full(y.shape, float(length > 0)).tolist()
            slopes = wk.grads(_summed)(q, k, v)
            assert [one.shape for one in slopes] == [q.shape, k.shape, v.shape]
        q, v = wk.ones((2, 3, 4)), wk.ones((2, 3, 0))
        assert wk.scaled_dot_product_attention(q, q, v).shape == (2, 3, 0)
        assert wk.scaled_dot_product_attention(
            wk.ones((0, 2, 3, 4)), *[wk.ones((0, 1, 5, 4))] * 2
        ).shape == (0, 2, 3, 4)


@pytest.mark.parametrize("way", ["products", "tiles"])
@pytest.mark.usefixtures("halves_anywhere")
def test_halves_are_computed_in_float32(way: str) -> None:
    rng = np.random.default_rng(7)
    given = [rng.normal(size=(1, 2, 40, 8)).astype(np.float16) for _ in range(3)]
    dy = rng.normal(size=(1, 2, 40, 8)).astype(np.float16)
    found = _found(way, given, dy, causal=True)
    assert {one.dtype for one in found} == {np.dtype(np.float16)}
    exact = _exact(given, None, True, dy.astype(np.float64), 8**-0.5)
    for one, expected in zip(found, exact, strict=True):
        np.testing.assert_allclose(one.astype(np.float64), expected, rtol=4e-3, atol=4e-3)


def test_the_whole_matrix_of_scores_is_never_in_memory() -> None:
    x = np.random.default_rng(8).normal(size=(1, 1, 2048, 8)).astype(np.float32)
    with wk.use_backend("webgpu"):
        q, k, v = (wk.tensor(x) for _ in range(3))
        measured = wk.profile(lambda: wk.grads(_summed)(q, k, v))
    assert measured.peak_bytes < 2048 * 2048 * 4 // 2


@pytest.mark.parametrize("masked", ["", "bool", "floats"])
def test_its_derivatives_are_those_of_differences(masked: str) -> None:
    (q, k, v), mask = _inputs(SMALL, masked)

    def f(q: wk.Tensor, k: wk.Tensor, v: wk.Tensor, *added: wk.Tensor) -> wk.Tensor:
        given = added[0] if added else mask
        return wk.scaled_dot_product_attention(q, k, v, mask=given, causal=True)

    def waves(*x: wk.Tensor) -> wk.Tensor:
        return wk.sum(wk.sin(f(*x)))

    def slope(*x: wk.Tensor) -> wk.Tensor:
        slopes = wk.grads(waves)(*x)
        return wk.add_n([wk.sum(one * one) for one in slopes])

    inputs = (q, k, v) if masked != "floats" else (q, k, v, mask)
    with wk.use_backend("cpu"):
        wk.testing.check_gradient(f, inputs)
        wk.testing.check_gradient(slope, inputs)


@WAYS
def test_the_logarithms_of_sums_have_a_gradient(way: str) -> None:
    (q, k, v), _ = _inputs(SMALL)

    def log_sums(q: wk.Tensor, k: wk.Tensor) -> wk.Tensor:
        inputs = {"query": q, "key": k, "value": wk.tensor(v)}
        found = wk.engine().run_kernel("Attention", inputs, {"scale": 0.5})
        return wk.sum(found[1] * found[1])

    def composed(q: wk.Tensor, k: wk.Tensor) -> wk.Tensor:
        found = wk.logsumexp(wk.matmul(q, k, transpose_b=True) * 0.5, axis=-1)
        return wk.sum(found * found)

    with _way(way):
        given = wk.tensor(q), wk.tensor(k)
        pairs = [[one.numpy() for one in wk.grads(f)(*given)] for f in (log_sums, composed)]
    for one, other in zip(*pairs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_captured_step_replays_it() -> None:
    rng = np.random.default_rng(9)

    def step(q: wk.Tensor, k: wk.Tensor, v: wk.Tensor) -> tuple[wk.Tensor, ...]:
        def loss(*given: wk.Tensor) -> wk.Tensor:
            return wk.sum(wk.square(wk.scaled_dot_product_attention(*given, causal=True)))

        return tuple(wk.grads(loss)(q, k, v))

    with wk.use_backend("webgpu"):
        captured = wk.capture(step)
        for _ in range(4):
            given = [wk.tensor(rng.normal(size=(2, 5, 4)).astype(np.float32)) for _ in range(3)]
            for one, other in zip(captured(*given), step(*given), strict=True):
                assert (one.numpy() == other.numpy()).all()


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (wk.ones((3, 3)), wk.ShapeError, r"Attention: mask has shape \[3, 3\]; want four axes"),
        (wk.ones((1, 1, 3, 3), dtype="int32"), wk.DTypeError, "Attention: mask has dtype int32"),
    ],
)
def test_the_kernel_refuses_a_mask_that_does_not_fit(
    mask: wk.Tensor, error: type[Exception], message: str
) -> None:
    x = wk.ones((1, 2, 3, 4))
    with pytest.raises(error, match=message):
        wk.engine().run_kernel("Attention", {"query": x, "key": x, "value": x, "mask": mask})


def test_the_gradients_kernel_refuses_what_does_not_fit() -> None:
    x, row = wk.ones((1, 2, 3, 4)), wk.ones((1, 2, 3))
    given = {"query": x, "key": x, "value": x, "log_sums": row, "level": row, "dy": x}
    for name, bad, message in [
        ("level", wk.ones((1, 2)), r"level has shape \[1, 2\]; want \[1, 2, 3\]"),
        ("dy", wk.ones((1, 2, 3, 5)), r"dy has shape \[1, 2, 3, 5\]; want \[1, 2, 3, 4\]"),
        ("key", wk.ones((1, 2, 3, 5)), "key heads that divide heads"),
    ]:
        with pytest.raises(wk.ShapeError, match=f"AttentionGradient: .*{message}"):
            wk.engine().run_kernel("AttentionGradient", {**given, name: bad})
