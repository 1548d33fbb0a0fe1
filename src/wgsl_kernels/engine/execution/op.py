"""A user's op in one decorator: the function, its kernel's signature and its docstring."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.origin import caller
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.declaring import implementation, kernel_name
from wgsl_kernels.engine.registry.signature import define_signature
from wgsl_kernels.engine.values.shapes import broadcast
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor


def op(
    name: str, *, promote: Sequence[str] = (), override: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Tensor]]:
    """Make the decorated function the op that runs the kernel ``name``, and declare its signature.

    Its positional parameters are the tensors, its keyword-only parameters the attributes, as for
    `signature`. Its body is the shape rule: it is given specs and returns a `Spec`, or several; one
    that returns nothing, such as a docstring alone, is that of an elementwise op, whose inputs are
    broadcast against each other and whose result has the first one's dtype.

    Args:
        name: The kernel's name; `cpu_kernel`, `wgsl_kernel` and `gradient` take the same.
        promote: Inputs that are cast to their common dtype before the kernel runs.
        override: Whether an existing signature is replaced.

    Raises:
        AlreadyRegistered: Another place declares the same name.
        ArgumentError: The name is no string, the function takes no tensor, or ``*x`` or ``**x``,
            or ``promote`` names none of its inputs.

    Example:
        >>> @wk.op("Cube of the guide")
        ... def cube(x):
        ...     '''Return x³, elementwise.'''
        >>> @wk.cpu_kernel("Cube of the guide")
        ... def _cube_cpu(x):
        ...     return x * x * x
        >>> cube(wk.tensor([1.0, 2.0])).tolist()
        [1.0, 8.0]
    """
    origin = caller()
    kernel_name("op", name)

    def declare(rule: Callable[..., Any]) -> Callable[..., Tensor]:
        shaped = _ShapeRule(name, rule)
        define_signature(name, shaped, promote=promote, origin=origin, override=override)

        @functools.wraps(rule)
        def call(*inputs: Any, **attrs: Any) -> Tensor:
            return run(name, *inputs, **attrs)

        return call

    return declare


class _ShapeRule:
    """The body of an op, with the rule of elementwise ops where it says nothing."""

    def __init__(self, name: str, rule: Callable[..., Any]) -> None:
        self.__wrapped__ = implementation("op", name, rule)  # so that its parameters are found
        self._name = name

    def __call__(self, *specs: Any, **attrs: Any) -> Any:
        result = self.__wrapped__(*specs, **attrs)
        if result is not None:
            return result
        given = [one for one in specs if isinstance(one, Spec)]
        if not given:
            raise ArgumentError(f"{self._name}: it has no tensor to take a shape from.")
        names = {f"input {place}": one for place, one in enumerate(given)}
        return given[0].like(shape=broadcast(self._name, **names))
