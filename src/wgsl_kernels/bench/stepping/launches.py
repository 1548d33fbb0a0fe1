"""What a function has the simulator run: its dispatches with the memory that each was given."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.simulator.backend import SimulatorBackend
from wgsl_kernels.backends.simulator.noting import following
from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE
from wgsl_kernels.engine.drivers.backends import find_driver, use_backend
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.simulator.accesses import AccessLog
from wgsl_kernels.testing.gradients.evaluation import outputs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.backends.simulator.gpu import SimulatedDispatch
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.simulator.domains import Words

MOST_BYTES = 1 << 28
"""Bytes of memory that is kept of all dispatches."""
MOST_ELEMENTS = 1 << 12
"""Elements of a result that are looked at for the first one that is written."""


@dataclass(frozen=True, eq=False)
class Launched:
    """A dispatch that ran.

    Attributes:
        number: Its number among those of the call, from 1.
        dispatch: What it was.
        launch: What it ran with.
        before: The words of its bindings as they were before.
        log: Who wrote what.
    """

    number: int
    dispatch: Dispatch
    launch: SimulatedDispatch
    before: Mapping[Any, Words]
    log: AccessLog

    def writers(self, buffer: Any) -> Iterator[tuple[str, int, int, Any]]:
        """Yield, of memory in a buffer, its variable, where it begins, and who wrote each number.

        That is the name, the byte, the bytes of a number, and invocations, -1 where it is nobody.
        """
        for memory, size, writer in self.log.written():
            base: Words = buffer.words
            if memory.words.base is base:
                begin = memory.words.ctypes.data - base.ctypes.data
                yield memory.name, begin, size, writer


@dataclass(frozen=True)
class ElementPlace:
    """An element of a result, and who wrote it.

    Attributes:
        name: What the shader calls the result.
        index: Its indices.
        launched: The dispatch that wrote it last.
        invocation: The invocation, counted over all workgroups.
        byte: Where it is in that dispatch's variable.
    """

    name: str
    index: tuple[int, ...]
    launched: Launched
    invocation: int
    byte: int

    @property
    def label(self) -> str:
        """The element as one writes it: ``y[3, 5]``."""
        return f"{self.name}[{', '.join(map(str, self.index))}]" if self.index else self.name


@dataclass(frozen=True)
class SteppedCall:
    """A function that was run, on the simulator.

    Attributes:
        launched: Its dispatches.
        outputs: The tensors that it returned.
    """

    launched: tuple[Launched, ...]
    outputs: tuple[Tensor, ...]

    def names(self) -> list[str]:
        """Return what shaders call the results, "" for one that no shader writes."""
        found = [self._first(one) if one.size else None for one in self.outputs]
        return ["" if one is None else one.name for one in found]

    def place(self, name: str, index: tuple[int, ...] | None) -> ElementPlace:
        """Return who wrote an element of a result.

        Args:
            name: The result as the shader calls it; "" for the first one.
            index: The element; None for the first one.

        Raises:
            ArgumentError: There is no such result or element, or no shader wrote it.
        """
        names = self.names()
        chosen = [n for n, one in enumerate(names) if one and name in ("", one)]
        found: ElementPlace | None = None
        if chosen:
            output = self.outputs[chosen[0]]
            at = tuple([0] * output.ndim) if index is None else index
            found = self._writer(output, _checked(at, output, names[chosen[0]]))
            if found is None and (first := self._first(output)) is not None:
                raise ArgumentError(
                    f"step: at is {names[chosen[0]]}{list(at)}, which no invocation writes; "
                    f"{first.label} is the first element that one writes."
                )
        if found is not None:
            return found
        listed = ", ".join(dict.fromkeys(filter(None, names))) or "none that a shader writes"
        what = f"{name!r}" if name else "of a result"
        raise ArgumentError(f"step: at is {what}; results: {listed}.")

    def _first(self, output: Tensor) -> ElementPlace | None:
        """Return the first element of a result that an invocation wrote, None where none did."""
        looked_at = islice(np.ndindex(output.shape), MOST_ELEMENTS)
        return next(filter(None, (self._writer(output, index) for index in looked_at)), None)

    def _writer(self, output: Tensor, index: tuple[int, ...]) -> ElementPlace | None:
        array: GpuArray = output._array_on(find_driver("simulator"))
        if array.storage is None:
            return None
        places = zip(index, array.strides, strict=True)
        element = array.offset + sum(at * stride for at, stride in places)
        byte = element * ITEMSIZE[array.dtype]  # what has a storage has a size
        for one in reversed(self.launched):
            for name, begin, size, writer in one.writers(array.storage.block.buffer):
                at = (byte - begin) // size
                if 0 <= at < len(writer) and writer[at] >= 0:
                    return ElementPlace(name, index, one, int(writer[at]), byte - begin)
        return None


def _checked(index: tuple[int, ...], output: Tensor, name: str) -> tuple[int, ...]:
    """Return an index counted from the beginning.

    Raises:
        ArgumentError: The result has no such element.
    """
    shape = output.shape
    if len(index) == len(shape) and all(-n <= i < n for i, n in zip(index, shape, strict=True)):
        return tuple([i % n for i, n in zip(index, shape, strict=True)])
    raise ArgumentError(f"step: at is {name}{list(index)}; the result has shape {list(shape)}.")


def called(f: Callable[..., Any], args: Sequence[Any]) -> SteppedCall:
    """Run a function on the simulator, each kernel by itself, and return what it did.

    Raises:
        ArgumentError: It takes more memory than is kept.
    """
    driver = find_driver("simulator")
    assert isinstance(driver, SimulatorBackend)
    launched: list[Launched] = []
    kept = 0

    def log(dispatch: Dispatch, launch: SimulatedDispatch) -> AccessLog:
        nonlocal kept
        before = {key: np.array(words) for key, words in launch.bound.items()}
        kept += sum(one.nbytes for one in before.values())
        if kept > MOST_BYTES:
            raise ArgumentError(
                f"step: the dispatches so far use {kept} bytes; want at most {MOST_BYTES}. "
                "Step through fewer kernels, or smaller inputs."
            )
        one = Launched(len(launched) + 1, dispatch, launch, before, AccessLog())
        launched.append(one)
        return one.log

    with use_backend("simulator"), config.using(fusion="never", small_ops="device"):
        device = driver.open()
        device.flush()
        with following(device, log):
            outputs = outputs_of(f, args)
            driver.evaluate([one._array_on(driver) for one in outputs])
            device.flush()
    return SteppedCall(tuple(launched), tuple(outputs))
