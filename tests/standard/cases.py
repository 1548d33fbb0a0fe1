"""Calls of every function of the array API standard, each with the dtypes that the standard names.

``x``, ``y`` and ``z`` are [3, 4], ``v`` is [4], ``s`` is [3, 3], ``d`` is positive definite, ``b``
has bools; ``p`` lies above 0, ``u`` within (-1, 1), ``q`` above 1; ``k`` is [4], indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ALL, NUMBERS, REAL = "float32 int32 bool complex64", "float32 int32 complex64", "float32 int32"
FLOATS, REAL_FLOAT, WHOLE = "float32 complex64", "float32", "int32"
BITS, BOOL, COMPLEX = "int32 bool", "bool", "complex64"

EXPRESSIONS = {
    ALL: """
        equal(x, y); not_equal(x, y); empty(2, dtype=x.dtype).shape
        broadcast_to(x, (2, 3, 4)); concat((x, y), axis=1); concat((x, y), axis=None)
        expand_dims(x, axis=1); flip(x, axis=1); flip(x); matrix_transpose(x); moveaxis(x, 0, -1)
        permute_dims(x, (1, 0)); repeat(x, 2, axis=1); repeat(v, k); reshape(x, (2, -1))
        roll(x, (1, -1), axis=(0, 1)); roll(x, 5); squeeze(expand_dims(x, axis=0), axis=0)
        stack((x, y), axis=-1); take(x, k[:2], axis=0); take_along_axis(x, k[None, :] % 3, axis=0)
        tile(x, (2, 1)); tile(v, (2, 2)); tril(x, k=1); triu(x, k=-1); unstack(x, axis=1)
        where(b, x, y); broadcast_arrays(x, v); meshgrid(v, v[:2]); nonzero(x)
        meshgrid(v, v[:2], indexing='ij'); zeros_like(x); ones_like(x); full_like(x, 1)
        count_nonzero(x, axis=1); empty_like(x).shape; asarray(x, copy=True); linalg.diagonal(x)
        linalg.diagonal(x, offset=-1); linalg.diagonal(x, offset=2); astype(x, x.dtype)
        x[1, :]; x[0, 1:]; x[:, ::-1]; x[..., -1]; x[b]; x == y; result_type(x, y) == x.dtype
    """,
    NUMBERS: """
        abs(x); negative(x); positive(x); square(x); sign(x); isfinite(x); isinf(x); isnan(x)
        real(x); conj(x); add(x, y); subtract(x, v); multiply(x, y); x + 1; 2 * x; x - y
        sum(x); sum(x, axis=(0, 1)); sum(x, axis=1, keepdims=True)
        cumulative_sum(x, axis=1); cumulative_sum(v, include_initial=True); pow(p, 3); pow(p, q2)
        cumulative_prod(x, axis=0); prod(x, axis=1); prod(x); prod(x, axis=(0, 1), keepdims=True)
        round(x); diff(x); diff(x, axis=0, n=2)
        diff(v, prepend=v[:1], append=v[:2]); matmul(x, matrix_transpose(y)); matmul(x, v)
        matmul(v, matrix_transpose(x)); x @ matrix_transpose(y); vecdot(x, y); vecdot(x, v, axis=-1)
        tensordot(x, y, axes=((0, 1), (0, 1))); tensordot(x, matrix_transpose(y), axes=1)
        linalg.outer(v, v); linalg.trace(x); linalg.trace(x, offset=1); linalg.vecdot(x, y)
        linalg.cross(x[:, :3], y[:, 1:]); linalg.cross(x, y, axis=-2); linalg.matmul(x, s4)
        linalg.tensordot(v, v, axes=1); linalg.matrix_transpose(x)
    """,
    REAL: """
        ceil(x); floor(x); trunc(x); maximum(x, y); minimum(x, v); less(x, y)
        less_equal(x, y); greater(x, y); greater_equal(x, v); x < y; x >= 1; max(x); max(x, axis=1)
        min(x, axis=0, keepdims=True); argmax(x, axis=1); argmin(x); argmax(x, keepdims=True)
        clip(x, -1, 1); clip(x, None, 1); clip(x, y, None); clip(x, v, v + 3); sort(x)
        sort(x, axis=0, descending=True); argsort(x, axis=1); floor_divide(x, p); remainder(x, p)
        argsort(x, descending=True, stable=True); searchsorted(sort(v), v); x // p; x % p
        searchsorted(sort(v), x, side='right'); searchsorted(v, v, sorter=argsort(v))
        sort(unique_values(x)); unique_sorted(unique_counts(x)); arange(5, dtype=x.dtype)
        arange(1, 9, 2, dtype=x.dtype); linspace(0, 8, 5, dtype=x.dtype)
        linspace(0, 8, 4, endpoint=False, dtype=x.dtype); eye(3, dtype=x.dtype)
        eye(2, 4, k=1, dtype=x.dtype); zeros((2, 3), dtype=x.dtype); ones(2, dtype=x.dtype)
        full((2, 2), 3, dtype=x.dtype); isdtype(x.dtype, 'numeric'); isdtype(x.dtype, 'integral')
    """,
    FLOATS: """
        acos(u); acosh(q); asin(u); asinh(x); atan(x); atanh(u); cos(x); cosh(x); exp(x); expm1(x)
        log(p); log10(p); log1p(p); log2(p); pow(p, x); sin(x); sinh(x); sqrt(p); tan(x); tanh(x)
        expm1(x * 1e-4); log1p(x * 1e-4); asinh(-x); sqrt(p * p); tanh(x * 30)
        divide(x, p); reciprocal(p); mean(x); mean(x, axis=1); x / p; linalg.cholesky(d)
        linalg.cholesky(d, upper=True); linalg.det(s); linalg.inv(s); linalg.solve(s, s[0, :])
        linalg.solve(s, s + 1); linalg.eigvalsh(d); linalg.eigh(d).eigenvalues; linalg.svdvals(x)
        linalg.svd(x, full_matrices=False).S; linalg.matrix_norm(x); linalg.matrix_norm(x, ord=1)
        linalg.matrix_norm(x, ord='nuc', keepdims=True); linalg.matrix_norm(x, ord=-2)
        linalg.matrix_norm(x, ord=float('inf')); linalg.matrix_power(s, 3); linalg.pinv(x)
        linalg.matrix_power(s, -2); linalg.matrix_power(s, 0); linalg.matrix_rank(x)
        linalg.matrix_rank(x, rtol=0.9); linalg.slogdet(s); linalg.vector_norm(x)
        linalg.vector_norm(x, axis=1, keepdims=True); linalg.vector_norm(x, ord=1, axis=0)
        linalg.vector_norm(x, ord=float('inf')); linalg.vector_norm(x, ord=3, axis=(0, 1))
        linalg.qr(x)[0] @ linalg.qr(x)[1]; linalg.qr(x, mode='complete').Q.shape
        isdtype(x.dtype, 'complex floating')
    """,
    REAL_FLOAT: """
        atan2(x, y); copysign(x, y); hypot(x, y); logaddexp(x, y); nextafter(x, y); signbit(x)
        std(x); std(x, axis=1, correction=1); var(x); var(x, axis=0, keepdims=True)
        astype(x, int32); astype(x, bool); astype(x, complex64); finfo(x.dtype).eps
        finfo(x.dtype).max; fft.rfft(x); fft.rfftn(x, s=(3, 5), axes=(1, 0)); fft.ihfft(x, axis=0)
        fft.fftfreq(5, d=0.5)
        fft.rfftfreq(6); fft.fftshift(x); fft.ifftshift(x, axes=1); can_cast(float32, int32)
    """,
    WHOLE: """
        bitwise_left_shift(x, k % 5); bitwise_right_shift(x, k % 5); astype(x, float32)
        iinfo(x.dtype).max; sum(x, dtype=float32); prod(x, axis=0, dtype=float32)
    """,
    BITS: "bitwise_and(x, y); bitwise_or(x, v); bitwise_xor(x, y); bitwise_invert(x)",
    BOOL: """
        all(x, axis=1); any(x, axis=0, keepdims=True); all(x); any(x)
        logical_and(x, y); logical_not(x); logical_or(x, v); logical_xor(x, y); astype(x, int32)
        isdtype(x.dtype, 'bool'); isdtype(x.dtype, ('integral', 'bool'))
    """,
    COMPLEX: """
        imag(x); fft.fft(x); fft.fft(x, n=6, axis=0); fft.ifft(x, norm='ortho'); fft.fftn(x)
        fft.fft(x, n=2, norm='forward'); fft.ifftn(x, s=(2, 3), axes=(0, 1)); fft.irfft(x)
        fft.irfft(x, n=5); fft.irfftn(x, axes=(1, 0))
        fft.fftn(x, s=(2, 5), axes=(1, 0)); fft.hfft(x, n=5)
    """,
}

CASES = [
    (" ".join(one.split()), dtype)
    for dtypes, text in EXPRESSIONS.items()
    for one in text.replace("\n", ";").split(";")
    if one.strip()
    for dtype in dtypes.split()
]


def _drawn(draw: np.random.Generator, dtype: str, low: float, high: float, *shape: int) -> Any:
    if dtype == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    if dtype in ("int32", "int8", "uint8"):
        least = max(int(low), np.iinfo(dtype).min)
        return draw.integers(least, int(high) + 2, shape).astype(dtype)
    real = draw.uniform(low, high, shape)
    if dtype == "complex64":
        return (real + 1j * draw.uniform(low, high, shape)).astype(np.complex64)
    return real.astype(np.float32)


def arrays(dtype: str) -> dict[str, Any]:
    """Return the arrays that the expressions name, for one dtype."""
    draw = np.random.default_rng(5)
    found = {name: _drawn(draw, dtype, -3, 3, 3, 4) for name in "xyz"}
    found["v"] = _drawn(draw, dtype, -3, 3, 4)
    found["s"] = _drawn(draw, dtype, -1, 1, 3, 3)
    found["s4"] = _drawn(draw, dtype, -1, 1, 4, 4)
    found["b"] = draw.integers(0, 2, (3, 4)).astype(bool)
    found["k"] = np.array([2, 0, 1, 2], np.int32)
    if dtype != "bool":
        found["p"] = _drawn(draw, dtype, 1, 4, 3, 4)
        found["q2"] = _drawn(draw, dtype, 1, 2, 3, 4)
    if dtype in ("float32", "complex64"):
        root = found["s"]
        found["d"] = (root @ np.conj(root.T) + np.eye(3)).astype(dtype)
        found["s"] = (root + 2 * np.eye(3)).astype(dtype)
        found["u"], found["q"] = _drawn(draw, dtype, -0.9, 0.9, 3, 4), found["p"] + np.float32(0.1)
    return found
