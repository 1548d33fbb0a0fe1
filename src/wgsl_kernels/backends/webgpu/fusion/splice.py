"""Fusing maps into a program: those before what it reads, those behind what it writes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.building import build
from wgsl_kernels.backends.webgpu.programs.program import BindingResource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.fusion.parts import Fused
    from wgsl_kernels.backends.webgpu.programs.building import Adapter, Composition
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Program


@dataclass(frozen=True, eq=False)
class Maps:
    """Groups of maps for one run of a kernel.

    Their leaves are inputs of the fused program, behind the kernel's own: those of the prologues
    in order, then those of the epilogue.

    Attributes:
        count: How many inputs the kernel has.
        names: What they are called, where a group stands for one.
        prologues: A group by the number of the input that it stands for.
        keeps: Whether the kernel's own result is written, too.
    """

    count: int
    names: tuple[str, ...] = ()
    prologues: Mapping[int, Fused] = field(default_factory=dict[int, "Fused"])
    epilogue: Fused | None = None
    keeps: bool = True

    @property
    def key(self) -> Any:
        before = tuple([(index, one.key) for index, one in self.prologues.items()])
        return before, None if self.epilogue is None else self.epilogue.key, self.keeps

    @property
    def can_be_vec4(self) -> bool:
        """Whether the prologues can be computed for four elements at once."""
        return all(one.quads is not None for one in self.prologues.values())

    def places(self) -> dict[str, int]:
        """Return the number of the first leaf of each group as an input, by the group's prefix."""
        found: dict[str, int] = {}
        at = self.count
        for one in (*self.prologues.values(), *self.behind):
            found[one.prefix] = at
            at += len(one.leaves)
        return found

    @property
    def behind(self) -> tuple[Fused, ...]:
        return () if self.epilogue is None else (self.epilogue,)


def splice(adapter: Adapter, program: Program, maps: Maps) -> Program | None:
    """Return a program with maps fused into it; None if no dispatch of it takes the epilogue.

    Its results are the kernel's own, if that is kept, then what the epilogue writes.
    """
    assert len(program.outputs) == 1
    own = program.outputs[0]
    if maps.epilogue is not None and not takes_epilogue(program):
        return None
    place = BindingResource("buffer", own)
    takes = [one.accepts_epilogue and one.writes_to(place) for one in program.dispatches]
    made = [] if maps.epilogue is None else maps.epilogue.made()
    buffers = (*program.buffers, *(spec for _, spec in made))
    numbers = range(len(program.buffers), len(buffers))
    results = {name: Argument.made(spec, n) for (name, spec), n in zip(made, numbers, strict=True)}
    dispatches = [
        _fused(adapter, one, maps, results, takes=taken and maps.epilogue is not None)
        for one, taken in zip(program.dispatches, takes, strict=True)
    ]
    outputs = (own, *numbers) if maps.keeps else tuple(numbers)
    fused = replace(
        program,
        dispatches=_needed(dispatches, outputs),
        buffers=buffers,
        outputs=outputs,
        packed=program.packed - maps.prologues.keys(),
    )
    return fused.compact()


def takes_epilogue(program: Program) -> bool:
    """Say whether maps of a program's one result can follow in the only dispatch that writes it."""
    (own,) = program.outputs
    place = BindingResource("buffer", own)
    writers = [one for one in program.dispatches if one.writes_to(place)]
    return len(writers) == 1 and writers[0].accepts_epilogue


def _fused(
    adapter: Adapter,
    dispatch: Dispatch,
    maps: Maps,
    results: Mapping[str, Argument],
    *,
    takes: bool,
) -> Dispatch:
    before = {
        n: one for n, one in maps.prologues.items() if maps.names[n] in dispatch.accepts_prologue
    }
    composition, bound = dispatch.composition, dispatch.bound
    if composition is None or bound is None or not (before or takes):
        return dispatch
    wide = composition.options.wide and (not before or maps.can_be_vec4)
    loops = takes and _loops(adapter, maps)
    vec4 = takes and not loops and _takes_vec4(composition, maps)
    options = replace(
        composition.options,
        wide=wide,
        before=tuple([one.before(maps.names[n], wide=wide) for n, one in before.items()]),
    )
    facts = dict(dispatch.params.facts)
    arguments = dict(bound.arguments)
    values: list[tuple[str, int]] = []
    kernels = [name for one in before.values() for name in one.kernels]
    kernels += dispatch.kernels
    places = maps.places()
    for n, one in before.items():
        arguments.pop(maps.names[n], None)
        _add(one, places[one.prefix], facts, arguments, values, vec4=wide)
    if takes:
        assert maps.epilogue is not None
        options = replace(
            options, after=maps.epilogue.after(keeps=maps.keeps, wide=vec4, loops=loops)
        )
        first = places[maps.epilogue.prefix]
        _add(maps.epilogue, first, facts, arguments, values, vec4=vec4)
        arguments |= results
        kernels += maps.epilogue.kernels
    fused = replace(composition, options=options, epilogue="none")
    return build(
        adapter,
        fused,
        fused.composed(),
        dispatch.grid,
        replace(bound, arguments=arguments, values=tuple(values)),
        facts,
        kernels=tuple(kernels),
    )


def _loops(adapter: Adapter, maps: Maps) -> bool:
    """Say whether four elements are handed on to the epilogue in a loop."""
    assert maps.epilogue is not None
    elements = max([spec.size for _, spec in maps.epilogue.made()], default=0)
    return adapter.policy.loops_over_epilogue(len(maps.epilogue.specs), elements)


def _takes_vec4(composition: Composition, maps: Maps) -> bool:
    if maps.epilogue is None or maps.epilogue.quads is None:
        return False
    return composition.epilogue == "vec4" or (
        composition.epilogue == "vec4 alone" and not maps.keeps
    )


def _add(
    one: Fused,
    first: int,
    facts: dict[str, Any],
    arguments: dict[str, Argument],
    values: list[tuple[str, int]],
    *,
    vec4: bool,
) -> None:
    """Add what a group reads to a dispatch; its first leaf is input ``first``."""
    facts |= one.facts(wide=vec4)
    arguments |= one.arguments(first)
    values += one.values(first)


def _needed(dispatches: list[Dispatch], outputs: tuple[int, ...]) -> tuple[Dispatch, ...]:
    """Return the dispatches without those whose results nothing reads any more."""
    wanted = set(outputs)
    found: list[Dispatch] = []
    for one in reversed(dispatches):
        written = {w.place.number for w in one.writes if w.place.kind == "buffer"}
        if written & wanted:
            found.append(one)
            wanted |= {r.place.number for r in one.reads if r.place.kind == "buffer"}
    return tuple(reversed(found))
