"""`dask.array` on tensors gives what NumPy gives, and the values stay on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.array
import dask.config
import numpy as np
import pytest
from dask.base import tokenize

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

da: Any = dask.array
pytestmark = [pytest.mark.dask, pytest.mark.xdist_group("dask"), pytest.mark.timeout(120)]

_draw = np.random.default_rng(0)
A = _draw.normal(size=(60, 40)).astype(np.float32)
B = _draw.normal(size=(40, 20)).astype(np.float32)
N = np.where(A > 1.5, np.float32(np.nan), A)
I = _draw.integers(0, 10, (60, 40)).astype(np.int32)  # noqa: E741  a matrix, as the others
S = A[:40] @ A[:40].T + 40 * np.eye(40, dtype=np.float32)

BACKENDS = pytest.mark.parametrize(("name", "device"), [("wgsl-cpu", "cpu"), ("webgpu", "webgpu")])


@pytest.fixture(autouse=True)
def _in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


class Chunked:
    """The arrays above in chunks of 20 × 20 tensors, which are computed already."""

    def __init__(self, name: str) -> None:
        def chunked(values: np.ndarray[Any, Any], size: Any = 20) -> Any:
            return da.from_array(values, chunks=size).to_backend(name).persist()

        self.a, self.b, self.n, self.i, self.s = map(chunked, (A, B, N, I, S))
        self.rows = chunked(A, (20, 40))


def blur(x: Any) -> Any:
    if 0 in x.shape:
        return x
    return 0.25 * (wk.roll(x, 1, 0) + wk.roll(x, -1, 0) + wk.roll(x, 1, 1) + wk.roll(x, -1, 1))


def blurred(mode: Any) -> Any:
    x = np.pad(A, 1, mode=mode)
    y = 0.25 * (np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1))
    return y[1:-1, 1:-1]


def row_sums(x: Any) -> Any:
    return wk.sum(x, -1)


def wk_sum(x: Any, axis: Any = None, keepdims: bool = True) -> Any:
    return wk.sum(x, axis=axis, keepdims=keepdims)


Probe = tuple["Callable[[Chunked], Any]", "Callable[[], Any]"]
PROBES: dict[str, Probe] = {
    "as they are": (lambda c: c.a, lambda: A),
    "a + 1": (lambda c: c.a + 1, lambda: A + 1),
    "1 - a": (lambda c: 1 - c.a, lambda: 1 - A),
    "a * a": (lambda c: c.a * c.a, lambda: A * A),
    "a + numpy": (lambda c: c.a + A, lambda: A + A),
    "a > 0": (lambda c: c.a > 0, lambda: A > 0),
    "np.sin": (lambda c: np.sin(c.a), lambda: np.sin(A)),
    "da.exp": (lambda c: da.exp(c.a), lambda: np.exp(A)),
    "abs": (lambda c: abs(c.a), lambda: abs(A)),
    "clip": (lambda c: c.a.clip(-1, 1), lambda: A.clip(-1, 1)),
    "astype": (lambda c: c.a.astype("int32"), lambda: A.astype("int32")),
    "astype int64": (lambda c: c.a.astype(np.int64), lambda: A.astype("int32")),
    "sum": (lambda c: c.a.sum(), A.sum),
    "sum along": (lambda c: c.a.sum(axis=0), lambda: A.sum(axis=0)),
    "sum keepdims": (lambda c: c.a.sum(axis=1, keepdims=True), lambda: A.sum(1, keepdims=True)),
    "sum of integers": (lambda c: c.i.sum(axis=0), lambda: I.sum(axis=0)),
    "mean": (lambda c: c.a.mean(), A.mean),
    "mean along": (lambda c: c.a.mean(axis=0), lambda: A.mean(axis=0)),
    "std": (lambda c: c.a.std(), A.std),
    "var along": (lambda c: c.a.var(axis=1), lambda: A.var(axis=1)),
    "max": (lambda c: c.a.max(), A.max),
    "min along": (lambda c: c.a.min(axis=0), lambda: A.min(axis=0)),
    "prod along": (lambda c: c.a.prod(axis=0), lambda: A.prod(axis=0)),
    "any": (lambda c: (c.a > 2).any(), lambda: (A > 2).any()),
    "all along": (lambda c: (c.a > -9).all(axis=0), lambda: (A > -9).all(axis=0)),
    "argmax": (lambda c: c.a.argmax(axis=0), lambda: A.argmax(axis=0)),
    "argmin": (lambda c: c.a.argmin(axis=1), lambda: A.argmin(axis=1)),
    "cumsum": (lambda c: c.a.cumsum(axis=0), lambda: A.cumsum(axis=0)),
    "nansum": (lambda c: da.nansum(c.n), lambda: np.nansum(N)),
    "nanmean": (lambda c: da.nanmean(c.n, axis=0), lambda: np.nanmean(N, axis=0)),
    "nanstd": (lambda c: da.nanstd(c.n, axis=0), lambda: np.nanstd(N, axis=0)),
    "dot": (lambda c: c.a.dot(c.b), lambda: A.dot(B)),
    "matmul": (lambda c: c.a @ c.b, lambda: A @ B),
    "tensordot": (lambda c: da.tensordot(c.a, c.b, axes=(1, 0)), lambda: A @ B),
    "einsum": (lambda c: da.einsum("ij,jk->ik", c.a, c.b), lambda: A @ B),
    "outer": (lambda c: da.outer(c.a[:, 0], c.a[:, 1]), lambda: np.outer(A[:, 0], A[:, 1])),
    "T": (lambda c: c.a.T, lambda: A.T),
    "reshape": (lambda c: c.rows.reshape(30, 2, 40), lambda: A.reshape(30, 2, 40)),
    "ravel": (lambda c: c.a.ravel(), A.ravel),
    "slice": (lambda c: c.a[5:50:3, ::-1], lambda: A[5:50:3, ::-1]),
    "integer": (lambda c: c.a[7], lambda: A[7]),
    "newaxis": (lambda c: c.a[:, None, 3], lambda: A[:, None, 3]),
    "list": (lambda c: c.a[[3, 1, 50]], lambda: A[[3, 1, 50]]),
    "mask of rows": (lambda c: c.a[c.a[:, 0] > 0], lambda: A[A[:, 0] > 0]),
    "mask": (lambda c: c.a[c.a > 0], lambda: A[A > 0]),
    "take": (lambda c: da.take(c.a, [1, 2, 55], axis=0), lambda: A[[1, 2, 55]]),
    "concatenate": (lambda c: da.concatenate([c.a, c.a], 1), lambda: np.concatenate([A, A], 1)),
    "stack": (lambda c: da.stack([c.a, c.a]), lambda: np.stack([A, A])),
    "where": (lambda c: da.where(c.a > 0, c.a, 0), lambda: np.where(A > 0, A, 0)),
    "rechunk": (lambda c: c.a.rechunk((7, 13)), lambda: A),
    "pad": (lambda c: da.pad(c.a, 2, mode="constant"), lambda: np.pad(A, 2)),
    "pad by the edge": (lambda c: da.pad(c.a, 2, mode="edge"), lambda: np.pad(A, 2, mode="edge")),
    "roll": (lambda c: da.roll(c.a, 3, axis=0), lambda: np.roll(A, 3, axis=0)),
    "flip": (lambda c: da.flip(c.a, 0), lambda: np.flip(A, 0)),
    "diff": (lambda c: da.diff(c.a, axis=0), lambda: np.diff(A, axis=0)),
    "map_blocks": (lambda c: c.a.map_blocks(wk.relu), lambda: np.maximum(A, 0)),
    "overlap, reflect": (
        lambda c: c.a.map_overlap(blur, depth=1, boundary="reflect"),
        lambda: blurred("symmetric"),
    ),
    "overlap, nearest": (
        lambda c: c.a.map_overlap(blur, depth=1, boundary="nearest"),
        lambda: blurred("edge"),
    ),
    "overlap, periodic": (
        lambda c: c.a.map_overlap(blur, depth=1, boundary="periodic"),
        lambda: blurred("wrap"),
    ),
    "overlap, constant": (
        lambda c: c.a.map_overlap(blur, depth=1, boundary=0),
        lambda: blurred("constant"),
    ),
    "blockwise": (
        lambda c: da.blockwise(wk.multiply, "ij", c.a, "ij", c.a, "ij", dtype="float32"),
        lambda: A * A,
    ),
    "apply_gufunc": (
        lambda c: da.apply_gufunc(row_sums, "(i)->()", c.rows, output_dtypes="float32"),
        lambda: A.sum(-1),
    ),
    "reduction": (
        lambda c: da.reduction(c.a, chunk=wk_sum, aggregate=wk_sum, dtype="float32"),
        A.sum,
    ),
    "topk": (lambda c: da.topk(c.a, 3, axis=0), lambda: -np.sort(-A, axis=0)[:3]),
    "percentile": (
        lambda c: da.percentile(c.a[:, 0], [25, 50]),
        lambda: da.percentile(da.from_array(A[:, 0], chunks=20), [25, 50]).compute(),
    ),
    "quantile": (
        lambda c: da.quantile(c.rows, 0.5, axis=1),
        lambda: np.quantile(A, 0.5, axis=1),
    ),
    "norm": (lambda c: da.linalg.norm(c.a), lambda: np.linalg.norm(A)),
    "qr": (lambda c: abs(da.linalg.qr(c.rows)[1]), lambda: abs(np.linalg.qr(A)[1])),
    "svd": (lambda c: da.linalg.svd(c.rows)[1], lambda: np.linalg.svd(A)[1]),
    "solve": (lambda c: da.linalg.solve(c.s, c.a[:40, 0]), lambda: np.linalg.solve(S, A[:40, 0])),
    "unique": (lambda c: da.unique(c.i.ravel()), lambda: np.unique(I)),
    "histogram": (
        lambda c: da.histogram(c.a, bins=5, range=(-3, 3))[0],
        lambda: np.histogram(A, 5, (-3, 3))[0],
    ),
    "broadcast_to": (
        lambda c: da.broadcast_to(c.a[0], (5, 40)),
        lambda: np.broadcast_to(A[0], (5, 40)),
    ),
    "ones_like": (lambda c: da.ones_like(c.a), lambda: np.ones_like(A)),
    "full_like": (lambda c: da.full_like(c.a, 2, dtype="i8"), lambda: np.full_like(A, 2)),
    "fft": (lambda c: da.fft.fft(c.rows), lambda: np.fft.fft(A)),
    "rfft2": (lambda c: da.fft.rfft2(c.rows.rechunk(-1)), lambda: np.fft.rfft2(A)),
    "to_backend('numpy')": (lambda c: c.a.to_backend("numpy"), lambda: A),
    "coarsen": (
        lambda c: da.coarsen(np.mean, c.a, {0: 2, 1: 2}),
        lambda: A.reshape(30, 2, 20, 2).mean((1, 3)),
    ),
    "of a tensor": (
        lambda c: da.from_array(wk.tensor(A), chunks=20, asarray=False) + c.a,
        lambda: A + A,
    ),
}
ON_HOST = {"argmax", "argmin", "solve", "unique", "to_backend('numpy')"}
"""What Dask or SciPy computes with NumPy's arrays, from values that it reads."""


