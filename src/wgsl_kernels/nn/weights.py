"""Weights from elsewhere: files of other libraries, into a model of ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from wgsl_kernels.engine.capture.watch import all_or_none
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.environment.files import naming_damage, path_of
from wgsl_kernels.engine.environment.suggestions import nearest
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.values.dtypes import numpy_dtype
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.formats import tensor_files
from wgsl_kernels.formats.torch_files import read_torch_file
from wgsl_kernels.nn.layouts import IGNORED, LAYOUTS, WeightSource, fields_of
from wgsl_kernels.nn.structure import Sequential
from wgsl_kernels.nn.walk import is_layer, parts_of
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    import os

    from wgsl_kernels.engine.values.dtypes import DTypeName

    Array = np.ndarray[Any, Any]

_MOST_SAID = 20


class _WeightTarget(NamedTuple):
    """A variable of the model, and where its values come from.

    Attributes:
        variable: The variable.
        path: Where it is in the model.
        names: What the file calls its values.
        converted: Makes them of the arrays of these names.
    """

    variable: Variable
    path: str
    names: tuple[str, ...]
    converted: Callable[..., Array]


def load_weights(
    path: str | os.PathLike[str],
    *,
    into: Any,
    layout: Literal["torch", "keras"] | None = None,
    rename: Mapping[str, str] | Callable[[str], str] | None = None,
) -> None:
    """Assign the variables of a model from a file that another library has written.

    Files are safetensors (bfloat16 and float16, too), ``.npz`` of NumPy, and ``.pt``, ``.pth`` or
    ``.bin`` of PyTorch, of which nothing is executed. Floats are rounded to those of the variable;
    other values stay as they are. If anything does not fit, nothing is changed.

    Names are paths in the model joined by dots, as ``state_dict`` has them: ``encoder.0.weight``;
    layers of a `wgsl_kernels.nn.sequential` are called by their numbers alone. A layout says what a
    library calls the fields of each layer of `wgsl_kernels.nn`, and how it lays them out: ``torch``
    turns dense layers over and puts windows of convolutions last; ``keras`` has other names and
    another order of a GRU's gates.

    Args:
        path: The file.
        into: The model.
        layout: What the layers were in: ``"torch"``, ``"keras"``, or None for fields that are named
            and laid out as ours.
        rename: What becomes of names in the file before they are looked for: a function, or a dict
            of names or beginnings of names up to a dot. A name that becomes empty is left out.

    Raises:
        ArgumentError: Names are missing or left over: the message has them all; or the file is
            damaged or wants to run code; or values do not fit the variable's dtype: a float that
            would be infinite, a fraction or a large number for integers; or an argument is none of
            these.
        ShapeError: Shapes differ: the message has them all.
        OSError: The file cannot be read.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "theirs.npz"
        >>> np.savez(path, **{"fc.weight": np.ones((2, 3)), "fc.bias": np.zeros(2)})
        >>> model = {"out": wk.nn.dense(3, 2)}
        >>> wk.load_weights(path, into=model, layout="torch", rename={"fc": "out"})
        >>> model["out"].weight.tolist()
        [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    if layout is not None and layout not in LAYOUTS:
        want = " or ".join(map(repr, LAYOUTS))
        raise ArgumentError(f"load_weights: layout is {shown(layout)}; want {want}, or None.")
    found = _renamed(_read(path), rename)
    targets = _targets(into, layout, found)
    if not targets:
        raise ArgumentError(
            f"load_weights: into is {shown(into)}; want a model with variables: layers in dicts, "
            "lists, tuples and dataclasses."
        )
    _check_names(targets, found, IGNORED.get(layout or "", ()))
    planned, wrong, lost = [], [], []
    for one in targets:
        values = _values(one, found)
        if isinstance(values, str):
            wrong.append(values)
            continue
        cast, is_lost = _cast(values, one.variable.dtype)
        planned.append((one.variable, cast))
        if is_lost.any():
            names, number = ", ".join(one.names), values[is_lost][0]
            lost.append(f"{names}: {number} of {values.dtype}; {one.path} is {one.variable.dtype}")
    if wrong:
        raise ShapeError(f"load_weights: shapes differ.{_listed(wrong)}")
    if lost:
        raise ArgumentError(f"load_weights: values do not fit.{_listed(lost)}")
    with all_or_none():
        for variable, values in planned:
            variable.assign(tensor(values))


def _values(target: _WeightTarget, found: Mapping[str, Array]) -> Array | str:
    """Return the values of a variable, or the words on what does not fit."""
    given = [found[name] for name in target.names]
    wanted = target.variable
    try:
        values = np.asarray(target.converted(*given))
    except (ValueError, IndexError):
        values = None
    if values is None or values.shape != wanted.shape:
        names = ", ".join(target.names)
        shapes = ", ".join(show(one.shape) for one in given)
        becomes = "" if values is None or values is given[0] else f", as ours {show(values.shape)}"
        return f"{names}: {shapes}{becomes}; {target.path} is {show(wanted.shape)}"
    return values


def _cast(values: Array, dtype: DTypeName) -> tuple[Array, Array]:
    """Return values as those of a variable, and which of them its dtype cannot hold.

    Floats are rounded to those that it has, as long as they stay finite.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        cast = values.astype(numpy_dtype(dtype), copy=False)
        if values.dtype.kind in "fc" and cast.dtype.kind in ("c", values.dtype.kind):
            return cast, np.isfinite(values) & ~np.isfinite(cast)
        return cast, cast.astype(values.dtype, copy=False) != values


def _read(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Return the arrays of a file by name."""
    place = path_of("load_weights", path)
    suffix = place.suffix.lower()
    if suffix in (".pt", ".pth", ".bin"):
        return read_torch_file(place)
    if suffix == ".npz":
        with (
            place.open("rb") as opened,  # NumPy leaves it open where it is no archive
            naming_damage(f"load_weights: {place.name} is no readable .npz of numbers"),
            np.load(opened, allow_pickle=False) as file,
        ):
            return {name: _numbers(name, file[name]) for name in file.files}
    with use_backend("cpu"):
        return {name: one.numpy() for name, one in tensor_files.read(place).tensors.items()}


def _numbers(name: str, array: Array) -> Array:
    if array.dtype.kind not in "biufc":
        raise ValueError(f"{name!r} is {array.dtype}")
    return array


def _renamed(found: dict[str, Array], rename: Any) -> dict[str, Array]:
    """Return arrays by the names that they have in the model.

    Raises:
        ArgumentError: Two get one name, or ``rename`` is neither a dict nor a function.
    """
    if rename is None:
        return found
    if not callable(rename) and not isinstance(rename, Mapping):
        raise ArgumentError(
            f"load_weights: rename is {shown(rename)}; want a function, or a dict of names."
        )
    change = rename if callable(rename) else lambda name: _by_beginning(name, rename)
    named: dict[str, tuple[str, Array]] = {}
    for name, array in found.items():
        new = change(name)
        if not isinstance(new, str):
            raise ArgumentError(
                f"load_weights: rename gives {shown(new)} for {name!r}; want a name, or '' to "
                "leave it out."
            )
        if new in named:
            raise ArgumentError(
                f"load_weights: rename gives {new!r} for {named[new][0]!r} and {name!r}."
            )
        if new:
            named[new] = (name, array)
    return {new: array for new, (_, array) in named.items()}


def _by_beginning(name: str, names: Mapping[str, str]) -> str:
    """Return a name whose longest beginning, up to a dot, that the dict has is exchanged."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        start = ".".join(parts[:count])
        if start in names:
            rest = ".".join(parts[count:])
            return f"{names[start]}.{rest}".strip(".") if rest else names[start]
    return name


def _targets(model: Any, layout: str | None, names: Collection[str]) -> list[_WeightTarget]:
    """Return the variables of a model, each once, with the names that a layout has for them.

    Of a layer of layers whose own names are not among those of the file its layers are asked.
    """
    found: list[_WeightTarget] = []
    known: set[int] = set()

    def add(variable: Variable, path: str, names: tuple[str, ...], converted: Any) -> None:
        if id(variable) not in known:
            known.add(id(variable))
            found.append(_WeightTarget(variable, path, names, converted))

    def walk(value: Any, path: str, own: dict[str, WeightSource]) -> None:
        if isinstance(value, Variable):
            source = own.get("", WeightSource((path,)))
            add(value, path, source.names, source.converted)
            return
        below = {**own}
        fields = None if own else fields_of(layout, value)
        if fields is not None:
            there = {
                field: WeightSource(
                    tuple(_joined(path, one) for one in source.names), source.converted
                )
                for field, source in fields.items()
            }
            is_there = any(name in names for one in there.values() for name in one.names)
            has_layers = any(is_layer(part) for _, part in parts_of(value))
            below = there if is_there or not has_layers else {}
        for name, part in parts_of(value):
            is_list = isinstance(value, Sequential) and name == "layers"
            inner = {
                field[len(name) :].lstrip("."): source
                for field, source in below.items()
                if field == name or field.startswith(f"{name}.")
            }
            walk(part, path if is_list else _joined(path, name), inner)

    walk(model, "", {})
    return found


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _check_names(
    targets: list[_WeightTarget], found: Mapping[str, Array], ignored: tuple[str, ...]
) -> None:
    """Refuse a file that lacks names, or has others.

    Raises:
        ArgumentError: It does.
    """
    wanted = {name: one.path for one in targets for name in one.names}
    missing = [name for name in wanted if name not in found]
    others = [
        name for name in found if name not in wanted and name.rpartition(".")[2] not in ignored
    ]
    if not missing and not others:
        return
    said = []
    if missing:
        lines = [
            f"{name} (for {wanted[name]}){_hint(name, others)}"
            if wanted[name] != name
            else f"{name}{_hint(name, others)}"
            for name in missing
        ]
        said.append(f"\nThe file lacks:{_listed(lines)}")
    if others:
        lines = [f"{name}: {show(found[name].shape)}" for name in sorted(others)]
        said.append(f"\nThe model has nothing for:{_listed(lines)}")
    raise ArgumentError(
        f"load_weights: names differ.{''.join(said)}\nrename= says what to call them, and '' "
        "leaves one out; layout= says how a library names and lays out its layers."
    )


def _hint(name: str, others: list[str]) -> str:
    near = nearest(name, others)
    return f"; is it {near}?" if near else ""


def _listed(lines: list[str]) -> str:
    more = len(lines) - _MOST_SAID
    shown_lines = lines[:_MOST_SAID] + ([f"and {more} more"] if more > 0 else [])
    return "".join(f"\n  {one}" for one in shown_lines)
