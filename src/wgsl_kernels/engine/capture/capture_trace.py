"""What a run of a captured function computes from what, to be compared with the next run.

Every value of a run has a number, and equal numbers mean equal values: a host value by its digest,
a tensor from outside and a variable by identity, a kernel's output by the kernel, its attributes
and the numbers of its inputs. A second run looks its values up among those of the first. What is
not there is what a replay of the first run would not do.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from wgsl_kernels.engine.environment.origin import user_place
from wgsl_kernels.engine.execution.execute import Observer
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.registry import registry
from wgsl_kernels.engine.registry.registrations import changes
from wgsl_kernels.engine.tensors.entries import EntryObserver
from wgsl_kernels.engine.tensors.tensor import Tensor, next_id
from wgsl_kernels.engine.trees.structure import OpaqueError, TreeDefinition, signature_of
from wgsl_kernels.engine.values.attributes import attr_key
from wgsl_kernels.engine.values.dtypes import WIDE, numpy_dtype
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wgsl_kernels.engine.execution.execute import Result
    from wgsl_kernels.engine.execution.plans import Plan
    from wgsl_kernels.engine.values.host import Array

Key = tuple[Any, ...]
Place = tuple[str, int]

_HOST, _OUTSIDE, _ARGUMENT, _VARIABLE, _MADE, _OUTPUT = range(6)
"""What a key begins with where it is no kernel's name: which kind of value it is."""

_ABSENT, _UNKNOWN, _NEW = -1, -2, -3
"""Numbers of an input that is left out, of a value that no kernel made, of one that is new."""

_SMALL = 64
"""Bytes up to which host values are kept themselves, so that a message can say them."""

_ONLY_ON_CPU = frozenset({*WIDE.values(), "string"})
"""Dtypes of which a replay has no tensors, so that nothing is replayed."""


