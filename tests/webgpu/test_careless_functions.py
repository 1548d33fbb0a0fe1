"""Functions with full control that do what they should not: errors of ours, never other values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("registries_as_before")]

TWICE = """
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  store_y(id.x, load_x(id.x) + load_x(id.x));
}
"""
ONE_MORE = """
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] += 1.0; }
"""
AND_100 = "\nfn op(a: T) -> T { return a + T(100); }\n"
SUM = "\nfn op(a: T, b: T) -> T { return a + b; }\n"
REPEATS = pytest.mark.parametrize("repeats", [False, True])


@pytest.fixture(autouse=True, params=["never", "auto"])
def _fusion(request: pytest.FixtureRequest) -> Iterator[None]:
    with wk.use_backend("webgpu"), wk.config.using(fusion=request.param):
        yield


def run(func: Callable[..., Any], x: Any, *, repeats: bool, shape: Any = None) -> wk.Tensor:
    """Register a function of one tensor, whose result is declared like it, and run it once."""
    wk.signature("Careless")(lambda x, /: x.like() if shape is None else x.like(shape=shape))
    wk.wgsl_kernel("Careless", repeats=repeats)(func)
    return again(x)


def again(x: Any) -> wk.Tensor:
    found = wk.engine().run_kernel("Careless", {"x": wk.tensor(np.asarray(x, np.float32))})
    assert isinstance(found, wk.Tensor)
    return found


def twice(gpu: Any, x: Any) -> Any:
    y = gpu.empty(x.shape, x.dtype)
    gpu.dispatch(TWICE, {"x": x, "y": y})
    return y


@REPEATS
@pytest.mark.parametrize("shape", [(1000,), (1,), (2, 1)])
def test_a_result_of_another_shape_than_declared_is_refused(
    repeats: bool, shape: tuple[int, ...]
) -> None:
    with pytest.raises(wk.ShapeError, match=r"Careless: the webgpu kernel gave \[2\] float32"):
        run(twice, [1, 2], repeats=repeats, shape=shape).numpy()


@REPEATS
@pytest.mark.parametrize("result", [None, 1, "y", np.zeros(2, np.float32), iter(())])
def test_what_is_no_array_is_refused_as_a_result(repeats: bool, result: Any) -> None:
    with pytest.raises(wk.ArgumentError, match="Careless: the webgpu kernel gave a"):
        run(lambda gpu, x: result, [1, 2], repeats=repeats).numpy()


@REPEATS
@pytest.mark.parametrize(
    "call",
    [
        lambda gpu, x: gpu.dispatch(TWICE, {"x": None, "y": x}),
        lambda gpu, x: gpu.dispatch(TWICE, [x, x]),
        lambda gpu, x: gpu.dispatch(TWICE, {"x": x, "y": gpu.empty(x.shape, x.dtype)}, params=3),
        lambda gpu, x: gpu.dispatch(
            TWICE, {"x": x, "y": gpu.empty(x.shape, x.dtype)}, params={"no": 1}
        ),
        lambda gpu, x: gpu.dispatch(
            TWICE, {"x": x, "y": gpu.view(gpu.empty((8,), x.dtype), (2,), (1,), 4)}
        ),
        lambda gpu, x: gpu.view(None, (1,), (1,), 0),
        lambda gpu, x: gpu.contiguous(np.zeros(2)),
        lambda gpu, x: gpu.resident(None),
        lambda gpu, x: gpu.upload([1.0], "float32"),
        lambda gpu, x: gpu.upload(np.zeros(2), "float64"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_run_is_told_by_an_error_of_ours(
    repeats: bool, call: Callable[[Any, Any], Any]
) -> None:
    def careless(gpu: Any, x: Any) -> Any:
        call(gpu, x)
        return x

    with pytest.raises((wk.ArgumentError, wk.DTypeError), match=r"^Careless: "):
        run(careless, [1, 2], repeats=repeats).numpy()


@REPEATS
def test_values_are_uploaded_as_they_were(repeats: bool) -> None:
    table = np.zeros(3)  # float64, which is cast

    def changes(gpu: Any, x: Any) -> Any:
        given = gpu.upload(table, "float32")
        table[:] += 1
        return gpu.map(
            "\nfn op(a: T, b: T) -> T { return a + b; }\n", {"a": x, "b": given}, (3,), "float32"
        )

    first = run(changes, [1.5, 2.5, 3.5], repeats=repeats)
    second = again([1.5, 2.5, 3.5])

    assert first.tolist() == [1.5, 2.5, 3.5]
    assert second.tolist() == ([1.5, 2.5, 3.5] if repeats else [2.5, 3.5, 4.5])


@REPEATS
def test_what_is_written_after_a_map_does_not_reach_it(repeats: bool) -> None:
    def overtaking(gpu: Any, x: Any) -> Any:
        y = twice(gpu, x)
        found = gpu.map(AND_100, {"a": y}, x.shape, x.dtype)
        gpu.dispatch(ONE_MORE, {"y": y}, groups=(1, 1, 1))
        return found

    assert run(overtaking, [0, 1, 2], repeats=repeats).tolist() == [100, 102, 104]


def test_a_buffer_that_is_kept_between_calls_changes_no_result() -> None:
    kept: list[Any] = []

    def scratch(gpu: Any, x: Any) -> Any:
        kept[:] = kept or [gpu.empty(x.shape, x.dtype)]
        gpu.dispatch(TWICE, {"x": x, "y": kept[0]})
        return gpu.map(AND_100, {"a": kept[0]}, x.shape, x.dtype)

    first = run(scratch, [1, 2], repeats=False)
    assert again([5, 6]).tolist() == [110, 112]
    assert first.tolist() == [102, 104]


def test_a_result_is_not_written_again() -> None:
    kept: list[Any] = []

    def cached(gpu: Any, x: Any) -> Any:
        kept[:] = kept or [gpu.empty(x.shape, x.dtype)]
        gpu.dispatch(TWICE, {"x": x, "y": kept[0]})
        return kept[0]

    first = run(cached, [1, 2], repeats=False)
    with pytest.raises(wk.ArgumentError, match="which is an input or a result"):
        again([5, 6])
    assert first.tolist() == [2, 4]


def test_an_array_of_a_symbolic_run_is_refused_in_another() -> None:
    kept: dict[str, Any] = {}

    def cached(gpu: Any, x: Any) -> Any:
        if "w" not in kept:
            kept["w"] = gpu.upload(np.full(1, 7, np.float32), "float32")
        return gpu.map(
            "\nfn op(a: T, b: T) -> T { return a + b; }\n",
            {"a": x, "b": kept["w"]},
            x.shape,
            x.dtype,
        )

    assert run(cached, [1, 2], repeats=True).tolist() == [8, 9]
    with pytest.raises(wk.ArgumentError, match="make arrays anew in each run"):
        again([1, 2, 3])


def test_a_read_is_no_error_that_a_function_can_swallow() -> None:
    def swallows(gpu: Any, x: Any) -> Any:
        try:
            value = float(gpu.read(x)[0])
        except Exception:
            value = -1.0
        return gpu.full(x.shape, x.dtype, value)

    assert run(swallows, [3, 2], repeats=True).tolist() == [3, 3]
    assert again([4, 2]).tolist() == [4, 4]
