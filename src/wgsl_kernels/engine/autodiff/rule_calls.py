"""Calling a gradient rule: zeros for outputs that nobody used, errors that name the rule."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.values.dtypes import is_differentiable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.spec import Spec

Zeros = tuple["Spec | None", ...]
"""The specs of zeros that stand for upstream gradients that did not come; None where none may."""


def zeros_for(outputs: Iterable[Tensor]) -> Zeros:
    """Return the spec of each output through which gradients flow, None for the others."""
    return tuple([one.spec if is_differentiable(one.dtype) else None for one in outputs])


def filled(dys: Sequence[Tensor | None], zeros: Zeros) -> tuple[Tensor | None, ...]:
    """Return the upstream gradients with zeros in place of those that did not come."""
    return tuple(
        [
            run("Fill", shape=spec.shape, value=0, dtype=spec.dtype)
            if dy is None and spec is not None
            else dy
            for dy, spec in zip(dys, zeros, strict=True)
        ]
    )


def call_rule(kernel: str, rule: Any, part: Callable[..., Any], *given: Any) -> Any:
    """Return ``part(*given)``, which is ``rule`` or a function that it returned.

    An error that leaves it says in its message which rule of which kernel failed, in a note where
    its message is not its only argument.
    """
    try:
        return part(*given)
    except Exception as error:
        where = f"{kernel}: {_words_of(rule)} failed"
        message = error.args[0] if len(error.args) == 1 else None
        if isinstance(message, str) and message == str(error):
            error.args = (f"{where}: {message}",)
        else:
            error.add_note(f"{where}.")
        raise


def _words_of(rule: Any) -> str:
    """Return what to call a rule: its name, with file and line where it is written in Python."""
    inner = inspect.unwrap(rule)
    while isinstance(inner, partial):
        inner = inspect.unwrap(inner.func)
    if getattr(inner, "__module__", "").startswith("wgsl_kernels.backends."):
        return "the gradient that is derived from its shader"
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    code = getattr(inner, "__code__", None)
    place = "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
    return f"the gradient rule {name!r}{place}"
