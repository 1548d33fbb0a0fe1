"""What will run, as a value: a program of dispatches that can be printed, hashed and compared."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.backends.webgpu.arrays.array import Layout
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.programs.building import Bound, Composition
    from wgsl_kernels.engine.values.spec import Shape, Spec
    from wgsl_kernels.wgsl.errors.findings import Finding
    from wgsl_kernels.wgsl.syntax.source_map import SourceMap

Grid = tuple[int, int, int]
Configuration = tuple[tuple[str, Any], ...]
"""What was chosen for a program, by name: a variant, its constants, into how many parts a row goes;
of several choices one after another."""


class BindingResource(NamedTuple):
    """What a binding is bound to.

    ``input`` and ``buffer`` are numbered; ``zeros`` stands for an absent or an empty input,
    ``status`` is where kernels report.
    """

    kind: Literal["input", "buffer", "zeros", "status"]
    number: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.number}" if self.kind in ("input", "buffer") else self.kind


ZEROS, STATUS = BindingResource("zeros"), BindingResource("status")


@dataclass(frozen=True, slots=True)
class Binding:
    """One storage binding of a dispatch.

    Attributes:
        first: The byte at which it begins.
        nbytes: Its bytes: up to the last element that may be read, whole elements of the shader.
        layout: Strides and offset where a view is read as it is, else None.
    """

    name: str
    place: BindingResource
    access: str
    first: int
    nbytes: int
    layout: Layout | None = None

    @property
    def is_buffer(self) -> bool:
        return self.place.kind == "buffer"

    def __str__(self) -> str:
        verb = "reads" if self.access == "read" else "writes"
        view = ""
        if self.layout is not None:
            strides, offset = self.layout
            view = f", strides {show(strides)}, offset {offset}"
        begin = f" from byte {self.first}" if self.first else ""
        return f"{self.name} {verb} {self.place}, {self.nbytes} bytes{begin}{view}"


@dataclass(frozen=True, eq=False, slots=True)
class ShaderModule:
    """A complete WGSL text with its source map; one with the same text and constants is equal."""

    composed: Composed
    constants: tuple[tuple[str, float], ...]
    digest: str

    @classmethod
    def of(cls, composed: Composed, constants: Mapping[str, float] | None = None) -> ShaderModule:
        chosen = tuple((constants or {}).items())
        words = f"{composed.digest}\n{chosen}"
        return cls(composed, chosen, hashlib.sha256(words.encode()).hexdigest())

    @property
    def text(self) -> str:
        return self.composed.text

    @property
    def source_map(self) -> SourceMap:
        return self.composed.source_map

    def annotated(self) -> str:
        """Return the text, each line with the file and line that it came from."""
        origins = [self._origin(line) for line in range(1, self.text.count("\n") + 2)]
        width = max(map(len, origins))
        lines = zip(origins, self.text.split("\n"), strict=True)
        return "\n".join(f"{origin:<{width}} | {line}".rstrip() for origin, line in lines)

    def _origin(self, line: int) -> str:
        written = self.source_map.composed.line(line)
        column = len(written) - len(written.lstrip()) + 1
        _, place = self.source_map.origin(line, column)
        composed = place.file == self.source_map.composed.file
        return "" if composed else f"{place.file}:{place.line}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShaderModule) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"ShaderModule({self.composed.kernel!r}, {self.digest[:12]})"


class StatusReport(NamedTuple):
    """What the words of an error that a kernel reports are made of.

    Attributes:
        names: Its inputs; a report says which.
        ended: What is found where the adapter has ended its loops.
    """

    kernel: str
    names: tuple[str, ...]
    shapes: tuple[tuple[str, Shape], ...]
    ended: Finding | None = None


@dataclass(frozen=True, slots=True)
class ParamBlock:
    """The parameters of a dispatch.

    Attributes:
        data: The bytes, zeros where something in them changes from run to run.
        values: The inputs of one number that travel here: a fact and an input's number.
        report: What the shader's reports of wrong values are about, None where it makes none.
        facts: What fills the fields, but for values.
    """

    data: bytes
    values: tuple[tuple[str, int], ...] = ()
    report: StatusReport | None = None
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)

    @property
    def is_fixed(self) -> bool:
        return not self.values and self.report is None


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One dispatch.

    Attributes:
        grid: Workgroups along x, y and z.
        bindings: Its storage bindings, in the order of the text's.
        accepts_prologue: The inputs, by name, for which maps may be computed in it.
        accepts_epilogue: Whether maps of what it writes may follow in it.
        cut: Why fusion stopped behind it, where a limit ended it.
        composition: How its text was composed, so that maps can be fused into it.
        bound: What its names are bound to, likewise.
    """

    module: ShaderModule
    grid: Grid
    bindings: tuple[Binding, ...]
    params: ParamBlock
    kernels: tuple[str, ...]
    accepts_prologue: frozenset[str] = frozenset()
    accepts_epilogue: bool = False
    cut: str = ""
    composition: Composition | None = field(default=None, compare=False, repr=False)
    bound: Bound | None = field(default=None, compare=False, repr=False)

    def moved(self, place: Callable[[BindingResource], BindingResource]) -> Dispatch:
        """Return the same on other buffers: those that ``place`` gives for its own.

        Raises:
            ValueError: Inputs of it travel as parameters, whose numbers are no places.
        """
        bound = self.bound
        if self.params.values or (bound is not None and bound.values):
            raise ValueError(f"{self.kernels}: inputs travel as parameters")
        return replace(
            self,
            bindings=tuple([replace(one, place=place(one.place)) for one in self.bindings]),
            bound=None if bound is None else bound.moved(place),
        )

    @property
    def reads(self) -> tuple[Binding, ...]:
        return tuple(one for one in self.bindings if one.access == "read")

    @property
    def writes(self) -> tuple[Binding, ...]:
        return tuple(one for one in self.bindings if one.access != "read")

    def writes_to(self, place: BindingResource) -> bool:
        return any(one.place == place for one in self.writes)

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.composition is None else self.composition.notes

    @property
    def label(self) -> str | tuple[str, ...]:
        """The kernel's name, or all names, as recorders want it."""
        return self.kernels[0] if len(self.kernels) == 1 else self.kernels

    def __str__(self) -> str:
        grid = " x ".join(map(str, self.grid))
        group = " x ".join(map(str, self.module.composed.workgroup_size))
        lines = [f"{' + '.join(self.kernels)}: {grid} workgroups of {group}, {self._params()}"]
        lines += [f"  {one}" for one in self.bindings]
        if self.module.composed.form != "map":  # one of maps is fused by composing it anew
            prologue = f"a prologue for {', '.join(sorted(self.accepts_prologue))}"
            epilogue = "an epilogue" if self.accepts_epilogue else "no epilogue"
            accepted = prologue if self.accepts_prologue else "no prologue"
            lines.append(f"  accepts {accepted}, {epilogue}")
        lines += [f"  {one}" for one in self.notes]
        if self.cut:
            lines.append(f"  ends here: a dispatch has at most {self.cut}")
        return "\n".join(lines)

    def show(self) -> str:
        """Return everything with the text, each line with its origin."""
        return f"{self}\n\n// module {self.module.digest[:12]}\n{self.module.annotated()}"

    def _params(self) -> str:
        values = "".join(f", {fact} from input {number}" for fact, number in self.params.values)
        return f"{len(self.params.data)} bytes of parameters{values}"


