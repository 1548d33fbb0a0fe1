"""The table of TensorFlow's operators: what computes each, by name."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx.registry import Operator

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class OperatorRule:
    """What is known of an operator.

    Attributes:
        operator: What computes it. Places on the host that are below 0 count from the last input.
        outputs: How many outputs it has, or the attribute that says so.
        numpy: What computes it where all its inputs are integers on the host, or None.
    """

    operator: Operator
    outputs: int | str = 1
    numpy: Callable[..., Any] | None = None

    def takes(self, count: int) -> bool:
        """Say whether the operator can have so many inputs."""
        try:
            inspect.signature(self.operator.function).bind(None, *[None] * count)
        except TypeError:
            return False
        return True

    def for_node(self, inputs: int, outputs: int) -> OperatorRule:
        """Return the rule for so many inputs and outputs."""
        operator = self.operator
        host = frozenset(i + inputs if i < 0 else i for i in operator.host)
        function, on_host = operator.function, self.numpy
        if isinstance(self.outputs, str):
            function = _giving(outputs, function)
            on_host = None if on_host is None else _giving(outputs, on_host)
        return OperatorRule(replace(operator, function=function, host=host), outputs, on_host)


RULES: dict[str, OperatorRule] = {}
"""By TensorFlow's name."""


def rule(
    *names: str,
    host: tuple[int, ...] = (),
    raw: bool = False,
    reads: bool = False,
    outputs: int | str = 1,
    numpy: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as what computes operators, with an `OperatorRule`."""
    on_host = None if numpy is None else _giving_arrays(numpy)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        operator = Operator(function, 1, frozenset(host), raw, None, reads)
        for name in names:
            RULES[name] = OperatorRule(operator, outputs, on_host)
        return function

    return register


def _giving_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives arrays where NumPy gives numbers, and raises where it warns."""

    @functools.wraps(function)
    def call(*given: Any) -> Any:
        with np.errstate(all="raise"):
            found = function(*given)
        return tuple(map(np.asarray, found)) if isinstance(found, tuple) else np.asarray(found)

    return call


def _giving(count: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that raises where it has not as many outputs as an attribute says."""

    @functools.wraps(function)
    def call(*given: Any) -> Any:
        found = function(*given)
        if len(found) != count:
            raise ValueError(f"it gives {len(found)} outputs; want {count}")
        return found

    return call
