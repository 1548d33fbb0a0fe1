"""Samples of what LAPACK computes, with bounds from the conditions of their matrices.

A factorization's columns have no sign of their own: the rows compare the squares of their elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Bound, absolute
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray
Shape = tuple[int, ...]
GROWTH = 8
"""Roundings per row that an elimination or a rotation adds; see Higham, Accuracy and Stability."""


def _drawn(*shape: int, dtype: str = "float32", seed: int = 1) -> Array:
    draw = np.random.default_rng(seed)
    real = draw.uniform(-1, 1, shape)
    return np.asarray(real + 1j * draw.uniform(-1, 1, shape) if dtype == "complex64" else real)


def _regular(*shape: int, dtype: str = "float32") -> Array:
    """Return matrices far from singular ones, whose singular and eigenvalues are far apart."""
    rows, cols = shape[-2:]
    spread = np.eye(rows, cols) * np.arange(1, cols + 1) * 1.5
    return _drawn(*shape, dtype=dtype) * 0.5 + spread


def _definite(*shape: int, dtype: str = "float32") -> Array:
    x = _drawn(*shape, dtype=dtype)
    return np.asarray(x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1]))


def _condition(x: Array) -> float:
    return float(np.max(np.linalg.cond(x), initial=1.0)) if x.shape[-1] else 1.0


def _one_over_gap(values: Callable[[Array], Array]) -> Callable[[Array], float]:
    def gap(x: Array) -> float:
        found = np.sort(values(x), axis=-1)
        if found.shape[-1] < 2 or not found.size:
            return 1.0
        size = np.abs(found).max(axis=-1)
        near = np.minimum(np.diff(found, axis=-1).min(axis=-1), np.abs(found).min(axis=-1))
        return float(np.max(size / near))

    return gap


def _stable(condition: Callable[[Array], float] = _condition) -> Bound:
    """Allow what a backward stable method is off, by the condition of the first input."""

    def bound(inputs: Any, expected: Array) -> tuple[Array, Array]:
        digits = 2.0**-10 if expected.dtype == np.float16 else 2.0**-23
        scale = float(np.max(np.abs(expected), initial=1.0))
        side = max(inputs[0].shape[-2:])
        off = GROWTH * side * digits * condition(inputs[0]) * scale
        return absolute(off)(inputs, expected)

    return bound


EIGEN = _stable(_one_over_gap(np.linalg.eigvalsh))
SINGULAR = _stable(_one_over_gap(lambda x: np.linalg.svd(x, compute_uv=False)))


def _sizes(x: wk.Tensor) -> wk.Tensor:
    size = wk.abs(x)
    return size * size


def _eigh(x: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
    values, vectors = wk.linalg.eigh(x)
    return values, _sizes(vectors)


def _svd(x: wk.Tensor, *, full_matrices: bool) -> tuple[wk.Tensor, ...]:
    u, s, vh = wk.linalg.svd(x, full_matrices=full_matrices)
    return _sizes(u), s, _sizes(vh)


def _lstsq(a: wk.Tensor, b: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
    found = wk.linalg.lstsq(a, b)
    return found.solution, found.singular_values


def _row(
    kernel: str,
    f: Callable[..., Any],
    *values: Array,
    bound: Bound | None = None,
    dtypes: str = "float32",
    **attrs: Any,
) -> Sample:
    shapes = tuple(one.shape for one in values)
    kept = _stable() if bound is None else bound
    return Sample(kernel, f, shapes, dtypes=dtypes, attrs=attrs, values=values, bound=kept)


COMPLEX = "complex64"
FLOATS = ("float32", "float32", "float32", "float32", "float16", COMPLEX)
SHAPES = tuple(zip(((3, 3), (1, 1), (2, 2, 2), (0, 2, 2), (2, 2), (2, 2)), FLOATS, strict=True))


def _rows(
    kernel: str, f: Callable[..., Any], *shapes: tuple[Shape, Shape], attrs: Any = ({},) * 6
) -> list[Sample]:
    """Return rows of matrices and of what stands on their right, of each of `FLOATS`."""
    return [
        _row(kernel, f, _regular(*a, dtype=dtype), _drawn(*b, dtype=dtype), dtypes=dtype, **own)
        for (a, b), dtype, own in zip(shapes, FLOATS, attrs, strict=True)
    ]


SOLVED: tuple[tuple[Shape, Shape], ...] = (
    ((3, 3), (3, 2)), ((2, 2), (2,)), ((2, 1, 2, 2), (3, 2, 1)), ((0, 2, 2), (0, 2, 1)),
    ((2, 2), (2, 1)), ((2, 2), (2, 1)),
)  # fmt: skip
NEAREST: tuple[tuple[Shape, Shape], ...] = (
    ((4, 2), (4, 3)), ((2, 4), (2, 1)), ((2, 1, 3, 3), (2, 3, 2)), ((0, 2, 2), (0, 2, 1)),
    ((3, 2), (3,)), ((3, 2), (3, 1)),
)  # fmt: skip
TRIANGLES: tuple[dict[str, Any], ...] = (
    {"lower": True}, {"trans": "T"}, {"unit_diagonal": True}, {},
    {"lower": True, "unit_diagonal": True}, {"lower": True, "trans": "C"},
)  # fmt: skip
MODES = ("reduced", "reduced", "complete", "reduced", "reduced", "reduced")
SAMPLES = [
    *(
        _row("Cholesky", wk.linalg.cholesky, _definite(*shape, dtype=dtype), dtypes=dtype)
        for shape, dtype in SHAPES
    ),
    *(
        _row(kernel, f, _regular(*shape, dtype=dtype), dtypes=dtype)
        for kernel, f in (
            ("LogMatrixDeterminant", wk.linalg.slogdet),
            ("MatrixCofactors", run_of("MatrixCofactors", "x")),
            ("MatrixDeterminant", wk.linalg.det),
        )
        for shape, dtype in SHAPES
    ),
    *_rows("MatrixSolve", wk.linalg.solve, *SOLVED),
    *_rows("MatrixSolveLs", _lstsq, *NEAREST),
    *_rows("MatrixTriangularSolve", wk.linalg.solve_triangular, *SOLVED, attrs=TRIANGLES),
    *(
        _row("Qr", wk.linalg.qr, _regular(*shape, dtype=dtype), dtypes=dtype, mode=mode)
        for shape, dtype, mode in zip(
            ((3, 2), (2, 3), (2, 2, 2), (0, 2, 2), (2, 2), (2, 2)), FLOATS, MODES, strict=True
        )
    ),
    *(
        _row("SelfAdjointEig", _eigh, _definite(*shape, dtype=dtype), bound=EIGEN, dtypes=dtype)
        for shape, dtype in (*SHAPES[:2], *SHAPES[4:])
    ),
    _row("SelfAdjointEig", wk.linalg.eigvalsh, _definite(2, 3, 3), bound=EIGEN),
    _row("SelfAdjointEig", wk.linalg.eigvalsh, _definite(0, 2, 2), bound=EIGEN),
    *(
        _row("Svd", _svd, values, bound=SINGULAR, dtypes=dtype, full_matrices=full)
        for values, dtype, full in (
            (_regular(3, 2), "float32", False),
            (_regular(2, 3), "float32", False),
            (_regular(2, 2, 2), "float32", True),
            (_regular(2, 2), "float16", True),
            (_regular(2, 2, dtype=COMPLEX), COMPLEX, True),
        )
    ),
    _row("Svd", wk.linalg.svdvals, _regular(2, 2, 3), bound=SINGULAR),
]
