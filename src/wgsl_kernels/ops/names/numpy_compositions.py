"""NumPy's functions that are several of our ops, with NumPy's own arguments; all differentiate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import COMPLEXES, is_exact
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.convolution import conv1d
from wgsl_kernels.ops.elementwise import binary, cast, classify, compare, complex, logical, unary
from wgsl_kernels.ops.indexing import counting, gather, ordered, segment
from wgsl_kernels.ops.linear_algebra import einsum, matrix, norms
from wgsl_kernels.ops.names import compositions
from wgsl_kernels.ops.reductions import extremes, reduce, scan
from wgsl_kernels.ops.shapes import creation, joining, moving, ranges
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _flat(x: Any) -> Tensor:
    return shapes.reshape(as_tensor(x), (-1,))


def _floats(x: Any) -> Tensor:
    """Return integers and bools as float32: NumPy goes to doubles here, where nothing wraps."""
    given = as_tensor(x)
    whole = given.dtype in ("bool", "int8", "uint8", "int32")
    return cast.astype(given, "float32") if whole else given


def _between(first: Tensor, second: Tensor, part: Any) -> Tensor:
    """Return what lies that part of the way; at an end that end, though the other is infinite."""
    inside = first + (second - first) * part
    lost = classify.isnan(inside)
    at_first = logical.logical_and(lost, compare.equal(part, 0.0))
    at_second = logical.logical_and(lost, compare.equal(part, 1.0))
    return logical.where(at_first, first, logical.where(at_second, second, inside))


def _isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    a, b = _floats(a), _floats(b)
    near = compare.less_equal(unary.abs(binary.subtract(a, b)), atol + rtol * unary.abs(b))
    found = logical.logical_or(
        compare.equal(a, b), logical.logical_and(near, classify.isfinite(as_tensor(b)))
    )
    if not equal_nan:
        return found
    both = logical.logical_and(classify.isnan(as_tensor(a)), classify.isnan(as_tensor(b)))
    return logical.logical_or(found, both)


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Tensor:
    x, xp, fp = _floats(x), _floats(xp), _floats(fp)
    if xp.shape != fp.shape or xp.ndim != 1 or xp.size == 0:
        raise ArgumentError(
            f"interp: xp has shape {show(xp.shape)}, fp {show(fp.shape)}; want one axis of equal "
            "lengths, of at least 1."
        )
    last = xp.shape[0] - 1
    at = ordered.searchsorted(xp, _flat(x), side="right") - 1
    low = shapes.reshape(at, x.shape).clip(0, max(last - 1, 0))
    high = binary.minimum(low + 1, last)
    x0, x1 = gather.take(xp, low), gather.take(xp, high)
    y0, y1 = gather.take(fp, low), gather.take(fp, high)
    part = (x - x0) / logical.where(compare.equal(x0, x1), 1.0, x1 - x0)
    y = _between(y0, y1, part)
    y = logical.where(x < xp[0], fp[0] if left is None else left, y)
    return logical.where(x > xp[last], fp[last] if right is None else right, y)


def _quantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    if isinstance(axis, (tuple, list)):
        if len(axis) != 1:
            return NotImplemented
        (axis,) = axis
    if method != "linear":
        return NotImplemented
    x, many = _floats(a), np.asarray(q, np.float64)
    if many.size and not (many.min() >= 0 and many.max() <= 1):
        raise ArgumentError(f"quantile: q is {shown(q)}; want numbers in [0, 1].")
    rank = x.ndim
    rows = _flat(x) if axis is None else moving.moveaxis(x, axis, -1)
    if rows.shape[-1] == 0:
        raise ArgumentError(f"quantile: a has shape {show(x.shape)}; want numbers to choose from.")
    place = many.reshape(-1) * (rows.shape[-1] - 1)
    low = np.floor(place).astype(np.int32)
    high = np.minimum(low + 1, max(rows.shape[-1] - 1, 0))
    inorder = ordered.sort(rows, -1)
    first, second = (gather.take(inorder, one, rows.ndim - 1) for one in (low, high))
    y = _between(first, second, (place - low).astype(np.float32))
    lost = reduce.any(classify.isnan(rows), -1, keepdims=True)
    y = moving.moveaxis(logical.where(lost, np.nan, y), -1, 0)
    if keepdims:
        kept = (1,) * rank if axis is None else _with_one(x.shape, axis)
        y = shapes.reshape(y, (many.size, *kept))
    return shapes.reshape(y, (*many.shape, *y.shape[1:]))


def _with_one(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return tuple(1 if at == axis % len(shape) else one for at, one in enumerate(shape))


def _percentile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    return _quantile(a, np.asarray(q) / 100, axis, method=method, keepdims=keepdims)


def _median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _quantile(a, 0.5, axis, keepdims=keepdims)


def _ends(x: Tensor) -> tuple[Any, Any]:
    return (extremes.min(x), extremes.max(x)) if x.size else (0.0, 1.0)


def _histogram(
    a: Any, bins: Any = 10, range: Any = None, *, density: bool = False, weights: Any = None
) -> tuple[Tensor, Tensor]:
    x = _floats(_flat(a))
    if isinstance(bins, int):
        if bins < 1:
            raise ArgumentError(f"histogram: bins is {bins}; want at least 1.")
        low, high = _ends(x) if range is None else range
        if range is not None and not low <= high:
            raise ArgumentError(f"histogram: range is {shown(range)}; want its ends in order.")
        wider = logical.where(compare.equal(low, high), 0.5, 0.0)
        low, high = low - wider, high + wider
        grid = ranges.arange(bins + 1) / bins
        edges = low + (high - low) * grid
    else:
        edges = _floats(bins)
        if not isinstance(bins, Tensor) and np.any(np.diff(np.asarray(bins, np.float64)) < 0):
            raise ArgumentError(f"histogram: bins is {shown(bins)}; want edges that do not fall.")
    count = edges.shape[0] - 1
    last = edges[count]
    at = ordered.searchsorted(edges, x, side="right") - 1
    at = logical.where(compare.equal(x, last), count - 1, at)
    inside = logical.logical_and(x >= edges[0], x <= last)
    each = creation.full_like(at, 1) if weights is None else _flat(weights)
    found = segment.unsorted_segment_sum(each, logical.where(inside, at, -1), count)
    if density:
        found = found / (found.sum() * (edges[1:] - edges[:-1]))
    return found, edges


def _trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    y = moving.moveaxis(as_tensor(y), axis, -1)
    step: Any = dx
    if x is not None:
        at = as_tensor(x)
        at = at if at.ndim == 1 else moving.moveaxis(at, axis, -1)
        step = at[..., 1:] - at[..., :-1]
    return reduce.sum((y[..., 1:] + y[..., :-1]) * step / 2.0, -1)


def _unique(ar: Any, *, return_inverse: bool = False, return_counts: bool = False) -> Any:
    x = _flat(ar)
    values = ordered.sort(compositions.unique_values(x))
    if not (return_inverse or return_counts):
        return values
    at = ordered.searchsorted(values, x)
    found = [values]
    if return_inverse:
        found.append(shapes.reshape(at, as_tensor(ar).shape))
    if return_counts:
        ones = creation.full_like(at, 1)
        found.append(segment.unsorted_segment_sum(ones, at, values.shape[0]))
    return tuple(found)


def _widths(x: Tensor, pad_width: Any) -> list[list[int]]:
    wide = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
    return [[int(before), int(after)] for before, after in wide]


def _pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    x = as_tensor(array)
    if mode not in ("constant", *moving.MODES) or np.ndim(constant_values):
        return NotImplemented
    return joining.pad(x, _widths(x, pad_width), mode=mode, constant_value=constant_values)


def _einsum(
    *operands: Any, optimize: Any = True, dtype: Any = None, casting: Any = None, order: str = "K"
) -> Tensor:
    del optimize, casting, order  # the order of products is chosen either way
    if dtype is None:
        return einsum.einsum(*operands)
    given: list[Any] = [
        cast.astype(one, dtype, copy=False) if isinstance(one, (Tensor, np.ndarray)) else one
        for one in operands
    ]
    return einsum.einsum(*given).astype(dtype, copy=False)


def _joined(axis: int, least: int) -> Callable[[Sequence[Any]], Tensor]:
    """Return what joins arrays of at least some axes along one."""

    def join(tup: Sequence[Any]) -> Tensor:
        given = [as_tensor(one) for one in tup]
        wide = [shapes.reshape(x, (1,) * (least - x.ndim) + x.shape) for x in given]
        return joining.concat(wide, 0 if wide[0].ndim == 1 else axis)

    return join


def _column_stack(tup: Sequence[Any]) -> Tensor:
    given = [as_tensor(one) for one in tup]
    return joining.concat([shapes.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in given], 1)


def _inner(a: Any, b: Any) -> Tensor:
    a, b = as_tensor(a), as_tensor(b)
    if a.ndim == 0 or b.ndim == 0:
        return binary.multiply(a, b)
    return compositions.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


def _average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Tensor:
    if weights is None:
        return reduce.mean(a, axis, keepdims=keepdims)
    a, w = _floats(a), _floats(weights)
    if w.ndim == 1 and isinstance(axis, int):
        w = shapes.reshape(w, [-1 if at == axis % a.ndim else 1 for at in range(a.ndim)])
    total = reduce.sum(a * w, axis, keepdims=keepdims)
    return total / reduce.sum(a * 0.0 + w, axis, keepdims=keepdims)


def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0) -> Tensor:
    del copy  # a tensor never changes
    most = float(np.finfo(np.float32).max)
    return logical.where(classify.isnan(x), nan, as_tensor(x)).clip(-most, most)


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    x = _flat(x)
    low, high = (int(extremes.min(x)), int(extremes.max(x))) if x.size else (0, -1)
    if low < 0:
        raise ArgumentError(f"np.bincount: an element is {low}; want at least 0.")
    each = creation.full_like(x, 1) if weights is None else _flat(weights)
    return segment.unsorted_segment_sum(each, x, max(high + 1, minlength))


def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    long, short = sorted((_flat(a), _flat(v)), key=lambda one: -one.size)
    kept = {"full": short.size - 1, "same": (short.size - 1) // 2, "valid": 0}.get(mode)
    if kept is None or not short.size or {long.spec.dtype, short.spec.dtype} != {"float32"}:
        return NotImplemented
    ends = [[kept if mode != "same" else short.size // 2, kept], [0, 0]]
    x = joining.pad(shapes.reshape(long, (-1, 1)), ends)
    filters = shapes.reshape(shapes.flip(short), (-1, 1, 1))
    return _flat(conv1d.conv1d(x, filters, pad="valid"))


def _cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None) -> Any:
    rows = [_floats(one) for one in (m, y) if one is not None]
    if any(one.ndim > 2 for one in rows):
        return NotImplemented
    rows = [shapes.reshape(x, (1, -1)) if x.ndim < 2 else x if rowvar else x.T for x in rows]
    x = joining.concat(rows, 0)
    apart = x - reduce.mean(x, 1, keepdims=True)
    freedom = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    return shapes.squeeze(matrix.matmul(apart, complex.conj(apart).T) / max(freedom, 0))


def _corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    found = _cov(x, y, rowvar)
    if found is NotImplemented or found.ndim == 0 or found.spec.dtype in COMPLEXES:
        return NotImplemented
    width = unary.sqrt(norms.diagonal(found))
    return (found / width / shapes.reshape(width, (-1, 1))).clip(-1.0, 1.0)


def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    if isinstance(bins, Tensor) or np.any(np.diff(bins) < 0):
        return NotImplemented
    return ordered.searchsorted(_floats(bins), x, side="left" if right else "right")


def _isin(element: Any, test_elements: Any, *, invert: bool = False) -> Tensor:
    each = shapes.expand_dims(as_tensor(element), -1)
    found = reduce.any(compare.equal(each, _flat(test_elements)), -1)
    return logical.logical_not(found) if invert else found


def _nan_extreme(op: Callable[..., Tensor], end: float) -> Callable[..., Tensor]:
    def found(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
        if is_exact(a.spec.dtype):
            return op(a, axis, keepdims=keepdims)
        lost = classify.isnan(a)
        kept = op(logical.where(lost, end, a), axis, keepdims=keepdims)
        return logical.where(reduce.all(lost, axis, keepdims=keepdims), np.nan, kept)

    return found


def _without_nan(a: Any) -> Tensor:
    return logical.where(classify.isnan(a), 0.0, a)


def _nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    counted = reduce.sum(logical.logical_not(classify.isnan(a)), axis, keepdims=keepdims)
    return reduce.sum(_without_nan(a), axis, keepdims=keepdims) / counted


def _partition(a: Any, kth: Any, axis: int | None = -1) -> Tensor:
    del kth  # a sorted axis is partitioned everywhere
    return ordered.sort(_flat(a), -1) if axis is None else ordered.sort(a, axis)


def _argpartition(a: Any, kth: Any, axis: int | None = -1) -> Tensor:
    del kth
    return ordered.argsort(_flat(a), -1) if axis is None else ordered.argsort(a, axis)


def _nanvar(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Tensor:
    x = as_tensor(a) if dtype is None else cast.astype(a, dtype, copy=False)
    apart = _without_nan(x - _nanmean(x, axis, keepdims=True))
    counted = reduce.sum(logical.logical_not(classify.isnan(x)), axis, keepdims=keepdims)
    freedom = logical.where(counted > ddof, counted - ddof, np.nan)
    return reduce.sum(apart * apart, axis, keepdims=keepdims) / freedom


def _nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    x = _without_nan(_flat(a) if axis is None else a)
    return scan.cumulative_sum(x, 0 if axis is None else axis, dtype=dtype)


def _append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    if axis is None:
        return joining.concat([_flat(arr), _flat(values)], 0)
    return joining.concat([as_tensor(arr), as_tensor(values)], axis)


COMPOSED: dict[str, Callable[..., Any]] = {
    "append": _append,
    "argpartition": _argpartition,
    "argwhere": lambda a: joining.stack(counting.nonzero(a), 1),
    "average": _average,
    "bincount": _bincount,
    "broadcast_arrays": lambda *args: tuple(moving.broadcast_arrays(*args)),
    "column_stack": _column_stack,
    "convolve": _convolve,
    "corrcoef": _corrcoef,
    "cov": _cov,
    "cross": lambda a, b, axis=-1: norms.cross(a, b, axis=axis),
    "diagonal": lambda a, offset=0: norms.diagonal(a, offset=offset),
    "diff": lambda a, n=1, axis=-1, **ends: compositions.diff(a, n=n, axis=axis, **ends),
    "digitize": _digitize,
    "einsum": _einsum,
    "fliplr": lambda m: shapes.flip(m, 1),
    "flipud": lambda m: shapes.flip(m, 0),
    "histogram": _histogram,
    "hstack": _joined(1, 1),
    "inner": _inner,
    "interp": _interp,
    "isclose": _isclose,
    "isin": _isin,
    "median": _median,
    "meshgrid": lambda *xi, indexing="xy": tuple(compositions.meshgrid(*xi, indexing=indexing)),
    "nan_to_num": _nan_to_num,
    "nancumsum": _nancumsum,
    "nanmax": _nan_extreme(extremes.max, -np.inf),
    "nanmean": _nanmean,
    "nanmin": _nan_extreme(extremes.min, np.inf),
    "nanprod": lambda a, axis=None, **keep: reduce.prod(
        logical.where(classify.isnan(a), 1.0, a), axis, **keep
    ),
    "nanstd": lambda a, *args, **keep: unary.sqrt(_nanvar(a, *args, **keep)),
    "nansum": lambda a, axis=None, **keep: reduce.sum(_without_nan(a), axis, **keep),
    "nanvar": _nanvar,
    "pad": _pad,
    "partition": _partition,
    "percentile": _percentile,
    "ptp": lambda a, axis=None, **keep: (
        extremes.max(a, axis, **keep) - extremes.min(a, axis, **keep)
    ),
    "quantile": _quantile,
    "searchsorted": lambda a, v, side="left", sorter=None: ordered.searchsorted(
        a, v, side=side, sorter=sorter
    ),
    "trace": lambda a, offset=0: norms.trace(a, offset=offset),
    "trapezoid": _trapezoid,
    "unique": _unique,
    "vdot": lambda a, b: matrix.dot(_flat(a), _flat(b)),
    "vstack": _joined(0, 2),
}
"""What runs for these functions of NumPy's main namespace."""
