"""Losses with their gradients, and which gradient is of which variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wgsl_kernels.engine.autodiff.autodiff import gradients_and_lines, variables_in
from wgsl_kernels.engine.environment.errors import ArgumentError, GradientNotFound, ShapeError
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.trees.trees import VARIABLES, Tree
from wgsl_kernels.engine.values.attributes import sequence
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.errors.words import shown

Pairs = list[tuple[Tensor | None, Variable]]


def loss_and_gradients(
    caller: str, f: Callable[[], Tensor], variables: Any
) -> tuple[Tensor, dict[Variable, Tensor]]:
    """Return the loss that ``minimize`` of ``caller`` is given, and its gradients by variable.

    Args:
        caller: Whose ``minimize`` it is.
        f: Takes nothing and returns the loss, a scalar.
        variables: A sequence of variables, or a model; None for the trainable ones that ``f``
            reads.

    Raises:
        GradientNotFound: The loss depends on none of them, or a kernel has no gradient.
        ShapeError: The loss is not a scalar.
        ArgumentError: There is something else than variables.
    """
    chosen = variables
    if variables is not None:
        tree, chosen = variables_in(f"{caller}.minimize", variables)
        if tree is not None:
            chosen = list(dict.fromkeys(chosen))
    loss, found, read = gradients_and_lines(f, chosen)
    if not found:
        raise GradientNotFound(
            f"{caller}.minimize: the loss depends on no trainable variable.{read}"
        )
    return loss, found


def check_shape(caller: str, gradient: Tensor, variable: Variable) -> None:
    """Refuse a gradient that has not its variable's shape.

    Raises:
        ShapeError: It has another.
    """
    if gradient.shape != variable.shape:
        raise ShapeError(
            f"{caller}: the gradient of {variable.name!r} has shape {show(gradient.shape)}, the "
            f"variable {show(variable.shape)}; want the same."
        )


def _matched(caller: str, gradients: Any, variables: Any) -> Pairs:
    """Return pairs from a tree of gradients and one of variables.

    Raises:
        ArgumentError: They have not one form.
    """
    tree = Tree(f"{caller}.apply_gradients", variables, VARIABLES)
    if isinstance(gradients, Mapping) and all(isinstance(one, Variable) for one in gradients):
        return [(gradients.get(one), one) for one in dict.fromkeys(tree.leaves)]
    found = tree.matched(gradients)
    if found is None:
        raise ArgumentError(
            f"{caller}: gradients is {shown(gradients)}; want the form of variables."
        )
    pairs = list(zip(found, tree.leaves, strict=True))
    known = {id(variable) for gradient, variable in pairs if gradient is not None}
    return [pair for pair in pairs if pair[0] is not None or id(pair[1]) not in known]


def pairs_of(caller: str, gradients: Any, variables: Any = None) -> Pairs:
    """Return (gradient, variable) pairs.

    Args:
        caller: Whose ``apply_gradients`` they are given.
        gradients: Pairs, or gradients by variable; with ``variables`` a tree.
        variables: A model of variables in the form of ``gradients``, or None.

    Raises:
        ArgumentError: There are other things among them, or they have not one form.
    """
    given = gradients if variables is None else _matched(caller, gradients, variables)
    if isinstance(given, Mapping):
        pairs = [(gradient, target) for target, gradient in given.items()]
    else:
        pairs = sequence(caller, "gradients", given, "(gradient, variable) pairs")
    for pair in pairs:
        items: Any = pair
        fits = isinstance(items, (tuple, list)) and len(items) == 2
        if not fits or not isinstance(items[1], Variable):
            raise ArgumentError(
                f"{caller}: gradients holds {shown(pair)}; want (gradient, variable). Of a "
                "model's tree give the model, too: apply_gradients(gradients, model)."
            )
        if not (pair[0] is None or isinstance(pair[0], Tensor)):
            raise ArgumentError(
                f"{caller}: the gradient of {pair[1].name!r} is {shown(pair[0])}; want a "
                "tensor or None."
            )
    return pairs
