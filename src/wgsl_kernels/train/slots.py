"""What an optimizer keeps of each variable: by the variable itself, or by name until it is met.

See docs/decisions/0030-state-is-saved-under-the-paths-of-its-variables.md.
"""

from __future__ import annotations

import copy
import os
import re
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient
from wgsl_kernels.engine.environment.context import current
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.variables import Variable, variable, variables
from wgsl_kernels.engine.values.dtypes import numpy_dtype
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.engine.tensors.tensor import Tensor

PROCESS = os.urandom(4).hex()
"""Tells the numbers of this process's variables from those of any other."""

_COUNTED = re.compile(r"variable_\d+(@[0-9a-f]+-\d+)?")


def is_counted(name: str) -> bool:
    """Say whether a name was not given but counted: then it says nothing in another process."""
    return _COUNTED.fullmatch(name) is not None


def name_of(owner: Variable) -> str:
    """Return what state of a variable is called without a mapping that says where it stands."""
    return f"{owner.name}@{PROCESS}-{owner._id}" if is_counted(owner.name) else owner.name


class _Owned:
    """The slots of a variable.

    Attributes:
        owner: The variable.
        slots: Its slots.
        name: What the variable is called.
        heir: Who gets the slots if the variable goes before a step has changed it: of a copied
            optimizer the variable of the original, of an unpickled one whoever has its name.
    """

    __slots__ = ("heir", "name", "owner", "slots")

    def __init__(
        self,
        owner: weakref.ref[Variable],
        name: str,
        slots: tuple[Variable, ...],
        heir: weakref.ref[Variable] | str | None,
    ) -> None:
        self.owner = owner
        self.name = name
        self.slots = slots
        self.heir = heir


class Claims(NamedTuple):
    """State that fits: what each variable gets, and what is kept for one of its name."""

    claimed: list[tuple[Variable, dict[str, Tensor]]]
    unclaimed: dict[str, dict[str, Tensor]]


