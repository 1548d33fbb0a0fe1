"""Saving and loading: variables, tensors, optimizers and the random key, in safetensors files.

A file holds named tensors. What `save` is given is a model: tensors, variables and objects with
state (optimizers) in dicts, lists, tuples, dataclasses and other objects; a name in the file is the
path to it, joined by ``/``: ``model/w``, ``optimizer/step``. What an optimizer keeps of a
variable is called by the variable's path: ``optimizer/model/w/m``. See
`wgsl_kernels.formats.tensor_files` for the format and
docs/decisions/0030-state-is-saved-under-the-paths-of-its-variables.md for the names.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient
from wgsl_kernels.engine.capture.watch import all_or_none, at_one_moment
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DisposedTensorError,
    DTypeError,
    ShapeError,
)
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.trees.trees import Leaves, Tree
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.formats import tensor_files
from wgsl_kernels.formats.tensor_files import Content
from wgsl_kernels.train.slots import is_counted, name_of
from wgsl_kernels.wgsl.errors.words import shown

WANTED = {
    "save": "a tensor, an optimizer, or a model of these: mappings, lists, objects",
    "load": "a variable, an optimizer, or a model of these: mappings, lists, objects",
}


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


@runtime_checkable
class HasStateOfVariables(Protocol):
    """What has state of variables, such as an optimizer: ``<variable>/<what>`` by name."""

    def owners(self) -> Iterable[Variable]:
        """Return the variables that it has state of."""
        ...

    def state_dict(self, names: Mapping[Variable, str]) -> Mapping[str, Tensor]:
        """Return the state; ``names`` says what to call variables."""
        ...

    def check_state_dict(self, state: Mapping[str, Any], owners: Mapping[str, Variable]) -> Any:
        """Raise if `load_state_dict` would not take ``state``."""
        ...

    def load_state_dict(self, state: Mapping[str, Any], owners: Mapping[str, Variable]) -> None:
        """Take the state over; ``owners`` has the variables by the names that they have in it."""
        ...


def save(
    path: str | os.PathLike[str],
    obj: Any,
    *,
    dtype: Literal["bfloat16", "float16"] | None = None,
) -> None:
    """Save tensors in a file, all or, if that fails, none: the file appears when it is complete.

    What another thread trains meanwhile is saved as it is between two steps.

    Args:
        path: Where; a file that is there is replaced and keeps its mode, and a link is followed.
        obj: A model: variables, tensors and optimizers in dicts, lists, tuples, dataclasses and
            other objects; or one optimizer. An optimizer's state is kept under the paths of its
            variables here; those that stand nowhere in ``obj`` need names.
        dtype: ``"bfloat16"`` or ``"float16"``: what float32 and float64 tensors and variables are
            rounded to in the file, to the nearest; state of optimizers is kept as it is. `load`
            gives bfloat16 as float32.

    Raises:
        ArgumentError: ``obj`` holds something else, itself, two things under one name, or an
            optimizer with state of a variable that has neither path nor name. Or ``path`` is none,
            or leads to what is no regular file, or has another format's name, such as ``.npz``. Or
            a number is beyond ``dtype``.
        DTypeError: A tensor holds strings.
        OSError: The file cannot be written.

    Example:
        >>> import pathlib
        >>> import tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
        >>> save(path, {"w": tensor([1.0, 2.0])})
        >>> load(path)["w"].tolist()
        [1.0, 2.0]
    """
    _check_order("save", path, obj)
    if dtype is not None and dtype not in tensor_files.NARROW:
        known = " or ".join(map(repr, tensor_files.NARROW))
        raise ArgumentError(f"save: dtype is {shown(dtype)}; want {known}, or None.")
    tensor_files.write(path, at_one_moment(lambda: _content(obj)), dtype)


def load(path: str | os.PathLike[str], into: Any = None) -> dict[str, Tensor]:
    """Return the tensors of a file by name, and assign them if ``into`` says where.

    Args:
        path: A file that `save`, or another writer of safetensors, has written.
        into: What was given to `save`, or a copy of its structure: variables are assigned and
            optimizers take their state over. Names must be those of the file, shapes and dtypes
            must fit; if anything does not, nothing is changed. To use a part of a file, load it
            without ``into`` and assign what is wanted.

    Raises:
        ArgumentError: The file is none of safetensors, or its names differ from those of ``into``,
            or it has state of a variable that ``into`` has not; or ``path`` is none.
        ShapeError, DTypeError: A variable has another shape or dtype; the message names it.
        OSError: The file cannot be read.
    """
    _check_order("load", path, into)
    content = tensor_files.read(path)
    if into is not None:
        planned = _assignments(into, content)
        with all_or_none():
            for holder, value, owners in planned:
                if isinstance(holder, Variable):
                    holder.assign(value)
                elif owners is None:
                    holder.load_state_dict(value)
                else:
                    holder.load_state_dict(value, owners)
    return content.tensors


def _check_order(caller: str, path: Any, obj: Any) -> None:
    is_path = isinstance(path, (str, bytes, os.PathLike))
    if not is_path and isinstance(obj, (str, bytes, os.PathLike)):
        raise ArgumentError(
            f"{caller}: the path is a {type(path).__name__} and what is to be {caller}d a "
            f"{type(obj).__name__}; did you swap the two?"
        )


def _content(obj: Any) -> Content:
    """Return what ``obj`` holds, by name."""
    found: dict[str, Tensor] = {}
    by_path: list[str] = []
    narrowed: set[str] = set()
    things = list(_things("save", obj))
    paths: dict[Variable, str] = {}
    for name, thing in things:
        if isinstance(thing, Variable):
            paths.setdefault(thing, name)
    for name, thing in things:
        if isinstance(thing, HasStateOfVariables):
            by_path.append(name)
            _check_owners(name, thing, paths)
            state: Any = thing.state_dict(paths)
        elif isinstance(thing, Variable):
            state = stop_gradient(thing)
        else:
            state = thing if isinstance(thing, Tensor) else thing.state_dict()
        if isinstance(thing, Tensor):
            narrowed.add(name)
        for one, value in _things("save", state, name):
            _add(found, one, value)
    return Content(found, by_path, narrowed)


def _things(caller: str, obj: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield tensors and objects with state that ``obj`` leads to, with their names in the file."""
    kind = Variable if caller == "load" else Tensor

    def is_thing(one: Any) -> bool:
        if isinstance(one, (dict, list, tuple)):  # which may answer to any name
            return False
        return isinstance(one, (kind, HasStateOfVariables, HasState))

    model = Tree(caller, obj, Leaves(is_thing, refuses=True))
    for names, thing in zip(model.paths(), model.leaves, strict=True):
        name = path
        for one in names:
            name = _joined(caller, name, one)
        if not is_thing(thing):
            where = f"under {name!r} " if name else ""
            raise ArgumentError(
                f"{caller}: {where}stands a {type(thing).__name__}; want {WANTED[caller]}."
            )
        yield name, thing


