"""Recipes: everything of a dispatch that does not change from run to run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from wgsl_kernels.backends.webgpu.array import device_bytes
from wgsl_kernels.backends.webgpu.array import row_major as row_major_strides
from wgsl_kernels.backends.webgpu.composing.compose import Options, compose
from wgsl_kernels.backends.webgpu.devices.pipeline import CompileFailure
from wgsl_kernels.engine.errors import ArgumentError, OutOfMemoryError
from wgsl_kernels.engine.indices import out_of_range
from wgsl_kernels.engine.origin import user_line

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.composing.composed import BoundBuffer, Composed
    from wgsl_kernels.backends.webgpu.composing.operands import Operand
    from wgsl_kernels.backends.webgpu.composing.source import Source
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.devices.recorder import Label

FOLD = 65535
"""Workgroups along one axis of a grid; larger grids fold into two dimensions."""


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Compiled:
    """A composed shader with its pipeline on one device; recipes that need the same share it."""

    composed: Composed
    pipeline: Pipeline
    slots: tuple[BoundBuffer, ...]
    """The bindings other than the uniform, in the order of the pipeline's storages."""


_shared: WeakKeyDictionary[Device, WeakValueDictionary[Any, Compiled]] = WeakKeyDictionary()
"""What recipes of each device hold, by what it was composed of."""


def compile_kernel(
    device: Device,
    kernel: str,
    source: Source,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    attrs: Sequence[str],
    options: Options,
    constants: Mapping[str, float] | None = None,
) -> Compiled:
    """Compose a kernel for operands and make its pipeline, unless some recipe has it.

    Raises:
        ShaderError: It does not compose or compile; the message shows the author's line.
    """
    groups = tuple([(one.name, one.structure.key) for one in options.before])
    after = options.after and (options.after.structure.key, options.after.keeps)
    own = replace(options, before=(), after=None)
    values = tuple(sorted(constants.items())) if constants else ()
    key = (kernel, source.digest, *map(tuple, (inputs, outputs, attrs)), own, groups, after, values)
    shared = _shared.setdefault(device, WeakValueDictionary())
    found = shared.get(key)
    if found is None:
        composed = compose(
            kernel, source, inputs, outputs, attrs=attrs, constants=constants, options=options
        )
        shared[key] = found = compiled_from(device, composed, constants)
    return found


def compiled_from(
    device: Device, composed: Composed, constants: Mapping[str, float] | None = None
) -> Compiled:
    """Make the pipeline of a composed shader.

    Raises:
        ShaderError: It does not compile; the message shows the author's line.
    """
    slots = tuple(one for one in composed.bindings if one.role != "params")
    immediates = composed.immediate_size if composed.immediate_size <= device.immediates else 0
    try:
        pipeline = device.pipeline(
            composed.with_immediates() if immediates else composed.text,
            [(one.number, one.access) for one in (slots if immediates else composed.bindings)],
            composed.kernel,
            composed.workgroup_bytes,
            workgroup_size=composed.workgroup_size,
            constants=constants,
            entry=composed.entry,
            immediates=immediates,
        )
    except CompileFailure as failure:
        raise composed.explain(failure.message) from None
    return Compiled(composed, pipeline, slots)


@dataclass(frozen=True, eq=False, slots=True)
class Fixed:
    """A dispatch of which nothing but the buffers changes from run to run.

    Attributes:
        device: Where it runs.
        ready: The dispatch.
        places: For each binding where its array is: input ``n``, or output ``~n``.
    """

    device: Device
    ready: Ready
    places: tuple[int, ...]

    def run(self, inputs: Sequence[GpuArray], outputs: Sequence[GpuArray]) -> None:
        """Record the dispatch; the inputs are on the device, laid out as they were."""
        storages: list[Any] = [
            inputs[n].storage if n >= 0 else outputs[~n].storage for n in self.places
        ]
        self.device.run(self.ready, storages)

    def make(self, inputs: Sequence[GpuArray], nbytes: int, what: str) -> Storage:
        """Do the same with one new output of ``nbytes``, which ``what`` describes; return it."""
        device = self.device
        with device.lock:
            made = device.pool.allocate(nbytes, self.ready.pipeline.label, what)
            storages: list[Any] = []
            for n in self.places:  # a comprehension would take twice as long
                storages.append(inputs[n].storage if n >= 0 else made)
            device.run(self.ready, storages)
        return made


