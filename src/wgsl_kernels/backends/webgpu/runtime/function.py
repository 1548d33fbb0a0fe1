"""Running kernels with full control: as programs where they repeat, else by calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray, row_major, view_of
from wgsl_kernels.engine.drivers.host_memory import too_large
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DTypeError,
    OutOfMemoryError,
    ShapeError,
)
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import Layout
    from wgsl_kernels.backends.webgpu.fusion.parts import Fused
    from wgsl_kernels.backends.webgpu.programs.program import BindingResource, Program
    from wgsl_kernels.backends.webgpu.runtime.runner import Loaded
    from wgsl_kernels.engine.registry.registry import Kernel
    from wgsl_kernels.engine.values.host import Array


def check_arrays(name: str, results: list[Any]) -> None:
    """Refuse what is no array."""
    for one in results:
        if not isinstance(one, GpuArray):
            kind = type(one).__name__
            raise ArgumentError(
                f"{name}: the webgpu kernel gave a {kind}; want an array, as gpu.empty makes."
            )


def check_results(name: str, results: list[GpuArray], outputs: tuple[Spec, ...]) -> None:
    """Refuse arrays of other shapes or dtypes than the signature says."""
    if len(results) == len(outputs) == 1:
        one, spec = results[0], outputs[0]
        if one.shape == spec.shape and one.dtype == spec.dtype:
            return
    given = [(one.shape, one.dtype) for one in results]
    wanted = [(one.shape, one.dtype) for one in outputs]
    if given != wanted:
        shown = ", ".join(f"{show(shape)} {dtype}" for shape, dtype in given)
        says = ", ".join(f"{show(shape)} {dtype}" for shape, dtype in wanted)
        message = f"{name}: the webgpu kernel gave {shown}, its signature says {says}."
        if len(given) != len(wanted):
            raise ArgumentError(message)
        shapes_fit = all(have[0] == want[0] for have, want in zip(given, wanted, strict=True))
        raise DTypeError(message) if shapes_fit else ShapeError(message)


class UndecidedError(BaseException):  # which no function takes for an error of its own
    """The tuner is to be asked by a run on arrays, since it may measure."""


Check = tuple[int, "Callable[[Array], None]"]
"""The number of an input, and what looks at its values where the host has them."""
Constant = tuple["Array", Spec]


class FunctionResult(NamedTuple):
    """Where one result of a function is: in a buffer of its program or in an input.

    Attributes:
        place: The buffer or the input, None for an empty result.
        layout: Strides and offset there, None where it is contiguous.
    """

    place: BindingResource | None
    layout: Layout | None


class Unfused(NamedTuple):
    """A program whose one result maps follow, before these are fused into it, and these."""

    program: Program
    epilogue: Fused


class FunctionProgram(NamedTuple):
    """The program of a function for inputs of certain layouts.

    Attributes:
        constants: Values that it computed of shapes and attributes; the program's inputs behind
            the function's own, put on the device for each run.
        checks: What looks at values at each run.
        unfused: The program without the function's own maps, where it has some: others can follow.
    """

    program: Program
    results: tuple[FunctionResult, ...]
    constants: tuple[Constant, ...]
    checks: tuple[Check, ...]
    unfused: Unfused | None = None

    @property
    def is_plain(self) -> bool:
        """Whether there is but a program with one new contiguous result."""
        if len(self.results) > 1 or self.constants or self.checks:
            return False
        place, layout = self.results[0]
        return place is not None and place.kind == "buffer" and layout is None

    def arrays(
        self, loaded: Loaded, inputs: Sequence[GpuArray], outputs: tuple[Spec, ...]
    ) -> list[GpuArray]:
        """Run the program on its inputs; return the results: new arrays, and views of inputs."""
        storages = dict(zip(self.program.outputs, loaded.run(inputs), strict=True))
        found: list[GpuArray] = []
        for spec, (place, layout) in zip(outputs, self.results, strict=True):
            if place is None:
                found.append(GpuArray(spec.shape, spec.dtype, 0, None, None))
            elif place.kind == "input":
                strides, offset = (row_major(spec.shape), 0) if layout is None else layout
                found.append(view_of(inputs[place.number], spec.shape, strides, offset))
            else:
                made = storages[place.number], loaded.device, layout
                found.append(GpuArray(spec.shape, spec.dtype, spec.size, *made))
        return found


class Promising(Protocol):
    """The device, to a function with full control."""

    has_promised: bool
    """Whether a run has promised that the function repeats."""
    chosen: dict[Any, Any]
    """What was chosen in a run."""


class FunctionCall:
    """One call of a function with full control.

    A function that repeats is run symbolically, once for each layouts of its inputs: what it
    dispatches is a program from then on. The library's own repeat unless their registration says
    that they do not; a user's repeats once it has promised so in a run. Any other function is
    called each time.
    """

    def __init__(
        self,
        kernel: Kernel,
        gpu: Promising,
        attrs: dict[str, Any],
        outputs: tuple[Spec, ...] | None,
        lower: Callable[..., FunctionProgram | None],
    ) -> None:
        """Take also what runs a function symbolically, and gives its program if it has one."""
        takes = kernel.takes
        self.repeats = outputs is not None and kernel.repeats
        self._kernel = kernel.name
        self._gpu = gpu
        self._func: Callable[..., Any] = kernel.func
        self._keywords = {
            name: value for name, value in attrs.items() if takes is None or name in takes
        }
        self._outputs = outputs
        self._lower = lower

    def call(self, arrays: list[Any]) -> Sequence[Any]:
        """Call the function; return its arrays, with their specs where they were not known."""
        self.held(arrays)
        self._gpu.chosen.clear()
        several = self._run(self._gpu, arrays)
        for one in several:
            one.immutable = True  # a tensor holds it from now on
        if self._outputs is None:
            return [(one, Spec(one.shape, one.dtype)) for one in several]
        self.repeats = self.repeats or self._gpu.has_promised
        return several

    def lower(self, arrays: Sequence[Any]) -> FunctionProgram | None:
        """Return the function's program for arrays of these layouts; None where it has none.

        Raises:
            UndecidedError: The tuner is to measure first, on arrays.
        """
        return self._lower(self._run, arrays, self._outputs)

    def held(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the arrays, those of lists one by one; tensors hold them."""
        found: list[Any] = []
        for one in arrays:
            if isinstance(one, list):
                found += one
            else:
                found.append(one)
        for one in found:
            if one is not None:
                one.immutable = True
        return found

    def _run(self, gpu: Any, arrays: Sequence[Any]) -> list[Any]:
        try:
            found = self._func(gpu, *arrays, **self._keywords)
        except OutOfMemoryError:
            raise
        except MemoryError:  # of values that the function makes on the host
            raise too_large(*self._outputs or ()) from None
        several = list(found) if isinstance(found, (tuple, list)) else [found]
        check_arrays(self._kernel, several)
        if self._outputs is not None:
            check_results(self._kernel, several, self._outputs)
        return several
