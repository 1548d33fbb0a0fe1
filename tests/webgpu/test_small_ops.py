"""Ops of a few numbers that the host has run there, and give what the device would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.samples.edges import bits_but_for_nan

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.exact import is_regular
from wgsl_kernels.engine.registry.registry import add_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _on_the_host() -> Iterator[None]:
    with wk.use_backend("webgpu"), wk.config.using(small_ops="host"):
        yield


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
def test_random_floats_have_the_bits_of_the_device(name: str) -> None:
    drawn = np.random.default_rng(2)
    f = getattr(wk, name)
    for _ in range(50):
        bits = drawn.integers(0, 2**32, (2, 16), np.uint64).astype(np.uint32)
        pair = list(bits.view(np.float32))
        here = bits_but_for_nan(f, pair)
        with wk.config.using(small_ops="device"):
            assert here == bits_but_for_nan(f, pair)


def _dispatches(f: Callable[[], Any]) -> int:
    return len(wk.profile(f).dispatches)


def test_a_small_op_of_host_values_needs_no_device() -> None:
    x, indices = wk.tensor([1.0, 2.0, 4.0]), wk.tensor([2, 0])

    def work() -> list[Any]:
        y = wk.maximum(x * 2.0 - 1.0, 0.0)
        shape = wk.concat([indices, indices + 1])
        return [y, shape, wk.take(y, indices), y > 1.0, wk.reshape(y, (3, 1)), wk.zeros(())]

    buffers = wk.memory().num_buffers
    made: list[Any] = []
    assert _dispatches(lambda: made.extend(work())) == 0
    assert all(one._array.storage is None and one._array.host is not None for one in made)
    assert wk.memory().num_buffers == buffers + len(made) - 1  # a view has none of its own
    np.testing.assert_array_equal(made[2].numpy(), [7.0, 1.0])


def _moved(drawn: np.random.Generator, x: wk.Tensor) -> wk.Tensor:
    """Return the tensor with its elements in another order, in another shape, or some of them."""
    way = int(drawn.integers(6))
    if way == 0:
        return wk.transpose(x, drawn.permutation(x.ndim).tolist())
    if way == 1:
        return wk.flip(x, int(drawn.integers(x.ndim)))
    if way == 2:
        return wk.expand_dims(x, int(drawn.integers(x.ndim + 1)))
    if way == 3:
        begin, step = int(drawn.integers(x.shape[0])), (-1, 1, 2)[drawn.integers(3)]
        return x[begin::step]
    if way == 4:
        return wk.broadcast_to(x, (2, *x.shape))[:, ...] if x.size <= 32 else wk.unstack(x)[-1]
    return wk.reshape(x, (x.shape[-1], -1))


@pytest.mark.parametrize("seed", range(60))
def test_what_moves_elements_leaves_the_layout_that_the_device_would(seed: int) -> None:
    def chain(where: str) -> list[Any]:
        drawn = np.random.default_rng(seed)
        shape = [(8, 8), (2, 3, 4), (4, 1, 16), (5,)][seed % 4]
        x = wk.tensor(drawn.uniform(-2, 2, shape).astype(np.float32))
        with wk.config.using(small_ops=where):
            for _ in range(int(drawn.integers(1, 4))):
                x = _moved(drawn, x) if x.ndim else x
        view = [] if x.size == 1 else [x._array.strides, x._array.offset]
        sums = [wk.sum(x), *[wk.softmax(x, axis).sum(axis) for axis in range(x.ndim)]]
        return [x.shape, *view, *[one.numpy().tobytes() for one in (x, *sums, wk.sqrt(x * x))]]

    assert chain("host") == chain("device")


def test_one_number_of_a_tensor_is_that_number_after_others_of_its_shape() -> None:
    wide = np.full((3, 3), np.nan, np.float32)
    wide[1, 1] = 3.0
    for f in (wk.matmul, wk.capture(wk.matmul)):
        for x in (wk.tensor([[3.0]]), wk.tensor(wide)[1::2, 1::2], wk.tensor([[3.0]])):
            with wk.config.using(small_ops="device"):
                assert f(x, wk.tensor([[1.0]])).item() == 3.0


def test_what_is_on_the_device_stays_there() -> None:
    x = wk.sqrt(wk.tensor([4.0, 9.0]))
    wk.evaluate(x)

    assert _dispatches(lambda: x + 1.0) == 1


def test_large_ops_run_on_the_device() -> None:
    x = wk.tensor(np.ones(1000, np.float32))

    assert _dispatches(lambda: x + 1.0) == 1
    assert _dispatches(lambda: wk.zeros((1000,))) == 1


@pytest.mark.parametrize("value", [1e-39, -0.0, np.inf, np.nan])
def test_what_devices_may_see_differently_is_left_to_them(value: float) -> None:
    assert not is_regular(np.array([value], np.float32))
    assert _dispatches(lambda: wk.tensor(value) * 1.0) == 1


def test_a_result_that_devices_may_flush_is_left_to_them() -> None:
    assert _dispatches(lambda: wk.tensor(1e-20) * 1e-20) == 1
    assert _dispatches(lambda: wk.tensor(2.0**-100) * 2.0**-26) == 1
    assert _dispatches(lambda: -wk.tensor(0.0)) == 1


def test_kernels_with_a_bound_run_on_the_device() -> None:
    assert _dispatches(lambda: wk.exp(wk.tensor(1.0))) == 1
    assert _dispatches(lambda: wk.tensor(1.0) / 3.0) == 1
    assert _dispatches(lambda: wk.sum(wk.tensor([1.0, 2.0]))) == 1


def test_a_replaced_kernel_runs_where_it_was_put() -> None:
    kernel = wk.get_kernel("Relu6", "webgpu")
    assert kernel is not None
    wk.wgsl_kernel("Relu6", "fn op(x: T) -> T {\n  return x + 1.0;\n}", override=True)
    try:
        assert wk.relu6(wk.tensor(5.0)).item() == 6.0
    finally:
        wk.unregister_kernel("Relu6", "webgpu")
        add_kernel(kernel)
    assert _dispatches(lambda: wk.relu6(wk.tensor(5.0))) == 0


def test_steps_and_random_keys_stay_on_the_host() -> None:
    step = wk.variable(0, trainable=False)
    wk.random.seed(1)  # a captured function before this may have left the key on the device
    wk.random_uniform((4,))

    def count() -> None:
        step.assign(step + 1)
        wk.random_uniform((4,))

    for _ in range(3):
        rows = wk.profile(count).dispatches
        assert [row.kernels for row in rows] == [("RandomUniform",)]
    assert step.item() == 3
    assert wk.random.key._array.host is not None


def test_a_scalar_gradient_of_a_loss_on_the_device_is_known_to_the_host() -> None:
    loss = wk.mean(wk.tensor(np.ones((64, 10), np.float32)))
    wk.evaluate(loss)

    assert _dispatches(lambda: wk.ones_like(loss) * -(1 / 640)) == 0


def test_an_index_out_of_range_is_refused_in_the_same_words() -> None:
    def message(mode: str) -> str:
        with (
            wk.config.using(small_ops=mode),
            pytest.raises(wk.IndexOutOfRange) as caught,
        ):
            wk.take(wk.tensor([1.0, 2.0]), wk.tensor([0, 5])).numpy()
        return str(caught.value)

    assert message("host") == message("device")