def _joined(caller: str, path: str, name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"{caller}: {name!r} is no name; want a string.")
    tensor_files.check_name(caller, name)
    return f"{path}/{name}" if path else name


def _add(found: dict[str, Tensor], name: str, value: Any) -> None:
    if name in found:
        raise ArgumentError(f"save: {name!r} is given twice; want each name once.")
    for part in name.split("/"):
        if "@" in part and is_counted(part):
            _refuse_nameless(name.removesuffix(part).rstrip("/"), part.partition("@")[0])
    found[name] = value


def _check_owners(name: str, thing: HasStateOfVariables, paths: Mapping[Variable, str]) -> None:
    for owner in thing.owners():
        if owner not in paths and is_counted(owner.name):
            _refuse_nameless(name, owner.name)


def _refuse_nameless(name: str, owner: str) -> None:
    what = f"{name!r}" if name else "the optimizer"
    raise ArgumentError(
        f"save: {what} has state of {owner!r}, a variable without a name of its own that stands "
        "nowhere in what is saved. Save both in one mapping, or give the variable a name."
    )


Planned = list[tuple[Any, Any, Mapping[str, Variable] | None]]


def _assignments(into: Any, content: Content) -> Planned:
    """Return what to give to which variable or optimizer, once it is known that all of it fits."""
    found = content.tensors
    things = list(_things("load", into))
    variables = {name: one for name, one in things if isinstance(one, Variable)}
    planned: Planned = []
    names: set[str] = set()
    values: dict[Variable, tuple[str, Tensor]] = {}
    for path, holder in things:
        if isinstance(holder, Variable):
            if path not in found:
                raise ArgumentError(f"load: the file has no {path!r}; it has {_listed(found)}.")
            _check_fits(path, holder, found[path])
            _check_equal(values.setdefault(holder, (path, found[path])), path, found[path])
            planned.append((holder, found[path], None))
            names.add(path)
            continue
        head = f"{path}/" if path else ""
        mine = {one[len(head) :]: found[one] for one in found if one.startswith(head)}
        owners: Mapping[str, Variable] | None = None
        if isinstance(holder, HasStateOfVariables):
            owners = _owners(path, mine, variables, content)
            holder.check_state_dict(mine, owners)
        else:
            holder.check_state_dict(mine)
        planned.append((holder, mine, owners))
        names.update(head + one for one in mine)
    if found.keys() - names:
        raise ArgumentError(
            f"load: the file has {_listed(sorted(found.keys() - names))}, which nothing in `into` "
            "takes. Load it without `into` and assign what is wanted."
        )
    return planned


