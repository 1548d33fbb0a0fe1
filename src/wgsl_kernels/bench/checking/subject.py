"""What is checked: one kernel with its samples, where it was written, and what it ran as."""

from __future__ import annotations

import functools
import inspect
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wgsl_kernels.backends.webgpu.composing.text.composed import is_kernels_own
from wgsl_kernels.backends.webgpu.composing.text.operands import classify
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import KernelFault, ShaderError
from wgsl_kernels.engine.observe.explain import explain
from wgsl_kernels.engine.registry.gradients import bind, find_rule
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.testing.inputs import arrays_for, tensors_for
from wgsl_kernels.wgsl.errors.findings import Finding
from wgsl_kernels.wgsl.errors.placed import placed_finding
from wgsl_kernels.wgsl.lint.remarks import root_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.constants import ConstantValues

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, ShaderModule
    from wgsl_kernels.bench.checking.cases import Case
    from wgsl_kernels.engine.environment.origin import Origin
    from wgsl_kernels.engine.registry.registry import Kernel
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.syntax.places import Span

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
About: TypeAlias = Literal["kernel", "cpu", "signature", "gradient"]
_REGISTERED: Mapping[About, Callable[[str], Any]] = {
    "kernel": lambda name: None,
    "cpu": lambda name: get_kernel(name, "cpu"),
    "signature": find_signature,
    "gradient": find_rule,
}
"""What a finding may be about, beside the kernel that is checked, by a kernel's name."""


