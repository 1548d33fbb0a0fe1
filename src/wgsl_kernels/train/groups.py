"""Parts of a model that are trained in different ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.autodiff import variables_in
from wgsl_kernels.engine.capture.watch import all_or_none
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.train.optimizer import Optimizer, fused_on_first_use
from wgsl_kernels.train.pairs import Pairs, loss_and_gradients, pairs_of
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor

_NAME = "ParameterGroups"


@dataclass(eq=False, init=False, repr=False)
class ParameterGroups:
    """An optimizer for each part of a model: other rates, decays, schedules, or other kinds.

    It takes the gradients of all parts at once, so that they can be clipped by their joint norm or
    accumulated before. `wk.save` and `wk.load` take it as they take an optimizer.

    Args:
        groups: By name an optimizer and its part: a variable, a list of them, or any tree. One part
            may be None: the variables that are in no other.

    Attributes:
        optimizers: By name of the group.

    Raises:
        ArgumentError: A group is no such pair, a variable is in two of them, or an optimizer is.

    Example:
        >>> body, head = wk.nn.dense(2, 2), wk.nn.dense(2, 1)
        >>> optimizer = wk.train.ParameterGroups(
        ...     {"head": (wk.train.Adam(0.01), head), "rest": (wk.train.SGD(0.001), None)}
        ... )
        >>> loss = optimizer.minimize(lambda: wk.sum(head(body(wk.ones((1, 2))))), [body, head])
        >>> optimizer.optimizers["head"].step.item()
        1
    """

    optimizers: dict[str, Optimizer]
    _members: dict[str, list[Variable] | None] = field(metadata={"static": True})

    def __init__(self, groups: Mapping[str, tuple[Optimizer, Any]]) -> None:
        self.optimizers, self._members = {}, {}
        by_name: Any = groups
        if not isinstance(by_name, Mapping) or not by_name:
            raise ArgumentError(f"{_NAME}: groups is {shown(groups)}; want a mapping by name.")
        for name, pair in by_name.items():
            is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
            if not is_pair or not isinstance(pair[0], Optimizer):
                raise ArgumentError(
                    f"{_NAME}: the group {name!r} is {shown(pair)}; want (optimizer, part)."
                )
            optimizer, part = pair
            if optimizer in self.optimizers.values():
                raise ArgumentError(
                    f"{_NAME}: the group {name!r} has the optimizer of another; want one for each."
                )
            self.optimizers[name] = optimizer
            if isinstance(part, Variable):
                part = [part]
            found = None if part is None else variables_in(_NAME, part)[1]
            self._members[name] = found if found is None else list(dict.fromkeys(found))
        self._check()

    def _check(self) -> None:
        """Refuse a variable of two groups, and two groups of all others."""
        rest = [name for name, one in self._members.items() if one is None]
        if len(rest) > 1:
            raise ArgumentError(
                f"{_NAME}: {rest[0]!r} and {rest[1]!r} have the part None; want one at most."
            )
        owner: dict[Variable, str] = {}
        for name, members in self._members.items():
            for one in members or ():
                if one in owner:
                    raise ArgumentError(
                        f"{_NAME}: {one.name!r} is in the groups {owner[one]!r} and {name!r}; want "
                        "one."
                    )
                owner[one] = name

    def minimize(self, f: Callable[[], Tensor], variables: Any = None) -> Tensor:
        """Compute the loss and its gradients, change the variables, and return the loss.

        Args:
            f: Takes nothing and returns the loss, a scalar.
            variables: Which may change: a sequence of variables, or a model. Without it the
                trainable ones that ``f`` reads.

        Raises:
            GradientNotFound: The loss depends on none of them, or a kernel has no gradient.
            ShapeError: The loss is not a scalar.
            ArgumentError: A variable is in no group.
        """
        with fused_on_first_use():
            loss, found = loss_and_gradients(_NAME, f, variables)
            self.apply_gradients(found)
            return loss

    def apply_gradients(self, gradients: Any, variables: Any = None) -> None:
        """Change variables against their gradients, each as its group says: all of them, or none.

        Args:
            gradients: As for `Optimizer.apply_gradients`.
            variables: A model of variables in the form of ``gradients``.

        Raises:
            ShapeError: A gradient has not its variable's shape.
            ArgumentError: A variable is in no group, or is given twice, or ``gradients`` has not
                the form of ``variables``.
        """
        owner = {one: name for name, each in self._members.items() for one in each or ()}
        rest = next((name for name, one in self._members.items() if one is None), None)
        parts: dict[str, Pairs] = {}
        for gradient, target in pairs_of(_NAME, gradients, variables):
            name = owner.get(target, rest)
            if name is None:
                raise ArgumentError(f"{_NAME}: {target.name!r} is in no group.")
            parts.setdefault(name, []).append((gradient, target))
        with all_or_none():
            for name, pairs in parts.items():
                self.optimizers[name].apply_gradients(pairs)

    def __repr__(self) -> str:
        """Return the optimizers, by group."""
        return f"{_NAME}({self.optimizers!r})"