def _owners(
    path: str, state: Mapping[str, Any], variables: Mapping[str, Variable], content: Content
) -> dict[str, Variable]:
    """Return the variables that an object's state is of, by what they are called there.

    A file that says so calls them by their paths. In others, older ones or such as a `state_dict`
    was put into, they go by their own names.
    """
    called = list(dict.fromkeys(name.rpartition("/")[0] for name in state if "/" in name))
    if path in content.by_path:
        for owner in called:
            if owner in content.tensors and owner not in variables:
                raise ArgumentError(
                    f"load: {path!r} has state of {owner!r} in the file, which is no variable of "
                    "`into`."
                )
        return {owner: variables[owner] for owner in called if owner in variables}
    owners: dict[str, Variable] = {}
    distinct = list(dict.fromkeys(variables.values()))
    for owner in called:
        named = [one for one in distinct if owner in (one.name, name_of(one))]
        named = [one for one in named if not is_counted(owner) or name_of(one) == owner]
        if len(named) > 1:
            raise ArgumentError(
                f"load: {path!r} has state of {owner!r} in the file, and {len(named)} variables of "
                "`into` have that name."
            )
        if named:
            owners[owner] = named[0]
    taken = {one._id for one in owners.values()}
    free = [one for one in distinct if one._id not in taken]
    return owners | _only_fits(state, [one for one in called if one not in owners], free)


def _only_fits(
    state: Mapping[str, Tensor], called: list[str], variables: list[Variable]
) -> dict[str, Variable]:
    """Return the owners of state under counted names, where only one variable can be each."""
    counted = [one for one in called if is_counted(one) and "@" not in one]
    fits: dict[str, list[Variable]] = {}
    for owner in counted:
        values = [value for name, value in state.items() if name.rpartition("/")[0] == owner]
        specs = {value.spec for value in values}
        fits[owner] = [one for one in variables if specs == {one.spec}]
    wanted = [one._id for found in fits.values() for one in found]
    return {
        owner: found[0]
        for owner, found in fits.items()
        if len(found) == 1 and wanted.count(found[0]._id) == 1
    }


def _check_equal(first: tuple[str, Tensor], path: str, value: Tensor) -> None:
    if first[1] is not value and first[1].numpy().tobytes() != value.numpy().tobytes():
        raise ArgumentError(
            f"load: {first[0]!r} and {path!r} are one variable in `into`, and differ in the file."
        )


def _check_fits(path: str, holder: Variable, value: Tensor) -> None:
    if holder.is_disposed:
        raise DisposedTensorError(f"load: the variable under {path!r} was disposed.")
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
