"""NumPy's ``shape=``, ``dtype=`` and ``like=`` of its functions, given tensors; nothing is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

A = np.array([[1.5, -2.0, 3.5], [0.25, 5.0, -6.0]], np.float32)
I = np.array([[1, 2, 3], [4, 5, 100]], np.int32)  # noqa: E741  integers, as A is floats

Call = tuple[str, "Callable[[Any], Any]", "np.ndarray[Any, Any]", str]
CALLS: list[Call] = [
    ("zeros_like", np.zeros_like, A, "float32"),
    ("zeros_like, shape", lambda a: np.zeros_like(a, shape=4), A, "float32"),
    ("ones_like, dtype", lambda a: np.ones_like(a, np.int64), A, "int32"),
    ("ones_like, order", lambda a: np.ones_like(a, order="C", subok=False), A, "float32"),
    ("ones_like, shape, order", lambda a: np.ones_like(a, order="F", shape=(2, 0)), A, "float32"),
    ("zeros_like of integers", lambda i: np.zeros_like(i, shape=(1, 2, 3)), I, "int32"),
    ("full_like", lambda a: np.full_like(a, 7, np.uint16, shape=(3,)), A, "int32"),
    ("full_like, bool", lambda a: np.full_like(a, True, dtype=bool), A, "bool"),
    ("full_like, float16", lambda i: np.full_like(i, 0.5, dtype="f2", shape=()), I, "float16"),
    ("add, dtype", lambda i: np.add(i, i, dtype=np.float32), I, "float32"),
    ("add of a number, dtype", lambda i: np.add(i, 1, dtype=np.int64), I, "int32"),
    ("add of an array, dtype", lambda i: np.add(i, I, dtype="f4"), I, "float32"),
    (
        "multiply, unsafe",
        lambda a: np.multiply(a, 2, dtype=np.int64, casting="unsafe"),
        A,
        "int32",
    ),
    ("true_divide, dtype", lambda i: np.true_divide(i, 2, dtype="float32"), I, "float32"),
    ("greater, dtype", lambda a: np.greater(a, 1, dtype=bool), A, "bool"),
    ("isnan, dtype", lambda a: np.isnan(a, dtype=bool), A, "bool"),
    ("sqrt, dtype", lambda i: np.sqrt(i, dtype=np.float32), I, "float32"),
    ("add.reduce, dtype", lambda i: np.add.reduce(i, dtype=np.float32), I, "float32"),
    ("sum, dtype", lambda i: np.sum(i, dtype=np.float32), I, "float32"),
    ("sum, dtype by place", lambda i: np.sum(i, 0, np.int64), I, "int32"),
    ("sum's method", lambda i: i.sum(dtype=np.uint64), I, "int32"),
    ("prod, dtype", lambda i: np.prod(i, axis=1, dtype=np.float32), I, "float32"),
    ("mean, dtype", lambda i: np.mean(i, 0, np.float32), I, "float32"),
    ("mean, int64", lambda i: np.mean(i, dtype=np.int64), I, "int32"),
    ("var, dtype", lambda i: np.var(i, dtype=np.float32, ddof=1), I, "float32"),
    ("std, dtype", lambda i: np.std(i, axis=1, dtype=np.float32, keepdims=True), I, "float32"),
    ("cumsum, dtype", lambda i: np.cumsum(i, 1, np.float32), I, "float32"),
    ("cumsum, int64", lambda i: np.cumsum(i, dtype=np.int64), I, "int32"),
    ("cumprod, dtype", lambda i: np.cumprod(i, axis=0, dtype="f4"), I, "float32"),
    (
        "einsum, dtype",
        lambda i: np.einsum("ij,kj->ik", i, i, dtype="f4", casting="unsafe", order="C"),
        I,
        "float32",
    ),
    ("astype", lambda a: np.astype(a, np.int64, copy=False), A, "int32"),
    ("astype's method", lambda a: a.astype("int16", copy=False), A, "int32"),
    ("partition", lambda a: np.sort(np.partition(a, 1, axis=0), 0), A, "float32"),
    ("quantile, method", lambda a: np.quantile(a, 0.4, axis=1, method="linear"), A, "float32"),
    ("index of tuples", lambda a: a[(0, 1), (2, 0)], A, "float32"),
]
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


@pytest.fixture(autouse=True)
def _nothing_is_left_to_numpy() -> Iterator[None]:
    with wk.config.using(fallback="error"):
        yield


@BACKENDS
@pytest.mark.parametrize(("name", "use", "given", "dtype"), CALLS, ids=[one[0] for one in CALLS])
@pytest.mark.usefixtures("halves_anywhere")
def test_a_keyword_means_what_it_means_to_numpy(
    name: str, use: Callable[[Any], Any], given: np.ndarray[Any, Any], dtype: str, backend: str
) -> None:
    with wk.use_backend(backend):
        found = use(wk.tensor(given))
        assert isinstance(found, wk.Tensor), name
        assert found.dtype == dtype
        np.testing.assert_allclose(found, use(given), rtol=1e-6)


@pytest.mark.gpu
@BACKENDS
def test_what_is_made_like_a_tensor_is_on_its_backend(backend: str) -> None:
    other = {"cpu": "webgpu", "webgpu": "cpu"}[backend]
    x = wk.tensor(A, device=backend)
    like: Any = x
    made: list[tuple[Any, Any]]
    with wk.use_backend(other):
        made = [
            (np.empty_like(x, shape=(2, 0)), np.empty((2, 0), np.float32)),
            (np.zeros_like(x), np.zeros_like(A)),
            (np.asarray([1, 2], like=like), np.array([1, 2], np.int32)),
            (np.array(x, like=like, ndmin=3), A[None]),
            (np.asanyarray(2.5, dtype="f4", like=like), np.float32(2.5)),
            (np.arange(3, like=like), np.arange(3, dtype=np.int32)),
            (np.arange(0, 1, 0.25, like=like), np.arange(4, dtype=np.float32) / 4),
            (np.ones((2,), like=like), np.ones(2, np.float32)),
            (np.zeros(2, np.int64, like=like), np.zeros(2, np.int32)),
            (np.empty((0, 3), like=like), np.empty((0, 3), np.float32)),
        ]
    for found, expected in made:
        assert (found.device, found.dtype) == (backend, expected.dtype)
        np.testing.assert_array_equal(found, expected)


@BACKENDS
def test_what_numpy_refuses_is_refused(backend: str) -> None:
    with wk.use_backend(backend), wk.config.using(fallback="silent"):
        x: Any = wk.tensor(A)
        with pytest.raises(TypeError, match="same_kind"):
            np.add(x, 1.5, dtype=np.int64)
        with pytest.raises(wk.DTypeError, match="dtype 'int64' is unknown"):
            wk.tensor([1], dtype="int64")  # type: ignore[arg-type]  # no dtype of ours


@BACKENDS
def test_keywords_that_no_op_takes_are_left_to_numpy(backend: str) -> None:
    chosen = A > 0
    with wk.use_backend(backend), wk.config.using(fallback="silent"):
        x: Any = wk.tensor(A)
        np.testing.assert_allclose(np.add.reduce(x, where=chosen), np.add.reduce(A, where=chosen))
        np.testing.assert_allclose(np.sum(x, initial=2.0), np.sum(A, initial=2.0), rtol=1e-6)
        assert np.maximum.reduce(x, axis=None, initial=9.0) == 9.0


def test_records_are_made_of_no_values() -> None:
    with wk.use_backend("cpu"):
        records = np.empty_like(wk.tensor(A), dtype=[("value", "f4"), ("place", "i4")])
    assert isinstance(records, np.ndarray)
    assert records.shape == A.shape


def test_gradients_flow_through_a_dtype() -> None:
    with wk.use_backend("cpu"):
        slope = wk.grad(lambda x: np.sum(np.multiply(x, x, dtype=np.float32), dtype=np.float32))
        np.testing.assert_allclose(slope(wk.tensor(A)), 2 * A)


def test_tensors_come_before_arrays_by_priority() -> None:
    with wk.use_backend("cpu"):
        assert wk.tensor(A).__array_priority__ > 11  # Dask's
