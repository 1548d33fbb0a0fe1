"""A shader that combines elements, as its derivation wants it: one text that lacks nothing."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from wgsl_kernels.backends.derived.context import (
    common,
    declared,
    files_of,
    given_names,
    in_one_text,
    own_text,
)
from wgsl_kernels.backends.derived.functions import scalar_of_dtype
from wgsl_kernels.backends.derived.library import RULES
from wgsl_kernels.backends.webgpu.composing.text.operands import classify
from wgsl_kernels.backends.webgpu.modules.source import load_text
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShaderError
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.wgsl.derive.accumulations import (
    Accumulation,
    AccumulationNames,
    Element,
    FreeParameters,
    Pulled,
    glue,
    pulled_back,
    pushed_forward,
)
from wgsl_kernels.wgsl.derive.activity import NotDerivableError
from wgsl_kernels.wgsl.derive.custom import custom_rules
from wgsl_kernels.wgsl.derive.linear import adds, is_costly, is_linear
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.made import written_function
from wgsl_kernels.wgsl.syntax.names import wgsl_name
from wgsl_kernels.wgsl.syntax.parser import parse, parse_expression
from wgsl_kernels.wgsl.syntax.places import pointed
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.tree import Name
from wgsl_kernels.wgsl.types.kinds import FLOATS, Scalar, StructType
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.derive.accumulations import Form
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.source_map import SourceMap
    from wgsl_kernels.wgsl.syntax.tree import Function

_T = TypeVar("_T", bound="Accumulation | Pulled")


def form_of(shader: ShaderKernel) -> Form | None:
    """Return how a shader combines elements, None where it does something else."""
    form = classify(shader.source, shader.form)
    if form == "reduce":
        return "apply" if "apply" in shader.source.functions else "reduce"
    return form if form in ("scan", "window") else None


@dataclass(frozen=True)
class Derivation:
    """A shader for inputs of one dtype, and the derivatives of what it does.

    Attributes:
        shader: The shader.
        source: Its file, with what derivatives import.
        scalar: What its first input is computed in.
        base: What it does itself.
    """

    shader: ShaderKernel
    source: Source
    scalar: str
    base: Accumulation

    def gradient(self, path: Sequence[str], wanted: str) -> Pulled:
        """Return the gradient by one input, of what directions by the inputs of a path give."""
        one = self.along(path)
        return self._derived(wanted, lambda: pulled_back(one, wanted, self._context))

    def along(self, path: Sequence[str]) -> Accumulation:
        """Return what directions by these inputs, one after the other, give."""
        one = self.base
        for wanted in path:
            one = self._moved(one, wanted)
        return one

    def _moved(self, one: Accumulation, wanted: str) -> Accumulation:
        return self._derived(wanted, lambda: pushed_forward(one, wanted, self._context))

    def given(self) -> str:
        """Return the declarations of types that the composer gives."""
        return given_names(self.source, self.scalar)

    @functools.cached_property
    def _whole(self) -> SourceMap:
        return in_one_text(self.source)

    @functools.cached_property
    def _context(self) -> AccumulationNames:
        functions = {
            k: f for file in files_of(self.source) for k, f in file.module.functions.items()
        }
        rules = {**RULES, **custom_rules(self._whole.composed, functions)}
        beside = (*declared(self.given()), *parse(common()).declarations)
        return AccumulationNames(beside, rules, self._label)

    def _label(self, begin: int) -> str:
        composed = self._whole.composed
        if begin >= len(composed.text):
            return ""
        place = composed.place(begin)
        return self._whole.origin(place.line, place.column)[1].label

    def point(self, message: str, begin: int) -> str:
        """Return a message that shows the author's line of a place in what is derived."""
        composed = self._whole.composed
        if not 0 <= begin < len(composed.text):
            return self.source.point(message, self.source.functions["init"])
        place = composed.place(begin)
        return pointed(*self._whole.origin(place.line, place.column), message)

    def _derived(self, wanted: str, derive: Callable[[], _T]) -> _T:
        try:
            return derive()
        except NotDerivableError as error:
            message = f"{self.shader.name}: the gradient by {wanted}: {error.message}"
            raise ShaderError(self.point(message, error.begin)) from None


def derived(
    shader: ShaderKernel, dtype: str, derive: Callable[[Derivation], _T]
) -> tuple[Derivation, _T]:
    """Return what is derived of a shader for a first input of this dtype, and by what.

    Raises:
        ArgumentError: It has no signature, and does not tell itself what its inputs are.
        DTypeError: The dtype is that of complex numbers.
    """
    if dtype == "complex64":
        raise DTypeError(
            f"{shader.name}: of reductions, scans and windows only those of real numbers are "
            f"derived; its input is {dtype}. Write a CPU kernel, with @cpu_kernel({shader.name!r})."
        )
    names, scalar = _names(shader), scalar_of_dtype(dtype)
    imports: tuple[str, ...] = ()
    while True:
        source = shader.source
        derivation = _derivation(source.own.text, source.digest, shader, scalar, names, imports)
        found = derive(derivation)
        known = derivation.source.declared
        missing = [one for one in found.imports if one.rpartition("::")[2] not in known]
        if not missing:
            return derivation, found
        imports = (*imports, *sorted(missing))


