"""Arrays above the binding limit go in parts, and positions count through all of them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

pytestmark = pytest.mark.usefixtures("registries_as_before")

LIMIT = 1 << 14
SIZE = 3 * LIMIT // 4 + 1001
FUSION = pytest.mark.parametrize("fusion", ["never", "always"])


def _driver() -> Any:
    return find_driver("webgpu")


@pytest.fixture(autouse=True)
def _low_limit(registries_as_before: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_driver().open(), "largest_binding", LIMIT)


@FUSION
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_a_range_counts_through_all_parts(
    dtype: Any, fusion: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not find_driver("webgpu").supports(dtype):
        return  # GL has no float16
    size = 2000 if dtype == "float16" else SIZE  # float16 has no whole numbers above
    if dtype == "float16":
        monkeypatch.setattr(_driver().open(), "largest_binding", 1024)
    with wk.config.using(fusion=fusion):
        want = np.arange(size).astype(dtype)
        for _ in range(2):
            assert np.array_equal(wk.arange(size, dtype=dtype).numpy(), want)
            assert np.array_equal((wk.arange(size, dtype=dtype) - 1).numpy(), want - 1)


@FUSION
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_an_authors_index_counts_through_all_parts(dtype: Any, fusion: Any) -> None:
    if not find_driver("webgpu").supports(dtype):
        return  # GL has no float16

    @wk.signature("Numbered")
    def _numbered(x: wk.Spec, /) -> wk.Spec:
        return x.like()

    wk.wgsl_kernel("Numbered", "fn op(x: T, i: u32) -> T {\n  return x + T(i % 1999u);\n}\n")

    def numbered(x: wk.Tensor) -> wk.Tensor:
        found = wk.engine().run_kernel("Numbered", {"x": x * 2}, {})
        assert isinstance(found, wk.Tensor)
        return wk.abs(found)

    fast = wk.capture(numbered)
    values = np.ones(SIZE, dtype)
    want = (values * 2 + np.arange(SIZE) % 1999).astype(dtype)
    with wk.config.using(fusion=fusion):
        for f in (numbered, numbered, fast, fast, fast):
            assert np.array_equal(f(wk.tensor(values)).numpy(), want)
    assert fast.why is None


@FUSION
def test_fills_and_draws_and_copies_go_on_where_a_part_ends(fusion: Any) -> None:
    values = np.arange(SIZE, dtype=np.float32)
    x = wk.tensor(values)
    with wk.config.using(fusion=fusion):
        assert np.array_equal((x + 0.0)[5:].numpy(), values[5:])
        assert np.array_equal(wk.full((SIZE,), 3.0).numpy(), np.full(SIZE, 3, np.float32))
        assert np.array_equal(
            wk.where(x > 5.0, x, -x).numpy(), np.where(values > 5, values, -values)
        )


@FUSION
def test_bytes_go_in_parts_as_well(fusion: Any) -> None:
    values = (np.arange(SIZE) * 7 % 251).astype(np.uint8)
    x = wk.tensor(values)
    with wk.config.using(fusion=fusion):
        for _ in range(2):
            assert np.array_equal((x + x).numpy(), values + values)
            assert np.array_equal((x.astype("float32") * 0.5).numpy(), values * np.float32(0.5))


@FUSION
def test_reductions_over_leading_axes_know_where_an_element_is(fusion: Any) -> None:
    values = np.zeros((700, 20), np.float32)
    places = (np.arange(20) * 37 + 3) % 700
    values[places, np.arange(20)] = 1.0
    flat = values.reshape(-1)
    with wk.config.using(fusion=fusion):
        assert np.array_equal(wk.argmax(wk.tensor(values), axis=0).numpy(), places)
        assert int(wk.argmax(wk.tensor(flat[::-1].copy()), axis=0).numpy()) == flat[::-1].argmax()
        assert np.array_equal(wk.sum(wk.tensor(values), axis=0).numpy(), np.ones(20))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: wk.random_uniform((SIZE,)),
        lambda x: wk.one_hot(wk.astype(x[:1000], "int32"), 30),
        lambda x: wk.flip(x) + 1.0,
        lambda x: wk.concat([x, x]),
        lambda x: wk.cumulative_sum(x),
    ],
)
def test_what_does_not_go_in_parts_is_right_or_names_the_limit(f: Any) -> None:
    x = wk.tensor(np.arange(SIZE, dtype=np.float32))
    wk.random.seed(3)
    try:
        found = f(x).numpy()
    except wk.OutOfMemoryError as error:
        assert "max-storage-buffer-binding-size" in str(error)  # noqa: PT017  both are right
        return
    wk.random.seed(3)
    with wk.use_backend("cpu"):
        assert np.allclose(found, f(wk.tensor(np.arange(SIZE, dtype=np.float32))).numpy())


@pytest.mark.parametrize("width", [12, 5])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_a_gather_binds_windows_of_its_table(width: int, dtype: Any) -> None:
    table = np.arange(3001 * width).reshape(3001, width).astype(dtype)
    rows = np.array([[0, 3000, 1500], [341, 342, 2999]], np.int32)
    assert table.nbytes > 2 * LIMIT
    with wk.use_backend("webgpu"), wk.config.using(small_ops="device"):
        held = wk.tensor(table)
        assert np.array_equal(wk.take(held, rows).numpy(), table[rows])
        assert np.array_equal(wk.take(held, wk.tensor(rows)).numpy(), table[rows])
        with pytest.raises(wk.IndexOutOfRange):
            wk.take(held, wk.tensor([5, 3001]) + 0).numpy()


@pytest.mark.parametrize("width", [12, 5])
@pytest.mark.parametrize("count", [6, 200])
def test_the_gradient_of_a_gather_binds_windows_of_its_table(width: int, count: int) -> None:
    table = np.zeros((3001, width), np.float32)
    rows = np.random.default_rng(0).integers(0, 3001, count).astype(np.int32)
    rows[:5] = [0, 3000, 3000, 1365, 1366]
    upstream = np.arange(count * width, dtype=np.float32).reshape(count, width)
    want = table.copy()
    np.add.at(want, rows, upstream)
    with wk.use_backend("webgpu"), wk.config.using(small_ops="device"):
        w = wk.variable(table)
        slope = wk.grad(lambda x: wk.take(x, rows))(w, dy=wk.tensor(upstream))
        assert np.array_equal(slope.numpy(), want)
        wk.train.SGD(1.0).apply_gradients([(slope, w)])
        assert np.array_equal(w.numpy(), -want)


@FUSION
@pytest.mark.parametrize(
    "shapes",
    [
        [(9000, 1), (9000, 3)],
        [(9000, 1), (1, 3)],
        [(1, 9000), (3, 9000)],
        [(1, 9216), (3, 9216)],
        [(5, 9000, 1), (1, 9000, 2)],
        [(3, 1, 5000), (1, 4, 1), (3, 4, 5000)],
        [(2, 9001, 1), (2, 1, 3), (9001, 3)],
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex64"])
def test_what_is_broadcast_goes_in_parts_where_it_is_needed(
    shapes: Any, dtype: Any, fusion: Any
) -> None:
    values = [np.arange(np.prod(one)).reshape(one).astype(dtype) for one in shapes]
    given = [wk.tensor(one) for one in values]
    with wk.config.using(fusion=fusion, small_ops="device"):
        for _ in range(2):
            found = functools.reduce(lambda x, y: x + y, given)
            assert np.array_equal(found.numpy(), functools.reduce(np.add, values))


@FUSION
def test_a_shader_with_its_own_main_reads_a_slice_of_what_cannot_be_bound(fusion: Any) -> None:
    @wk.signature("CopiedByMain")
    def _copied(x: wk.Spec, /) -> wk.Spec:
        return x.like()

    text = """struct Params { y_size: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.y_size) { store_y(id.x, load_x(id.x)); }
}
"""
    wk.wgsl_kernel("CopiedByMain", text)
    values = np.arange(2 * LIMIT // 4, dtype=np.float32)
    x = wk.tensor(values)
    with wk.config.using(fusion=fusion):
        for part in (slice(4096, 6144), slice(4099, 6144), slice(4096, 6144, 3)):
            assert np.array_equal(wk.run("CopiedByMain", x[part]).numpy(), values[part])
