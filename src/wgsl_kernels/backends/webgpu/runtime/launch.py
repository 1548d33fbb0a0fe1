"""Running one shader kernel on inputs of fixed specs, now or when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import CHECKED_BYTES, GpuArray, device_bytes
from wgsl_kernels.backends.webgpu.devices.caches import DeviceCache
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded, bytes_of_loaded
from wgsl_kernels.backends.webgpu.tuning.choice import choice_by_name
from wgsl_kernels.backends.webgpu.tuning.tuner import WORTH, is_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.programs.call import ShaderCall
    from wgsl_kernels.backends.webgpu.programs.choices import Lowered, VariantChoices
    from wgsl_kernels.backends.webgpu.runtime.session import Session
    from wgsl_kernels.backends.webgpu.tuning.choice import Choice

VALUE, ABSENT = "value", "absent"


class LoadedVariants:
    """A loaded program, and those of the other variants that there are.

    Attributes:
        has_choice: Whether there are any.
    """

    __slots__ = ("choice", "choices", "has_choice", "loaded", "others")

    def __init__(self, device: Device, lowered: Lowered) -> None:
        program, self.choices = lowered
        self.loaded = Loaded(device, program)
        self.has_choice = len(self.choices.names) > 1
        self.others: dict[str, Loaded] = {}
        self.choice: Choice | None = None

    @property
    def is_open(self) -> bool:
        """Whether the tuner is to be asked: there is a choice, and it is worth measuring."""
        return self.has_choice and (self.choices.work >= WORTH or is_asked())


def _bytes_of_entry(entry: LoadedVariants) -> int:
    return 1000 + bytes_of_loaded(entry.loaded)


def resident_inputs(
    session: Session, loaded: Loaded, inputs: Sequence[Any], why: str = ""
) -> Sequence[Any]:
    """Return a program's inputs on its device, with copies of the views that it reads contiguous.

    Args:
        session: What has the device.
        loaded: The program.
        inputs: Its inputs, of the layouts that it is for.
        why: What `explain` says of one that was pending.
    """
    given = inputs
    if loaded.packed:
        given = [*inputs]
        for n in loaded.packed:
            given[n] = session.contiguous(given[n])
    for n in loaded.bound:
        if given[n].storage is None or given[n].device is not loaded.device:
            session.make_resident(given[n], why)
    return given


class ShaderLaunch:
    """Runs one shader kernel; maps and other forms differ in what may follow or precede them."""

    is_fusible = False

    def __init__(self, session: Session, call: ShaderCall) -> None:
        outputs = call.outputs
        self.session = session
        self.call = call
        self.kernel = call.kernel
        self.names = call.names
        self.outputs = outputs
        self.nbytes = [device_bytes(one.size, one.dtype) for one in outputs]
        self.is_empty = all(one.size == 0 for one in outputs)
        self.large = [one for one in outputs if one.nbytes >= CHECKED_BYTES]
        self.entries: DeviceCache[Any, LoadedVariants] = DeviceCache(_bytes_of_entry)

    def __call__(self, arrays: list[Any]) -> Sequence[GpuArray]:
        """Run the kernel, now or when it is needed."""
        return self.run_now(arrays)

    def lower(self, arrays: Sequence[Any], device: Device, variant: str | None) -> Lowered:
        """Return the program for the layouts of these arrays; each form has its own."""
        raise AssertionError("each form has its own lowering")

    def run_now(self, arrays: list[Any]) -> Sequence[GpuArray]:
        """Record the dispatches and return the output arrays."""
        device = self.session.open()
        if device is not self.entries.device:
            self.entries.begin(device)
        if self.is_empty:
            return [GpuArray(one.shape, one.dtype, 0, None, None) for one in self.outputs]
        key = self.key_of(device, arrays)
        for spec in self.large:
            self.session.check_size(spec)
        entry = self.entries[key]
        if entry is None or entry.has_choice:
            loaded = self.loaded_for(device, key, arrays)
        else:
            loaded = entry.loaded
        if loaded.packed or not loaded.makes_one:
            return self.arrays_of(loaded, arrays)
        for n in loaded.bound:
            if arrays[n].storage is None:
                self.session.make_resident(arrays[n])
        only = self.outputs[0]
        return (GpuArray(only.shape, only.dtype, only.size, loaded.make(arrays), device),)

    def key_of(self, device: Device, arrays: Sequence[Any]) -> Any:
        """Have the inputs on the device that are read there; return what tells programs apart."""
        states: list[Any] = []
        for array in arrays:
            if array is None:
                states.append(ABSENT)
            elif array.size == 1 and array.host is not None:
                states.append(VALUE)
            else:
                if array.storage is None or array.device is not device:
                    self.session.make_resident(array, f"{self.kernel} takes buffers")
                states.append(array.layout)
        return tuple(states)

    def loaded_for(self, device: Device, key: Any, arrays: Sequence[Any]) -> Loaded:
        """Return the program for arrays of these layouts, of the variant that the tuner takes."""
        entry = self.entries[key]
        if entry is None:
            entry = self.remember(key, LoadedVariants(device, self.lower(arrays, device, None)))
        if not entry.is_open:
            return entry.loaded
        return self.chosen(entry, lambda name: self.lower(arrays, device, name), arrays)

    def chosen(
        self, entry: LoadedVariants, lower: Callable[[str], Lowered], inputs: Sequence[Any]
    ) -> Loaded:
        """Return the variant that the tuner takes; it may measure them all on these inputs."""
        device, choices = entry.loaded.device, entry.choices

        def named(name: str) -> Loaded:
            if name == choices.names[0]:
                return entry.loaded
            found = entry.others.get(name)
            if found is None:
                found = entry.others[name] = Loaded(device, lower(name)[0])
            return found

        if entry.choice is None:
            entry.choice = self.choice_of(choices)
        tuner = self.session.tuner
        return named(
            tuner.choose(
                entry.choice, lambda name: self.run_loaded(named(name), inputs), choices.work
            )
        )

    def choice_of(self, choices: VariantChoices) -> Choice:
        """Return what the tuner is asked; each variant is a configuration of the same files."""
        source, names = self.call.shader.source, choices.names

        def texts() -> list[str]:
            return [choices.template, *(facts.text.text for facts in source.files)]

        return choice_by_name(self.kernel, choices.shape_class, names, names[0], texts)

    def run_loaded(self, loaded: Loaded, inputs: Sequence[Any]) -> list[Any]:
        """Run a program on inputs of its layouts."""
        return loaded.run(resident_inputs(self.session, loaded, inputs))

    def arrays_of(self, loaded: Loaded, arrays: Sequence[Any]) -> list[GpuArray]:
        """Run a program and return its results as arrays."""
        storages = self.run_loaded(loaded, arrays)
        return [
            GpuArray(spec.shape, spec.dtype, spec.size, one if spec.size else None, loaded.device)
            for spec, one in zip(self.outputs, storages, strict=True)
        ]

    def remember(self, key: Any, entry: LoadedVariants) -> LoadedVariants:
        """Keep a program, within bounds."""
        return self.entries.keep(key, entry)

    def retire(self) -> None:
        """Have groups forget the kernel: its registration has changed."""
        self.session.evaluator.retire(self)