@dataclass(frozen=True)
class Subject:
    """One kernel under check.

    Attributes:
        name: The kernel's name.
        samples: How it is tried.
        backends: Where.
        ended: Cases whose loops the adapter has ended.
        refused: Cases that the signature or the CPU kernel refused, and what they said.
        outside: Places of accesses outside of arrays that were told of an author's folded grid.
    """

    name: str
    samples: tuple[Sample, ...]
    backends: tuple[str, ...]
    ended: list[str] = field(default_factory=list[str], compare=False)
    refused: list[tuple[Case, Exception]] = field(
        default_factory=list["tuple[Case, Exception]"], compare=False
    )
    outside: set[str] = field(default_factory=set[str], compare=False)
    _ran: dict[int, tuple[Sample, list[Dispatch]]] = field(
        default_factory=dict[int, "tuple[Sample, list[Dispatch]]"], compare=False
    )

    @property
    def on_gpu(self) -> bool:
        """Whether the webgpu backend is checked, too."""
        return "webgpu" in self.backends

    @functools.cached_property
    def kernel(self) -> Kernel | None:
        """The kernel on webgpu, else that on cpu."""
        return get_kernel(self.name, "webgpu") or get_kernel(self.name, "cpu")

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs, as the signature has them; none without one."""
        declared = find_signature(self.name)
        return () if declared is None else tuple([one.name for one in declared.inputs])

    @property
    def shader(self) -> ShaderKernel | None:
        """The kernel's shader, where it is one."""
        func = None if self.kernel is None else self.kernel.func
        return func if isinstance(func, ShaderKernel) else None

    @property
    def is_ours(self) -> bool:
        """Whether the kernel is one of the package, which is tried in more ways by its tests."""
        return self.origin is None or self.origin.is_ours

    @functools.cached_property
    def is_map(self) -> bool:
        """Whether the shader computes each element of its results from one of each input."""
        shader = self.shader
        return shader is not None and classify(shader.source, shader.form) == "map"

    @functools.cached_property
    def has_own_loop(self) -> bool:
        """Whether an author's shader has its own loop, on a grid that is not the author's."""
        shader = self.shader
        is_free = shader is not None and classify(shader.source, shader.form) == "free"
        return is_free and shader is not None and shader.groups is None and not self.is_ours

    @functools.cached_property
    def _text(self) -> tuple[list[tree.Node], Mapping[str, tree.Value]]:
        """The nodes of the author's own file, and the constants and ``let`` in it by name."""
        if self.shader is None:
            return [], {}
        declared = self.shader.source.own.module.declarations
        nodes = [node for one in declared for node in descendants(one)]
        return nodes, {one.name: one for one in nodes if isinstance(one, tree.Value)}

    @functools.cached_property
    def uses_subgroups(self) -> bool:
        """Whether the author's own text names anything of subgroups; templates ask their size."""
        files = () if self.shader is None else self.shader.source.files
        return any(
            isinstance(node, tree.Name) and re.match(r"subgroup|quad[SB]", node.name)
            for file in files
            if self.is_own(file.text.file)
            for declaration in file.module.declarations
            for node in descendants(declaration)
        )

    @functools.cached_property
    def array_lengths(self) -> tuple[int, ...]:
        """The lengths of arrays that the shader itself declares: what an attribute may not pass."""
        nodes, named = self._text
        constants = ConstantValues(named)
        found = [
            constants.number_or_none(node.templates[1])
            for node in nodes
            if isinstance(node, tree.Name) and node.name == "array" and len(node.templates) == 2
        ]
        return tuple(sorted({int(one) for one in found if one is not None and one > 1}))

    @functools.cached_property
    def thresholds(self) -> tuple[float | str, ...]:
        """What the shader compares with: numbers, and names of fields."""
        nodes, named = self._text
        sides: list[tree.Expression] = []
        for one in nodes:
            if isinstance(one, tree.Binary) and one.operator in _COMPARISONS:
                sides += [one.left, one.right]
            elif isinstance(one, tree.Call) and one.callee.name == "step":
                sides += one.arguments
        found = (_number_or_field(part, named) for one in sides for part in _summands(one))
        return tuple(dict.fromkeys(one for one in found if one is not None))

    @property
    def origin(self) -> Origin | None:
        return None if self.kernel is None else self.kernel.origin

    def finding(self, code: str, words: str, about: About = "kernel", **facts: Any) -> Finding:
        """Return a finding about the kernel, or a part of it; its place is where it registers."""
        found = _REGISTERED[about](self.name) or self.kernel
        if found is None:
            return Finding(code, words, self.name, **facts)
        return Finding(code, words, self.name, found.origin.file, found.origin.line, **facts)

    def placed(
        self, code: str, words: str, module: ShaderModule, span: Span, **facts: Any
    ) -> Finding:
        """Return a finding about part of a composed text; its place is the author's."""
        return Finding(code, words, self.name, *module.composed.authors_place(span), **facts)

    def at_write(self, finding: Finding) -> Finding:
        """Return a finding about the output at the first place where the author's loop writes."""
        written = [one for one in self._text[0] if self._writes(one)] if self.has_own_loop else []
        if self.shader is None or not written:
            return finding
        node, text = min(written, key=lambda one: one.begin), self.shader.source.own.text
        place, width = text.place(node.begin), node.end - node.begin
        return replace(
            finding, file=place.file, line=place.line, column=place.column, span=width,
            source=text.line(place.line),
        )  # fmt: skip

    def _writes(self, node: tree.Node) -> bool:
        """Say whether a node of the author's own file is what writes to an output."""
        assert self.shader is not None
        module = self.shader.source.own.module
        if isinstance(node, tree.Call):
            name = node.callee.name
            return name.startswith(("store_", "store4_")) and name not in module.functions
        root = root_of(node.target) if isinstance(node, tree.Assign) and node.target else None
        variables = module.variables
        one = None if root is None else variables.get(root.name)
        return one is not None and (one.space, one.access) == ("storage", "read_write")

    def is_own(self, file: str) -> bool:
        """Say whether a file is the author's, not one of the package that others share."""
        return is_kernels_own(file, by_us=self.origin is not None and self.origin.is_ours)

    def dispatches(self, sample: Sample) -> list[Dispatch]:
        """Return what a sample has webgpu run; it runs when that is first asked for."""
        if id(sample) not in self._ran:
            arrays = arrays_for(sample)
            with only("webgpu", sample), config.using(small_ops="device", fusion="never"):
                tensors = tensors_for(arrays)
                seen = explain(lambda: _ran(sample, tensors))
            found = [row.dispatch for row in seen.dispatches if row.dispatch is not None]
            self._ran[id(sample)] = sample, found
        return self._ran[id(sample)][1]


def _summands(node: tree.Expression) -> Iterator[tree.Expression]:
    """Yield an expression, and of a sum, or of a product, its parts."""
    yield node
    if isinstance(node, tree.Binary) and node.operator in ("+", "-", "*"):
        yield from _summands(node.left)
        yield from _summands(node.right)


def _number_or_field(node: tree.Expression, named: Mapping[str, tree.Value]) -> float | str | None:
    """Return the number that an expression is, or the field that it reads; of an index None."""
    if isinstance(node, tree.Literal) and node.text.endswith("u"):
        return None
    if isinstance(node, tree.Access):
        return node.member.name
    if isinstance(node, tree.Paren):
        return _number_or_field(node.inner, named)
    if isinstance(node, tree.Unary) and node.operator == "-":
        return _number_or_field(node.operand, named)
    if isinstance(node, tree.Call) and len(node.arguments) == 1:  # a conversion, as T(0.5)
        return _number_or_field(node.arguments[0], named)
    if isinstance(node, tree.Name) and node.name in named:
        value = named[node.name].value
        others = {one: value for one, value in named.items() if one != node.name}
        return None if value is None else _number_or_field(value, others)
    return ConstantValues(named).number_or_none(node)