@dataclass(frozen=True, slots=True)
class Program:
    """Dispatches in order, on buffers that they make.

    Attributes:
        buffers: What it makes: results, and temporaries between dispatches.
        outputs: Which of the buffers are its results.
        packed: The inputs that it reads contiguous: a view is copied for it first.
    """

    dispatches: tuple[Dispatch, ...]
    buffers: tuple[Spec, ...]
    outputs: tuple[int, ...]
    configuration: Configuration = ()
    packed: frozenset[int] = frozenset()

    @property
    def chosen(self) -> dict[str, str]:
        """What was chosen for it, as it is shown: in words, by name."""
        from wgsl_kernels.backends.webgpu.templates.constants import shown  # the language: late

        found: dict[str, list[str]] = {}
        for name, value in self.configuration:
            found.setdefault(name, []).append(shown(value))
        return {name: " + ".join(dict.fromkeys(values)) for name, values in found.items()}

    def compact(self) -> Program:
        """Return the same without the buffers that nothing is bound to."""
        bound = {b.place.number for d in self.dispatches for b in d.bindings if b.is_buffer}
        kept = sorted(bound | {*self.outputs})
        number = {old: new for new, old in enumerate(kept)}

        def moved(one: Binding) -> Binding:
            if not one.is_buffer:
                return one
            return replace(one, place=BindingResource("buffer", number[one.place.number]))

        dispatches = [
            replace(one, bindings=tuple([moved(b) for b in one.bindings]))
            for one in self.dispatches
        ]
        buffers = tuple([self.buffers[old] for old in kept])
        outputs = tuple([number[old] for old in self.outputs])
        return replace(self, dispatches=tuple(dispatches), buffers=buffers, outputs=outputs)

    def __str__(self) -> str:
        chosen = ", ".join(f"{name} {value}" for name, value in self.chosen.items())
        lines = [f"configuration: {chosen or 'none'}"]
        for number, spec in enumerate(self.buffers):
            what = "result" if number in self.outputs else "temporary"
            lines.append(f"buffer {number}: {show(spec.shape)} {spec.dtype}, a {what}")
        lines += [f"input {number} is read contiguous" for number in sorted(self.packed)]
        for number, one in enumerate(self.dispatches, start=1):
            lines.append(f"{number}. {one}")
        return "\n".join(lines)
