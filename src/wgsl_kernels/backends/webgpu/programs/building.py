"""Building dispatches: a text is composed, its bindings find their places, its parameters pack."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol
from weakref import WeakValueDictionary

from wgsl_kernels.backends.webgpu.composing.compose import Options, compose
from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
from wgsl_kernels.backends.webgpu.kept.kept_values import kept_values
from wgsl_kernels.backends.webgpu.programs.program import (
    STATUS,
    ZEROS,
    Binding,
    BindingResource,
    Dispatch,
    ParamBlock,
    ShaderModule,
    StatusReport,
)
from wgsl_kernels.engine.environment.errors import ArgumentError, OutOfMemoryError
from wgsl_kernels.engine.registry.registrations import announce_change
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy
    from wgsl_kernels.backends.webgpu.composing.text.composed import BoundBuffer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.programs.arguments import Argument
    from wgsl_kernels.backends.webgpu.programs.program import Grid

FOLD = 65535
"""Workgroups along one axis of a grid; larger grids fold into two dimensions."""
Epilogue = Literal["none", "elements", "vec4", "vec4 alone"]
"""What of a result maps may follow: nothing, elements, groups of four; or these only where the
result itself is not written."""


PLAIN = Options()


class Adapter(Protocol):
    """What lowering asks of a device: facts and rules, and nothing that runs."""

    @property
    def policy(self) -> Policy:
        """The rules that follow from what kind of adapter it is."""

    @property
    def features(self) -> frozenset[str]:
        """Its features, by wgpu's names."""

    @property
    def limits(self) -> Mapping[str, int]:
        """Its limits, by WebGPU's names."""

    @property
    def largest_binding(self) -> int: ...


@dataclass(frozen=True, eq=False, slots=True)
class Composition:
    """How the text of a dispatch was composed.

    Attributes:
        source: The author's; of a group of maps its first map's.
        inputs: What the composer knows of its inputs; nothing of a group's, which knows them.
        attrs: Names of attributes, and of fields that ``params=`` returns.
        epilogue: What may follow in the dispatch.
        notes: Lines that `explain` prints with it.
    """

    kernel: str
    source: Source
    inputs: tuple[Operand, ...] = ()
    outputs: tuple[Operand, ...] = ()
    attrs: tuple[str, ...] = ()
    options: Options = PLAIN
    constants: tuple[tuple[str, float], ...] = ()
    epilogue: Epilogue = "none"
    notes: tuple[str, ...] = ()

    def composed(self) -> Composed:
        """Return the text that some program has, or another process had, else a new one."""
        key = self._key()
        found = _composed.get(key)
        if found is None:
            found = _composed[key] = _kept(key, self._made)
        return found

    def _made(self) -> Composed:
        return compose(
            self.kernel,
            self.source,
            self.inputs,
            self.outputs,
            attrs=self.attrs,
            constants=dict(self.constants),
            options=self.options,
        )

    def _key(self) -> tuple[Any, ...]:
        options = self.options
        after, maps = options.after and options.after.key, options.maps and options.maps.key
        groups = (*[one.key for one in options.before], after, maps)
        values = tuple(sorted(self.constants))
        operands = self.inputs, self.outputs, self.attrs
        return self.kernel, self.source.digest, *operands, options, groups, values


_composed: WeakValueDictionary[tuple[Any, ...], Composed] = WeakValueDictionary()
"""What programs have, by what it was composed of."""


def _kept(key: tuple[Any, ...], make: Callable[[], Composed]) -> Composed:
    """Return the text that another process has composed for a key, else a new one."""
    values = kept_values()
    if values is None:
        return make()
    packed = values.find("text", key)
    if packed is not None:
        return Composed.unpacked(packed, make)
    made = make()
    packed = made.packed()
    if packed is not None:
        values.keep(packed, "text", key)
    return made


