"""Saving and loading: variables, tensors, optimizers and the random key, in safetensors files.

A file holds named tensors. What `save` is given is a mapping of names to tensors, variables and
objects with state (optimizers), or to further mappings; a name in the file is the path to it,
joined by ``/``: ``model/w``, ``optimizer/step``. bool, int32, float16, float32 and float64 are
stored as they are (BOOL, I32, F16, F32, F64), a complex tensor as floats with a last axis of 2, the
real and the imaginary part; the names of these stand in the file's metadata under ``complex``, as a
JSON list. Any reader of safetensors opens such a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from wgsl_kernels.engine.dtypes import COMPLEXES
from wgsl_kernels.engine.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.tensor import Tensor, Variable, tensor
from wgsl_kernels.engine.watch import assign_all

COMPLEX = "complex"
"""The key of the file's metadata under which the names of complex tensors stand."""


@runtime_checkable
class HasState(Protocol):
    """What can be saved besides tensors: it gives its state by name, and takes it back."""

    def state_dict(self) -> Mapping[str, Tensor]:
        """Return the state."""
        ...

    def check_state_dict(self, state: Mapping[str, Any]) -> Any:
        """Raise if `load_state_dict` would not take ``state``."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take the state over."""
        ...


def save(path: str | os.PathLike[str], obj: Mapping[str, Any] | HasState) -> None:
    """Save tensors in a file, all or, if that fails, none: the file appears when it is complete.

    Args:
        path: Where; a file that is there is replaced.
        obj: Names to variables, tensors and optimizers, or to further such mappings; or one
            optimizer.

    Raises:
        ArgumentError: ``obj`` holds something else, or two things under one name.
        DTypeError: A tensor holds strings.

    Example:
        >>> import pathlib
        >>> import tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
        >>> save(path, {"w": tensor([1.0, 2.0])})
        >>> load(path)["w"].tolist()
        [1.0, 2.0]
    """
    import json

    from safetensors.numpy import save as encode

    arrays: dict[str, np.ndarray] = {}
    complexes: list[str] = []
    for name, value in _tensors_in("save", obj):
        if name in arrays:
            raise ArgumentError(f"save: {name!r} stands twice; want each name once.")
        arrays[name] = _encoded(name, value)
        if value.dtype in COMPLEXES:
            complexes.append(name)
    metadata = {COMPLEX: json.dumps(complexes)} if complexes else None
    _write(Path(path), encode(arrays, metadata))


def load(
    path: str | os.PathLike[str], into: Mapping[str, Any] | HasState | None = None
) -> dict[str, Tensor]:
    """Return the tensors of a file by name, and assign them if ``into`` says where.

    Args:
        path: A file that `save`, or another writer of safetensors, has written.
        into: What was given to `save`, or a copy of its structure: variables are assigned and
            optimizers take their state over. Names must be those of the file, shapes and dtypes
            must fit; if anything does not, nothing is changed. To use a part of a file, load it
            without ``into`` and assign what is wanted.

    Raises:
        ArgumentError: The file is none of safetensors, or its names differ from those of ``into``.
        ShapeError, DTypeError: A variable has another shape or dtype; the message names it.
        OSError: The file cannot be read.
    """
    found = _read(Path(path))
    if into is not None:
        planned = _assignments(into, found)
        assign_all((one, value) for one, value in planned if isinstance(one, Variable))
        for holder, value in planned:
            if not isinstance(holder, Variable):
                holder.load_state_dict(value)
    return found


def _tensors_in(caller: str, obj: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield every tensor that ``obj`` leads to, with its name in the file."""
    if isinstance(obj, Tensor):
        yield path, obj
        return
    if isinstance(obj, HasState):
        obj = obj.state_dict()
    if not isinstance(obj, Mapping):
        where = f"under {path!r} " if path else ""
        raise ArgumentError(
            f"{caller}: {where}stands a {type(obj).__name__}; want a tensor, an optimizer, or a "
            "mapping of names to these."
        )
    for name, value in obj.items():
        yield from _tensors_in(caller, value, _joined(caller, path, name))


def _joined(caller: str, path: str, name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"{caller}: {name!r} is no name; want a string.")
    return f"{path}/{name}" if path else name


def _encoded(name: str, value: Tensor) -> np.ndarray:
    if value.dtype == "string":
        raise DTypeError(f"save: {name!r} holds strings; want numbers or bools.")
    array = value.numpy()
    return (
        np.stack([np.real(array), np.imag(array)], axis=-1) if value.dtype in COMPLEXES else array
    )


def _write(path: Path, content: bytes) -> None:
    """Replace the file at ``path`` by ``content``, in one step."""
    beside = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _read(path: Path) -> dict[str, Tensor]:
    import json

    from safetensors import SafetensorError, safe_open

    path.open("rb").close()  # a missing file, or none that may be read, raises OSError here
    try:
        with safe_open(path, framework="numpy") as file:
            names = file.keys()  # no mapping: it has keys, and cannot be iterated
            arrays = {name: file.get_tensor(name) for name in names}
            metadata = file.metadata() or {}
    except (SafetensorError, TypeError, AttributeError) as error:
        raise ArgumentError(f"load: {path} is no readable safetensors file: {error}.") from error
    complexes = json.loads(metadata.get(COMPLEX, "[]"))
    return {name: _decoded(array, name in complexes) for name, array in arrays.items()}


def _decoded(array: np.ndarray, is_complex: bool) -> Tensor:
    if is_complex:
        kind = np.complex64 if array.dtype == np.float32 else np.complex128
        array = np.ascontiguousarray(array).view(kind)[..., 0]
    return tensor(array, dtype=array.dtype if array.dtype.kind in "bfc" else None)


def _assignments(into: Any, found: Mapping[str, Tensor]) -> list[tuple[Any, Any]]:
    """Return what to give to which variable or optimizer, once it is known that all of it fits."""
    planned: list[tuple[Any, Any]] = []
    names: set[str] = set()
    for path, holder in _holders(into):
        if isinstance(holder, Variable):
            if path not in found:
                raise ArgumentError(f"load: the file has no {path!r}; it has {_listed(found)}.")
            _check_fits(path, holder, found[path])
            planned.append((holder, found[path]))
            names.add(path)
            continue
        head = f"{path}/" if path else ""
        mine = {one[len(head) :]: found[one] for one in found if one.startswith(head)}
        holder.check_state_dict(mine)
        planned.append((holder, mine))
        names.update(head + one for one in mine)
    if found.keys() - names:
        raise ArgumentError(
            f"load: the file has {_listed(sorted(found.keys() - names))}, which nothing in `into` "
            "takes. Load it without `into` and assign what is wanted."
        )
    return planned


def _holders(obj: Any, path: str = "") -> Iterator[tuple[str, Variable | HasState]]:
    if isinstance(obj, (Variable, HasState)):
        yield path, obj
    elif isinstance(obj, Mapping):
        for name, value in obj.items():
            yield from _holders(value, _joined("load", path, name))
    else:
        raise ArgumentError(
            f"load: under {path!r} stands a {type(obj).__name__}; want a variable, an optimizer, "
            "or a mapping of names to these."
        )


def _check_fits(path: str, holder: Variable, value: Tensor) -> None:
    if value.shape != holder.shape:
        raise ShapeError(
            f"load: {path!r} has shape {show(value.shape)} in the file; the variable has "
            f"{show(holder.shape)}."
        )
    if value.dtype != holder.dtype:
        raise DTypeError(
            f"load: {path!r} is {value.dtype} in the file; the variable is {holder.dtype}."
        )


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names)) or "nothing"
