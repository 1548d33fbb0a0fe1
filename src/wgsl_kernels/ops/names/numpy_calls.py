"""What NumPy's functions do with a tensor: run our op of the same meaning, or read.

What is in no table here, or has arguments that our op has not, is NumPy's own on the values, and
says so once; see `numpy_reading`.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.tensors.tensor import Tensor, as_tensor
from wgsl_kernels.ops.elementwise import (
    activation,
    binary,
    bitwise,
    classify,
    compare,
    complex,
    exponential,
    float_pairs,
    hyperbolic,
    logarithms,
    logical,
    trigonometry,
    unary,
)
from wgsl_kernels.ops.indexing import counting, gather, ordered
from wgsl_kernels.ops.linear_algebra import diagonals, matrix
from wgsl_kernels.ops.names import compositions
from wgsl_kernels.ops.names.numpy_arrangements import ARRANGED
from wgsl_kernels.ops.names.numpy_compositions import COMPOSED
from wgsl_kernels.ops.names.numpy_reading import QUESTIONS, READERS, on_host
from wgsl_kernels.ops.names.numpy_spaces import SPACES
from wgsl_kernels.ops.reductions import extremes, reduce, scan, statistics
from wgsl_kernels.ops.shapes import creation, joining, moving
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.ops.reductions.reduce import Axes

UFUNCS: dict[str, Callable[..., Any]] = {
    "absolute": unary.abs,
    "add": binary.add,
    "arccos": trigonometry.acos,
    "arccosh": hyperbolic.acosh,
    "arcsin": trigonometry.asin,
    "arcsinh": hyperbolic.asinh,
    "arctan": trigonometry.atan,
    "arctan2": trigonometry.atan2,
    "arctanh": hyperbolic.atanh,
    "bitwise_and": bitwise.bitwise_and,
    "bitwise_or": bitwise.bitwise_or,
    "bitwise_xor": bitwise.bitwise_xor,
    "ceil": unary.ceil,
    "conjugate": complex.conj,
    "copysign": float_pairs.copysign,
    "cos": exponential.cos,
    "cosh": hyperbolic.cosh,
    "deg2rad": lambda x: x * (math.pi / 180),
    "degrees": lambda x: x * (180 / math.pi),
    "divide": binary.divide,
    "equal": compare.equal,
    "erf": exponential.erf,
    "exp": exponential.exp,
    "exp2": lambda x: binary.pow(2.0, x),
    "expit": activation.sigmoid,
    "expm1": exponential.expm1,
    "fabs": unary.abs,
    "floor": unary.floor,
    "floor_divide": binary.floor_divide,
    "greater": compare.greater,
    "greater_equal": compare.greater_equal,
    "hypot": float_pairs.hypot,
    "invert": bitwise.bitwise_invert,
    "isfinite": classify.isfinite,
    "isinf": classify.isinf,
    "isnan": classify.isnan,
    "left_shift": bitwise.bitwise_left_shift,
    "less": compare.less,
    "less_equal": compare.less_equal,
    "log": exponential.log,
    "log10": logarithms.log10,
    "log1p": exponential.log1p,
    "log2": logarithms.log2,
    "logaddexp": float_pairs.logaddexp,
    "logical_and": logical.logical_and,
    "logical_not": logical.logical_not,
    "logical_or": logical.logical_or,
    "logical_xor": logical.logical_xor,
    "matmul": matrix.matmul,
    "maximum": binary.maximum,
    "minimum": binary.minimum,
    "multiply": binary.multiply,
    "negative": unary.negative,
    "nextafter": float_pairs.nextafter,
    "not_equal": compare.not_equal,
    "positive": compositions.positive,
    "power": binary.pow,
    "rad2deg": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
    "reciprocal": unary.reciprocal,
    "remainder": float_pairs.remainder,
    "right_shift": bitwise.bitwise_right_shift,
    "rint": unary.round,
    "sign": unary.sign,
    "signbit": compositions.signbit,
    "sin": exponential.sin,
    "sinh": hyperbolic.sinh,
    "sqrt": unary.sqrt,
    "square": unary.square,
    "subtract": binary.subtract,
    "tan": exponential.tan,
    "tanh": exponential.tanh,
    "trunc": unary.trunc,
}
"""Our op for each of NumPy's elementwise functions, and for two of SciPy's."""


def _along_first(op: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def reduced(a: Tensor, axis: Any = 0, **options: Any) -> Tensor:
        return op(a, axis=axis, **options)

    return reduced


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "add": _along_first(reduce.sum),
    "logical_and": _along_first(reduce.all),
    "logical_or": _along_first(reduce.any),
    "maximum": _along_first(extremes.max),
    "minimum": _along_first(extremes.min),
    "multiply": _along_first(reduce.prod),
}
"""Our op for ``np.add.reduce`` and its kind, which reduce the first axis where none is given."""


def _cumulative(op: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def along(a: Tensor, axis: int | None = None) -> Tensor:
        return op(shapes.reshape(a, (-1,)), 0) if axis is None else op(a, axis)

    return along


def _take(a: Tensor, indices: Any, axis: int | None = None) -> Tensor:
    x = shapes.reshape(as_tensor(a), (-1,)) if axis is None else a
    return gather.take(x, indices, 0 if axis is None else axis)


def _std(a: Tensor, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Tensor:
    return statistics.std(a, axis, correction=ddof, keepdims=keepdims)


def _var(a: Tensor, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Tensor:
    return statistics.var(a, axis, correction=ddof, keepdims=keepdims)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "all": reduce.all,
    "amax": extremes.max,
    "amin": extremes.min,
    "any": reduce.any,
    "argmax": extremes.argmax,
    "argmin": extremes.argmin,
    "argsort": ordered.argsort,
    "astype": lambda x, dtype: as_tensor(x).astype(dtype),
    "broadcast_to": shapes.broadcast_to,
    "clip": unary.clip,
    "concatenate": joining.concat,
    "copy": shapes.clone,
    "count_nonzero": counting.count_nonzero,
    "cumprod": _cumulative(scan.cumulative_prod),
    "cumsum": _cumulative(scan.cumulative_sum),
    "dot": matrix.dot,
    "empty_like": compositions.empty_like,
    "expand_dims": shapes.expand_dims,
    "flip": shapes.flip,
    "full_like": creation.full_like,
    "imag": complex.imag,
    "matrix_transpose": shapes.matrix_transpose,
    "max": extremes.max,
    "mean": reduce.mean,
    "min": extremes.min,
    "moveaxis": moving.moveaxis,
    "nonzero": counting.nonzero,
    "ones_like": creation.ones_like,
    "outer": matrix.outer,
    "prod": reduce.prod,
    "ravel": lambda a: shapes.reshape(a, (-1,)),
    "real": complex.real,
    "repeat": moving.repeat,
    "reshape": shapes.reshape,
    "roll": moving.roll,
    "round": lambda a, decimals=0: round(a, decimals),
    "sort": ordered.sort,
    "squeeze": shapes.squeeze,
    "stack": joining.stack,
    "std": _std,
    "sum": reduce.sum,
    "take": _take,
    "take_along_axis": gather.take_along_axis,
    "tensordot": compositions.tensordot,
    "tile": joining.tile,
    "transpose": shapes.permute_dims,
    "tril": diagonals.tril,
    "triu": diagonals.triu,
    "var": _var,
    "vecdot": compositions.vecdot,
    "where": logical.where,
    "zeros_like": creation.zeros_like,
    **ARRANGED,
    **COMPOSED,
}
"""What runs for each of NumPy's other functions, of the main namespace."""


