"""One signature of a captured function: the run that is recorded, and its replay on tensors."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from wgsl_kernels.engine.capture import recordings
from wgsl_kernels.engine.capture.watch import VariableWatch, changes_of, stand_in
from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.exchange import exchange
from wgsl_kernels.engine.environment.liveness import is_shared
from wgsl_kernels.engine.environment.origin import user_line
from wgsl_kernels.engine.execution.execute import ReplayObserver
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.tensors.tensor import Tensor, made, next_id
from wgsl_kernels.engine.trees.structure import OpaqueError, TreeDefinition, replaced

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.capture.capture_check import SignatureCheck
    from wgsl_kernels.engine.drivers.abilities import RecordingDriver
    from wgsl_kernels.engine.drivers.driver import Driver, Replay
    from wgsl_kernels.engine.environment.exchange import Change
    from wgsl_kernels.engine.registry.registrations import Key, Uses
    from wgsl_kernels.engine.values.spec import Spec


class _TensorArgument(NamedTuple):
    """A tensor argument: which one, itself, the one that the function got instead, its array."""

    place: int
    leaf: Tensor
    moved: Tensor
    own: Any


class _VariableRead(NamedTuple):
    """A variable that was read, and the array of its values that the function got."""

    variable: ref[Variable]
    own: Any


class _ReturnedTensor(NamedTuple):
    """A tensor that the function returns: an argument, a variable, an output, or a constant."""

    argument: int | None = None
    variable: ref[Variable] | None = None
    output: int | None = None
    spec: Spec | None = None
    constant: tuple[Any, Driver] | None = None


class GoneError(Exception):
    """A variable that the replay needs was collected."""


class Trial(VariableWatch):
    """Runs a function while the driver takes notes, with every input in a place of its own.

    Numbers on the host would travel as parameters, which a replay repeats, and an array that two
    names share could not be told apart afterwards. So the function gets other tensors in place of
    its arguments, and is shown others in place of variables from the first time it reads them. Only
    this thread or task sees those. The variables change at the end, all at once: what the function
    computes must not be made by others before the notes are complete.
    """

    def __init__(self, driver: RecordingDriver, scratch: Any, leaves: list[Tensor]) -> None:
        super().__init__()
        self._driver = driver
        self._recording = driver.record(scratch)
        self._leaves = leaves
        self._begun = next_id()  # what the run makes has later ones
        self._arguments: list[_TensorArgument] = []
        self._inputs: list[_VariableRead] = []
        self._read: dict[int, Tensor] = {}
        self.uses: dict[Key, int] = {}

    @property
    def scratch(self) -> Any:
        """What a later recording of the same function may take over."""
        return self._recording.scratch

    def shown(self, variable: Variable) -> Tensor:
        """Return what has a variable's values here; replays get those of that time."""
        found = self.changed.get(variable._id)
        if found is not None:
            return found[1]
        read = self._read.get(variable._id)
        return self._first_read(variable) if read is None else read

    def _first_read(self, variable: Variable) -> Tensor:
        source = super().shown(variable)
        array = source._array
        if array is None or not self._driver.supports(variable.dtype):
            return source
        if source._driver is self._driver:
            shared = is_shared(source._array, 2)  # by others than the source and the name here
        else:  # each replay uploads the values that it has then
            array = self._driver.upload(source._driver.download(array, source.spec), source.spec)
            shared = False
        return self._taken(variable, array, shared)

    def _taken(self, variable: Variable, array: Any, shared: bool) -> Tensor:
        """Return what is shown of a variable from now on, whose values an array has."""
        own = self._recording.own(array, variable.spec, shared)
        self._inputs.append(_VariableRead(ref(variable), own))
        self._read[variable._id] = found = stand_in(variable, own, self._driver)
        return found

    def met(self, uses: Uses) -> None:
        """Note the registrations that the run comes from; those of its first look at each."""
        for key, number in uses.items():
            self.uses.setdefault(key, number)

    def crossed(self, tensor: Tensor) -> None:
        """Give up on what the run has made: to cross between backends it crosses the host.

        What was there before and comes to this backend is a constant, as others are.
        """
        if tensor._driver is self._driver or tensor._id > self._begun:
            self._recording.refuse(
                f"it uses a tensor of backend {tensor._driver.name!r} at {user_line()}"
            )

    def run(
        self, f: Callable[[list[Tensor]], Any], *, is_kept: bool = True
    ) -> tuple[Any, CapturedRun | str]:
        """Return what ``f`` returns for the arguments, and its replay or why there is none.

        What is not kept has no effect on variables or arguments, and no replay.
        """
        recording = self._recording
        given = [self._argument(index, leaf) for index, leaf in enumerate(self._leaves)]
        fusion = "always" if config.fusion == "auto" else config.fusion
        block = context.changed(watch=self, config={"fusion": fusion})
        try:
            recording.begin()
            with block:
                result = f(given)
                run = self._finish(result) if is_kept else "it ran aside"
            recording.end()
        except BaseException:  # what was assigned before stays, as without capture
            recording.end()
            block.leave()
            if is_kept:
                self._commit()
            raise
        if is_kept:
            self._commit()
        back = {id(one.moved): one.leaf for one in self._arguments}
        return replaced(result, lambda one: back.get(id(one), one)), run

    def _argument(self, index: int, leaf: Tensor) -> Tensor:
        if isinstance(leaf, Variable):
            return leaf
        own = self._recording.own(leaf._array_on(self._driver), leaf.spec, True)
        moved = Tensor(leaf.spec, own, self._driver)
        self._arguments.append(_TensorArgument(index, leaf, moved, own))
        return moved

    def _commit(self) -> None:
        """Give all variables their new values, and dispose the arguments that the function did."""
        disposed: list[Change] = []
        for argument in self._arguments:
            if argument.moved.is_disposed and not argument.leaf.is_disposed:
                disposed += changes_of(argument.leaf, None, argument.leaf._driver)
        self.commit(disposed)

    def _finish(self, result: Any) -> CapturedRun | str:
        """Force what is to be kept, end the notes, and make a replay of them."""
        recording = self._recording
        self._forget_gone()
        updates = list(self.changed.values())
        try:
            template = TreeDefinition(result)
            self._check_updates(updates)
        except OpaqueError as error:
            recording.refuse(str(error))
            return recording.why
        outputs: list[Any] = []
        results = [self._result(one, outputs) for one in template.tensors]
        settled = [value._array for _, value in updates]
        self._driver.evaluate(outputs + settled)
        recording.end()
        lasting = [one for one in self._inputs if one.variable() is not None]
        inputs = [one.own for one in self._arguments] + [one.own for one in lasting]
        replay = None if recording.why else recording.replay(inputs, outputs + settled)
        if replay is None:
            return recording.why
        count = len(self._arguments)
        return CapturedRun(
            driver=self._driver,
            replay=replay,
            arguments=[
                one.place for one, used in zip(self._arguments, replay.used, strict=False) if used
            ],
            variables=[
                one.variable for one, used in zip(lasting, replay.used[count:], strict=True) if used
            ],
            updates=[ref(one) for one, _ in updates],
            disposed=[one.place for one in self._arguments if one.moved.is_disposed],
            template=template,
            results=results,
            uses=self.uses,
        )

    def _forget_gone(self) -> None:
        """Let variables go that only the function held."""
        kept = {key: (ref(one), value) for key, (one, value) in self.changed.items()}
        self.changed.clear()
        alive = ((key, back(), value) for key, (back, value) in kept.items())
        self.changed.update({key: (one, value) for key, one, value in alive if one is not None})

    def _check_updates(self, updates: list[tuple[Variable, Tensor]]) -> None:
        for one, value in updates:
            if value._array is None:
                raise OpaqueError(f"it disposes the variable {one.name!r}")
            if value._driver is not self._driver:
                name = value._driver.name
                raise OpaqueError(f"it assigns a tensor of backend {name!r} to {one.name!r}")

    def _result(self, tensor: Tensor, outputs: list[Any]) -> _ReturnedTensor:
        for one in self._arguments:
            if one.moved is tensor:
                return _ReturnedTensor(argument=one.place)
        if isinstance(tensor, Variable):
            if any(one() is tensor for one in self.made):
                self._recording.refuse(f"it returns {tensor.name!r}, a variable that it makes")
            return _ReturnedTensor(variable=ref(tensor))
        if tensor._driver is not self._driver:
            array = tensor._array_on(tensor._driver)
            return _ReturnedTensor(constant=(array, tensor._driver), spec=tensor.spec)
        outputs.append(tensor._array_on(self._driver))
        return _ReturnedTensor(output=len(outputs) - 1, spec=tensor.spec)


