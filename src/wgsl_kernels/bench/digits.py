"""Where a kernel's results lose digits: its dispatches on the simulator, float64 beside."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.derived.library import leaves_of
from wgsl_kernels.backends.simulator.backend import SimulatorBackend
from wgsl_kernels.backends.simulator.noting import MOST_ROUNDS, following
from wgsl_kernels.backends.webgpu.runtime.watching import with_methods
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import KernelNotFound, ShaderError
from wgsl_kernels.simulator.digits import DigitsModule, DigitsView, digits
from wgsl_kernels.simulator.dispatch import compile_entry
from wgsl_kernels.simulator.domains import ShadowedWords
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import call_of, tensors_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.backends.simulator.gpu import SimulatedDispatch
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.simulator.dispatch import EntryPoint
    from wgsl_kernels.simulator.module import AccessSite
    from wgsl_kernels.testing.sample import Sample

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class LostDigits:
    """A result of floats, and where its digits went.

    Attributes:
        near: What the simulator gives.
        wide: What the same text gives in float64.
        most: Per element, the most bits that one operation lost on the way to it.
        sites: Per element, which of ``places`` that is; -1 where none lost any.
        places: Dispatches and places of their texts.
    """

    near: Array
    wide: Array
    most: Array
    sites: Array
    places: Sequence[tuple[Dispatch, AccessSite]]


@dataclass
class _Beside:
    """The memory of a block's dispatches, with the float64 of each float."""

    places: list[tuple[Dispatch, AccessSite]] = field(
        default_factory=list["tuple[Dispatch, AccessSite]"]
    )
    memory: dict[int, tuple[Array, ShadowedWords]] = field(
        default_factory=dict["int", "tuple[Array, ShadowedWords]"]
    )
    entries: dict[EntryPoint, EntryPoint] = field(default_factory=dict["EntryPoint", "EntryPoint"])

    def run(self, dispatch: Dispatch, launch: SimulatedDispatch) -> None:
        """Run a dispatch that is about to run, on memory of this block's own."""
        bound = {key: self.of(words) for key, words in launch.bound.items()}
        self.entry(dispatch, launch.entry).run(
            launch.groups, bound, subgroup_size=launch.lanes, most_rounds=MOST_ROUNDS
        )

    def entry(self, dispatch: Dispatch, plain: EntryPoint) -> EntryPoint:
        if plain not in self.entries:
            module = dispatch.module
            compiled = compile_entry(
                plain.module.text,
                plain.node.name,
                dict(module.constants),
                digits(leaves_of(module.composed)),
                partial(DigitsModule, first_site=len(self.places)),
            )
            self.entries[plain] = compiled
            self.places.extend((dispatch, site) for site in compiled.module.sites)
        return self.entries[plain]

    def of(self, words: Array) -> ShadowedWords:
        """Return what is known of words, which may be part of a buffer's; they may have changed."""
        whole = words.base if isinstance(words.base, np.ndarray) else words
        found = self.memory.get(id(whole))
        if found is None:
            found = self.memory[id(whole)] = whole, ShadowedWords(whole.copy(), DigitsView)
        found[1].words[:] = whole
        begin = (words.ctypes.data - whole.ctypes.data) // 4
        return found[1].part(begin, begin + len(words))


UNSIMULATED = (ShaderError, KernelNotFound)
"""What `digits_of` raises where the simulator does not run a sample."""


def digits_of(sample: Sample, arrays: Sequence[Array]) -> list[LostDigits | None]:
    """Run a sample on the simulator, and return where each result loses digits.

    That of a result that is not of floats, or that no kernel wrote, is None.

    Raises:
        ShaderError: It does what is not simulated, or a loop has more than 65,536 rounds.
        KernelNotFound: It is for other backends alone.
    """
    driver = find_driver("simulator")
    assert isinstance(driver, SimulatorBackend)
    found: list[LostDigits | None] = []
    with only("simulator", sample), config.using(fusion="never", small_ops="device"):
        given = tensors_for(arrays)
        with _reading(driver.open()) as (beside, reads):
            for one in outputs_of(call_of(sample), given):
                before = len(reads)
                values = one.numpy()
                known = reads[before] if len(reads) == before + 1 else None
                is_float = values.dtype in (np.float32, np.float16)
                found.append(_lost(beside, known, values) if is_float and known else None)
    return found


@contextmanager
def _reading(device: Device) -> Iterator[tuple[_Beside, list[ShadowedWords | None]]]:
    """Have a block's dispatches run with float64 beside; the list has what each read is of."""
    beside, reads = _Beside(), list["ShadowedWords | None"]()

    def read(storage: Storage, offset: int, nbytes: int) -> Any:
        found = type(device).read(device, storage, offset, nbytes)
        words = storage.block.buffer.words
        is_known = id(words) in beside.memory and offset % 4 == 0
        reads.append(
            beside.of(words[offset // 4 : -(-(offset + nbytes) // 4)]) if is_known else None
        )
        return found

    with with_methods(device, read=read), following(device, beside.run):
        yield beside, reads


def _lost(beside: _Beside, words: ShadowedWords, values: Array) -> LostDigits:
    view = words.views["f32" if values.dtype == np.float32 else "f16"]
    found, shape = view[: values.size], values.shape
    most, sites = found.lost.most.reshape(shape), found.lost.site.reshape(shape)
    near, wide = found.near.reshape(shape), found.wide.reshape(shape)
    return LostDigits(near, wide, most, sites, beside.places)
