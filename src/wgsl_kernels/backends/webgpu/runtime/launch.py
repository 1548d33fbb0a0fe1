"""Running one kernel on inputs of fixed specs: now, or when what it makes is needed."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from wgsl_kernels.backends.webgpu.arrays.array import CHECKED_BYTES, GpuArray, Tail, device_bytes
from wgsl_kernels.backends.webgpu.devices.lifetime import DeviceCache
from wgsl_kernels.backends.webgpu.fusion.graph import (
    COST_MAX,
    PENDING_BYTES,
    TOO_MANY,
    pending,
    pending_cost,
)
from wgsl_kernels.backends.webgpu.fusion.splice import splice
from wgsl_kernels.backends.webgpu.programs.arguments import same_buffers
from wgsl_kernels.backends.webgpu.runtime.function import FunctionCall, UndecidedError
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded, LoadedKernel, bytes_of_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.structure import Kind
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.fusion.splice import Maps
    from wgsl_kernels.backends.webgpu.programs.call import Lowered
    from wgsl_kernels.backends.webgpu.runtime.evaluator import Session
    from wgsl_kernels.backends.webgpu.runtime.function import FunctionProgram
    from wgsl_kernels.backends.webgpu.runtime.shader import ShaderLowering
    from wgsl_kernels.backends.webgpu.runtime.small import HostKernel
    from wgsl_kernels.engine.values.spec import Spec

VALUE, ABSENT, COMPUTED = "value", "absent", "computed"
"""What is known of an input instead of a layout: one number on the host, nothing, a group."""


class KernelLaunch:
    """Runs one kernel, or notes that it is to be run: its dispatches are fused with others then.

    Attributes:
        shader: How the kernel is lowered, if it is a shader's.
        function: The kernel, if it is a function with full control.
        is_map: Whether it is a map, which groups are made of.
        is_fusible: Whether it is anything else, which groups may precede and follow.
        is_deferrable: Whether it may be deferred; known once it was called.
        was_alone: Whether it was dispatched by itself, or one of a group that was not fused.
        kind: Of a map, what it is as a part of a fused shader.
        fixed: The facts that fill its attributes.
        accepts_prologue: The inputs that are read through accessors: a group can stand for them.
        accepts_epilogue: Whether each element of the result is written through an accessor.
        reads: How often an element is read; one group of maps is computed so often.
        cost: What it weighs in a group.
        entries: What runs, by the layouts of the inputs and the maps that are fused; False where
            a function has no program for such.
    """

    function: FunctionCall | None = None
    shader: ShaderLowering | None = None
    is_map = is_deferrable = was_alone = accepts_epilogue = False
    is_fusible = True
    kind: Kind | None = None
    fixed: Mapping[str, Any] = MappingProxyType({})
    accepts_prologue: tuple[int, ...] = ()
    reads = cost = 1
    names: tuple[str, ...] = ()
    _asked: Device | None = None

    def __init__(
        self,
        session: Session,
        kernel: str,
        prepare: Callable[[], ShaderLowering | FunctionCall],
        outputs: tuple[Spec, ...] | None,
        host: HostKernel | None = None,
    ) -> None:
        """Take the kernel; where the host may run it, it is prepared when that first does not."""
        self.session = session
        self.kernel = kernel
        self.outputs = outputs or ()
        self.host = host
        self.large = tuple([one for one in self.outputs if one.nbytes >= CHECKED_BYTES])
        self.entries: DeviceCache[Any, LoadedKernel | Literal[False]] = DeviceCache(bytes_of_entry)
        self._prepare: Callable[[], ShaderLowering | FunctionCall] | None = prepare
        if host is None:
            self._prepared()

    def __call__(self, arrays: list[Any]) -> Sequence[Any]:
        """Return a pending array where the kernel may be deferred, else what it gives."""
        if self.host is not None:
            made = self.host.run(arrays)
            if made is not None:
                return made
            if self._prepare is not None:
                self._prepared()
        function, session = self.function, self.session
        if (function is not None and not function.repeats) or session.fusion() == "never":
            return self.run_now(arrays)
        device = session.open()
        if device is not self._asked:
            self._ask(device, arrays)
        if not self.is_deferrable:
            return self.run_now(arrays)
        spec = self.outputs[0]
        if self.large:
            session.check_size(spec)
        if self.is_fusible:
            result = pending(self, arrays, spec, device, Tail())
            session.evaluator.note(result)
            return (result,)
        cost, held_bytes, tail = self.cost, self._nbytes, None
        for one in arrays:
            if one.op is not None:
                cost += one.cost
                held_bytes += one.held_bytes
                if one.tail is not None and one.size == spec.size:
                    tail = one.tail
        if cost > COST_MAX:
            cost = pending_cost(arrays, COST_MAX) + self.cost
        if cost > COST_MAX or held_bytes > PENDING_BYTES:
            for one in arrays:
                if one.op is not None:
                    session.evaluator.make(one, f"a group has at most {TOO_MANY}")
            cost, held_bytes, tail = self.cost, self._nbytes, None
        return (pending(self, arrays, spec, device, tail, cost, held_bytes),)

    def run_now(self, arrays: list[Any]) -> Sequence[Any]:
        """Run the kernel and return its arrays, with their specs where they were not known."""
        function = self.function
        if function is not None and not function.repeats:
            return function.call(arrays)
        device = self.session.open()
        if device is not self.entries.device:
            self.entries.begin(device)
        if self._is_empty:
            return [GpuArray(one.shape, one.dtype, 0, None, None) for one in self.outputs]
        if function is None:
            given = arrays
            self._make_inputs(device, arrays)
        else:
            given = function.held(arrays)
        key = self.key_of(given)
        for spec in self.large:
            self.session.check_size(spec)
        entry = self.entries[key]
        if entry is None:
            entry = self._enter(key, device, arrays)
        if entry is False:
            assert function is not None
            return function.call(arrays)
        if entry.function is not None:
            return self._run_function(entry.loaded, entry.function, given)
        loaded = self._chosen(entry, given) if entry.has_choice else entry.loaded
        if loaded.packed or not loaded.makes_one:
            made = self.run_loaded(loaded, given)
            return [
                GpuArray(spec.shape, spec.dtype, spec.size, one if spec.size else None, device)
                for spec, one in zip(self.outputs, made, strict=True)
            ]
        for n in loaded.bound:
            if given[n].storage is None or given[n].device is not device:
                self.session.make_resident(given[n], self._why)
        only = self.outputs[0]
        return (GpuArray(only.shape, only.dtype, only.size, loaded.make(given), device),)

    def repeat(self, device: Device, made: GpuArray) -> bool:
        """Record what runs for a pending array, if that is known and its inputs are there.

        A map is left to its group unless each input is one number, or fills the array's elements
        in order.
        """
        arrays: Sequence[Any] = made.inputs
        if self.is_map:
            states: list[Any] = []
            for one in arrays:
                if one.size == 1 and one.host is not None:
                    states.append(VALUE)
                    continue
                if one.storage is None or one.device is not device or one.size != made.size:
                    return False
                if one.layout is not None:
                    return False
                states.append(None)
            key = _key_of_map(states, arrays)
        else:
            key = self.key_if_there(device, arrays)
        entry = self.entries[key]
        if not entry or device is not self.entries.device:
            return False
        loaded = entry.loaded
        if loaded.packed or entry.function is not None or (entry.has_choice and entry.is_open):
            return False
        for n in loaded.bound:
            if arrays[n].storage is None:
                return False
        if self.function is not None:
            for one in arrays:
                if one is not None:
                    one.immutable = True
        elif not loaded.makes_one:
            return False
        for spec in self.large:
            self.session.check_size(spec)
        self.was_alone = True
        made.materialise(loaded.make(arrays) if loaded.makes_one else loaded.run(arrays)[0], device)
        return True

    def fused(
        self, device: Device, arrays: Sequence[Any], maps: Maps, leaves: Sequence[Any]
    ) -> tuple[Loaded | None, bool]:
        """Return the program fused with ``maps``, and whether it stays the same for such arrays.

        The inputs that maps stand for are pending; ``leaves`` are the arrays that the groups read.

        Returns:
            None for the program of a function that has none for such arrays, or none that takes
            the epilogue.
        """
        if device is not self.entries.device:
            self.entries.begin(device)
        if self.function is None:
            self._make_inputs(device, arrays, maps.prologues)
        plain = self.key_of(arrays, maps.prologues)
        key = (plain, maps.key)
        entry = None if plain is None else self.entries[key]
        if entry is None:
            entry = self._enter(key, device, arrays, maps, plain)
        if not entry:
            return None, False
        if maps.keeps:
            for spec in self.large:
                self.session.check_size(spec)
        if entry.is_open:
            return self._chosen(entry, [*arrays, *leaves], maps), False
        return entry.loaded, not entry.has_choice

    def key_of(self, arrays: Sequence[Any], prologues: Collection[int] = ()) -> Any:
        """Return what tells programs apart; None: the tuner is to be asked by a run on arrays.

        A shader's inputs are on the device, or are to be taken for different ones; groups stand for
        those in ``prologues``.
        """
        states: list[Any] = []
        for array in arrays:
            if array is None:
                states.append(ABSENT)
            elif array.size == 1 and array.host is not None:
                states.append(VALUE)
            else:
                states.append(array.layout)
        for n in prologues:
            states[n] = COMPUTED
        if self.function is not None:
            known = self.session.tuner.state()
            return None if known is None else (known, *states, same_buffers(arrays))
        return _key_of_map(states, arrays) if self.is_map else tuple(states)

    def key_if_there(self, device: Device, arrays: Sequence[Any]) -> Any:
        """Return the same where all inputs but numbers are on the device, else None."""
        for one in arrays:
            is_value = one is None or (one.size == 1 and one.host is not None)
            if not is_value and (one.storage is None or one.device is not device):
                return None
        return self.key_of(arrays)

    def run_loaded(self, loaded: Loaded, inputs: Sequence[Any]) -> list[Storage]:
        return loaded.run(self.resident(loaded, inputs))

    def resident(self, loaded: Loaded, inputs: Sequence[Any]) -> Sequence[Any]:
        given = inputs
        if loaded.packed:
            given = [*inputs]
            for n in loaded.packed:
                given[n] = self.session.contiguous(given[n])
        for n in loaded.bound:
            if given[n].storage is None or given[n].device is not loaded.device:
                self.session.make_resident(given[n], self._why)
        return given

    def retire(self) -> None:
        """Have groups forget the kernel: its registration has changed."""
        self.session.evaluator.retire(self)

    def _run_function(
        self, loaded: Loaded, function: FunctionProgram, arrays: Sequence[Any]
    ) -> list[GpuArray]:
        """Run a function's program that makes more than one new array, or has values of its own."""
        for number, check in function.checks:
            if arrays[number].host is not None:
                check(arrays[number].host.values)
        given = [*arrays]
        for values, spec in function.constants:
            given.append(self.session.upload(values, spec))
        inputs = self.resident(loaded, given)
        for place, _ in function.results:
            if place is not None and place.kind == "input" and inputs[place.number].op is not None:
                why = f"{self.kernel} makes a view of it"
                self.session.make_resident(inputs[place.number], why)
        return function.arrays(loaded, inputs, self.outputs)

    def _prepared(self) -> None:
        assert self._prepare is not None
        found = self._prepare()
        self._why = f"{self.kernel} takes buffers"
        self._nbytes = 0
        self._is_empty = False
        if isinstance(found, FunctionCall):
            self.function = found
        else:
            self._take_shader(found)
        self._prepare = None  # the last, since another thread may ask

    def _take_shader(self, found: ShaderLowering) -> None:
        self.shader = found
        self.names = found.call.names
        self.is_map = found.form == "map"
        self.is_fusible = not self.is_map
        self.cost = found.cost
        self.accepts_prologue = found.accepts_prologue
        self.accepts_epilogue = found.accepts_epilogue
        self.reads = found.reads
        self._nbytes = device_bytes(self.outputs[0].size, self.outputs[0].dtype)
        self._is_empty = all(one.size == 0 for one in self.outputs)

    def _make_inputs(
        self, device: Device, arrays: Sequence[Any], prologues: Collection[int] = ()
    ) -> None:
        for n, one in enumerate(arrays):
            if one is None or n in prologues or (one.size == 1 and one.host is not None):
                continue
            if one.storage is None or one.device is not device:
                self.session.make_resident(one, self._why)

    def _known(
        self, key: Any, device: Device, arrays: Sequence[Any]
    ) -> LoadedKernel | Literal[False]:
        found = self.entries[key]
        return self._enter(key, device, arrays) if found is None else found

    def _enter(
        self,
        key: Any,
        device: Device,
        arrays: Sequence[Any],
        maps: Maps | None = None,
        plain: Any = None,
    ) -> LoadedKernel | Literal[False]:
        """Lower the kernel for such arrays, with ``maps`` if there are some.

        False: its function is to be called, which is remembered unless the tuner is to decide.
        """
        found: LoadedKernel | Literal[False]
        if self.function is None:
            program, choice = self._lowered(device, arrays, None, maps)
            found = LoadedKernel(Loaded(device, program), choice)
        elif maps is not None:
            known = self._known(plain, device, arrays)
            if known is False or known.function is not None:
                return False
            spliced = splice(device, *known.base(maps))
            found = spliced is not None and LoadedKernel(Loaded(device, spliced))
        else:
            if key is None:
                return False
            try:
                function = self.function.lower(arrays)
            except UndecidedError:
                return False
            found = function is not None and LoadedKernel(
                Loaded(device, function.program),
                None,
                None if function.is_plain else function,
                function.unfused,
            )
        return self.entries.keep(key, found)

    def _lowered(
        self, device: Device, arrays: Sequence[Any], variant: str | None, maps: Maps | None
    ) -> Lowered:
        assert self.shader is not None
        program, choice = self.shader.lower(arrays, device, variant)
        if maps is None:
            return program, choice
        fused = splice(device, program, maps)
        assert fused is not None
        return fused, choice

    def _chosen(
        self, entry: LoadedKernel, inputs: Sequence[Any], maps: Maps | None = None
    ) -> Loaded:
        """Return the variant that the tuner takes; it may measure them all on these inputs."""
        if not entry.is_open:
            return entry.loaded
        device, choice = entry.loaded.device, entry.choice
        assert choice is not None

        def named(name: str) -> Loaded:
            if name == choice.static:
                return entry.loaded
            found = entry.others.get(name)
            if found is None:
                program, _ = self._lowered(device, inputs[: len(self.names)], name, maps)
                found = entry.others[name] = Loaded(device, program)
            return found

        found = self.session.tuner.choose(choice, lambda name: self.run_loaded(named(name), inputs))
        return named(found)

    def _ask(self, device: Device, arrays: list[Any]) -> None:
        """Find out whether the kernel may be deferred, and whether maps may follow in it.

        A user's shader is compiled alone, so that its errors show where it is called, not later. Of
        a function nothing is found out while the tuner is to measure.
        """
        if device is not self.entries.device:
            self.entries.begin(device)
        self.is_deferrable = False
        for spec in self.large:  # before anything of the kernel speaks of such sizes
            self.session.check_size(spec)
        if self.shader is None:
            self._ask_function(device, arrays)
            return
        self._asked = device
        self.kind = None
        if not self.shader.may_be_deferred(arrays, device):
            return
        if self.is_map:
            self.kind = self.shader.kind_of(arrays)
            if self.kind is None:
                return
            self.fixed = self.shader.fixed(arrays)
            if self.shader.is_ours:  # it is compiled when it runs alone, which it may never do
                self.is_deferrable = True
                return
        entry = self._known(self.key_of(arrays), device, arrays)
        assert entry is not False
        if not self.shader.is_ours:
            entry.loaded.compile()
        if self.is_map:
            self.is_deferrable = entry.loaded.makes_one
        else:
            self.is_deferrable = bool(self.accepts_prologue) or self.accepts_epilogue

    def _ask_function(self, device: Device, arrays: list[Any]) -> None:
        if not self.outputs[0].size or any(
            isinstance(one, list) or (one is not None and not one.size) for one in arrays
        ):
            self._asked = device
            return
        entry = self._known(self.key_of(arrays), device, arrays)
        if entry is not False:
            self._asked = device
            self.accepts_epilogue = entry.function is None and entry.takes_epilogue
            self.is_deferrable = self.accepts_epilogue


def _key_of_map(states: list[Any], arrays: Sequence[Any]) -> Any:
    """Return a key that tells, too, which inputs are the same array: it is loaded once."""
    if len(states) != 2:
        return (*states, same_buffers(arrays)) if len(states) > 2 else tuple(states)
    one, two = arrays  # as same_buffers, without the call
    both = one is not None and two is not None and one.storage is not None
    return (*states, both and one.storage is two.storage)
