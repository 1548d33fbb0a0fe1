"""Making deferred arrays: the programs of their groups, remembered by structure."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from wgsl_kernels.backends.webgpu.devices.lifetime import DeviceCache
from wgsl_kernels.backends.webgpu.fusion.graph import VIEW, FusionGroup, is_pending_input
from wgsl_kernels.backends.webgpu.fusion.groups import cut, lower_group
from wgsl_kernels.backends.webgpu.fusion.parts import structure_of
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.runtime.fusible_kernels import (
    FusibleKernels,
    GroupRun,
    GroupRuns,
    bytes_of_group,
)
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DTypeError,
    OutOfMemoryError,
    ShaderError,
    ShapeError,
)
from wgsl_kernels.engine.environment.origin import line_of
from wgsl_kernels.engine.environment.recent import Recent
from wgsl_kernels.engine.registry.registry import note_failure
from wgsl_kernels.wgsl.errors.errors import coded

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.arrays.host_values import Words
    from wgsl_kernels.backends.webgpu.composing.text.structure import Structure
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.fusion.groups import GroupDispatch
    from wgsl_kernels.backends.webgpu.fusion.parts import FusedStructure
    from wgsl_kernels.backends.webgpu.tuning.tuner import Tuner
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Spec


SEEN_BYTES = 3000
"""What a structure takes that is remembered."""
FUSED_EARLY = 32
"""Structures of maps that may be fused on first use in a process that has run nothing yet."""
EARNED_BY = 256
"""Dispatches for which there may be another: they take about as long as one is compiled."""


class SeenStructures:
    """The structures that one backend has met."""

    def __init__(self) -> None:
        self._keys: Recent[Any, bool] = Recent(SEEN_BYTES)
        self._early = 0

    def is_new(self, key: Any) -> bool:
        """Say whether a structure was never met, and remember it."""
        if self._keys[key]:
            return False
        self._keys.keep(key, True)
        return True

    def may_be_early(self, recorded: int, cost: int) -> bool:
        """Say whether a new structure may be fused at once, where so many dispatches ran; count it.

        Most programs are loops, in which it recurs; of those that are not, this bounds the cost.
        """
        if self._early + cost > FUSED_EARLY + recorded // EARNED_BY:
            return False
        self._early += cost
        return True

    def ran_separately(self, structure: Structure) -> None:
        self._keys.keep(structure.maps, True)

    def was_separate(self, group: FusionGroup, structure: Structure) -> bool:
        """Say whether the maps of a group ran before, behind what was made by itself."""
        if len(structure.steps) == 1:
            return bool(group.nodes[-1].op.was_alone)
        return self._keys[structure.maps] is not None


CALLED = "The op was called at"
LATE = (OutOfMemoryError, ShaderError, ArgumentError, ShapeError, DTypeError)
"""What may go wrong only when a deferred array is made."""


class Evaluator:
    """Makes the deferred arrays of one backend."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.seen = SeenStructures()
        self._runs: GroupRuns = DeviceCache(bytes_of_group)
        self._retired: WeakSet[Any] = WeakSet()  # where nothing is fused nobody takes them out
        self._retiring = threading.RLock()
        self.fusible_kernels = FusibleKernels(self, self._runs)

    def make(self, root: GpuArray, why: str) -> None:
        """Make ``root`` an ordinary array, and with it what else its dispatches write.

        ``why`` it cannot stay deferred is for `explain`.

        Raises:
            OutOfMemoryError, DeviceLostError: It cannot be made; it stays deferred. The message
                names the line that called the op.
        """
        device = self.session.open()
        with device.lock:
            before, device.cause = device.cause, why
            try:
                if device is not self._runs.device:
                    self._runs.begin(device)
                if self._retired:
                    self._drop_retired()
                while root.op is not None:
                    op = root.op
                    if op is VIEW:
                        _share(root, self)
                    elif op.repeat(device, root):
                        break
                    elif op.is_fusible:
                        self.fusible_kernels.make(device, root)
                    else:
                        self._run_group(device, root)
            except LATE as error:
                if isinstance(error, ShaderError) and root.op is not None:
                    note_failure(getattr(root.op, "kernel", ""))
                if root.place is None or CALLED in str(error):
                    raise
                message = f"{error}\n{CALLED} {line_of(root.place)}."
                if isinstance(error, ShaderError):
                    raise coded(error.code, message) from None
                raise type(error)(message) from None
            finally:
                device.cause = before

    def note(self, array: GpuArray) -> None:
        self.fusible_kernels.note(array)

    def retire(self, launch: Any) -> None:
        """Forget the groups with a launch whose registration has changed, before the next one."""
        with self._retiring:
            self._retired.add(launch)

    def _drop_retired(self) -> None:
        with self._retiring:
            retired = set(self._retired)
            self._retired.clear()
        self._runs.drop(lambda key, _: key[0] in retired or not retired.isdisjoint(key[1][0]))

    def make_deferred(self) -> None:
        self.fusible_kernels.make_deferred()

    def _run_group(self, device: Device, root: GpuArray) -> None:
        """Make a map's group, or something that it needs first."""
        group = FusionGroup((root,))
        if not group.foreign:
            self._run(device, group)
            return
        at = group.foreign[0]
        if len(group.foreign) > 1:
            before = self._fusible_of(group)
            at = next(n for n in group.foreign if n != before)
        elif self._may_follow(group, at) and self.fusible_kernels.follow(device, group, at):
            return
        first = group.leaves[at]
        del group  # it would count as somebody who holds these arrays
        self.make(first, "what uses it has another shape or another kernel before it")

    def _fusible_of(self, group: FusionGroup) -> int | None:
        """Return the leaf whose kernel the group may follow: none that another leaf is made of."""
        others = [group.leaves[n] for n in group.foreign]
        for n in group.foreign:
            if self._may_follow(group, n) and not is_pending_input(group.leaves[n], others):
                return n
        return None

    def _may_follow(self, group: FusionGroup, number: int) -> bool:
        """Say whether a leaf is made by a kernel that the group may follow."""
        op, size = group.leaves[number].op, group.leaves[number].size
        return op.is_fusible and op.accepts_epilogue and size == group.nodes[-1].size

    def _run(self, device: Device, group: FusionGroup) -> None:
        states = self.states(device, group)
        if len(group.nodes) == 1 and _is_flat(group, states):
            self._alone(group, 0)
            return
        key = (None, group.key(), states)
        found = self._runs[key]
        if found is None:
            found = self._loaded(device, group, states)
            if found is None:
                device.cause += "; one by one, since such a group is new or too large"
                self._run_separately(group)
                return
            self._runs.keep(key, found)
        assert isinstance(found, GroupRun)
        for number, storage in zip(found.nodes, found.loaded.run(group.leaves), strict=True):
            group.nodes[number].materialise(storage, device)
        if group.has_views:
            self.share_views(group)

    def share_views(self, group: FusionGroup) -> None:
        """Give the views that somebody holds what they are views of."""
        for array, is_held in zip(group.nodes, group.held, strict=True):
            if array.op is VIEW and is_held:
                _share(array, self)

    def states(
        self, device: Device, group: FusionGroup, given: int | None = None
    ) -> tuple[Any, ...]:
        """Have the leaves but ``given`` on the device; return the layout of each."""
        states: list[Any] = []
        for number, array in enumerate(group.leaves):
            if number == given:
                states.append("given")
                continue
            if array.size == 1 and array.host is not None:
                states.append("value")
                continue
            if array.storage is None or array.device is not device:
                self.session.make_resident(array)
            states.append(array.layout)
        return tuple(states)

    def _run_separately(self, group: FusionGroup) -> None:
        """Make the nodes one by one, giving up each that nobody needs any more."""
        nodes = group.nodes
        last = {ref: n for n, refs in enumerate(group.refs) for ref in refs if ref >= 0}
        done: dict[int, list[int]] = {}
        for ref, n in last.items():
            if not group.held[ref]:
                done.setdefault(n, []).append(ref)
        for number in range(len(nodes)):
            self._alone(group, number)
            for ref in done.get(number, ()):
                nodes[ref] = nodes[-1]

    def _alone(self, group: FusionGroup, number: int) -> None:
        """Make one node with the program of its kernel."""
        array = group.nodes[number]
        if array.op is VIEW:
            _share(array, self)
            return
        array.op.was_alone = True
        made = array.op.run_now(list(array.inputs))[0]
        array.materialise(made.storage, made.device)

    def _loaded(
        self, device: Device, group: FusionGroup, states: tuple[Any, ...]
    ) -> GroupRun | None:
        """Return the program of a group; None if a structure is new or cannot be fused."""
        most = device.limits["max-storage-buffers-per-shader-stage"]
        parts: list[tuple[GroupDispatch, FusedStructure]] = []
        fits = True
        for part in cut(group, [state != "value" for state in states], most):
            found = structure_of(group, part)
            if found is None:
                return None
            if self.is_new(found.structure.key):
                self.seen.ran_separately(found.structure)
                fits = False
            parts.append((part, found))
        if not fits or self.is_too_large(device, group):
            return None
        program, nodes = lower_group(group, parts, device)
        return GroupRun(Loaded(device, program), nodes)

    def is_new(self, key: Any, cost: int = 1) -> bool:
        """Say whether a structure is not to be fused yet: new ones beyond a number must recur."""
        if not self.seen.is_new(key) or self.session.fusion() == "always":
            return False
        return not self.seen.may_be_early(self.session.open().recorded, cost)

    def is_too_large(self, device: Device, group: FusionGroup) -> bool:
        arrays = (*group.leaves, *group.nodes)
        largest = device.largest_binding
        return any(
            Argument(one.shape, one.dtype, one.layout).bound_bytes > largest for one in arrays
        )


