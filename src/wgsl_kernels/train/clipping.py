"""Gradients made smaller where they are too large together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.trees.trees import FORMLESS, GRADIENTS, Tree, parts_of
from wgsl_kernels.engine.values.attributes import number, sequence
from wgsl_kernels.ops.elementwise.binary import add_n, minimum
from wgsl_kernels.ops.elementwise.unary import sqrt, square
from wgsl_kernels.ops.reductions.reduce import sum
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = "clip_by_global_norm"


def clip_by_global_norm(gradients: Any, max_norm: float) -> tuple[Any, Tensor]:
    """Return gradients scaled by one factor so that their joint norm is at most ``max_norm``.

    The norm is the root of the sum of all squares. Where it is not above ``max_norm`` the gradients
    are multiplied by 1; an infinite or NaN norm makes all of them NaN or 0, so that it is noticed.

    Args:
        gradients: Tensors of any float dtype, by variable, as a list, or in a tree, such as
            `variable_grads` gives for a model; None is passed on.
        max_norm: The largest norm; above 0.

    Returns:
        The gradients in the form in which they were given, and their norm before.

    Raises:
        ArgumentError: ``max_norm`` is not above 0, or there are other things among the gradients.

    Example:
        >>> clipped, norm = wk.train.clip_by_global_norm([tensor([3.0]), tensor([[4.0]])], 1.0)
        >>> norm.item(), [f"{wk.sum(one).item():.2f}" for one in clipped]
        (5.0, ['0.60', '0.80'])

    Source: Pascanu, Mikolov and Bengio, On the Difficulty of Training Recurrent Neural Networks,
    2013.
    """
    most = float(number(_NAME, "max_norm", max_norm))
    if not most > 0:
        raise ArgumentError(f"{_NAME}: max_norm is {max_norm!r}; want a number above 0.")
    given, filled = _flattened(gradients)
    squares = [sum(square(one)) for one in given if one is not None]
    norm = sqrt(add_n(squares)) if squares else as_tensor(0.0)
    factor = minimum(most / norm, 1.0)
    return filled([None if one is None else one * factor for one in given]), norm


def _flattened(gradients: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Return the gradients, and what gives others the form of these."""
    if isinstance(gradients, FORMLESS):
        gradients = sequence(_NAME, "gradients", gradients, "tensors")
    tree = Tree(_NAME, gradients, GRADIENTS)
    direct = gradients if isinstance(gradients, (list, tuple)) else ()
    for one in (*(one for one in direct if not parts_of(one)), *tree.leaves):
        if not (one is None or isinstance(one, Tensor)):
            raise ArgumentError(f"{_NAME}: gradients holds {shown(one)}; want tensors or None.")
    return tree.leaves, tree.filled