def fixed(
    device: Device,
    compiled: Compiled,
    inputs: Mapping[str, GpuArray | None],
    outputs: Mapping[str, int],
    facts: Mapping[str, Any],
    groups: tuple[int, int, int],
) -> Fixed | None:
    """Return a dispatch with all that stays, None where more changes than the buffers.

    Args:
        device: The device.
        compiled: The kernel.
        inputs: What it reads, in order.
        outputs: The bytes of what it writes, in order.
        facts: What fills the parameter block.
        groups: The grid.
    """
    places = {name: n for n, name in enumerate(inputs)} | {
        name: ~n for n, name in enumerate(outputs)
    }
    found: list[tuple[int, int]] = []
    for array in inputs.values():
        if array is not None and (array.layout is not None or array.is_scalar_on_host):
            return None
    for slot in compiled.slots:
        array = inputs.get(slot.name)
        if slot.role != "tensor" or (array is None and slot.name not in outputs):
            return None
        step = max(4, slot.stride)
        nbytes = outputs[slot.name] if array is None else device_bytes(array.size, array.dtype)
        rounded = -(-nbytes // step) * step
        if not 0 < rounded <= device.largest_binding:
            return None
        found.append((0, rounded))
    composed = compiled.composed
    ready = device.ready(
        compiled.pipeline, tuple(found), composed.pack(facts), groups, composed.kernel
    )
    return Fixed(device, ready, tuple(places[slot.name] for slot in compiled.slots))


def record(
    device: Device,
    compiled: Compiled,
    arrays: Mapping[str, GpuArray],
    facts: dict[str, Any],
    groups: tuple[int, int, int],
    partials: Storage | None = None,
    windows: Mapping[str, tuple[int, int]] | None = None,
    label: Label = "",
    params: bytes | None = None,
) -> None:
    """Record one dispatch of a compiled kernel on these arrays.

    Args:
        device: The device of the arrays.
        compiled: The kernel.
        arrays: By the names that the kernel gives them.
        facts: What fills the parameter block.
        groups: The grid.
        partials: The partial results of a reduction in two stages.
        windows: (offset, bytes) of the part of an array that this dispatch binds, by name.
        label: All kernels of the dispatch, where there are several.
        params: The parameter block, where it is known; then ``facts`` are not looked at.
    """
    storages = [_storage(device, slot, arrays, partials) for slot in compiled.slots]
    ranges = bound_ranges(device, compiled, arrays, partials, windows)
    with device.lock:
        if compiled.composed.uses_status:
            facts["wk_status_slot"] = report_slot(device, compiled.composed, arrays)
        device.dispatch(
            compiled.pipeline,
            storages,
            ranges,
            compiled.composed.pack(facts) if params is None else params,
            groups,
            label or compiled.composed.kernel,
        )


def bound_ranges(
    device: Device,
    compiled: Compiled,
    arrays: Mapping[str, GpuArray],
    partials: Storage | None = None,
    windows: Mapping[str, tuple[int, int]] | None = None,
) -> tuple[tuple[int, int], ...]:
    """Return (offset, bytes) of each binding: plain arrays exactly, views their whole buffer.

    Raises:
        OutOfMemoryError: One is above the device's binding limit.
    """
    ranges: list[tuple[int, int]] = []
    for slot in compiled.slots:
        storage = _storage(device, slot, arrays, partials)
        first, nbytes = (windows or {}).get(slot.name, (0, _nbytes(slot, arrays, storage)))
        step = max(4, slot.stride)
        rounded = -(-nbytes // step) * step
        if rounded > device.largest_binding:
            raise _too_large(device, compiled.composed.kernel, slot.name, rounded)
        ranges.append((first, min(rounded, storage.capacity - first)))
    return tuple(ranges)


def _storage(
    device: Device, slot: BoundBuffer, arrays: Mapping[str, GpuArray], partials: Storage | None
) -> Storage:
    if slot.role == "status":
        return device.status_storage
    if slot.role == "partials":
        assert partials is not None
        return partials
    own = None if slot.is_absent else arrays[slot.name].storage
    if own is not None:
        return own
    if slot.access == "read_write":  # an empty output: what is written there must reach nobody
        return device.storage(16, slot.name, "an empty output")
    return device.spare  # zeros: an absent or an empty input has no elements


def _nbytes(slot: BoundBuffer, arrays: Mapping[str, GpuArray], storage: Storage) -> int:
    array = arrays.get(slot.name)
    if array is None or array.storage is None or array.layout is not None:
        return storage.nbytes
    return device_bytes(array.size, array.dtype)


def report_slot(device: Device, composed: Composed, arrays: Mapping[str, GpuArray]) -> int:
    """Return a slot of the status buffer for one dispatch, with the words for what it reports."""
    line = user_line()
    kernel = composed.kernel
    names = list(arrays)
    shapes = {name: array.shape for name, array in arrays.items()}

    def describe(code: int, value: int) -> Exception:
        return out_of_range(kernel, names[code - 1], value, shapes, line)

    return device.report_slot(describe)


def fold(total: int, most: int = FOLD) -> tuple[int, int, int]:
    """Return a grid of at least ``total`` workgroups."""
    if total <= most:
        return (total, 1, 1)
    rows = -(-total // most)
    return (-(-total // rows), rows, 1)


def grid_of(kernel: str, groups: Any) -> tuple[int, int, int]:
    """Return the workgroup counts that an author gave, one to three of them.

    Raises:
        ArgumentError: They are no whole numbers.
    """
    counts = tuple(groups) if isinstance(groups, (tuple, list)) else ()
    try:
        whole = [int(one) for one in counts]
    except (TypeError, ValueError, OverflowError):
        whole = []
    fits = 1 <= len(whole) <= 3 and min(whole) >= 0
    if not fits or any(a != b for a, b in zip(whole, counts, strict=True)):
        raise ArgumentError(f"{kernel}: groups is {groups!r}; want one to three whole numbers.")
    x, y, z = (*whole, 1, 1)[:3]
    return (x, y, z)


def tensor_facts(arrays: Mapping[str, GpuArray], row_major: Collection[str] = ()) -> dict[str, Any]:
    """Return what is known of each array, by the names that fields and functions give it.

    Those named in ``row_major`` will be copied first, and are described as their copies.
    """
    facts: dict[str, Any] = {}
    for name, array in arrays.items():
        plain = name in row_major
        facts[f"{name}_shape"] = array.shape
        facts[f"{name}_strides"] = row_major_strides(array.shape) if plain else array.strides
        facts[f"{name}_offset"] = 0 if plain else array.offset
        facts[f"{name}_size"] = array.size
        facts[f"{name}_dtype"] = array.dtype
    return facts


def broadcast_strides(array: GpuArray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the array's strides as seen from ``shape``: 0 along broadcast axes."""
    missing = len(shape) - len(array.shape)
    own = tuple(
        0 if length == 1 else stride
        for length, stride in zip(array.shape, array.strides, strict=True)
    )
    return (0,) * missing + own


def _too_large(device: Device, kernel: str, name: str, nbytes: int) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"asked for {nbytes} bytes in one binding ({kernel}: {name}).\n"
        f"The device binds at most {device.largest_binding} bytes at once "
        "(max-storage-buffer-binding-size). Split the tensor."
    )
