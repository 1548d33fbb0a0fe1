"""Tracing a function for export: which dispatches it is, on which buffers, and what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from wgsl_kernels.engine.capture.captured_run import Trial
from wgsl_kernels.engine.capture.watch import VariableWatch
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError
from wgsl_kernels.engine.environment.origin import user_line
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.trees.structure import TreeDefinition
from wgsl_kernels.web.portable import NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.backends.webgpu.capturing.replay import GpuReplay
    from wgsl_kernels.engine.capture.captured_run import CapturedRun
    from wgsl_kernels.engine.drivers.abilities import RecordingDriver
    from wgsl_kernels.engine.execution.variables import Variable
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.web.portable import PortableBackend


class TracedRun(NamedTuple):
    """A function's one run.

    Attributes:
        run: What a captured function would replay.
        replay: Its dispatches.
        inputs: The tensors it was given, by name.
        outputs: The names of what it returns, in the order of ``run``'s results.
        variables: Those that it reads, in the order of ``run``'s inputs.
        updates: Those that it assigns, in the order of ``run``'s updates.
        values: What each of these holds, by id.
    """

    run: CapturedRun
    replay: GpuReplay
    inputs: Mapping[str, Tensor]
    outputs: list[str]
    variables: list[Variable]
    updates: list[Variable]
    values: Mapping[int, Array]


def traced(f: Callable[..., Any], inputs: Mapping[str, Any], driver: PortableBackend) -> TracedRun:
    """Run ``f`` once on tensors of ``driver``; nothing outside changes.

    Raises:
        ArgumentError: It is no list of dispatches: the message says why, and where.
        DTypeError: Strings, or a dtype that the driver lacks.
    """
    label = str(getattr(f, "__qualname__", type(f).__name__))
    with context.changed(driver=driver, config={"deterministic": True, "fallback": "silent"}):
        given = {name: _input(name, one, driver) for name, one in inputs.items()}
        trial = ExportTrial(driver, [*given.values()])
        names: list[str] = []

        def flat(tensors: list[Tensor]) -> list[Tensor]:
            found = _named(f(**dict(zip(given, tensors, strict=True))), label)
            names.extend(found)
            return [*found.values()]

        try:
            _, run = trial.run(flat)
        finally:
            trial.drop_copies()
    if isinstance(run, str):
        raise ArgumentError(f"export: {label} is no program: {run}.")
    replay = cast("GpuReplay", run._replay)
    return TracedRun(run, replay, given, names, trial.variables, trial.updates, trial.values)


def _input(name: str, given: Any, driver: PortableBackend) -> Tensor:
    values = given.numpy() if isinstance(given, Tensor) else given
    made = tensor(values, dtype=given.dtype if isinstance(given, Tensor) else None)
    _check_dtype(f"the input {name!r}", made, driver)
    return made


def _check_dtype(what: str, one: Tensor, driver: PortableBackend) -> None:
    if not driver.supports(one.dtype):
        hint = " and features=('shader-f16',)" if one.dtype == "float16" else ""
        raise DTypeError(
            f"export: {what} is {one.dtype}, which no shader of this program can hold; want "
            f"float32, int32, bool, complex64, int8, uint8, or float16{hint}. wk.cast converts."
        )


def _named(result: Any, label: str, path: str = "") -> dict[str, Tensor]:
    """Return the tensors of a result by their paths in it; a bare one is called ``output``."""
    if isinstance(result, Tensor):
        return {path or "output": result}
    pairs: list[tuple[str, Any]]
    if isinstance(result, dict):
        pairs = [(str(name), one) for name, one in result.items()]
    elif isinstance(result, (list, tuple)):
        fields = getattr(result, "_fields", map(str, range(len(result))))  # a named tuple has names
        pairs = [*zip(fields, result, strict=True)]
    else:
        raise ArgumentError(
            f"export: {label} returns a {type(result).__name__}; want tensors, in dictionaries, "
            "lists and tuples."
        )
    found: dict[str, Tensor] = {}
    for name, one in pairs:
        found.update(_named(one, label, f"{path}/{name}" if path else name))
    return found


class ExportTrial(Trial):
    """A recorded run whose variables and constants come from any backend, and stay as they are.

    Attributes:
        variables: Those read, in the order of the run's inputs.
        updates: Those assigned.
        values: What variables hold, by id.
    """

    def __init__(self, driver: PortableBackend, leaves: list[Tensor]) -> None:
        super().__init__(cast("RecordingDriver", driver), None, leaves)
        self._target = driver
        self._copied: list[Tensor] = []
        self.variables: list[Variable] = []
        self.updates: list[Variable] = []
        self.values: dict[int, Array] = {}

    def crossed(self, tensor: Tensor) -> None:
        """Note that a tensor moves between backends; only one that the host has can.

        Raises:
            ArgumentError: It is computed in the browser.
        """
        if tensor._driver is self._driver and tensor._array.host is None:
            raise ArgumentError(
                f"export: the op at {user_line()} runs on cpu, since it has no WGSL kernel, or "
                "none for these dtypes (no shader has float64 or strings); in a browser there is "
                "no cpu backend."
            )
        self._copied.append(tensor)

    def drop_copies(self) -> None:
        """Have constants forget their copies on the driver, which is about to close."""
        for one in self._copied:
            if one._copies is not None:
                one._copies.pop(NAME, None)

    def _first_read(self, variable: Variable) -> Tensor:
        source = VariableWatch.shown(self, variable)
        if source._array is None:
            return source
        _check_dtype(f"the variable {variable.name!r}", variable, self._target)
        array = self._target.upload(self._values_of(variable), variable.spec)
        return self._taken(variable, array, True)

    def _values_of(self, variable: Variable) -> Array:
        if variable._id not in self.values:
            values = variable._driver.download(variable._array, variable.spec)
            self.values[variable._id] = np.array(values)
        return self.values[variable._id]

    def _finish(self, result: Any) -> CapturedRun | str:
        self._forget_gone()
        for _, value in self.changed.values():
            if value._array is not None:
                value._array, value._driver = value._array_on(self._driver), self._driver
                self._make_contiguous(value)
        for one in TreeDefinition(result).tensors:
            _check_dtype("a result", one, self._target)
            if one._driver is self._driver and not one.is_variable:
                self._make_contiguous(one)
        run = super()._finish(result)
        if not isinstance(run, str):
            self.variables = [cast("Variable", back()) for back in run._variables]
            self.updates = [cast("Variable", back()) for back in run._updates]
            for one in self.updates:
                self._values_of(one)
        return run

    def _make_contiguous(self, one: Tensor) -> None:
        """Have a tensor be row-major in a buffer, as a page reads it."""
        self._driver.evaluate([one._array])
        if one._array.layout is not None:
            one._array = self._target.copy(one._array)

    def _commit(self) -> None:
        """Leave variables as they are, and what others keep of them."""
        self.put_back()
