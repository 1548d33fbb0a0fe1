"""What one run of a function with full control does: its last dispatch is held back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.program import Place

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.programs.program import Binding, Program
    from wgsl_kernels.backends.webgpu.runtime.runner import Loaded
    from wgsl_kernels.engine.values.spec import Spec


@dataclass(frozen=True, eq=False, slots=True)
class Last:
    """The last dispatch of a function so far, not recorded yet.

    Attributes:
        loaded: Its program, whose inputs are the arrays.
        arrays: What it reads and writes.
        result: The one that it writes, at this number.
    """

    loaded: Loaded
    arrays: list[GpuArray]
    result: int


@dataclass(eq=False)
class Trace:
    """What one run of a function does with the device.

    The last dispatch is held back until the next one, so that maps may be fused into it.

    Attributes:
        output: The spec of its result.
        last: The dispatch that is held back.
        written: The arrays that its dispatches write, each as often as one does.
        is_plain: Whether it only dispatched: nothing was read, no kernel reports errors.
        repeats: Whether the function promised that it does the same for other arrays; see
            ``Gpu.repeats``.
        filled: The arrays that start from a number.
    """

    output: Spec
    last: Last | None = None
    written: list[GpuArray] = field(default_factory=list["GpuArray"])
    is_plain: bool = True
    repeats: bool = False
    filled: list[GpuArray] = field(default_factory=list["GpuArray"])

    def dispatched(self, loaded: Loaded, arrays: list[GpuArray]) -> None:
        """Record what is held back, and hold this dispatch back if it makes the result."""
        self.flush()
        one = loaded.program.dispatches[-1]
        if one.params.report is not None:
            self.is_plain = False
        found = [w.place.number for w in one.writes] if one.accepts_epilogue else []
        result = arrays[found[0]] if len(found) == 1 else None
        if result is not None and (result.shape, result.dtype) != (
            self.output.shape,
            self.output.dtype,
        ):
            result = None
        if any(result is one for one in self.filled):
            result = None
        self.written += [arrays[n] for n in loaded.written]
        if result is None:
            loaded.run(arrays)
        else:
            self.last = Last(loaded, arrays, found[0])

    def makes(self, result: GpuArray) -> bool:
        """Say whether the dispatch that is held back is the one that writes ``result``."""
        last = self.last
        if last is None or last.arrays[last.result] is not result:
            return False
        return sum(one is result for one in self.written) == 1

    def flush(self) -> None:
        """Record what is held back."""
        last, self.last = self.last, None
        if last is not None:
            last.loaded.run(last.arrays)

    def fills(self, array: GpuArray) -> None:
        """Hear of an array that is filled: what an epilogue does not store must keep the number."""
        self.has_done(plain=False)
        self.filled.append(array)

    def has_done(self, *, plain: bool) -> None:
        """Hear of something else that the function does: it comes after what is held back."""
        self.flush()
        self.is_plain &= plain


def with_result(program: Program, number: int, spec: Spec) -> Program:
    """Return a program with an input that it writes as its result."""
    target = len(program.buffers)
    before, after = Place("input", number), Place("buffer", target)

    def moved(one: Binding) -> Binding:
        return replace(one, place=after) if one.place == before else one

    last = program.dispatches[-1]
    assert last.bound is not None
    arguments = {
        name: Argument.made(spec, target) if one.place == before else one
        for name, one in last.bound.arguments.items()
    }
    made = replace(
        last,
        bindings=tuple([moved(one) for one in last.bindings]),
        bound=replace(last.bound, arguments=arguments),
    )
    return replace(
        program,
        dispatches=(*program.dispatches[:-1], made),
        buffers=(*program.buffers, spec),
        outputs=(target,),
    )
