"""NumPy's functions on tensors: what several of our ops together give is what NumPy gives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from tests.modes import ALL_MODES

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers import fallbacks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BACKENDS = ["cpu", "webgpu"] if ALL_MODES else ["cpu"]
A = np.array([[1.0, -2.0, 3.5], [0.25, 5.0, -6.0]], np.float32)
B = np.array([3.0, 1.0, 2.0, 1.0, 3.0, 3.0], np.float32)
G = np.array([0.0, 1.0, 2.0, 4.0], np.float32)
H = np.array([1.0, 3.0, -1.0, 0.0], np.float32)
K = np.array([-(2**31), 2**31 - 128, 2**30, 7], np.int32)
E = np.array([np.inf, 2.0, 5.0], np.float32)
N = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, -6.0]], np.float32)

CALLS: list[tuple[str, Callable[..., Any], tuple[np.ndarray, ...]]] = [
    ("append", lambda a: np.append(a, [1.0]), (A,)),
    ("array_split", lambda b: np.array_split(b, 4)[1], (B,)),
    ("argwhere", lambda a: np.argwhere(a > 0), (A,)),
    ("average", lambda a: np.average(a, axis=1, weights=[1.0, 2.0, 3.0]), (A,)),
    ("bincount", lambda b: np.bincount(b.astype(np.int32), minlength=6), (B,)),
    ("bincount, weighed", lambda b: np.bincount(b.astype(np.int32), weights=b), (B,)),
    ("broadcast_arrays", lambda a, b: np.broadcast_arrays(a, b)[1], (A, A[:1])),
    ("column_stack", lambda a, b: np.column_stack([a, b]), (A, A[:, 0])),
    ("convolve", np.convolve, (B, H)),
    ("convolve same", lambda b, h: np.convolve(h, b, mode="same"), (B, H)),
    ("convolve valid", lambda b, h: np.convolve(b, h, mode="valid"), (B, H[:3])),
    ("corrcoef", np.corrcoef, (A,)),
    ("cov", np.cov, (A,)),
    ("cov of two", lambda g, h: np.cov(g, h, bias=True), (G, H)),
    ("cov of one", np.cov, (B,)),
    ("cov of columns", lambda a: np.cov(a, rowvar=False, ddof=0), (A,)),
    ("cross", lambda a: np.cross(a, a[::-1]), (A,)),
    ("deg2rad", np.deg2rad, (A,)),
    ("diag", lambda a: np.diag(a, 1), (A,)),
    ("diag of a vector", np.diag, (B,)),
    ("digitize", lambda b: np.digitize(b, G), (B,)),
    ("digitize, right", lambda b: np.digitize(b, G, right=True), (B,)),
    ("dstack", lambda a, b: np.dstack([a, b]), (A, A)),
    ("dstack of vectors", lambda g, h: np.dstack((g, h)), (G, H)),
    ("fft2", np.fft.fft2, (A,)),
    ("fft, cut", lambda a: np.fft.fft(a, 2, 0), (A,)),
    ("isin", lambda b: np.isin(b, [1.0, 9.0], invert=True), (B,)),
    ("kron", lambda a, b: np.kron(a, b), (A, G)),
    ("linalg.norm", np.linalg.norm, (A,)),
    ("linalg.norm, 1", lambda a: np.linalg.norm(a, 1), (A,)),
    ("linalg.norm along", lambda a: np.linalg.norm(a, axis=1, keepdims=True), (A,)),
    ("nanmax", lambda n: np.nanmax(n, axis=1), (N,)),
    ("nanmin", lambda n: np.nanmin(n, axis=0, keepdims=True), (N,)),
    ("nanmin of integers", np.nanmin, (K,)),
    ("rot90", np.rot90, (A,)),
    ("rot90, 3 times", lambda a: np.rot90(a, 3), (A,)),
    ("rot90, back", lambda a: np.rot90(a, -2), (A,)),
    ("sum, dtype=None", lambda a: np.sum(a, dtype=None, out=None), (A,)),
    ("diagonal", lambda a: np.diagonal(a, 1), (A,)),
    ("diff", lambda a: np.diff(a, n=2, axis=1), (A,)),
    ("einsum", lambda a, b: np.einsum("ij,kj->ik", a, b, optimize=True), (A, A)),
    ("exp2", np.exp2, (A,)),
    ("fliplr", np.fliplr, (A,)),
    ("histogram", lambda b: np.histogram(b, bins=4)[0], (B,)),
    ("histogram's edges", lambda b: np.histogram(b, bins=4)[1], (B,)),
    ("histogram of bins", lambda b: np.histogram(b, bins=[0.0, 2.0, 2.5])[0], (B,)),
    ("histogram, weighed", lambda b: np.histogram(b, 3, (1, 2), weights=b)[0], (B,)),
    ("histogram, density", lambda b: np.histogram(b, 3, density=True)[0], (B,)),
    ("hstack", lambda a, b: np.hstack([a, b]), (B, G)),
    ("inner", lambda a, b: np.inner(a, b), (A, A)),
    ("interp", lambda g, h: np.interp([-1.0, 0.5, 3.0, 4.0, 9.0], g, h), (G, H)),
    ("interp, ends", lambda g, h: np.interp([[-1.0], [9.0]], g, h, left=7.0, right=8.0), (G, H)),
    ("isclose", lambda a: np.isclose(a, [1.0, -2.00001, 3.6]), (A,)),
    ("isclose of no numbers", lambda n: np.isclose(n, N, equal_nan=True), (N,)),
    ("isclose of infinities", lambda a: np.isclose(a / 0.0, [np.inf, -np.inf, 1.0]), (A,)),
    ("median", lambda a: np.median(a, axis=0), (A,)),
    ("meshgrid", lambda a, b: np.meshgrid(a, b)[1], (G, B)),
    ("meshgrid ij", lambda a, b: np.meshgrid(a, b, indexing="ij")[0], (G, B)),
    ("nan_to_num", lambda n: np.nan_to_num(n, nan=2.0), (N,)),
    ("nanmean", lambda n: np.nanmean(n, axis=1), (N,)),
    ("nancumsum", lambda n: np.nancumsum(n, axis=1), (N,)),
    ("nancumsum of all", np.nancumsum, (N,)),
    ("nanprod", lambda n: np.nanprod(n, axis=0), (N,)),
    ("nanstd", lambda n: np.nanstd(n, axis=1, keepdims=True), (N,)),
    ("nansum", lambda n: np.nansum(n, axis=0), (N,)),
    ("nanvar", lambda n: np.nanvar(n, 0, np.float32, ddof=0), (N,)),
    ("pad", lambda a: np.pad(a, ((1, 0), (0, 2)), constant_values=9.0), (A,)),
    ("pad, one number", lambda a: np.pad(a, 1), (A,)),
    ("pad, mirrored", lambda a: np.pad(a, ((0, 0), (2, 1)), mode="reflect"), (A,)),
    ("pad, from the other end", lambda a: np.pad(a, ((0, 1), (2, 9)), mode="wrap"), (A,)),
    ("pad, the ends", lambda a: np.pad(a, 2, mode="edge"), (A,)),
    ("percentile", lambda a: np.percentile(a, 30), (A,)),
    ("percentiles", lambda a: np.percentile(a, [0, 45, 100], axis=1), (A,)),
    ("ptp", lambda a: np.ptp(a, axis=1), (A,)),
    ("quantile", lambda a: np.quantile(a, [[0.1], [0.7]], axis=0, keepdims=True), (A,)),
    ("quantile of no number", lambda n: np.quantile(n, 0.5, axis=0), (N,)),
    ("searchsorted", lambda g, b: np.searchsorted(g, b, side="right"), (G, B)),
    ("sliding_window_view", lambda a: sliding_window_view(a, 2, axis=1), (A,)),
    ("sliding_window_view of all", lambda a: sliding_window_view(a, (1, 3)), (A,)),
    ("trace", np.trace, (A,)),
    ("trapezoid", lambda a: np.trapezoid(a, dx=0.5, axis=0), (A,)),
    ("trapezoid of places", lambda a, g: np.trapezoid(a, g[:3]), (A, G)),
    ("median of far integers", np.median, (K,)),
    ("histogram of far integers", lambda i: np.histogram(i, bins=4)[0], (K,)),
    ("histogram of one number", lambda i: np.histogram(i[:1] * 0, bins=2)[1], (K,)),
    ("average of far integers", lambda i: np.average(i, weights=i), (K,)),
    ("interp of far integers", lambda i: np.interp(0.25, [0, 1], i[:2]), (K,)),
    ("isclose of far integers", lambda i: np.isclose(i, i[::-1], atol=2, rtol=0), (K,)),
    ("interp beside infinity", lambda e: np.interp([0, 1], [0.0, 1.0], e[:2]), (E,)),
    ("median beside infinity", lambda e: np.median(e[:1]), (E,)),
    ("unique", np.unique, (B,)),
    ("unique's counts", lambda b: np.unique(b, return_counts=True)[1], (B,)),
    ("unique's inverse", lambda a: np.unique(a, return_inverse=True)[1], (A,)),
    ("vdot", lambda a: np.vdot(a, a), (A,)),
    ("vecdot", lambda a, g: np.vecdot(a, g[:3]), (A, G)),
    ("vstack", lambda a, b: np.vstack([a, b]), (G, H)),
]


@pytest.mark.filterwarnings(
    "ignore:divide by zero:RuntimeWarning",
    "ignore:Mean of empty",
    "ignore:All-NaN",
    "ignore:Degrees of freedom",
)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("name", "use", "given"), CALLS, ids=[name for name, _, _ in CALLS])
def test_a_function_gives_what_numpy_gives(
    name: str, use: Callable[..., Any], given: tuple[np.ndarray, ...], backend: str
) -> None:
    wanted = use(*given)
    with wk.use_backend(backend):
        found = use(*map(wk.tensor, given))
        assert isinstance(found, wk.Tensor), name
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_gradients_flow_through_interpolation_and_quantiles() -> None:
    with wk.use_backend("cpu"):
        wk.testing.check_gradient(lambda h: np.interp([0.5, 3.0], wk.tensor(G), h), [H])
        wk.testing.check_gradient(lambda a: np.quantile(a, [0.3, 0.9], axis=1), [A])


def test_what_is_no_quantile_and_no_mode_is_refused() -> None:
    with pytest.raises(wk.ArgumentError, match=r"quantile: q is 2"):
        np.quantile(wk.ones(3), 2)
    for call, words in (
        (lambda: np.histogram(wk.ones(3), bins=0), "histogram: bins is 0"),
        (lambda: np.histogram(wk.ones(3), bins=[3.0, 2.0]), "histogram: bins is"),
        (lambda: np.histogram(wk.ones(3), range=(3, 1)), "histogram: range is"),
        (lambda: np.interp(wk.ones(3), wk.zeros(0), wk.zeros(0)), "interp: xp has shape"),
        (lambda: np.median(wk.zeros(0)), "quantile: a has shape"),
    ):
        with pytest.raises(wk.ArgumentError, match=words):
            call()
    with pytest.raises(wk.ArgumentError, match=r"np.bincount: an element is -1"):
        np.bincount(wk.tensor([-1, 2]))


READ: list[tuple[str, Callable[..., Any]]] = [
    ("np.apply_along_axis", lambda a: np.apply_along_axis(cast("Any", np.sum), 0, a)),
    ("np.broadcast_arrays", lambda a: np.broadcast_arrays(a, cast("Any", None))[0]),
    ("np.spacing", np.spacing),
    ("np.digitize", lambda a: np.digitize(a, [3.0, 1.0])),
    ("np.add", lambda a: np.add(a, 1.0, out=np.zeros((2, 3)))),
    ("np.gradient", lambda a: np.gradient(a, axis=1)),
    ("np.histogram2d", lambda a: np.histogram2d(a[0], a[1])[0]),
    ("np.linalg.cond", np.linalg.cond),
    ("np.mean", lambda a: np.mean(a, where=cast("Any", A > 0))),
    ("np.multiply.outer", lambda a: np.multiply.outer(a, a)),
    ("np.pad", lambda a: np.pad(a, 1, mode="mean")),
    ("np.sort", lambda a: np.sort(a, order=None, kind="heapsort")),
]


@pytest.mark.parametrize(("name", "use"), READ, ids=[name for name, _ in READ])
def test_what_has_no_op_reads_and_says_so_once(
    name: str, use: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallbacks, "fallbacks", {})
    with wk.use_backend("cpu"):
        x = wk.tensor(A)
        with pytest.warns(wk.FallbackWarning, match=rf"^{re.escape(name)}: .*x.numpy\(\)"):
            found = use(x)
        use(x)  # a second warning would be an error
        assert isinstance(found, (np.ndarray, np.generic))
        np.testing.assert_allclose(cast("Any", found), use(A), rtol=1e-6)
        with wk.config.using(fallback="error"), pytest.raises(wk.DTypeError):
            use(x)


def test_questions_and_readers_are_answered_without_a_word(tmp_path: Path) -> None:
    with wk.use_backend("cpu"), wk.config.using(fallback="error"):
        x: Any = wk.tensor(A)
        whole: Any = wk.tensor([1, 2])
        assert np.may_share_memory(x, x)
        assert not np.shares_memory(x, A)
        assert (np.iscomplexobj(x), np.isrealobj(x), np.iscomplexobj(x * 1j)) == (False, True, True)
        assert (np.ndim(x), np.shape(x), np.size(x), np.size(x, 1)) == (2, (2, 3), 6, 3)
        assert np.result_type(x, whole) == np.float32  # as ours compute
        assert np.result_type(whole, np.int64) == np.int64
        assert np.can_cast(whole, np.float32)
        assert not np.can_cast(x, np.int64)
        assert np.can_cast(x, np.int32, "unsafe")
        assert np.common_type(x, whole) == np.float64
        given = np.zeros((2, 3))
        np.copyto(given, x)
        np.testing.assert_array_equal(given, A)
        assert type(np.atleast_1d(x.sum())) is np.ndarray
        np.save(tmp_path / "x.npy", x)
        np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), A)
        np.savez(tmp_path / "x.npz", x=x)
        assert np.array2string(whole) == "[1 2]"
    for call in (lambda: np.copyto(x, 1.0), lambda: np.put(x, 0, 1.0), lambda: np.add(A, 1, out=x)):
        with pytest.raises(wk.DTypeError, match="writes into a tensor"):
            call()


def test_a_reading_ends_the_gradient_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallbacks, "fallbacks", {("np.spacing", "numpy"): 1})
    with wk.use_backend("cpu"), wk.GradientTape() as tape:
        x = wk.tensor(A)
        tape.watch(x)
        with pytest.warns(RuntimeWarning, match=r"np.spacing: a tape watches this"):
            np.spacing(x)


def test_a_reading_inside_a_capture_runs_it_without_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallbacks, "fallbacks", {("np.spacing", "numpy"): 1})
    with wk.use_backend("webgpu"):
        f = wk.capture(lambda x: wk.tensor(np.spacing(x + 1.0)) * 2.0**21)
        with pytest.warns(RuntimeWarning, match="runs without replay"):
            found = f(wk.tensor([7.0]))
        assert found.tolist() == f(wk.tensor([7.0])).tolist() == [2.0]


def test_numpys_factorizations_read_the_lower_triangle_alone() -> None:
    given = np.array([[4.0, 9.0], [1.0, 5.0]], np.float32)
    x = wk.tensor(given)
    values, vectors = np.linalg.eigh(x)

    np.testing.assert_allclose(values, np.linalg.eigh(given)[0], rtol=1e-5)
    np.testing.assert_allclose(np.abs(vectors), np.abs(np.linalg.eigh(given)[1]), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.eigvalsh(x, "L"), values, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.cholesky(x), np.linalg.cholesky(given), rtol=1e-5)
    mixed = np.array([[3, 7 + 1j], [1 - 2j, 4]], np.complex64)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(wk.tensor(mixed)), np.linalg.eigvalsh(mixed), 1e-5
    )