class Slots:
    """The slots of all variables that one optimizer changes.

    Args:
        optimizer: Its name, for messages.
        kinds: The slots that each variable has.
        initial: What the elements of a slot start from, where that is not 0.
    """

    def __init__(
        self, optimizer: str, kinds: tuple[str, ...], initial: Mapping[str, float] | None = None
    ) -> None:
        self._optimizer = optimizer
        self._kinds = kinds
        self._initial = dict(initial or {})
        self._owned: dict[int, _Owned] = {}
        self._unclaimed: dict[str, dict[str, Tensor]] = {}
        self._is_checked = True

    def owners(self) -> list[Variable]:
        """Return the variables that have slots."""
        found = [one.owner() for one in list(self._owned.values())]
        return [one for one in found if one is not None]

    def of(self, target: Variable) -> tuple[Variable, ...]:
        """Return the variable's slots, made of initial values or of loaded state on first use."""
        owned = self._owned.get(target._id)
        if owned is not None:
            owned.heir = None
            return owned.slots
        name = name_of(target)
        if any(name_of(one) == name for one in self.owners()):
            raise ArgumentError(
                f"{self._optimizer}: two variables are called {name!r}; want different names."
            )
        state = self._unclaimed.get(name, {})
        for kind, value in state.items():
            self._check_fits(f"{name}/{kind}", value, target)
        self._remember(target._id)
        made = self._put(target, state)
        self._unclaimed = {one: state for one, state in self._unclaimed.items() if one != name}
        return made

    def check_owners(self) -> None:
        """Raise if loaded state is of a variable that does not exist.

        Raises:
            ArgumentError: It does.
        """
        if self._is_checked:
            return
        found = [back() for back in variables.valuerefs()]
        names = {name_of(one) for one in found if one is not None and not one.is_disposed}
        for owner in self._unclaimed:
            if owner not in names:
                raise ArgumentError(self._without_owner(owner))
        self._is_checked = True

    def state(self, names: Mapping[Variable, str]) -> dict[str, Tensor]:
        """Return the slots as they are now, by ``<owner>/<slot>``.

        Args:
            names: What to call the owners; who does not stand there goes by its own name.

        Raises:
            ArgumentError: Two owners go by one name.
        """
        met = {name_of(one) for one in self.owners()}  # an interrupt may leave what they have got
        unclaimed = {name: state for name, state in self._unclaimed.items() if name not in met}
        taken = set(names.values()) | unclaimed.keys()
        if len(taken) < len(unclaimed) + len(set(names.values())):
            self._refuse_name(next(one for one in unclaimed if one in set(names.values())))
        found = {
            f"{owner}/{kind}": value
            for owner, state in unclaimed.items()
            for kind, value in state.items()
        }
        for owned in list(self._owned.values()):
            owner = owned.owner()
            if owner is None:
                continue
            name = names.get(owner)
            if name is None:
                name = name_of(owner)
                if name in taken:
                    self._refuse_name(name)
                taken.add(name)
            slots = zip(self._kinds, owned.slots, strict=True)
            found |= {f"{name}/{kind}": stop_gradient(slot) for kind, slot in slots}
        return found

    def claims(self, state: Mapping[str, Tensor], owners: Mapping[str, Variable]) -> Claims:
        """Return what of ``state`` is whose, once all of it is known to fit.

        Args:
            state: As `state` gave it.
            owners: The variables by the names that they have there; others are found by their own.
        """
        parts: dict[str, dict[str, Tensor]] = {}
        for name, value in state.items():
            owner, _, kind = name.rpartition("/")
            parts.setdefault(owner, {})[kind] = value
        known = {name_of(one): one for one in self.owners()}
        claimed: dict[int, tuple[Variable, dict[str, Tensor]]] = {}
        unclaimed: dict[str, dict[str, Tensor]] = {}
        for owner, part in parts.items():
            if not owner or part.keys() != set(self._kinds):
                self._refuse_part(owner, part)
            target = owners[owner] if owner in owners else known.get(owner)
            target = _of_this_process(owner) if target is None else target
            if target is None:
                if is_counted(owner):
                    raise ArgumentError(self._without_owner(owner))
                unclaimed[owner] = part
                continue
            if target._id in claimed:
                raise ArgumentError(
                    f"{self._optimizer}: the state of {owner!r} is the second for one variable, "
                    f"{target.name!r}; want one."
                )
            for kind, value in part.items():
                self._check_fits(f"{owner}/{kind}", value, target)
            claimed[target._id] = (target, part)
        lacking = [name for name, one in known.items() if one._id not in claimed]
        if lacking and unclaimed:
            raise ArgumentError(
                f"{self._optimizer}: the state has no '{lacking[0]}/{self._kinds[0]}'; it has that "
                f"of {', '.join(map(repr, unclaimed))}, which this optimizer has not met."
            )
        return Claims(list(claimed.values()), unclaimed)

    def take(self, claims: Claims) -> None:
        """Take state over; variables that it has nothing of begin anew."""
        self._remember(None)
        claimed = {target._id for target, _ in claims.claimed}
        for number, owned in list(self._owned.items()):
            if number not in claimed and owned.owner() is not None:
                for kind, slot in zip(self._kinds, owned.slots, strict=True):
                    slot.assign(self._first_value(kind, slot))
        for target, state in claims.claimed:
            present = self._owned.get(target._id)
            if present is None:
                self._remember(target._id)
                self._put(target, state)
                continue
            for kind, slot in zip(self._kinds, present.slots, strict=True):
                slot.assign(state[kind])
        self._unclaimed = claims.unclaimed
        self._is_checked = not claims.unclaimed

    def _put(self, target: Variable, state: Mapping[str, Tensor]) -> tuple[Variable, ...]:
        made = tuple(
            variable(
                state[kind] if state else self._first_value(kind, target),
                trainable=False,
                name=f"{target.name}/{kind}",
                dtype=target.dtype,
            )
            for kind in self._kinds
        )
        self._own(target, made)
        return made

    def _first_value(self, kind: str, like: Variable) -> Any:
        return np.full(like.shape, self._initial.get(kind, 0.0), numpy_dtype(like.dtype))

    def _own(
        self,
        target: Variable,
        slots: tuple[Variable, ...],
        heir: weakref.ref[Variable] | str | None = None,
    ) -> None:
        back, number = weakref.ref(self), target._id

        def gone(_: object) -> None:
            if (own := back()) is not None:
                own._bequeath(number)

        self._owned[number] = _Owned(weakref.ref(target, gone), target.name, slots, heir)

    def _bequeath(self, number: int) -> None:
        """Drop the slots of a variable that is gone, or give them to its heir."""
        owned = self._owned.pop(number, None)
        if owned is None or owned.heir is None:
            return
        if isinstance(owned.heir, str):
            slots = zip(self._kinds, owned.slots, strict=True)
            self._unclaimed[owned.heir] = {kind: stop_gradient(one) for kind, one in slots}
            self._is_checked = False
            return
        original = owned.heir()
        if original is not None and original._id not in self._owned:
            self._own(original, owned.slots)

    def __deepcopy__(self, memo: dict[int, Any]) -> Slots:
        """Return the slots of the copied variables; of those that are not copied along, theirs."""
        return self.copied(lambda one: copy.deepcopy(one, memo))

    def copied(self, twin_of: Callable[[Variable], Variable]) -> Slots:
        """Return a copy: the slots of the variables that ``twin_of`` gives for these."""
        twin = Slots(self._optimizer, self._kinds, self._initial)
        for owned in list(self._owned.values()):
            owner = owned.owner()
            if owner is not None:
                slots = tuple(copy.copy(one) for one in owned.slots)
                other = twin_of(owner)
                twin._own(other, slots, None if other is owner else weakref.ref(owner))
        twin._unclaimed = dict(self._unclaimed)
        twin._is_checked = self._is_checked
        return twin

    def __getstate__(self) -> dict[str, Any]:
        owned = [(one.owner(), one.slots) for one in list(self._owned.values())]
        kept = [(owner, slots) for owner, slots in owned if owner is not None]
        return {**self.__dict__, "_owned": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _owned={})
        for owner, slots in state["_owned"]:
            self._own(owner, slots, owner.name)

    def _remember(self, number: int | None) -> None:
        """Have whoever watches put back, if need be, what is known now."""
        if (watch := current().watch) is None:
            return
        unclaimed, is_checked = self._unclaimed, self._is_checked

        def put_back() -> None:
            if number is not None:
                self._owned.pop(number, None)
            self._unclaimed, self._is_checked = unclaimed, is_checked

        watch.undo.append(put_back)

    def _check_fits(self, name: str, value: Tensor, holder: Variable) -> None:
        check_fits(self._optimizer, name, value, holder)

    def _without_owner(self, owner: str) -> str:
        why = "want a variable of this name"
        if is_counted(owner):
            why = "variables without a name are numbered anew in each process"
        return (
            f"{self._optimizer}: loaded state for {owner.partition('@')[0]!r} belongs to no "
            f"variable; {why}. Save and load optimizer and variables in one mapping."
        )

    def _refuse_name(self, name: str) -> None:
        raise ArgumentError(
            f"{self._optimizer}: two variables go by the name {name!r} in its state; want "
            "different names, or both in the mapping that is saved."
        )

    def _refuse_part(self, owner: str, part: Mapping[str, Tensor]) -> None:
        own = [kind for kind in part if kind not in self._kinds]
        first = own[0] if own or not self._kinds else next(iter(part))
        name = f"{owner}/{first}" if owner else first
        known = ", ".join(("learning_rate", "step", *(f"<variable>/{one}" for one in self._kinds)))
        raise ArgumentError(
            f"{self._optimizer}: {name!r} is no state of this optimizer, or not all of a "
            f"variable's; want {known}."
        )


def check_fits(optimizer: str, name: str, value: Tensor, holder: Tensor) -> None:
    """Raise unless a piece of state has its holder's shape and dtype.

    Raises:
        ShapeError, DTypeError: It has not.
    """
    if value.shape != holder.shape:
        raise ShapeError(
            f"{optimizer}: the state {name!r} has shape {show(value.shape)}; want "
            f"{show(holder.shape)}."
        )
    if value.dtype != holder.dtype:
        raise DTypeError(f"{optimizer}: the state {name!r} is {value.dtype}; want {holder.dtype}.")


def _of_this_process(name: str) -> Variable | None:
    """Return the living variable of a counted name that this process has given out."""
    head, _, number = name.rpartition("-")
    return variables.get(int(number)) if head.endswith(f"@{PROCESS}") and is_counted(name) else None