class CapturedRun:
    """The replay of one signature: tensors in, tensors out, variables changed.

    Attributes:
        uses: The registrations that it comes from.
        used: How many recordings there were when it was last replayed.
        nbytes: What it keeps, about.
        check: What is known of its signature; see `capture_check`.
    """

    check: SignatureCheck | None

    def __init__(
        self,
        *,
        driver: Driver,
        replay: Replay,
        arguments: list[int],
        variables: list[ref[Variable]],
        updates: list[ref[Variable]],
        disposed: list[int],
        template: TreeDefinition,
        results: list[_ReturnedTensor],
        uses: Uses,
    ) -> None:
        self.uses = uses
        self.used = recordings.made[0]
        self.nbytes = replay.nbytes
        self._driver = driver
        self._replay = replay
        self._arguments = arguments
        self._variables = variables
        self._updates = updates
        self._disposed = disposed
        self._template = template
        template.tensors = []
        self._results = results
        self._outputs = sum(one.output is not None for one in results)

    @property
    def is_valid(self) -> bool:
        """Whether the device is the one that was recorded."""
        return self._replay.is_valid

    def __call__(self, leaves: list[Tensor], name: str) -> Any:
        """Replay on these tensor arguments and return what the function would.

        Raises:
            GoneError: A variable was collected; nothing was done then.
            OtherLayoutError: One has another layout than it had; nothing was done then either.
        """
        now = context.current()
        if not now.interceptors:
            results = self._run(leaves)
            return results[0] if self._template.is_bare else self._template.filled(results)
        profiling = abilities_of(self._driver).profiling
        recorded = 0 if profiling is None else profiling.recorded
        start = clock.perf_counter()
        results = self._run(leaves)
        wall = (clock.perf_counter() - start) * 1e3
        recorded = 0 if profiling is None else profiling.recorded - recorded
        for one in now.interceptors:
            if isinstance(one, ReplayObserver):
                one.replayed(name, self._driver, leaves, results, wall, recorded)
        return self._template.filled(results)

    def _run(self, leaves: list[Tensor]) -> list[Tensor]:
        driver = self._driver
        arrays: list[Any] = []
        for index in self._arguments:
            leaf = leaves[index]
            here = leaf._driver is driver and leaf._array is not None
            arrays.append(leaf._array if here else leaf._array_on(driver))
        for back in self._variables:
            variable = back()
            if variable is None:
                raise GoneError
            here = variable._driver is driver and variable._array is not None
            arrays.append(variable._array if here else variable._array_on(driver))
        found = self._replay(arrays)
        results: list[Tensor] = []
        scope = context.current().scope
        for one in self._results:
            if one.output is None or one.spec is None:
                results.append(self._other(one, leaves))
                continue
            tensor = Tensor(one.spec, found[one.output], driver)
            if scope is not None:
                scope.add(tensor)
            results.append(tensor)
        changes: list[Change] = []
        for back, array in zip(self._updates, found[self._outputs :], strict=True):
            variable = back()
            if variable is not None:
                changes += changes_of(variable, array, driver)
        for index in self._disposed:
            changes += changes_of(leaves[index], None, leaves[index]._driver)
        exchange(changes)
        return results

    def _other(self, form: _ReturnedTensor, leaves: list[Tensor]) -> Tensor:
        """Return a result that is no output of the replay."""
        if form.argument is not None:
            return leaves[form.argument]
        if form.constant is not None and form.spec is not None:
            array, driver = form.constant
            return made(Tensor(form.spec, array, driver))
        variable = None if form.variable is None else form.variable()
        if variable is None:
            raise GoneError
        return variable
