"""What NumPy's functions do with a tensor: run our op of the same meaning, or read.

What is in no table here, or has arguments that our op has not, is NumPy's own on the values, and
says so once; see `numpy_reading`.
"""

from __future__ import annotations

import importlib
import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.environment.parameters import parameters_of
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import all_public
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import numpy_dtype, tensor_dtype
from wgsl_kernels.ops.elementwise import binary, cast
from wgsl_kernels.ops.indexing import gather
from wgsl_kernels.ops.names.numpy_arrangements import ARRANGED
from wgsl_kernels.ops.names.numpy_compositions import COMPOSED
from wgsl_kernels.ops.names.numpy_creation import LIKE, creator
from wgsl_kernels.ops.names.numpy_reading import QUESTIONS, READERS, on_host
from wgsl_kernels.ops.names.numpy_spaces import SPACES
from wgsl_kernels.ops.reductions import extremes, reduce, scan, statistics
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.ops.reductions.reduce import Axes


def _along_first(op: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return what reduces as a ufunc does: the first axis where none is given.

    Keywords that the op does not take are NumPy's.
    """
    known = parameters_of(op).keyword_only

    def reduced(a: Tensor, axis: Any = 0, **options: Any) -> Any:
        return op(a, axis=axis, **options) if {*options}.issubset(known) else NotImplemented

    return reduced


def _cumulative(op: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def along(a: Tensor, axis: int | None = None, dtype: Any = None) -> Tensor:
        x, at = (shapes.reshape(a, (-1,)), 0) if axis is None else (a, axis)
        return op(x, at, dtype=dtype)

    return along


def _total(op: Callable[..., Tensor]) -> Callable[..., Tensor]:
    known = parameters_of(op).keyword_only

    def combined(a: Any, axis: Axes = None, dtype: Any = None, **options: Any) -> Any:
        if not {*options}.issubset(known):
            return NotImplemented
        return op(a, axis, dtype=dtype, **options)

    return combined


def _computed_in(a: Any, dtype: Any) -> Any:
    return a if dtype is None else cast.astype(a, dtype, copy=False)


def _given_in(y: Tensor, dtype: Any) -> Tensor:
    return y if dtype is None else y.astype(dtype, copy=False)


def _mean(a: Any, axis: Axes = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    return _given_in(reduce.mean(_computed_in(a, dtype), axis, keepdims=keepdims), dtype)


def _take(a: Tensor, indices: Any, axis: int | None = None) -> Tensor:
    x = shapes.reshape(as_tensor(a), (-1,)) if axis is None else a
    return gather.take(x, indices, 0 if axis is None else axis)


def _std(
    a: Any, axis: Axes = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Tensor:
    x = _computed_in(a, dtype)
    return _given_in(statistics.std(x, axis, correction=ddof, keepdims=keepdims), dtype)


def _var(
    a: Any, axis: Axes = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Tensor:
    x = _computed_in(a, dtype)
    return _given_in(statistics.var(x, axis, correction=ddof, keepdims=keepdims), dtype)


OWN: dict[str, Callable[..., Any]] = {
    "add.reduce": _along_first(reduce.sum),
    "astype": cast.astype,
    "cumprod": _cumulative(scan.cumulative_prod),
    "cumsum": _cumulative(scan.cumulative_sum),
    "deg2rad": lambda x: x * (math.pi / 180),
    "degrees": lambda x: x * (180 / math.pi),
    "exp2": lambda x: binary.pow(2.0, x),
    "logical_and.reduce": _along_first(reduce.all),
    "logical_or.reduce": _along_first(reduce.any),
    "maximum.reduce": _along_first(extremes.max),
    "mean": _mean,
    "minimum.reduce": _along_first(extremes.min),
    "multiply.reduce": _along_first(reduce.prod),
    "prod": _total(reduce.prod),
    "rad2deg": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
    "ravel": lambda a: shapes.reshape(a, (-1,)),
    "round": lambda a, decimals=0: round(a, decimals),
    "std": _std,
    "sum": _total(reduce.sum),
    "take": _take,
    "var": _var,
    **ARRANGED,
    **COMPOSED,
    **LIKE,
}
"""What runs for functions of NumPy's main namespace that are no op of ours as they are."""


@lru_cache(maxsize=1)
def calls() -> dict[str, Callable[..., Any]]:
    """Return what runs for NumPy's functions of the main namespace, and for some of SciPy's."""
    ops = {f"np.{name}": op for op, names in all_public().items() for name in names.numpy}
    scipy = {name: op for op, names in all_public().items() for name in names.scipy}
    return ops | scipy | {f"np.{name}": run for name, run in OWN.items()}


def array_ufunc(_self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Run our op for one of NumPy's elementwise functions; NumPy calls this."""
    space = "np." if getattr(np, ufunc.__name__, None) is ufunc else ""  # SciPy has ufuncs, too
    name = f"{space}{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    op = None if options.get("out") is not None else calls().get(name)
    if op is not None and method == "__call__" and options.get("dtype") is not None:
        op = partial(_in_dtype, op)
    return _call(name, op, getattr(ufunc, method), inputs, options)


def _in_dtype(
    op: Callable[..., Tensor],
    *inputs: Any,
    dtype: Any,
    casting: Any = "same_kind",
    order: str = "K",
    subok: bool = True,
) -> Any:
    """Run an elementwise op in a dtype, to which its tensors are cast first; bool is the result's.

    NumPy itself refuses what ``casting`` does not allow.
    """
    del order, subok
    wanted = tensor_dtype(dtype)
    if wanted == "bool":
        return op(*inputs).astype(wanted, copy=False)
    given = [as_tensor(one) if isinstance(one, np.ndarray) else one for one in inputs]
    dtypes = [numpy_dtype(one.spec.dtype) for one in given if isinstance(one, Tensor)]
    if not all(np.can_cast(one, numpy_dtype(wanted), casting) for one in dtypes):
        return NotImplemented
    given = [one.astype(wanted, copy=False) if isinstance(one, Tensor) else one for one in given]
    return op(*given).astype(wanted, copy=False)


def array_function(self: Tensor, func: Any, _types: Any, args: Any, kwargs: Any) -> Any:
    """Run our op for one of NumPy's functions; NumPy calls this."""
    home = str(func.__module__).replace("numpy", "np", 1)
    name = f"{home}.{func.__name__}"
    if name in QUESTIONS:
        return QUESTIONS[name](*args, **kwargs)
    if name in READERS:
        return on_host(name, func, args, kwargs, asked=True)
    op = creator(self, name) or _function(home, func.__name__)
    return _call(name, op, func, args, kwargs)


def _function(home: str, name: str) -> Callable[..., Any] | None:
    """Return what runs for a function of one of NumPy's namespaces, or None.

    Those of linear algebra and transforms that the array API standard has are as NumPy's.
    """
    if home in SPACES:
        space = importlib.import_module(f"wgsl_kernels.{home.removeprefix('np.')}")
        return SPACES[home].get(name) or (getattr(space, name) if name in dir(space) else None)
    return calls().get(f"{home}.{name}")


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
