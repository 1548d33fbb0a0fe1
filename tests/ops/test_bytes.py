"""int8 and uint8: stored as bytes, computed in int32, cast back modulo 256, as NumPy has it."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.programs.building import folding_at
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Array = np.ndarray[Any, Any]
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
DTYPES = pytest.mark.parametrize("dtype", ["int8", "uint8"])
SHAPES = ((5,), (5, 3), (2, 3, 9), (70, 90))
"""Sizes of all remainders by 4, and one whose copies have a kernel of their own."""

WIDE = np.int32
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "chain": (lambda a, b: a * b - a, lambda a, b: a * b - a),
    "negative": (lambda a, b: -a, lambda a, b: -a),
    "number": (lambda a, b: 3 * a + 100, lambda a, b: 3 * a + a.dtype.type(100)),
    "divide": (lambda a, b: a // 3, lambda a, b: a // 3),
    "bits": (lambda a, b: ~a ^ (b & a), lambda a, b: ~a ^ (b & a)),
    "less": (lambda a, b: a < b, lambda a, b: a < b),
    "where": (lambda a, b: wk.where(a > b, a, b), lambda a, b: np.where(a > b, a, b)),
    "clip": (lambda a, b: wk.clip(a, 3, 90), lambda a, b: np.clip(a, 3, 90)),
    "float": (lambda a, b: a.astype(wk.float32), lambda a, b: a.astype(np.float32)),
    "half": (lambda a, b: a * 0.5, lambda a, b: a * np.float32(0.5)),
    "int8": (lambda a, b: a.astype(wk.int8), lambda a, b: a.astype(np.int8)),
    "uint8": (lambda a, b: a.astype("uint8"), lambda a, b: a.astype(np.uint8)),
    "bool": (lambda a, b: a.astype(wk.bool), lambda a, b: a.astype(np.bool_)),
    "sum": (lambda a, b: wk.sum(a, axis=0), lambda a, b: a.sum(0, dtype=WIDE)),
    "cumulative": (lambda a, b: wk.cumulative_sum(a, axis=0), lambda a, b: a.cumsum(0, dtype=WIDE)),
    "max": (lambda a, b: a.max(-1), lambda a, b: a.max(-1)),
    "sort": (lambda a, b: wk.sort(a, axis=-1), lambda a, b: np.sort(a, -1)),
    "turned": (lambda a, b: a.T + b.T, lambda a, b: a.T + b.T),
    "odd": (lambda a, b: a[1:, ...] + b[:-1, ...], lambda a, b: a[1:] + b[:-1]),
    "part": (lambda a, b: a[..., 1::2], lambda a, b: a[..., 1::2]),
    "packed": (lambda a, b: a[..., 1:].T.reshape(-1), lambda a, b: a[..., 1:].T.reshape(-1)),
    "flip": (lambda a, b: wk.flip(a) - b, lambda a, b: np.flip(a) - b),
    "concat": (lambda a, b: wk.concat([a, b[1:]]), lambda a, b: np.concatenate([a, b[1:]])),
    "stack": (lambda a, b: wk.stack([a, b], -1), lambda a, b: np.stack([a, b], -1)),
    "tile": (lambda a, b: wk.tile(a, (3,)), lambda a, b: np.tile(a, (3,))),
    "pad": (
        lambda a, b: wk.pad(a, ((1, 2),) * a.ndim),
        lambda a, b: np.pad(a, ((1, 2),) * a.ndim),
    ),
    "take": (lambda a, b: wk.take(a, np.array([1, 0]), 0), lambda a, b: a[[1, 0]]),
    "rows": (
        lambda a, b: wk.take(a.T, np.array([[1], [0]], np.uint8), -1),
        lambda a, b: np.take(a.T, [[1], [0]], -1),
    ),
    "product": (lambda a, b: a @ b.T, lambda a, b: a @ b.T),
    "repeated": (
        lambda a, b: wk.broadcast_to(a[..., :1], a.shape) + b,
        lambda a, b: np.broadcast_to(a[..., :1], a.shape) + b,
    ),
}


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    limits = np.iinfo(dtype)
    draw = np.random.default_rng([seed, *shape])
    return draw.integers(limits.min, limits.max + 1, shape).astype(dtype)


@BACKENDS
@DTYPES
@pytest.mark.parametrize("case", CASES)
def test_bytes_are_computed_as_numpy_has_them(case: str, dtype: str, backend: str) -> None:
    ours, wanted = CASES[case]
    with wk.use_backend(backend), wk.config.using(fallback="error"):
        for shape in SHAPES:
            if case == "product" and len(shape) != 2:
                continue
            a, b = numbers(shape, dtype), numbers(shape, dtype, 1)
            x = wk.tensor(a).astype("int32").astype(dtype)  # type: ignore[arg-type]  # a parameter
            y = wk.tensor(np.stack([a, b]))[1]  # which often begins within a word
            for _ in range(2):  # what is met again may be fused
                found, expected = ours(x, y).numpy(), wanted(a, b)

                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)


@BACKENDS
def test_dtypes_promote_as_the_array_api_has_it_but_for_int16(backend: str) -> None:
    with wk.use_backend(backend):
        u, i = wk.tensor(np.array([200, 3], np.uint8)), wk.tensor(np.array([-100, 3], np.int8))
        found = [
            *(u + u, u + i, u + wk.tensor(1), u + wk.tensor(1.5), u + wk.tensor(True), u + 1),
            *(u + 1.5, u / u, u // u, u == i, wk.sin(u), wk.mean(u), wk.sum(u), wk.prod(i)),
            *(wk.argmax(u), wk.einsum("i,i->", u, u), wk.from_pixels(np.zeros((1, 1), np.uint8))),
        ]
        asked = [
            wk.sum(u, dtype="uint8"),
            wk.prod(u, dtype="int8"),
            wk.cumulative_sum(i, dtype="uint8"),
            wk.cumulative_prod(u, dtype="uint8"),
        ]
        totals = [(str(one.dtype), one.tolist()) for one in asked]
        sums = (u + i).tolist(), (u + wk.tensor(True)).tolist()

    assert [str(one.dtype) for one in found] == [
        *("uint8", "int32", "int32", "float32", "uint8", "uint8"),
        *("float32", "float32", "uint8", "bool", "float32", "float32", "int32", "int32"),
        *("int32", "uint8", "int32"),
    ]
    assert sums == ([100, 6], [201, 4])
    assert totals[:2] == [("uint8", 203), ("int8", 88)]
    assert totals[2:] == [("uint8", [156, 159]), ("uint8", [200, 88])]
    assert wk.result_type("int8", "uint8") == "int32"
    assert (wk.can_cast("uint8", "int8"), wk.can_cast("uint8", "int32")) == (False, True)
    assert (wk.iinfo(wk.uint8).max, wk.iinfo("int8").min) == (255, -128)
    assert wk.isdtype("uint8", "unsigned integer")
    assert {"int8", "uint8"} <= wk.__array_namespace_info__().dtypes(device=backend).keys()


@BACKENDS
def test_tensors_of_bytes_are_made_from_numbers(backend: str) -> None:
    with wk.use_backend(backend):
        wide = wk.tensor([300.0, -1.0, np.nan, 3e9, 7.9]).astype(wk.uint8)
        made = [
            wk.full((2, 3), 255, dtype="uint8"),
            wk.arange(-2, 3, dtype="int8"),
            wk.eye(3, dtype="uint8"),
            wk.zeros_like(wide),
            wk.tensor([[1, 2], [3, 4]], dtype="uint8"),
            wk.from_pixels(np.array([[[7, 8, 255]]], np.uint8), dtype="uint8"),
        ]
        lists = [one.tolist() for one in made]

        assert wide.tolist() == [44, 255, 0, 255, 7]  # int32 first: cut, saturated, NaN 0
    assert {str(one.dtype) for one in made} == {"uint8", "int8"}
    assert lists[:3] == [[[255] * 3] * 2, [-2, -1, 0, 1, 2], np.eye(3, dtype=int).tolist()]
    assert lists[3:] == [[0] * 5, [[1, 2], [3, 4]], [[[7, 8, 255]]]]
    with pytest.raises(wk.ArgumentError, match=r"256 does not fit uint8; want values in \[0, 2"):
        wk.tensor([256], dtype="uint8")
    with pytest.raises(wk.ArgumentError, match="is -1 and dtype uint8; want a whole number of 8 b"):
        wk.full(2, -1, dtype="uint8")


@BACKENDS
def test_bytes_go_out_and_come_back(backend: str, tmp_path: Path) -> None:
    values = numbers((3, 5), "uint8")
    with wk.use_backend(backend):
        x, v = wk.tensor(values), wk.variable(numbers((7,), "int8"), trainable=False)
        v.assign(v + 1)
        wk.save(tmp_path / "bytes.safetensors", {"x": x, "v": v, "part": x[1:, 1:]})
        loaded: Any = wk.load(tmp_path / "bytes.safetensors")
        copies = [pickle.loads(pickle.dumps(x)), wk.from_dlpack(x), loaded["x"], wk.tensor(x)]

        for one in copies:
            assert one.dtype == wk.uint8
            np.testing.assert_array_equal(one.numpy(), values)
        np.testing.assert_array_equal(np.asarray(loaded["part"]), values[1:, 1:])
        np.testing.assert_array_equal(np.asarray(v), numbers((7,), "int8") + np.int8(1))
        np.testing.assert_array_equal(np.from_dlpack(loaded["v"]), np.asarray(v))
        assert values[x[0, 0] // 100].shape == (5,)  # an integer serves as an index
        assert (x.nbytes, x.dtype.itemsize) == (15, 1)


@BACKENDS
@DTYPES
def test_no_element_is_no_work(dtype: str, backend: str) -> None:
    with wk.use_backend(backend):
        x = wk.zeros((3, 0), dtype=dtype)  # type: ignore[arg-type]  # a parameter
        made = [x + x, x.T, wk.concat([x, x]), x.astype("int32"), x[1:], wk.sum(x, axis=1)]

        assert [one.shape for one in made] == [(3, 0), (0, 3), (6, 0), (3, 0), (2, 0), (3,)]
        assert [str(one.dtype) for one in made] == [*[dtype] * 3, "int32", dtype, "int32"]


@BACKENDS
def test_gradients_flow_beside_bytes(backend: str) -> None:
    picture = numbers((4, 6), "uint8")
    with wk.use_backend(backend):
        x = wk.tensor(picture)
        d = wk.grad(lambda w: wk.sum(w * x.astype(wk.float32) + x[:, :1]))(wk.ones((4, 6)))
        np.testing.assert_array_equal(d.numpy(), picture.astype(np.float32))
        with wk.GradientTape() as tape:
            w = wk.ones((4, 6))
            tape.watch(w)
            y = wk.sum((w * 3.0).astype("uint8"))
        assert tape.gradient(y, w) is None


@BACKENDS
def test_a_captured_function_takes_and_gives_bytes(backend: str) -> None:
    def f(x: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
        return (x.astype(wk.float32) * 2.0 + 1.0).astype(wk.uint8), x[..., 1:] + x[..., :-1]

    fast = wk.capture(f)
    with wk.use_backend(backend):
        for seed in range(3):
            a = numbers((5, 70), "uint8", seed)
            for view, whole in (
                (wk.tensor(a), a),
                (wk.tensor(a)[1:, 1 + seed :], a[1:, 1 + seed :]),
            ):
                found, beside = fast(view)
                np.testing.assert_array_equal(found.numpy(), 2 * whole + np.uint8(1))
                np.testing.assert_array_equal(beside.numpy(), whole[:, 1:] + whole[:, :-1])


@pytest.mark.gpu
def test_four_bytes_are_one_word_on_the_device() -> None:
    with wk.use_backend("webgpu"):
        driver: Any = find_driver("webgpu")
        before = wk.memory().num_bytes
        x = wk.tensor(numbers((70, 90), "uint8"))
        made = x + x
        wk.evaluate(made)
        assert wk.memory().num_bytes - before == 2 * 70 * 90
        array = made._array_on(driver)
        assert array.storage.nbytes == 70 * 90


@pytest.mark.gpu
def test_what_is_behind_the_last_byte_is_zero_whatever_the_buffer_held() -> None:
    with wk.use_backend("webgpu"):
        driver: Any = find_driver("webgpu")
        for size in (1, 2, 3, 5):
            waste = wk.full((64,), -1, dtype="int32") * 1
            waste.numpy()
            del waste
            made = wk.tensor(np.full(size, -1, np.int32)).astype("uint8")
            wk.evaluate(made)
            array = made._array_on(driver)
            words = driver.open().read(array.storage, 0, -(-size // 4) * 4)
            assert words.tolist() == [255] * size + [0] * (-size % 4)
            assert wk.sum(made).item() == 255 * size


@pytest.mark.gpu
@pytest.mark.usefixtures("auto_fusion")
@pytest.mark.parametrize(
    ("f", "count"),
    [
        (lambda x: x.astype(wk.float32) / 255.0, 1),
        (lambda x: wk.permute_dims(x, (2, 0, 1)).astype(wk.float32) * 0.1, 1),
        (lambda x: x + x, 1),
        (lambda x: wk.sum(x, axis=0), 1),
        (lambda x: (wk.sqrt(x.astype(wk.float32)) * 16.0).astype(wk.uint8), 1),
        (lambda x: wk.flip(x[:, 1:])[::2], 0),
        (lambda x: wk.take(x, np.array([3, 0])), 1),
    ],
    ids=["scaled", "turned", "sum of bytes", "reduced", "to bytes", "view", "rows"],
)
def test_bytes_are_unpacked_by_who_reads_them(f: Callable[[Any], wk.Tensor], count: int) -> None:
    with wk.use_backend("webgpu"):
        x = wk.tensor(numbers((13, 20, 3), "uint8")) + 0
        wk.evaluate(x)
        for _ in range(2):
            wk.evaluate(f(x))
        assert len(wk.profile(lambda: wk.evaluate(f(x))).dispatches) == count


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(9, 2, 10), (9, 7)], ids=["whole words", "odd rows"])
def test_rows_of_bytes_are_taken_from_every_layout(shape: tuple[int, ...]) -> None:
    whole = numbers((2, *shape), "uint8")
    with wk.use_backend("webgpu"):
        held = wk.tensor(whole)
        rows = wk.tensor(np.array([8, 0, 5], np.uint8))
        for _ in range(2):
            views = [(held[0], whole[0]), (held[1], whole[1]), (wk.flip(held[1]), whole[1])]
            for n, (x, values) in enumerate(views):
                expected = (np.flip(values) if n == 2 else values)[[8, 0, 5]]
                np.testing.assert_array_equal(wk.take(x, rows).numpy(), expected)
                np.testing.assert_array_equal(wk.take(x + 0, rows + 0).numpy(), expected)
        with pytest.raises(wk.IndexOutOfRange, match="indices holds 9, which is out of range"):
            wk.take(held[0], rows + 1).numpy()


@pytest.mark.gpu
def test_grids_of_bytes_fold(follow_rules: Callable[[bool], None]) -> None:
    follow_rules(False)
    values = numbers((3, 1111), "int8")
    with wk.use_backend("webgpu"), folding_at(3):
        x = wk.tensor(values)
        np.testing.assert_array_equal((x[:, 1:] + 1).numpy(), values[:, 1:] + np.int8(1))
        np.testing.assert_array_equal(x.T.reshape(-1).numpy(), values.T.reshape(-1))


@pytest.mark.gpu
def test_the_watching_mode_reads_and_writes_bytes() -> None:
    values = numbers((5, 31), "uint8")
    with wk.use_backend("webgpu"), wk.config.using(debug=True):
        x = wk.tensor(values)
        np.testing.assert_array_equal((x[:, 3:] * 2).numpy(), values[:, 3:] * 2)
        np.testing.assert_array_equal(wk.max(x, axis=1).numpy(), values.max(1))
