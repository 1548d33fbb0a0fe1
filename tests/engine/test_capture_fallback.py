"""What cannot be replayed runs as ever and says why; errors, watchers, threads and memory."""

from __future__ import annotations

import gc
import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def _on_the_gpu() -> Iterator[None]:
    with wk.use_backend("webgpu"):
        yield


def captured_bytes() -> int:
    """Return what captured functions keep now."""
    gc.collect()
    return wk.memory().by_backend["webgpu"].captured_bytes


def says_why(f: Callable[..., Any], *args: Any, match: str) -> Any:
    """Call a captured ``f`` twice; check that it warns once; return it."""
    fast = wk.capture(f)
    with pytest.warns(RuntimeWarning, match=match):
        first = fast(*args)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second = fast(*args)
    assert np.array_equal(first.numpy(), second.numpy())
    assert fast.why is not None
    return fast


def test_a_read_inside_is_told_with_its_line_and_everything_happens_once() -> None:
    count = wk.variable(0.0)

    def f(x: wk.Tensor) -> wk.Tensor:
        count.assign(count + 1.0)
        return x * 2.0 if wk.sum(x).item() > 0 else x * 3.0

    fast = says_why(f, wk.tensor([1.0, 2.0]), match=r"f runs without replay: it reads values at .*")
    assert __file__.rpartition("/")[2] in fast.why
    assert count.item() == 2.0
    assert fast(wk.tensor([-1.0, -2.0])).tolist() == [-3.0, -6.0]
    assert count.item() == 3.0


def test_a_shape_that_depends_on_values_is_told() -> None:
    x = wk.tensor([3, 1, 3, 2], dtype="int32")
    says_why(lambda x: wk.unique(x + 0)[0], x, match="it reads values at")


def test_a_kernel_with_full_control_that_reads_is_told() -> None:
    @wk.wgsl_kernel("CaptureReader")
    def _(gpu: Any, x: Any) -> Any:
        values = gpu.read(x)
        return gpu.upload(values * 2, "float32")

    wk.signature("CaptureReader")(lambda x, /: x.like())
    run = wk.engine().run_kernel
    fast = says_why(
        lambda x: run("CaptureReader", {"x": x + 0.0}), wk.tensor([1.0]), match="it reads values at"
    )
    assert fast(wk.tensor([4.0])).tolist() == [8.0]


def test_a_kernel_on_another_backend_is_told() -> None:
    @wk.cpu_kernel("CaptureCpuOnly")
    def _(x: Any) -> Any:
        return x + 1

    wk.signature("CaptureCpuOnly")(lambda x, /: x.like())
    run = wk.engine().run_kernel
    with wk.config.using(fallback="silent"):
        fast = says_why(
            lambda x: run("CaptureCpuOnly", {"x": x}),
            wk.tensor([1.0]),
            match="it uses a tensor of backend 'webgpu' at",
        )
        assert fast(wk.tensor([2.0])).tolist() == [3.0]


def test_a_tensor_that_was_on_another_backend_before_is_a_constant() -> None:
    with wk.use_backend("cpu"):
        weights = wk.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
        one = wk.tensor(2.0)
    fast = wk.capture(lambda x: wk.relu(x @ weights) * one)
    for k in range(4):
        x = np.array([[1.0, -k]], np.float32)
        assert fast(wk.tensor(x)).tolist() == (np.maximum(x @ weights.numpy(), 0) * 2).tolist()
    assert fast.why is None

    def makes(x: wk.Tensor) -> wk.Tensor:
        with wk.use_backend("cpu"):
            made = weights + 1.0
        return x @ made

    says_why(makes, wk.tensor([[1.0, 2.0]]), match="it uses a tensor of backend 'cpu' at")


def test_a_tape_around_gets_its_gradient() -> None:
    fast = wk.capture(lambda x: wk.sum(x * x))
    x = wk.tensor([1.0, 2.0])
    assert fast(x).item() == 5.0
    with pytest.warns(RuntimeWarning, match="a tape around the call"):
        assert wk.grad(fast)(x).tolist() == [2.0, 4.0]
    assert fast(x).item() == 5.0
    assert fast.why is None


def test_an_interceptor_and_check_numerics_see_every_kernel() -> None:
    names = []

    def note(call: Any, proceed: Any) -> Any:
        names.append(call.name)
        return proceed(call)

    fast = wk.capture(lambda x: wk.exp(x) + 1.0)
    x = wk.tensor([1.0, 2.0])
    fast(x)
    with wk.engine().intercept(note), pytest.warns(RuntimeWarning, match="an interceptor"):
        fast(x)
    assert names == ["Exp", "Add"]
    with wk.config.using(check_numerics=True), pytest.warns(RuntimeWarning, match="check_numerics"):
        fast(x)


