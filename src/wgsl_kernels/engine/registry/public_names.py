"""What a public function is called, said where it is defined, and nowhere else.

`scripts/write_names.py` reads it there and writes what editors and type checkers must find as text:
imports, the methods of tensors, TensorFlow.js's names. All else that follows from it (operators,
NumPy's functions, tables, suggestions) is looked up in `all_public`. This module imports no other
of the package, so that the script can run it alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Function = TypeVar("_Function", bound="Callable[..., Any]")


class FunctionNames(NamedTuple):
    """All names of a public function; `public` says what each is."""

    own: str
    spaces: tuple[str, ...]
    numpy: tuple[str, ...]
    scipy: tuple[str, ...]
    tfjs: tuple[str, ...]
    operators: tuple[str, ...]
    methods: tuple[str, ...]

    @property
    def path(self) -> str:
        """Return what it is called below ``wk``: ``add``, or ``linalg.qr``."""
        space = self.spaces[0] if self.spaces else "wk"
        return self.own if space == "wk" else f"{space}.{self.own}"


_public: dict[Callable[..., Any], FunctionNames] = {}


def public(
    *,
    space: str = "wk",
    numpy: str = "",
    scipy: str = "",
    tfjs: str = "",
    operator: str = "",
    method: bool | str = False,
) -> Callable[[_Function], _Function]:
    """Make a function or a class public under its own name, and say what else it is called.

    Several names are one string, with spaces between them.

    Args:
        space: Where it is: in "wk", and in the extensions of the array API standard, "linalg" and
            "fft"; nowhere if empty.
        numpy: The functions of NumPy that it is, argument by argument.
        scipy: The elementwise functions of SciPy that it is.
        tfjs: What TensorFlow.js calls it, without ``tf.``.
        operator: Python's operator that it is, without underscores.
        method: Whether tensors have it as a method; all names where its own is not the only one.
    """

    def declare(function: _Function) -> _Function:
        own = function.__name__
        methods = method if isinstance(method, str) else own * method
        said = (space, numpy, scipy, tfjs, operator, methods)
        _public[function] = FunctionNames(own, *(tuple(one.split()) for one in said))
        return function

    return declare


def all_public() -> Mapping[Callable[..., Any], FunctionNames]:
    """Return the names of every public function whose module is loaded."""
    return _public


def snake_case(name: str) -> str:
    """Return a name of TensorFlow.js as Python writes it: ``addN`` gives ``add_n``."""
    name = re.sub(r"(?<=\d)D(?=[A-Z]|$)", "d", name).replace("NaN", "Nan")
    return re.sub(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def aliases_of(tfjs: Mapping[str, str]) -> dict[str, str]:
    """Return TensorFlow.js's names, in snake_case, that are no names of ours, and what they mean.

    A name in a namespace that is also one outside (``fused.conv2d``) is none.

    Args:
        tfjs: What each of its functions is called here; see `FunctionNames.path`.
    """
    found: dict[str, str] = {}
    for theirs, ours in tfjs.items():
        space, _, last = theirs.rpartition(".")
        name = snake_case(last)
        if name != ours.rpartition(".")[2] and not (space and last in tfjs):
            found[name] = ours
    return found