def _ran(sample: Sample, tensors: Sequence[Tensor]) -> Any:
    """Run a sample for its dispatches; what its shader reports is said where values are compared.

    Else the next read would raise it, whosever that is.
    """
    found = sample.f(*tensors, **sample.attrs)
    with suppress(KernelFault):
        find_driver("webgpu").wait()
    return found


def findings_of(
    error: BaseException, subject: Subject, code: str, backend: str = ""
) -> list[Finding]:
    """Return what an exception says as findings, with the author's place where it has one.

    That is the line that raised; else where what raised was registered: the gradient rule, by the
    code, or the kernel on a backend. One of the checks themselves is none about the kernel, and is
    collected.
    """
    if faults.note(error):
        return []
    if isinstance(error, (ShaderError, KernelFault)) and error.findings:
        return list(error.findings)
    found = placed_finding(error, subject.name) if isinstance(error, ShaderError) else None
    if found is not None:
        return [found]
    functions = _functions_of(subject.name)
    package = "" if subject.origin is None else subject.origin.module.partition(".")[0]
    at = None if subject.is_ours else faults.raised_at(error, functions, package)
    within = None if at is None or at.within is None else functions[at.within]
    is_gradients = faults.passed(error, bind.__code__)
    is_of_cpu = faults.raiser(error).startswith("wgsl_kernels.backends.cpu")
    about: About = "cpu" if backend == "cpu" else "kernel"
    if within is not None:
        about = within
    elif is_gradients or (code == "gradient-raises" and not is_of_cpu):
        about = "gradient"
    elif is_of_cpu:
        about = "cpu"
    if isinstance(error, ShaderError):
        one = subject.finding(error.code, str(error).removeprefix(f"{subject.name}: "), about)
    else:
        if code in ("raises", "gradient-raises"):
            code = "gradient-raises" if about == "gradient" else "raises"
        one = subject.finding(code, f"{type(error).__name__}: {error}", about)
    return [one if at is None else replace(one, file=at.file, line=at.line)]


def _functions_of(name: str) -> dict[CodeType, About]:
    """Return the code of the functions of a kernel, and of those inside, by what they are of."""
    kernel, on_cpu, rule = get_kernel(name, "webgpu"), get_kernel(name, "cpu"), find_rule(name)
    func = None if kernel is None else kernel.func
    parts: dict[About, list[Any]] = {
        "kernel": [func.groups, func.params] if isinstance(func, ShaderKernel) else [func],
        "cpu": [] if on_cpu is None else [on_cpu.func],
        "gradient": [] if rule is None else [rule.func],
    }
    found: dict[CodeType, About] = {}
    for about, functions in parts.items():
        open_ = [getattr(inspect.unwrap(one), "__code__", None) for one in functions if one]
        while open_:
            code = open_.pop()
            if isinstance(code, CodeType):
                found[code] = about
                open_ += code.co_consts
    return found


def with_case(findings: Sequence[Finding], case: str) -> list[Finding]:
    """Return findings that tell by which case they came."""
    return [replace(one, evidence=(*one.evidence, ("case", case))) for one in findings]


def once(findings: Sequence[Finding], key: Callable[[Finding], object]) -> list[Finding]:
    """Return the first finding of each kind."""
    return list({key(one): one for one in reversed(findings)}.values())[::-1]


def repeat(case: Case, what: str = "") -> str:
    """Return the arguments of a command that runs one case again."""
    return f'--only {case.sample.kernel} --case "{labelled(case, what)}"'


def labelled(case: Case, what: str = "") -> str:
    """Return a case's name with what else was special about the run."""
    return f"{case.id}, {what}" if what else case.id


def step_command(origin: Origin | None, case: Case, index: Sequence[int], what: str = "") -> str:
    """Return the command that steps through what a case gives at an index, run as it was."""
    name = case.sample.kernel
    target = [name]
    if origin is not None and not origin.is_ours and origin.file.endswith(".py"):
        file = Path(origin.file)
        here = Path.cwd()
        target = [str(file.relative_to(here) if file.is_relative_to(here) else file), name]
    place = f"[{','.join(map(str, index))}]"
    return shlex.join(
        ["wgsl-kernels", "step", *target, "--case", labelled(case, what), "--at", place]
    )
