"""Which gradient is of which variable, however both are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wgsl_kernels.engine.autodiff.autodiff import variables_in
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.trees.trees import VARIABLES, Tree
from wgsl_kernels.engine.values.attributes import sequence
from wgsl_kernels.wgsl.errors.words import shown

Pairs = Mapping[Variable, Tensor | None] | Iterable[tuple[Tensor | None, Variable]]


def variables_for(caller: str, given: Any) -> Any:
    """Return the variables of a model, each once, and a sequence of variables as it is.

    Raises:
        ArgumentError: There is something else than variables.
    """
    if given is None:
        return None
    tree, found = variables_in(f"{caller}.minimize", given)
    return found if tree is None else list(dict.fromkeys(found))


def matched(caller: str, gradients: Any, variables: Any) -> Pairs:
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


def pairs_of(caller: str, gradients: Any) -> list[tuple[Tensor | None, Variable]]:
    """Return (gradient, variable) pairs.

    Raises:
        ArgumentError: There are other things among them.
    """
    if isinstance(gradients, Mapping):
        given = [(gradient, target) for target, gradient in gradients.items()]
    else:
        given = sequence(caller, "gradients", gradients, "(gradient, variable) pairs")
    for pair in given:
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
    return given