@pytest.mark.sampled(one_in=2)
@BACKENDS
@pytest.mark.parametrize("probe", PROBES)
def test_chunks_give_what_numpy_gives(probe: str, name: str, device: str) -> None:
    asked, expected = PROBES[probe]
    found = asked(Chunked(name)).compute()
    np.testing.assert_allclose(np.asarray(found), expected(), rtol=1e-4, atol=1e-4)
    if probe in ON_HOST:
        assert isinstance(found, np.ndarray)
    else:
        assert isinstance(found, wk.Tensor)
        assert found.device == device


@pytest.mark.gpu
def test_dask_knows_tensors_by_their_values_or_themselves() -> None:
    with wk.use_backend("webgpu"):
        first, second, other = wk.tensor(A), wk.tensor(A), wk.tensor(A + 1)
        assert tokenize(first) == tokenize(second) != tokenize(other)
        computed, again = wk.exp(first), wk.exp(second)
        assert tokenize(computed) == tokenize(computed) != tokenize(again)
        weights = wk.variable(A)
        before = tokenize(weights)
        weights.assign(A + 1)
        assert tokenize(weights) != before


@BACKENDS
def test_writing_is_refused_in_our_words(name: str, device: str) -> None:
    del device
    chunks = Chunked(name)
    written = chunks.a.copy()
    written[3:5] = 9.0
    with pytest.raises(AttributeError, match=r"never changes; x\.at\[i\]\.set\(v\) .*map_blocks"):
        written.compute()
    instead = chunks.a.map_blocks(lambda block: block.at[0].set(9.0))
    assert (np.asarray(instead.compute())[0] == 9.0).all()
    with pytest.raises(wk.DTypeError, match="a tensor's values never change"):
        da.bincount(chunks.i.ravel(), minlength=10).compute()