def derived_by(
    shader: ShaderKernel, dtype: str, path: Sequence[str], wanted: str | None
) -> tuple[Derivation, Accumulation | Pulled]:
    """Return the gradient by an input, or without one what directions by a path of them give."""
    if wanted is None:
        return derived(shader, dtype, lambda one: one.along(path))
    return derived(shader, dtype, lambda one: one.gradient(path, wanted))


@once_per_text
def _derivation(
    text: Text,
    digest: bytes,
    shader: ShaderKernel,
    scalar: str,
    names: tuple[str, ...],
    imports: tuple[str, ...],
) -> Derivation:
    del text, digest  # by which, with the files that it imports, it is kept
    source = shader.source if not imports else _importing(shader, imports)
    return Derivation(shader, source, scalar, _base(shader, source, names, scalar))


def _importing(shader: ShaderKernel, imports: Sequence[str]) -> Source:
    """Return a shader's file that imports more, and names that."""
    own = own_text(shader).text
    names = [one.rpartition("::")[2] for one in imports]
    counts = [len(RULES[one].partials) if one in RULES else 1 for one in names]
    calls = [
        f"_ = {name}({', '.join(['a'] * count)});"
        for name, count in zip(names, counts, strict=True)
    ]
    head = "".join(f"import {one}; " for one in imports)
    uses = written_function("wk_uses", {"a": "f32"}, None, *calls)
    return load_text(f"{head}{own}\n{uses}", shader.source.file, shader.origin.folder)


def _names(shader: ShaderKernel) -> tuple[str, ...]:
    """Return the inputs, as the signature has them, else as the shader tells them."""
    known = find_signature(shader.name)
    if known is not None:
        return tuple([wgsl_name(one.name) for one in known.inputs])
    functions = shader.source.functions
    if form_of(shader) != "apply":
        return ("x",)
    apply, settled = functions["apply"], spell(_settling(functions).returns)
    totals = [one.name for one in apply.parameters if spell(one.type) == settled]
    if len(totals) != 1:
        raise ArgumentError(
            f"{shader.name}: which parameter of apply is the total? Declare the inputs before, "
            f"with @signature({shader.name!r})."
        )
    return tuple([p.name for p in apply.parameters if p.name not in ("i", "n", totals[0])])


def _settling(functions: Mapping[str, Function]) -> Function:
    """Return the function that gives what ``apply`` is given of a row."""
    return functions["settle" if "settle" in functions else "init"]


def _base(
    shader: ShaderKernel, source: Source, names: tuple[str, ...], scalar: str
) -> Accumulation:
    """Return what a shader does itself, by functions of known names and parameters."""
    form, functions = form_of(shader), source.functions
    assert form is not None
    whole = in_one_text(source).composed
    aliases = declared(given_names(source, scalar))
    declarations, known = parse(whole).declarations, parse(whole).functions
    named = NamedTypes([*declarations, *aliases])

    def resolved(function: str, at: int) -> str:
        found = None
        if function in functions and at < len(functions[function].parameters):
            found = named.of(functions[function].parameters[at].type)
        return scalar if found is None else str(found)

    lift, combine, finish = (functions.get(one) for one in ("lift", "combine", "finish"))
    assert combine is not None
    elements = [Element(names[0], resolved("lift", 0), True, True)]
    applied = functions["apply"].parameters if form == "apply" else ()
    parameters = [one.name for one in applied]
    elements += [
        Element(one, resolved("apply", parameters.index(one)), False, False)
        for one in names[1:]
        if one in parameters
    ]
    a, b, i, n, last = FreeParameters.for_inputs(elements)
    total = spell(functions["init"].returns)
    type_ = named.of(functions["init"].returns)
    result = scalar if finish is None and not isinstance(type_, Scalar) else total
    ends = {"finish": _called(finish, a, n) if finish is not None else f"{result}({a})"}
    settled = total
    if form == "apply":
        apply = functions["apply"]
        settled, result = spell(_settling(functions).returns), spell(apply.returns)
        given = {"i": i, "n": n, **{one: one for one in names}}
        values = [given.get(one, last) for one in parameters]
        settle = functions.get("settle")
        ends = {
            "settle": a if settle is None else _called(settle, a, n),
            "apply": f"{apply.name}({', '.join(values)})",
        }
    elif finish is not None:
        result = spell(finish.returns)
    members = list(type_.members) if isinstance(type_, StructType) else []
    base = Accumulation(
        "", "wk0_", form, tuple(elements), total, settled, result,
        str(named.of(parse_expression(result))),
        adds=adds(combine, members),
        is_straight=form != "apply" and (finish is None or is_linear(finish, _is_float(named))),
        is_numbered=lift is not None and len(lift.parameters) > 1,
        is_costly=is_costly(known[combine.name], known),
    )  # fmt: skip
    x = names[0]
    lines = glue(
        base,
        init=f"{functions['init'].name}()",
        lift=_called(lift, x, i) if lift is not None else f"{total}({x})",
        combine=f"{combine.name}({a}, {b})",
        **ends,
    )
    return replace(base, text="\n".join((whole.text, *lines)))


def _called(function: Function, *arguments: str) -> str:
    """Return a call of a function with as many arguments as it takes."""
    return f"{function.name}({', '.join(arguments[: len(function.parameters)])})"


def _is_float(named: NamedTypes) -> Callable[[str], bool]:
    def is_float(name: str) -> bool:
        node = parse_expression(name)
        found = named.of(node) if isinstance(node, Name) else None
        return isinstance(found, Scalar) and found.name in FLOATS

    return is_float