def _is_flat(group: FusionGroup, states: tuple[Any, ...]) -> bool:
    """Say whether every leaf is one number, or has the elements of the group in order."""
    size = group.nodes[0].size
    return all(
        state == "value" or (state is None and leaf.size == size)
        for leaf, state in zip(group.leaves, states, strict=True)
    )


def _share(view: GpuArray, evaluator: Evaluator) -> None:
    """Give a view the storage of its base."""
    base = view.inputs[0]
    if base.op is not None:
        evaluator.make(base, "a view of it is needed")
    view.materialise(base.storage, base.device)


class Session(Protocol):
    """One backend; see `WebGpuBackend`."""

    @property
    def tuner(self) -> Tuner: ...
    @property
    def evaluator(self) -> Evaluator: ...
    def open(self) -> Device: ...
    def fusion(self) -> str: ...
    def check_size(self, spec: Spec) -> None: ...
    def make_resident(self, array: GpuArray, why: str = "") -> None: ...
    def contiguous(self, array: GpuArray) -> GpuArray: ...
    def copy(self, array: GpuArray) -> GpuArray: ...
    def upload(self, values: Array, spec: Spec) -> GpuArray: ...
    def download(self, array: GpuArray, spec: Spec) -> Array: ...
    def fill(self, array: GpuArray, words: Words) -> None: ...