def test_results_and_arguments_of_other_kinds_are_told() -> None:
    class Box:
        def __init__(self, y: wk.Tensor) -> None:
            self.y = y

    with pytest.warns(RuntimeWarning, match="it returns a Box; want tensors in tuples"):
        wk.capture(lambda x: Box(x + 1.0))(wk.tensor(1.0))
    with pytest.warns(RuntimeWarning, match="an argument is a set, whose contents"):
        wk.capture(lambda s: wk.tensor(float(len(s))))({1, 2})
    with pytest.warns(RuntimeWarning, match="'v', a variable that it makes"):
        wk.capture(lambda: wk.variable([1.0], name="v"))()
    with pytest.raises(wk.ArgumentError, match="capture: got a int; want a function"):
        wk.capture(3)  # type: ignore[arg-type]  # what is refused


def test_on_cpu_and_on_a_backend_of_a_user_it_calls_the_function() -> None:
    runs = []

    def f(x: wk.Tensor) -> wk.Tensor:
        runs.append(1)
        return x * 2.0

    fast = wk.capture(f)
    with wk.use_backend("cpu"):
        for _ in range(3):
            assert fast(wk.tensor([1.0])).tolist() == [2.0]
    assert len(runs) == 3
    assert fast.why == "backend 'cpu' does not record"


@pytest.mark.usefixtures("_unchecked")
def test_a_captured_function_inside_another_becomes_part_of_it() -> None:
    runs = []

    def inner(x: wk.Tensor) -> wk.Tensor:
        runs.append("inner")
        return wk.exp(x)

    fast_inner = wk.capture(inner)

    @wk.capture
    def outer(x: wk.Tensor) -> wk.Tensor:
        runs.append("outer")
        return fast_inner(x) + fast_inner(x * 2.0)

    for n in range(3):
        x = wk.tensor([float(n)])
        expected = wk.exp(x) + wk.exp(x * 2.0)
        assert np.array_equal(outer(x).numpy(), expected.numpy())
    assert runs == ["outer", "inner", "inner"]


def test_it_decorates_methods() -> None:
    class Model:
        def __init__(self, start: float) -> None:
            self.weight = wk.variable(start)

        @wk.capture
        def step(self, x: wk.Tensor) -> wk.Tensor:
            """Return x times the weight."""
            return x * self.weight

    one, two = Model(2.0), Model(3.0)
    for _ in range(2):
        assert one.step(wk.tensor([1.0])).tolist() == [2.0]
        assert two.step(wk.tensor([1.0])).tolist() == [3.0]
    assert Model.step.__doc__ == "Return x times the weight."
    assert "Model.step" in repr(Model.step)


def test_an_exception_inside_leaves_everything_usable() -> None:
    fail = [True]
    weight = wk.variable([1.0, 2.0])

    def f(x: wk.Tensor) -> wk.Tensor:
        y = wk.exp(x) * weight
        if fail[0]:
            raise KeyError("on purpose")
        return y

    fast = wk.capture(f)
    before = captured_bytes()
    x = wk.tensor([0.0, 1.0])
    with pytest.raises(KeyError, match="on purpose"):
        fast(x)
    assert captured_bytes() == before
    assert weight.tolist() == [1.0, 2.0]
    fail[0] = False
    for _ in range(3):
        assert np.array_equal(fast(x).numpy(), (wk.exp(x) * weight).numpy())


def test_an_index_out_of_range_in_a_replay_raises_at_the_next_read() -> None:
    table = wk.tensor(np.arange(12, dtype=np.float32).reshape(4, 3))
    fast = wk.capture(lambda indices: wk.gather(table, indices + 0))
    good = wk.tensor([1, 3], dtype="int32")
    assert fast(good).tolist() == [[3.0, 4.0, 5.0], [9.0, 10.0, 11.0]]
    assert fast(good).tolist() == [[3.0, 4.0, 5.0], [9.0, 10.0, 11.0]]
    bad = fast(wk.tensor([1, 9], dtype="int32"))
    with pytest.raises(wk.IndexOutOfRange, match=r"indices .*9"):
        bad.numpy()
    assert fast(good).tolist() == [[3.0, 4.0, 5.0], [9.0, 10.0, 11.0]]


def test_profile_and_time_see_the_dispatches_of_a_replay() -> None:
    fast = wk.capture(lambda x: wk.sum(wk.matmul(x, x), axis=0))
    x = wk.tensor(np.ones((8, 8), np.float32))
    fast(x)
    seen = wk.profile(lambda: fast(x))
    (row,) = seen.kernels
    assert row.is_replay
    assert "lambda" in row.name
    assert (row.backend, row.input_shapes, row.output_shapes) == ("webgpu", ((8, 8),), ((8,),))
    assert row.dispatches == len(seen.dispatches) >= 2
    labels = " ".join(one.label for one in seen.dispatches)
    assert "BatchMatMul" in labels
    assert "Sum" in labels
    assert seen.result.tolist() == [64.0] * 8
    assert wk.time(lambda: fast(x)).wall_ms > 0
    assert fast.why is None