def array_ufunc(_self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Run our op for one of NumPy's elementwise functions; NumPy calls this."""
    space = "np." if getattr(np, ufunc.__name__, None) is ufunc else ""  # SciPy has ufuncs, too
    name = f"{space}{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    table = {"__call__": UFUNCS, "reduce": REDUCTIONS}.get(method, {})
    op = None if options.get("out") is not None else table.get(ufunc.__name__)
    return _call(name, op, getattr(ufunc, method), inputs, options)


def array_function(_self: Tensor, func: Any, _types: Any, args: Any, kwargs: Any) -> Any:
    """Run our op for one of NumPy's functions; NumPy calls this."""
    home = str(func.__module__).replace("numpy", "np", 1)
    name = f"{home}.{func.__name__}"
    if name in QUESTIONS:
        return QUESTIONS[name](*args, **kwargs)
    if name in READERS:
        return on_host(name, func, args, kwargs, asked=True)
    return _call(name, _function(home, func.__name__), func, args, kwargs)


def _function(home: str, name: str) -> Callable[..., Any] | None:
    """Return what runs for a function of one of NumPy's namespaces, or None.

    Those of linear algebra and transforms that the array API standard has are as NumPy's.
    """
    if home in SPACES:
        space = importlib.import_module(f"wgsl_kernels.{home.removeprefix('np.')}")
        return SPACES[home].get(name) or (getattr(space, name) if name in dir(space) else None)
    return FUNCTIONS.get(name) if home == "np" else None


_ABSENT = ("dtype", "out")
"""Keywords that libraries pass as None, which is to leave them out."""


def _call(
    name: str,
    op: Callable[..., Any] | None,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Return what our op gives; what NumPy gives where there is none for these arguments."""
    if op is None:
        return on_host(name, func, args, options)
    given = {key: one for key, one in options.items() if one is not None or key not in _ABSENT}
    try:
        found = op(*args, **given)
    except DTypeError:  # NumPy has more dtypes, and objects
        if config.fallback == "error":
            raise
        found = NotImplemented
    except TypeError as error:
        where = error.__traceback__
        if where is None or where.tb_next is not None:  # raised inside the op
            raise
        found = NotImplemented
    return on_host(name, func, args, options) if found is NotImplemented else found