@dataclass(frozen=True, eq=False, slots=True)
class Bound:
    """What the names of a text are bound to.

    Attributes:
        partials: Where partial results are, and their bytes.
        windows: (offset, bytes) of the part of a tensor that this dispatch binds, by name; counted
            from its first byte.
        values: Inputs that travel as parameters, besides those of its names: a fact and an input's
            number.
    """

    arguments: Mapping[str, Argument]
    partials: tuple[BindingResource, int] | None = None
    windows: Mapping[str, tuple[int, int]] | None = None
    values: tuple[tuple[str, int], ...] = ()

    def in_parts(self, number: int, nbytes: int) -> tuple[Bound, Spec]:
        """Return the same with partial results in the buffer of that number, and its spec."""
        bound = replace(self, partials=(BindingResource("buffer", number), nbytes))
        return bound, Spec((-(-nbytes // 4),), "int32")

    def moved(self, place: Callable[[BindingResource], BindingResource]) -> Bound:
        """Return the same in other places: those that ``place`` gives for its own."""
        arguments = {
            name: replace(one, place=place(one.place)) for name, one in self.arguments.items()
        }
        partials = self.partials
        if partials is not None:
            partials = (place(partials[0]), partials[1])
        return replace(self, arguments=arguments, partials=partials)


def build(
    adapter: Adapter,
    composition: Composition,
    composed: Composed,
    grid: Grid,
    bound: Bound,
    facts: Mapping[str, Any],
    *,
    prologue: frozenset[str] = frozenset(),
    kernels: tuple[str, ...] = (),
    cut: str = "",
) -> Dispatch:
    """Return the dispatch of a composed text.

    Raises:
        OutOfMemoryError: A binding is above the adapter's limit.
        ShaderError: A parameter does not fit its field.
    """
    slots = [one for one in composed.bindings if one.role != "params"]
    values = [
        (f"{one.name}_value", bound.arguments[one.name].place.number)
        for one in composition.inputs
        if one.access == "value" and bound.arguments[one.name].is_value
    ]
    values += bound.values
    report = _report(composition, composed, bound.arguments) if composed.uses_status else None
    changes = bool(values or report is not None)
    return Dispatch(
        module=ShaderModule.of(composed, dict(composition.constants)),
        grid=grid,
        bindings=tuple([_binding(adapter, composed.kernel, one, bound) for one in slots]),
        params=ParamBlock(
            composed.first_block(facts, changes=changes), tuple(values), report, dict(facts)
        ),
        kernels=kernels or (composition.kernel,),
        accepts_prologue=prologue,
        accepts_epilogue=composition.epilogue != "none" and report is None,
        cut=cut,
        composition=composition,
        bound=bound,
    )


def _binding(adapter: Adapter, kernel: str, slot: BoundBuffer, bound: Bound) -> Binding:
    step = max(4, slot.stride)
    layout, start = None, 0
    argument = None if slot.is_absent else bound.arguments.get(slot.name)
    if slot.role == "status":
        return Binding(slot.name, STATUS, slot.access, 0, 0)
    if slot.role == "partials":
        assert bound.partials is not None
        place, nbytes = bound.partials
    elif argument is None or argument.place == ZEROS:
        place, nbytes = ZEROS, 16
    else:
        place, layout = argument.place, argument.layout
        nbytes, start = argument.bound_bytes or 16, argument.first_byte
    first, nbytes = (bound.windows or {}).get(slot.name, (0, nbytes))
    rounded = -(-nbytes // step) * step
    if rounded > adapter.largest_binding:
        raise OutOfMemoryError(
            f"asked for {rounded} bytes in one binding ({kernel}: {slot.name}).\n"
            f"The device binds at most {adapter.largest_binding} bytes at once "
            "(max-storage-buffer-binding-size). Split the tensor."
        )
    return Binding(slot.name, place, slot.access, start + first, rounded, layout)


def _report(
    composition: Composition, composed: Composed, arguments: Mapping[str, Argument]
) -> StatusReport:
    names = tuple([one.name for one in composition.inputs])
    shapes = tuple([(name, one.shape) for name, one in arguments.items()])
    ended = None
    if composition.source.checks_loops:
        from wgsl_kernels.backends.webgpu.composing.text.long_loops import long_loops, what_ended

        loops = long_loops(composition.source, composed.form)
        ended = what_ended(composition.kernel, loops) if loops else None
    return StatusReport(composition.kernel, names, shapes, ended)


_most_groups = [FOLD]


@contextmanager
def folding_at(most: int) -> Iterator[None]:
    """Fold the grids of a block from so few workgroups on, to see what large ones do."""
    before, _most_groups[0] = _most_groups[0], most
    announce_change()
    try:
        yield
    finally:
        _most_groups[0] = before
        announce_change()


def fold(total: int, most: int = 0) -> Grid:
    """Return a grid of at least ``total`` workgroups, ``most`` along an axis (0: as devices do).

    There are more along the first axis where the second would have more than devices allow.
    """
    most = max(most or _most_groups[0], -(-total // FOLD))
    if total <= most:
        return (total, 1, 1)
    rows = -(-total // most)
    return (-(-total // rows), rows, 1)


def grid_of(kernel: str, groups: Any) -> Grid:
    """Return the workgroup counts that an author gave: one to three whole numbers."""
    counts: Sequence[Any] = tuple(groups) if isinstance(groups, (tuple, list)) else ()
    try:
        whole = [int(one) for one in counts]
    except (TypeError, ValueError, OverflowError):
        whole = []
    fits = 1 <= len(whole) <= 3 and min(whole) >= 0
    if not fits or any(a != b for a, b in zip(whole, counts, strict=True)):
        raise ArgumentError(f"{kernel}: groups is {groups!r}; want one to three whole numbers.")
    x, y, z = (*whole, 1, 1)[:3]
    return (x, y, z)
