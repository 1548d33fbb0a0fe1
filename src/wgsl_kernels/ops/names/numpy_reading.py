"""NumPy's functions on the values of tensors, and those that ask for no value.

Libraries call these on what their users give them, so most read, say so once, and return what NumPy
returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.fallbacks import note_fallback
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.tensors.watched_reads import is_watched, note_explicit_read, warn_of_end
from wgsl_kernels.engine.values.dtypes import COMPLEXES, numpy_dtype
from wgsl_kernels.ops.names import dtype_facts

if TYPE_CHECKING:
    from collections.abc import Callable

_READERS = """
    allclose array2string array_equal array_equiv array_repr array_str atleast_1d atleast_2d
    atleast_3d copyto save savetxt savez savez_compressed
"""
READERS = frozenset(f"np.{name}" for name in _READERS.split())
"""Functions that want values on the host by what they mean, as ``np.asarray`` does."""

_WRITERS = "copyto fill_diagonal place put put_along_axis putmask"
WRITERS = frozenset(f"np.{name}" for name in _WRITERS.split())
"""Functions that write into their first argument."""


def on_host(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    *,
    asked: bool = False,
) -> Any:
    """Return what NumPy's function gives for the values of the tensors among its arguments.

    Args:
        name: As users write it.
        function: NumPy's.
        args: Its arguments, with tensors in any of them.
        options: Its keywords.
        asked: Whether its caller wants values on the host, so that nobody need be told.

    Raises:
        DTypeError: It would write into a tensor; or ``config.fallback`` forbids the reading.
    """
    written = args[:1] if name in WRITERS else options.get("out")
    if any(isinstance(one, Tensor) for one in (written if type(written) is tuple else [written])):
        raise DTypeError(
            f"{name}: it writes into a tensor, whose values never change. Write into an array, or "
            "take x.at[index].set(value)."
        )
    if not asked:
        if config.fallback == "error":
            raise DTypeError(
                f"{name}: there is no op of this kind for tensors, or none that takes these "
                "arguments; read them with numpy()."
            )
        what = (
            "no op takes these arguments, so tensors are read and the result is NumPy's; "
            "write x.numpy() where that is meant"
        )
        note_fallback(name, "numpy", what)
    watched: list[Tensor] = []
    result = function(*_read(args, watched), **_read(options, watched))
    if watched and _has_floats(result):  # what is true, a count or a file has no gradient anyway
        warn_of_end(name)
    return result


def _read(given: Any, watched: list[Tensor]) -> Any:
    """Return arguments with arrays in place of tensors, also in lists, tuples and dictionaries.

    Those that a tape watches are added to ``watched``.
    """
    if isinstance(given, Tensor):
        if is_watched(given):
            note_explicit_read(given)
            watched.append(given)
        return given._values()
    if type(given) in (list, tuple):
        return type(given)(_read(one, watched) for one in given)
    if type(given) is dict:
        return {key: _read(one, watched) for key, one in given.items()}
    return given


def _has_floats(result: Any) -> bool:
    if isinstance(result, (list, tuple)):
        return any(map(_has_floats, result))
    return isinstance(result, (float, complex, np.ndarray, np.generic)) and (
        np.asarray(result).dtype.kind in "fc"
    )


def _as_dtype(given: Any) -> Any:
    return numpy_dtype(given.spec.dtype) if isinstance(given, Tensor) else given


def _result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the dtype that our ops give; NumPy's answer where others than ours are among them."""
    try:
        return numpy_dtype(dtype_facts.result_type(*arrays_and_dtypes))
    except DTypeError:
        return np.result_type(*map(_as_dtype, arrays_and_dtypes))


def _can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    try:
        if casting == "safe":
            return dtype_facts.can_cast(from_, to)
    except DTypeError:
        pass
    return bool(np.can_cast(_as_dtype(from_), _as_dtype(to), casting))


def _is_complex(x: Any) -> bool:
    return x.spec.dtype in COMPLEXES


def _is_same(a: Any, b: Any, max_work: Any = None) -> bool:
    del max_work
    return a is b


QUESTIONS: dict[str, Callable[..., Any]] = {
    "np.can_cast": _can_cast,
    "np.common_type": lambda *arrays: np.common_type(
        *(np.empty(0, _as_dtype(one)) if isinstance(one, Tensor) else one for one in arrays)
    ),
    "np.iscomplexobj": _is_complex,
    "np.isrealobj": lambda x: not _is_complex(x),
    "np.may_share_memory": _is_same,
    "np.min_scalar_type": lambda a: _as_dtype(a) if a.ndim else np.min_scalar_type(a.numpy()),
    "np.ndim": lambda a: a.ndim,
    "np.result_type": _result_type,
    "np.shape": lambda a: a.shape,
    "np.shares_memory": _is_same,
    "np.size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
}
"""What answers functions that ask for no element."""