def test_memory_counts_what_is_kept_and_dispose_frees_it() -> None:
    x = wk.tensor(np.ones((64, 64), np.float32))
    x.numpy()
    wk.synchronize()
    before, use = captured_bytes(), wk.memory()
    fast = wk.capture(lambda x: wk.matmul(wk.matmul(wk.matmul(x, x), x), x))
    y = fast(x)
    y = fast(x)
    wk.synchronize()
    now = wk.memory()
    assert captured_bytes() - before >= 64 * 64 * 4
    assert now.num_buffers <= use.num_buffers + 2  # y, and x that went to the device
    del y
    fast.dispose()
    assert captured_bytes() == before
    assert fast(x).numpy()[0, 0] == 64.0**3
    del fast
    assert captured_bytes() == before


def test_what_is_freed_is_not_written_before_its_last_replay() -> None:
    x = wk.tensor(np.full((32, 32), 0.01, np.float32))
    constant = np.full((32, 32), 3.0, np.float32)
    expected = wk.matmul(wk.matmul(x, x) + constant, x).numpy()
    for _ in range(4):
        fast = wk.capture(lambda x: wk.matmul(wk.matmul(x, x) + constant, x))
        fast(x).numpy()
        result = fast(x)
        del fast
        later = [wk.exp(np.full((32, 32), float(n), np.float32)) for n in range(6)]
        assert np.array_equal(result.numpy(), expected)
        for n, one in enumerate(later):
            assert np.allclose(one.numpy(), np.exp(np.float32(n)), rtol=1e-5)


def test_a_signature_shares_its_memory_with_the_others() -> None:
    fast = wk.capture(lambda x: wk.exp(wk.matmul(wk.matmul(x, x), x)))
    big, small = (wk.tensor(np.ones((n, n), np.float32)) for n in (64, 63))
    fast(big)
    first = captured_bytes()
    fast(small)
    assert captured_bytes() - first < 64 * 64 * 4
    for x in (big, small, big, small):
        expected = wk.exp(wk.matmul(wk.matmul(x, x), x))
        assert np.array_equal(fast(x).numpy(), expected.numpy())


def test_registering_a_kernel_anew_records_anew() -> None:
    name = "CaptureChanging"
    wk.signature(name)(lambda x, /: x.like())
    wk.wgsl_kernel(name, "fn op(x: T) -> T { return x + 1.0;\n}")
    fast = wk.capture(lambda x: wk.engine().run_kernel(name, {"x": x}))
    assert fast(wk.tensor([1.0])).tolist() == [2.0]
    wk.wgsl_kernel(name, "fn op(x: T) -> T { return x + 5.0;\n}", override=True)
    assert fast(wk.tensor([1.0])).tolist() == [6.0]


def test_an_overridden_gradient_is_another_signature() -> None:
    fast = wk.capture(wk.grad(wk.relu))
    x = wk.tensor([2.0])
    assert fast(x).tolist() == [1.0]
    with wk.override_gradient("Relu", lambda dy, x: dy * 7.0):
        assert fast(x).tolist() == [7.0]
    assert fast(x).tolist() == [1.0]


def test_threads_may_call_the_same_function() -> None:
    total = wk.variable(0.0)

    def f(x: wk.Tensor) -> wk.Tensor:
        return wk.sum(wk.exp(x) * x)

    fast = wk.capture(f)
    xs = [wk.tensor(np.full(16, 0.1 * n, np.float32)) for n in range(6)]
    wanted = [f(x).numpy().tobytes() for x in xs]
    failures: list[object] = []

    def work() -> None:
        with wk.use_backend("webgpu"):
            for _ in range(5):
                for x, expected in zip(xs, wanted, strict=True):
                    if fast(x).numpy().tobytes() != expected:
                        failures.append(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failures
    assert total.item() == 0.0


def test_empty_tensors_and_arguments_disposed_inside() -> None:
    def f(x: wk.Tensor, nothing: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
        y = x + 1.0
        x.dispose()
        return y, nothing * 2.0

    fast = wk.capture(f)
    for n in range(3):
        x, nothing = wk.tensor([float(n)]), wk.tensor(np.zeros((0, 3), np.float32))
        y, still = fast(x, nothing)
        assert y.tolist() == [n + 1.0]
        assert still.shape == (0, 3)
        assert x.is_disposed
        with pytest.raises(wk.DisposedTensorError):
            fast(x, nothing)


def test_a_lost_device_is_recorded_anew() -> None:
    from wgsl_kernels.engine.drivers.backends import find_driver

    driver: Any = find_driver("webgpu")
    fast = wk.capture(lambda x: wk.exp(x) * 2.0)
    x = wk.tensor([0.0, 1.0])
    first = fast(x).numpy()
    fast(x)
    driver.open()._device.destroy()
    with pytest.raises(wk.DeviceLostError):
        fast(x).numpy()
    wk.random.seed(0)  # its key is lost with the device, like any variable
    assert np.array_equal(fast(x).numpy(), first)
    assert np.array_equal(fast(x).numpy(), first)
