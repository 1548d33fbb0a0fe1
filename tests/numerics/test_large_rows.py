"""Rows near the largest float32, infinities and NaN: both backends tell the same of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

pytestmark = pytest.mark.gpu

LARGE = np.float32(1e38)
LENGTHS = [1, 2, 17, 64, 130, 5000, 70_000]


def rows_of(length: int, scale: float) -> dict[str, Any]:
    """Return rows of ``length`` whose sums overflow, and such with numbers that are not finite."""
    draw = np.random.default_rng(length)
    some = np.clip(draw.normal(size=length), -1, 1).astype(np.float32) * np.float32(scale)
    full = np.full(length, scale, np.float32)
    first, last, opposite = np.zeros_like(full), np.zeros_like(full), full.copy()
    first[0], last[-1], opposite[0] = scale, scale, -scale
    found = {
        "some": some,
        "positive": np.abs(some),
        "full": full,
        "first": first,
        "last": last,
        "opposite": opposite,
        "alternating": full * np.where(np.arange(length) % 2, -1, 1).astype(np.float32),
    }
    for value in (np.inf, -np.inf, np.nan):
        for place in (0, length // 2, length - 1):
            for name, row in (("large", some), ("small", np.ones_like(full))):
                changed = row.copy()
                changed[place] = value
                found[f"{name} with {value} at {place}"] = changed
    return found


def exact_variance(x: Any) -> Any:
    """Return the variances of rows, in double precision rounded once."""
    with np.errstate(all="ignore"):
        return np.var(x.astype(np.float64), axis=1).astype(np.float32)


OPS: dict[str, Callable[[wk.Tensor], wk.Tensor]] = {
    "var": lambda x: wk.var(x, axis=1),
    "std": lambda x: wk.square(wk.std(x, axis=1)),
    "moments": lambda x: wk.moments(x, axis=1)[1],
    "var of columns": lambda x: wk.var(wk.transpose(x), axis=0),
}


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("fusion", ["always", "never"])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_variance_overflows_only_where_it_is_too_large(
    backend: str, fusion: str, length: int
) -> None:
    for scale in (LARGE, np.float32(3.3e38)):
        rows = rows_of(length, float(scale))
        x = np.stack(list(rows.values()))
        want = dict(zip(rows, exact_variance(x), strict=True))
        with wk.use_backend(backend), wk.config.using(fusion=fusion):
            for op, f in OPS.items():
                found = dict(zip(rows, f(wk.tensor(x)).numpy(), strict=True))
                assert found == pytest.approx(want, rel=1e-4, nan_ok=True), op


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("fusion", ["always", "never"])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_layer_norm_is_0_where_the_variance_is_too_large(
    backend: str, fusion: str, length: int
) -> None:
    for scale in (LARGE, np.float32(3.3e38)):
        rows = rows_of(length, float(scale))
        x = np.stack(list(rows.values()))
        variance = exact_variance(x)
        with wk.use_backend(backend), wk.config.using(fusion=fusion):
            found = wk.layer_norm(wk.tensor(x)).numpy()
        for name, row, found_row, spread in zip(rows, x, found, variance, strict=True):
            finite = np.isfinite(row).all()
            assert np.isnan(found_row).all() != finite, name
            assert not finite or np.all(found_row == 0) == (spread in (0, np.inf)), name


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_a_captured_variance_does_too(backend: str) -> None:
    with wk.use_backend(backend):
        fast = wk.capture(lambda x: (wk.var(x, axis=1), wk.layer_norm(x)))
        x = wk.tensor(np.full((3, 64), LARGE))
        for _ in range(2):
            variance, normal = fast(x)
            assert variance.tolist() == [0.0] * 3
            assert np.all(normal.numpy() == 0)


@pytest.mark.parametrize("length", LENGTHS)
def test_what_sums_exponentials_does_not_overflow(length: int) -> None:
    x = np.stack([np.full(length, LARGE), np.full(length, -LARGE)])
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            given = wk.tensor(x)
            assert wk.softmax(given).numpy() == pytest.approx(1 / length, rel=1e-5)
            assert wk.log_softmax(given).numpy() == pytest.approx(-np.log(length), abs=1e-4)
            assert wk.logsumexp(given, axis=1).numpy() == pytest.approx([LARGE, -LARGE])
