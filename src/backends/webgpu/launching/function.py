"""Launching kernels with full control; those of one last dispatch may wait for what follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import GpuArray, Tail, device_bytes
from wgsl_kernels.backends.webgpu.fusion.pending import pending
from wgsl_kernels.backends.webgpu.launching.launch import CHECKED_BYTES, RECIPES_MAX
from wgsl_kernels.backends.webgpu.launching.map import same_buffers
from wgsl_kernels.backends.webgpu.launching.recipe import Fixed, bound_ranges
from wgsl_kernels.engine.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.recent import Recent
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.fusion.extras import Extras
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.backends.webgpu.launching.direct import DirectRecipe
    from wgsl_kernels.engine.dtypes import DType
    from wgsl_kernels.engine.registry import Kernel
    from wgsl_kernels.engine.spec import Shape

TRIES = 3
"""Runs in which a kernel may show that it makes its result in one last dispatch."""


@dataclass(eq=False)
class Trace:
    """What one run of a function does with the device.

    Attributes:
        wanted: Shape and dtype of its result.
        extras: The maps that the result is handed on to.
        written: For each dispatch the array that it writes through accessors, if that could be
            the result, else None.
        is_plain: Whether it only dispatched: nothing was read, no kernel reports errors.
        taken: How many dispatches handed their result on.
        repeats: Whether the function promised that it does the same for other arrays; see
            ``Gpu.repeats``.
        recorded: Each dispatch that was recorded, and its arrays.
    """

    wanted: tuple[Shape, DType]
    extras: Extras | None = None
    written: list[GpuArray | None] = field(default_factory=list["GpuArray | None"])
    is_plain: bool = True
    taken: int = 0
    repeats: bool = False
    recorded: list[tuple[DirectRecipe, Mapping[str, GpuArray]]] = field(
        default_factory=list["tuple[DirectRecipe, Mapping[str, GpuArray]]"]
    )


class FunctionLaunch:
    """Runs a function with full control, or notes that it is to be run.

    A function is put off once it was seen to make its one result in one last dispatch of a shader
    that writes through ``store_y``: then maps of the result may ride in that dispatch. Where
    everything is fused at first sight, one that promises so is put off from the start.
    """

    is_anchor = True
    weight = 1
    swallows: tuple[int, ...] = ()
    reads = 1

    def __init__(
        self,
        backend: WebGpuBackend,
        kernel: Kernel,
        gpu: Gpu,
        attrs: dict[str, Any],
        outputs: tuple[Spec, ...] | None,
    ) -> None:
        takes = kernel.takes
        self.backend = backend
        self.kernel = kernel.name
        self.names: tuple[str, ...] = kernel.input_names
        self.gpu = gpu
        self.func: Callable[..., Any] = kernel.func
        self.keywords = {
            name: value for name, value in attrs.items() if takes is None or name in takes
        }
        self.outputs = outputs
        only = outputs[0] if outputs else None
        self._nbytes = 0 if only is None else device_bytes(only.size, only.dtype)
        self._what = "" if only is None else f"{show(only.shape)} {only.dtype}"
        self.hands_on = False
        self._promised = kernel.accepts_epilogue and only is not None and only.size > 0
        self._tries = TRIES if outputs is not None and len(outputs) == 1 else 0
        self._seen_on: Device | None = None
        self._repeats = False
        self._known: Recent[Any, Fixed | bool] = Recent(RECIPES_MAX)
        self._known_on: Device | None = None

    def __call__(self, arrays: list[Any]) -> Sequence[Any]:
        """Return a pending array where the function may wait, else what it gives."""
        backend = self.backend
        device, fusion = backend.open(), backend.fusion()
        waits = self.hands_on and device is self._seen_on
        if not waits and fusion == "always" and self._promised and _are_flat(arrays):
            self.hands_on, self._seen_on, waits = True, device, True
        if not waits or fusion == "never":
            return self.run_now(arrays)
        assert self.outputs is not None
        spec = self.outputs[0]
        if spec.nbytes >= CHECKED_BYTES:
            backend.check_size(spec)
        made = pending(self, arrays, spec, device, Tail())
        backend.fuser.note(made)
        return (made,)

    def run_now(self, arrays: list[Any]) -> Sequence[Any]:
        """Call the function and return its arrays, with their specs where they were not known."""
        device = self.backend.open()
        storage = self.repeat(device, arrays)
        if storage is not None:
            assert self.outputs is not None
            spec = self.outputs[0]
            return (GpuArray(spec.shape, spec.dtype, spec.size, storage, device),)
        key = self._lying(device, arrays) if self._repeats else None
        if (key is None and not self._tries) or self._known[key] is not None:
            return self._run(arrays, self.gpu)
        assert self.outputs is not None
        trace = Trace((self.outputs[0].shape, self.outputs[0].dtype))
        found = self._run(arrays, self.gpu.traced(trace))
        self._repeats = trace.repeats
        if key is not None:
            self._known.keep(key, _only_dispatch(device, trace, arrays, found[0]) or False)
        if not self._tries:
            return found
        self._tries -= 1
        last = trace.written[-1] if trace.written else None
        alone = sum(one is not None for one in trace.written) == 1
        if trace.is_plain and alone and last is found[0] and _are_flat(arrays):
            self.hands_on = True
            self._seen_on = device
            self._tries = 0
        return found

    def fuse(self, arrays: Sequence[Any], extras: Extras) -> Sequence[GpuArray]:
        """Call the function and have its last dispatch hand the result on.

        The result was not written, if ``extras`` do not keep it; it was, whatever they say, if
        no dispatch took them: see ``Extras.taken``.
        """
        assert self.outputs is not None
        trace = Trace((self.outputs[0].shape, self.outputs[0].dtype), extras)
        found = self._run(list(arrays), self.gpu.traced(trace))
        extras.taken.append(trace.taken == 1)
        return found

    def repeat(self, device: Device, arrays: Sequence[Any]) -> Storage | None:
        """Record the one dispatch of a function that was seen to do no more; None: call it."""
        known = self._known[self._lying(device, arrays)] if self._repeats else None
        if not isinstance(known, Fixed):
            return None
        for one in arrays:
            if one is not None:
                one.sealed = True
        return known.make(arrays, self._nbytes, self._what)

    def retire(self) -> None:
        """Have groups forget the kernel: its registration has changed."""
        self.backend.fuser.retire(self)

    def _lying(self, device: Device, arrays: Sequence[Any]) -> Any:
        """Return what is equal where a function that repeats does the same; None if not known."""
        if device is not self._known_on:
            self._known.clear()
            self._known_on = device
        state = self.backend.tuner.state()
        if state is None:
            return None
        key: list[Any] = [state]
        for one in arrays:
            if one is None:
                continue
            if isinstance(one, list) or one.storage is None or one.device is not device:
                return None
            if one.size == 1 and one.host is not None:
                return None
            key.append(one.layout)
            key.append(one.storage.nbytes)  # a view, also one that it makes, binds all of them
        key.append(same_buffers(arrays))
        return tuple(key)

    def _run(self, arrays: list[Any], gpu: Gpu) -> Sequence[Any]:
        for one in arrays:
            if isinstance(one, GpuArray):
                one.sealed = True
            elif one is not None:
                for each in one:
                    each.sealed = True
        found = self.func(gpu, *arrays, **self.keywords)
        several = list(found) if isinstance(found, (tuple, list)) else [found]
        _check_arrays(self.kernel, several)
        if self.outputs is None:
            return [(one, Spec(one.shape, one.dtype)) for one in several]
        _check_results(self.kernel, several, self.outputs)
        return several


def _only_dispatch(
    device: Device, trace: Trace, arrays: Sequence[Any], made: GpuArray
) -> Fixed | None:
    """Return the one dispatch of a run that read its inputs and wrote its result, if so it was."""
    if not trace.repeats or not trace.is_plain or len(trace.recorded) != 1:
        return None
    recipe, bound = trace.recorded[0]
    if recipe.ranges is None or recipe.params is None:
        return None
    if 0 in recipe.grid or made.layout is not None:
        return None
    inputs = {id(one.storage): n for n, one in enumerate(arrays) if one is not None}
    inputs[id(made.storage)] = ~0
    places: list[int] = []
    for slot in recipe.compiled.slots:
        place = inputs.get(id(bound[slot.name].storage))
        if place is None:
            return None
        places.append(place)
    compiled = recipe.compiled
    ranges = bound_ranges(device, compiled, bound) if recipe.has_views else recipe.ranges
    ready = device.ready(
        compiled.pipeline, ranges, recipe.params, recipe.grid, compiled.composed.kernel
    )
    return Fixed(device, ready, tuple(places))


def _are_flat(arrays: list[Any]) -> bool:
    return all(not isinstance(one, list) and (one is None or one.size) for one in arrays)


def _check_arrays(name: str, results: list[Any]) -> None:
    for one in results:
        if not isinstance(one, GpuArray):
            kind = type(one).__name__
            raise ArgumentError(
                f"{name}: the webgpu kernel gave a {kind}; want an array, as gpu.empty makes."
            )


def _check_results(name: str, results: list[GpuArray], outputs: tuple[Spec, ...]) -> None:
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
