"""Functions with full control that use a view itself, its contiguous copy, and views of both."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.gpu

NAME, PAIR = "TestViewsOfOne", "TestViewsOfTwo"
ROWS = [6, 900]
"""So few that the host runs small ops, and so many that a copy has a kernel of its own."""
INDEXED = """
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&y)) {
    y[id.x] = x[id.x] + 1.0;
  }
}
"""
ADDED = INDEXED.replace("= x[id.x] + 1.0", "+= x[id.x]")
SUMS = "fn init() -> T { return 0.0; }\nfn combine(a: T, b: T) -> T { return a + b; }"
TWICE = "fn op(x: T) -> T { return x * 2.0; }"
DIFFERENCE = "fn op(a: T, b: T) -> T { return a * 2.0 - b; }"


def _turned(gpu: Any, x: Any) -> Any:
    strides = (-x.strides[0], x.strides[1])
    return gpu.view(x, x.shape, strides, x.offset + x.strides[0] * (x.shape[0] - 1))


def _indexed(gpu: Any, x: Any) -> Any:
    y = gpu.empty(x.shape, x.dtype)
    gpu.dispatch(INDEXED, {"x": x, "y": y})
    return y


def _twice(gpu: Any, x: Any) -> Any:
    return gpu.map(TWICE, {"x": x}, x.shape, x.dtype)


def _copy_and_view(gpu: Any, x: Any) -> Any:
    both = {"a": gpu.contiguous(x), "b": _turned(gpu, x)}
    return gpu.map(DIFFERENCE, both, x.shape, x.dtype)


USES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Array], Array]]] = {
    "itself": (lambda gpu, x: x, lambda x: x),
    "copy": (lambda gpu, x: gpu.contiguous(x), lambda x: x),
    "view": (_turned, lambda x: x[::-1]),
    "view of a view": (lambda gpu, x: _turned(gpu, _turned(gpu, x)), lambda x: x),
    "view of the copy": (lambda gpu, x: _turned(gpu, gpu.contiguous(x)), lambda x: x[::-1]),
    "copy of a view": (lambda gpu, x: gpu.contiguous(_turned(gpu, x)), lambda x: x[::-1]),
    "indexed": (_indexed, lambda x: x + 1),
    "view of what is made": (lambda gpu, x: _turned(gpu, _indexed(gpu, x)), lambda x: x[::-1] + 1),
    "map": (_twice, lambda x: x * 2),
    "map of a view": (lambda gpu, x: _twice(gpu, _turned(gpu, x)), lambda x: x[::-1] * 2),
    "copy and view": (_copy_and_view, lambda x: x * 2 - x[::-1]),
    "scan": (lambda gpu, x: gpu.scan(SUMS, x, x.dtype, axis=0), lambda x: x.cumsum(0)),
}
LAYOUTS: dict[str, tuple[Callable[[Array], wk.Tensor], Callable[[Array], Array]]] = {
    "whole": (wk.tensor, lambda x: x),
    "transposed": (lambda x: wk.tensor(x).T, lambda x: x.T),
    "turned": (lambda x: wk.flip(wk.tensor(x), axis=0), lambda x: x[::-1]),
    "from a row on": (lambda x: wk.tensor(x)[2:], lambda x: x[2:]),
    "one column": (lambda x: wk.tensor(x)[:, 1:], lambda x: x[:, 1:]),
    "each second row": (lambda x: wk.tensor(x)[::2], lambda x: x[::2]),
    "transposed of what is pending": (lambda x: (wk.tensor(x) * 1.0).T, lambda x: x.T),
    "rows of what is pending": (lambda x: (wk.tensor(x) * 1.0)[2:], lambda x: x[2:]),
}


@pytest.fixture(autouse=True)
def _on_webgpu() -> Iterator[None]:
    with wk.use_backend("webgpu"):
        yield
    for name in (NAME, PAIR):
        if wk.get_kernel(name, "webgpu") is not None:
            wk.unregister_kernel(name, "webgpu")


def _register(func: Callable[[Any, Any], Any], results: int, *, repeats: bool) -> None:
    @wk.signature(NAME)
    def _(x: wk.Spec, /) -> tuple[wk.Spec, ...]:
        return (x,) * results

    wk.wgsl_kernel(NAME, repeats=repeats)(func)


def _run(x: wk.Tensor) -> tuple[wk.Tensor, ...]:
    found: Any = wk.run(NAME, x)
    return tuple(found)


def _run_in_groups(x: wk.Tensor) -> tuple[wk.Tensor, ...]:
    return tuple([(one - 1.0) * 1.0 + 1.0 for one in _run(x * 1.0)])


def _check(names: tuple[str, ...], rows: int, *, repeats: bool) -> None:
    given = (np.arange(rows * 2, dtype=np.float32) % 37).reshape(rows, 2)
    uses = [USES[name] for name in names]

    def func(gpu: Any, x: Any) -> list[Any]:
        return [use(gpu, x) for use, _ in uses]

    _register(func, len(uses), repeats=repeats)
    runs: dict[str, Any] = {
        "eager": _run,
        "captured": wk.capture(_run),
        "in groups": _run_in_groups,
    }
    for (how, run), (layout, (made, same)) in product(runs.items(), LAYOUTS.items()):
        for _ in range(2):
            for y, (_, wanted) in zip(run(made(given)), uses, strict=True):
                message = f"{names}: {layout}, {how}"
                np.testing.assert_array_equal(y, wanted(same(given)), message)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("one", USES)
def test_each_use_of_a_view_reads_its_elements_whatever_else_the_function_does_with_it(
    one: str, rows: int
) -> None:
    names = list(USES)
    for other in names[names.index(one) :]:
        _check((one, other, one), rows, repeats=True)


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("rows", ROWS)
def test_all_uses_of_a_view_read_its_elements(rows: int, repeats: bool) -> None:
    _check(tuple(USES), rows, repeats=repeats)


@pytest.mark.parametrize("repeats", [True, False])
def test_a_copy_of_a_view_has_what_was_written_to_its_buffer_last(repeats: bool) -> None:
    def func(gpu: Any, x: Any) -> list[Any]:
        total = gpu.full(x.shape, x.dtype, 0.0)
        view = _turned(gpu, total)
        found: list[Any] = []
        for _ in range(3):
            gpu.dispatch(ADDED, {"x": x, "y": total})
            found += [gpu.contiguous(view), _indexed(gpu, view), _twice(gpu, view)]
            found.append(gpu.scan(SUMS, view, x.dtype, axis=0))
        return found

    _register(func, 12, repeats=repeats)
    for rows in ROWS:
        x = (np.arange(rows * 2, dtype=np.float32) % 7).reshape(rows, 2)
        found = _run(wk.tensor(x))
        for n in range(3):
            now = x[::-1] * (n + 1)
            for y, wanted in zip(
                found[4 * n : 4 * n + 4], (now, now + 1, now * 2, now.cumsum(0)), strict=True
            ):
                np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("repeats", [True, False])
def test_a_view_that_is_given_twice_may_be_copied_once_and_read_once(repeats: bool) -> None:
    @wk.signature(PAIR)
    def _(a: wk.Spec, b: wk.Spec, /) -> tuple[wk.Spec, ...]:
        return a, b, b, a

    @wk.wgsl_kernel(PAIR, repeats=repeats)
    def _(gpu: Any, a: Any, b: Any) -> tuple[Any, ...]:
        return gpu.contiguous(a), b, _indexed(gpu, b), a

    values = np.arange(12, dtype=np.float32).reshape(6, 2)
    for made, same in [*LAYOUTS.values()] * 2:
        x, wanted = made(values), same(values)
        for y, want in zip(wk.run(PAIR, x, x), (wanted, wanted, wanted + 1, wanted), strict=True):
            np.testing.assert_array_equal(y, want)


def test_a_view_of_which_only_the_copy_is_used_is_copied_once_for_all_calls() -> None:
    def func(gpu: Any, x: Any) -> list[Any]:
        return [_indexed(gpu, x), _turned(gpu, gpu.contiguous(x))]

    _register(func, 2, repeats=True)
    x = wk.tensor(np.arange(2000, dtype=np.float32).reshape(1000, 2)).T
    _run(x)
    assert [row.kernels for row in wk.profile(lambda: _run(x)).dispatches] == [(NAME,)]
