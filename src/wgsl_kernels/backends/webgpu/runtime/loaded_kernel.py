"""What a launch keeps for the layouts of its inputs: a program, and the variants of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.fusion.splice import takes_epilogue
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded, bytes_of_loaded
from wgsl_kernels.backends.webgpu.tuning.tuner import WORTH, is_asked

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.fusion.splice import Maps
    from wgsl_kernels.backends.webgpu.programs.program import Program
    from wgsl_kernels.backends.webgpu.runtime.function import FunctionProgram, Unfused
    from wgsl_kernels.backends.webgpu.tuning.choice import Choice


class LoadedKernel:
    """A kernel's program on a device, and those of the variants that may run in its place.

    Attributes:
        choice: The variants, the program's own among them; None where there is but one.
        function: Of a function's program what there is beside one new contiguous result.
        unfused: Where maps are in it, the program without these and they: others can follow.
    """

    __slots__ = ("choice", "function", "has_choice", "loaded", "others", "unfused")

    def __init__(
        self,
        loaded: Loaded,
        choice: Choice | None = None,
        function: FunctionProgram | None = None,
        unfused: Unfused | None = None,
    ) -> None:
        self.loaded = loaded
        self.choice = choice
        self.has_choice = choice is not None
        self.function = function
        self.unfused = unfused
        self.others: dict[str, Loaded] = {}

    def base(self, maps: Maps) -> tuple[Program, Maps]:
        """Return the program that maps are to be fused into, and all that are to be."""
        if self.unfused is None or maps.epilogue is None:
            return self.loaded.program, maps
        program, own = self.unfused
        both = own.then(maps.epilogue, keeps=maps.keeps)
        return program, replace(maps, epilogue=both, keeps=False)

    @property
    def takes_epilogue(self) -> bool:
        """Whether maps of its one result can be fused into it."""
        return takes_epilogue(self.loaded.program if self.unfused is None else self.unfused.program)

    @property
    def is_open(self) -> bool:
        """Whether the tuner is to be asked: there is a choice, and it is worth measuring."""
        return self.choice is not None and (self.choice.work >= WORTH or is_asked())


def bytes_of_entry(entry: LoadedKernel | Literal[False]) -> int:
    """Return about how many bytes an entry takes; False: there is no program."""
    if entry is False:
        return 500
    constants = () if entry.function is None else entry.function.constants
    return 1000 + bytes_of_loaded(entry.loaded) + sum([values.nbytes for values, _ in constants])
