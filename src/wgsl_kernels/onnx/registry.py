"""The table of operators: what computes each, by domain, name and the version of its meaning."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FAMILIES = "wgsl_kernels.onnx.operators"


@dataclass(frozen=True)
class Operator:
    """What computes an operator from one version of its operator set on.

    Attributes:
        function: Takes the node and its inputs: tensors, NumPy arrays of those in ``host``, lists
            of sequences, None of what is left out. Returns one value, or a tuple.
        since: The first version of the operator set whose meaning this is.
        host: The places of inputs that are read on the host: shapes, axes and the like.
        raw: Whether inputs are given as they are, on the host or not.
        when: Says whether it computes a node with such attributes; another is expanded into the
            function that the schema has of it.
        reads: Whether it reads values of the device, so that a graph with it is not replayed.
    """

    function: Callable[..., Any]
    since: int
    host: frozenset[int]
    raw: bool
    when: Callable[[Mapping[str, Any], int, int], bool] | None
    reads: bool = False


_operators: dict[tuple[str, str], list[Operator]] = {}
_numpy: dict[str, Callable[..., Any]] = {}


def operator(
    *names: str,
    since: int = 1,
    domain: str = "",
    host: tuple[int, ...] = (),
    raw: bool = False,
    reads: bool = False,
    when: Callable[[Mapping[str, Any], int, int], bool] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as what computes operators; see `Operator`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            row = Operator(function, since, frozenset(host), raw, when, reads)
            rows = _operators.setdefault((domain, name), [])
            rows.append(row)
            rows.sort(key=lambda one: -one.since)
        return function

    return register


def on_host(name: str, function: Callable[..., Any]) -> None:
    """Say what computes an operator in NumPy, where shapes are computed."""
    _numpy[name] = function


def host_function(domain: str, name: str) -> Callable[..., Any] | None:
    """Return what computes an operator in NumPy, or None."""
    return _numpy.get(name) if not domain else None


def plain_domain(name: str) -> str:
    """Return a domain by the name that it has here: ONNX's own, which has two, is ""."""
    return "" if name == "ai.onnx" else name


def load_families() -> None:
    """Import the modules of operators, each of which registers its own."""
    package = importlib.import_module(_FAMILIES)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{_FAMILIES}.{module.name}")


def find(
    domain: str, name: str, version: int, attrs: Mapping[str, Any], inputs: int, outputs: int
) -> Operator | None:
    """Return what computes an operator in a version of its operator set, or None.

    Args:
        domain: Of the operator.
        name: Its name.
        version: The version of the operator set that a model asks for.
        attrs: Those of the node.
        inputs: How many it has.
        outputs: How many are asked for.
    """
    for row in _operators.get((domain, name), ()):
        if row.since <= version:
            return row if row.when is None or row.when(attrs, inputs, outputs) else None
    return None


def names() -> set[tuple[str, str]]:
    """Return domain and name of every operator that has a row."""
    return set(_operators)