STAYING: dict[str, Callable[[Chunked], Any]] = {
    "sum": lambda c: c.a.sum(),
    "mean": lambda c: c.a.mean(axis=0),
    "nanmean": lambda c: da.nanmean(c.n),
    "std": lambda c: c.a.std(),
    "matmul": lambda c: c.a @ c.b,
    "tensordot": lambda c: da.tensordot(c.a, c.b, axes=(1, 0)),
    "einsum": lambda c: da.einsum("ij,jk->ik", c.a, c.b),
    "map_overlap": lambda c: c.a.map_overlap(blur, depth=1, boundary="reflect"),
    "rechunk": lambda c: c.a.rechunk((7, 13)),
    "slice": lambda c: c.a[5:50:3, ::-1],
    "cumsum": lambda c: c.a.cumsum(axis=0),
    "topk": lambda c: da.topk(c.a, 3, axis=0),
    "T": lambda c: c.a.T,
    "where": lambda c: da.where(c.a > 0, c.a, 0),
    "fft": lambda c: da.fft.fft(c.rows),
    "like": lambda c: da.ones_like(c.a) + c.a,
}


@pytest.mark.gpu
@pytest.mark.parametrize("default", ["cpu", "webgpu"])
@pytest.mark.parametrize("probe", STAYING)
def test_values_stay_on_the_device(
    probe: str, default: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks, driver = Chunked("webgpu"), find_driver("webgpu")
    read: list[Any] = []
    download = driver.download

    def noted(array: Any, spec: Any) -> Any:
        read.append(spec)
        return download(array, spec)

    monkeypatch.setattr(driver, "download", noted)
    before = wk.get_backend()
    wk.set_backend(default)
    try:
        found = STAYING[probe](chunks).compute()
    finally:
        wk.set_backend(before)
    assert read == []
    assert found.device == "webgpu"


@BACKENDS
def test_the_configuration_makes_arrays_of_tensors(name: str, device: str) -> None:
    with dask.config.set({"array.backend": name}):
        made = {
            "ones": (da.ones((5, 4), chunks=2), np.ones((5, 4))),
            "zeros": (da.zeros(5, dtype="i8", chunks=2), np.zeros(5)),
            "empty": (da.empty((2, 0)), np.empty((2, 0))),
            "full": (da.full((3, 4), 2.5), np.full((3, 4), 2.5)),
            "full of integers": (da.full(3, 7, chunks=1), np.full(3, 7)),
            "arange": (da.arange(10, chunks=3), np.arange(10)),
            "arange of floats": (da.arange(0, 1, 0.25), np.arange(0, 1, 0.25)),
            "linspace": (da.linspace(0, 1, 5).to_backend(), np.linspace(0, 1, 5)),
        }
        ours = da.ones_like(da.ones(3))
        numpys = da.ones_like(da.from_array(A)).compute()
    for what, (found, expected) in made.items():
        kind = np.int32 if expected.dtype.kind == "i" or what == "zeros" else np.float32
        value = found.compute()
        assert (what, found.dtype, value.dtype, value.device) == (what, kind, kind, device)
        np.testing.assert_array_equal(value, expected)
    assert ours.compute().device == device
    assert isinstance(numpys, np.ndarray)


def drawn(name: str, **how: Any) -> list[Any]:
    with dask.config.set({"array.backend": name}):
        rng = da.random.default_rng(3)
        made = [
            rng.normal(2.0, 0.5, size=(40, 30), chunks=13),
            rng.random((7, 3), chunks=2),
            rng.integers(5, size=20, chunks=6),
            rng.exponential(size=9),
            da.random.RandomState(3).normal(size=(5,), chunks=2),
            da.random.RandomState(3).randint(2, 9, size=5),
            da.random.RandomState(3).random_sample(5),
        ]
    return [one.compute(**how) for one in made]


@pytest.mark.gpu
def test_draws_depend_on_seed_and_chunks_alone() -> None:
    first = drawn("webgpu", scheduler="synchronous")
    with wk.use_backend("webgpu"):
        assert {one.device for one in first} == {"webgpu"}
    for again in (drawn("webgpu", scheduler="threads"), drawn("wgsl-cpu")):
        for one, other in zip(first, again, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    normal, uniform, whole = (np.asarray(one) for one in first[:3])
    assert abs(normal.mean() - 2.0) < 0.1
    assert abs(normal.std() - 0.5) < 0.05
    assert len(np.unique(uniform)) == uniform.size
    assert set(whole) <= set(range(5))


@pytest.mark.gpu
def test_a_distribution_without_a_kernel_says_which_there_are() -> None:
    with dask.config.set({"array.backend": "webgpu"}):
        rng = da.random.default_rng(1)
        with pytest.raises(AttributeError, match=r"'poisson' is not drawn as tensors; want random"):
            rng.poisson(3.0, size=4)


STENCIL = """
// One step of heat on a plane whose edges are insulated.
struct Params { x_shape: vec2<u32>, x_size: u32, rate: f32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x;
  if (i < params.x_size) {
    let rows = params.x_shape[0];
    let cols = params.x_shape[1];
    let r = i / cols;
    let c = i % cols;
    let up = x[(max(r, 1u) - 1u) * cols + c];
    let down = x[min(r + 1u, rows - 1u) * cols + c];
    let left = x[r * cols + max(c, 1u) - 1u];
    let right = x[r * cols + min(c + 1u, cols - 1u)];
    y[i] = x[i] + params.rate * (up + down + left + right - 4.0 * x[i]);
  }
}
"""


@wk.signature("TestHeatStep")
def _heat_signature(x: Any, /, *, rate: float) -> Any:
    del rate
    return x


wk.wgsl_kernel("TestHeatStep", STENCIL)


def heat(x: Any) -> Any:
    for _ in range(4):
        x = wk.engine().run_kernel("TestHeatStep", {"x": x}, {"rate": 0.1}) if x.size else x
    return x


@pytest.mark.gpu
def test_a_stencil_on_chunks_has_the_bits_of_the_whole() -> None:
    x = da.from_array(A, chunks=(17, 13)).to_backend("webgpu")
    found = x.map_overlap(heat, depth=4, boundary="none").compute()
    with wk.use_backend("webgpu"):
        whole = heat(wk.tensor(A)).numpy()
    np.testing.assert_array_equal(found, whole)