class RunTrace(Observer, EntryObserver):
    """The values of one run, as an interceptor sees them; a second run is given the first.

    Attributes:
        is_over: Whether the run did what no replay can follow, so that there is none to compare.
        changes: The count of changed registrations when it began.
        found: What a replay of the first run would do otherwise, by the line that does it.
    """

    def __init__(self, first: RunTrace | None = None) -> None:
        self.is_over = False
        self.changes = changes[0]
        self.found: dict[Place, str] = {}
        self._first = first
        self._start = self._stop = next_id()
        self._known: dict[Key, int] = {} if first is None else first._known
        self._order: list[Key] = []
        self._tensors: dict[int, int] = {}
        self._arguments: set[int] = set()
        self._outside: set[int] = set()
        self._alive: list[ref[Variable]] = []
        self._variables: dict[int, int] = {}
        self._new_values: dict[int, int] = {}
        self._made_at: dict[Place, int] = {}
        self._from_host: set[int] = set() if first is None else first._from_host
        self._end: Any = None

    def begin(self, given: Sequence[Tensor]) -> None:
        """Take the arguments that the function gets."""
        for place, one in enumerate(given):
            if not one.is_variable:
                if one._id in self._arguments:
                    self._give_up()
                self._arguments.add(one._id)
                self._tensors[one._id] = self._number((_ARGUMENT, place))
        if self._first is not None and not self._arguments.isdisjoint(self._first._outside):
            self._give_up()

    def depends(self, inputs: Iterable[Any]) -> bool:
        """Hear of every run."""
        del inputs
        return not self.is_over

    def ran(self, plan: Plan, inputs: tuple[Any, ...], result: Result) -> None:
        """Number what a kernel made."""
        if plan.outputs is None or _is_without_replay(plan):
            self.is_over = True
            return
        numbers = tuple([self._of_input(one) for one in inputs])
        attrs = tuple([(name, attr_key(value)) for name, value in plan.attrs.items()])
        number = self._number((plan.name, attrs, numbers))
        if numbers and self._from_host.issuperset(_flat(numbers)):
            self._from_host.add(number)
        if isinstance(result, Tensor):
            self._tensors[result._id] = number
            return
        for place, one in enumerate(result):
            self._tensors[one._id] = number if not place else self._number((_OUTPUT, number, place))

    def entered(self, tensor: Tensor, values: Array) -> None:
        """Number what comes from the host."""
        if self.is_over:
            return
        number = self._number((_HOST, tensor.spec.dtype, values.shape, _digest(values)))
        self._from_host.add(number)
        self._tensors[tensor._id] = number

    def copied(self, tensor: Tensor, source: Tensor) -> None:
        """Give a tensor of the same values the same number."""
        if not self.is_over:
            self._tensors[tensor._id] = self._of(source)

    def was_read(self, tensor: Tensor) -> None:
        """Stop at a reading of what the device has to compute, which steers Python."""
        if not self.is_over and self._of(tensor) not in self._from_host:
            self.is_over = True

    def assigned(self, variable: Variable, value: Tensor) -> None:
        """Number a variable's new values."""
        if not self.is_over:
            number = self._of(value)
            self._of_variable(variable)  # which is its key at the end
            self._new_values[variable._id] = number

    def end(self, result: Any) -> None:
        """Take what the function returns, and compare it and the variables with the first run."""
        self._stop = next_id()
        try:
            TreeDefinition(result)
            form, leaves = signature_of((result,), {})
        except OpaqueError:
            self.is_over = True
            return
        if self.is_over:
            return
        new = {self._variables[one]: number for one, number in self._new_values.items()}
        self._end = form, [self._of(one) for one in leaves], new
        if self._first is not None and not self.found and self._end != self._first._end:
            self.found[user_place()] = "what it returns or assigns is something else"

    def _of_input(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._of(value)
        return _ABSENT if value is None else tuple([self._of(one) for one in value])

    def _of(self, tensor: Tensor) -> int:
        if isinstance(tensor, Variable):
            found = self._new_values.get(tensor._id)
            return self._of_variable(tensor) if found is None else found
        number = self._tensors.get(tensor._id)
        if number is None:
            number = self._tensors[tensor._id] = self._first_seen(tensor)
        return number

    def _first_seen(self, tensor: Tensor) -> int:
        """Return the number of a tensor that this run has not made by a kernel or host values."""
        identity = tensor._id
        if identity >= self._start:
            return _UNKNOWN
        first = self._first
        if first is not None and first._start <= identity < first._stop:
            return first._tensors.get(identity, _UNKNOWN)
        if first is not None and identity in first._arguments:
            self._give_up()
        self._outside.add(identity)
        return self._number((_OUTSIDE, identity))

    def _give_up(self) -> None:
        """Compare nothing: one tensor comes in twice, of which we cannot tell which is meant."""
        self.is_over = True
        self.found.clear()

    def _of_variable(self, variable: Variable) -> int:
        """Return the number of the values that a variable has before the run assigns it."""
        identity = variable._id
        number = self._variables.get(identity)
        first = self._first
        if number is None and first is not None:
            number = first._variables.get(identity)
        if number is None and identity < self._start:
            if first is not None and any(one() is None for one in first._alive):
                self._give_up()  # one that it read was collected: it is recorded anew
            self._alive.append(ref(variable))
            number = self._number((_VARIABLE, identity))
        if number is None:
            place = user_place()
            count = self._made_at[place] = self._made_at.get(place, 0) + 1
            number = self._number((_MADE, place, count))
        self._variables[identity] = number
        return number

    def _number(self, key: Key) -> int:
        """Return the number of a value; of one that the first run had not, that of its likeness."""
        first = self._first
        position = len(self._order)
        self._order.append(key)
        if first is None:
            return self._known.setdefault(key, len(self._known))
        found = self._known.get(key)
        if found is not None or self.is_over:
            return _UNKNOWN if found is None else found
        before = first._order[position] if position < len(first._order) else None
        if _NEW not in _inputs_of(key):
            self.found.setdefault(user_place(), _said(key, before))
        if before is None or key[0] != before[0]:
            return _NEW
        return self._known[before]  # so that each difference is told, not what follows from one


def _inputs_of(key: Key) -> Iterable[int]:
    if isinstance(key[0], str):
        return _flat(key[2])
    return key[1:2] if key[0] == _OUTPUT else ()


def _flat(numbers: Iterable[Any]) -> Iterable[int]:
    for one in numbers:
        if isinstance(one, tuple):
            yield from _flat(one)
        else:
            yield one


def _is_without_replay(plan: Plan) -> bool:
    """Say whether a kernel or its values are on one backend only, so that nothing is replayed."""
    for one in plan.outputs or ():
        if one.dtype in _ONLY_ON_CPU:
            return True
    return _is_on_one_backend(plan.name, changes[0])


@lru_cache(maxsize=1024)
def _is_on_one_backend(name: str, count: int) -> bool:
    """Say so of a kernel, as of so many changed registrations."""
    del count
    return len(registry.backends_of(name)) < 2


def _digest(values: Array) -> Any:
    if values.dtype == object:
        return tuple(values.reshape(-1).tolist())
    if values.nbytes <= _SMALL:
        return values.tobytes()
    return blake2b(np.ascontiguousarray(values).data, digest_size=16).digest()


def _said(key: Key, before: Key | None) -> str:
    """Return what is another here than at the first call."""
    kind = key[0]
    old = before if before is not None and before[0] == kind else None
    if kind == _HOST:
        return _said_of_host(key, old)
    if kind == _OUTSIDE:
        return "it closes over another tensor here"
    if kind == _VARIABLE:
        return "it uses another variable here"
    if isinstance(kind, str) and old is not None and old[2] == key[2]:
        values, others = dict(key[1]), dict(old[1])
        names = [name for name, one in values.items() if others.get(name) != one]
        return f"{kind}: {' and '.join(names)} is another"
    return f"{kind} runs on something else here" if isinstance(kind, str) else "this is another"


def _said_of_host(key: Key, old: Key | None) -> str:
    shape = key[2]
    if shape:
        return f"an array of {show(shape)} from the host is another"
    if key[1] == "string" or old is None or old[1:3] != key[1:3]:
        return "a number from the host is another"
    new, before = (np.frombuffer(one[3], numpy_dtype(key[1]))[0].item() for one in (key, old))
    return f"a number from the host is {shown(new)}, was {shown(before)}"
