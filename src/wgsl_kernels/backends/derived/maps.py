"""A map's gradient, from its shader: a kernel for each input that has one, and the rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.derived.context import (
    common,
    declared,
    files_of,
    given_names,
    op_of,
    own_text,
    type_meant,
    warn_of_zero,
)
from wgsl_kernels.backends.derived.kernels import refuse_complex
from wgsl_kernels.backends.derived.library import RULES
from wgsl_kernels.backends.derived.twins import Twin
from wgsl_kernels.backends.webgpu.composing.text.operands import OP_NAMES
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel, kernel_of
from wgsl_kernels.backends.webgpu.modules.source import load_text
from wgsl_kernels.engine.environment.errors import ShaderError, WgslKernelsError
from wgsl_kernels.engine.environment.parameters import declared_as
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import GradientRule, put_rule
from wgsl_kernels.engine.registry.registry import Kernel, add_kernel
from wgsl_kernels.engine.registry.signature import define_signature, find_signature
from wgsl_kernels.engine.values.dtypes import is_differentiable
from wgsl_kernels.engine.values.shapes import broadcast
from wgsl_kernels.wgsl.derive.activity import NotDerivableError
from wgsl_kernels.wgsl.derive.custom import renamed_with_rules, rules_written
from wgsl_kernels.wgsl.derive.forward import Forward
from wgsl_kernels.wgsl.derive.maps import derived_map
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.names.resolve import names_of, resolve
from wgsl_kernels.wgsl.syntax.made import written_function
from wgsl_kernels.wgsl.syntax.names import free_name, wgsl_name
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.source_map import TextBuilder, WrittenText

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.spec import Spec
    from wgsl_kernels.wgsl.syntax.tree import Function

_FLOATS = frozenset({"f32", "f16", "T", "T_wide"})
_OF_FORMS = OP_NAMES | {"init", "combine"}
"""Functions by which a file has its form."""


@dataclass(frozen=True, eq=False)
class MadeShader(ShaderKernel, ABC):
    """A map that is made of another shader, anew where that has changed.

    Attributes:
        parent: The other.
        wanted: What of it: a parameter of its op, or a function.
    """

    parent: ShaderKernel = field(kw_only=True)
    wanted: str = field(kw_only=True)
    kept: list[tuple[bytes, Source]] = field(default_factory=list["tuple[bytes, Source]"])
    """The parent's digest, and what was made of it."""

    @abstractmethod
    def text(self) -> str:
        """Return the shader, of what the parent is now."""

    @property
    def source(self) -> Source:
        """The shader, of what the parent is now."""
        digest = self.parent.source.digest
        if not self.kept or self.kept[0][0] != digest:
            self.kept[:] = [(digest, load_text(self.text(), self.given, self.origin.folder))]
        return self.kept[0][1]

    def names(self) -> tuple[str, ...]:
        op = op_of(self.source)
        assert op is not None
        return tuple([one.name for one in op.parameters if one.name != "i"])

    def look_again(self) -> bool:
        """Say whether the parent differs from what this was made of."""
        if not self.kept:
            return False
        try:
            return self.kept[0][0] != self.parent.source.digest
        except WgslKernelsError:  # it raises where the kernel runs next
            return True

    def differs(self) -> bool:
        return self.parent.differs()


@dataclass(frozen=True, eq=False)
class DerivedShader(MadeShader):
    """The gradient of a map by a parameter of its op; it takes the upstream gradient first."""

    def text(self) -> str:
        return map_text(self.parent, self.wanted)


@dataclass(frozen=True, eq=False)
class PartShader(MadeShader):
    """A map that calls functions of a shader of another form.

    Attributes:
        op: The map.
    """

    op: str = field(kw_only=True)

    def text(self) -> str:
        return f"{_without(_own_text(self.parent), _OF_FORMS).text}\n{self.op}"


def derive_map(shader: ShaderKernel) -> Callable[[bool], None]:
    """Return what registers a map's gradient, given whether it may replace another.

    Warns:
        RuntimeWarning: It is zero throughout.
    """
    made = [_derived(shader, one) for one in map_parameters(shader)]  # raises

    def register(override: bool) -> None:
        names = shader.names()
        func = partial(map_gradients, shader, names, override)
        put_rule(_rule_of(shader, names, func), override=override)
        for one in made:
            _register(one, override)

    return register


def _rule_of(shader: ShaderKernel, names: Sequence[str], func: Callable[..., Any]) -> GradientRule:
    parameters = ("upstream", *names)
    return GradientRule(shader.name, func, parameters, shader.origin, any_attr=True, of=shader)


def map_parameters(shader: ShaderKernel) -> list[str]:
    """Return the parameters of a map's op that may have a gradient.

    Raises:
        ShaderError: The shader returns no float.
    """
    source = shader.source
    op = op_of(source)
    assert op is not None
    returns = type_meant(source, op.returns)
    if not _is_float(returns, "y") and not returns.startswith("T_"):
        raise ShaderError(
            source.point(f"{shader.name}: gradient='derive' wants a float, not {returns}.", op)
        )
    types = {one.name: type_meant(source, one.type) for one in op.parameters}
    found = [name for name, type_ in types.items() if _is_float(type_, name)]
    return [one for one in found if one != "i"]


def _is_float(written: str, name: str) -> bool:
    return written in _FLOATS or written == f"T_{name}"


def derived_name(kernel: str, parameter: str) -> str:
    """Return what the kernel of a gradient by one parameter is called."""
    return f"{kernel} gradient {parameter}"


def map_text(shader: ShaderKernel, wanted: str) -> str:
    """Return the shader of a map's gradient by one parameter."""
    source, text = shader.source, _own_text(shader)
    op = op_of(source)
    assert op is not None
    written = {type_meant(source, one) for one in (op.returns, *[p.type for p in op.parameters])}
    others = [*declared(given_names(source, "f32")), *parse(common()).declarations]
    own, *imported = files_of(source)
    if isinstance(text, WrittenText):
        own, imported = resolve(text), []
    others += [one for file in imported for one in file.module.declarations]
    if op.name in dict(rules_written(own.text)):
        text = _calling(text, op)
        own = names_of(parse_source(text).module)
    try:
        forward = Forward(own, others, RULES, "T" if "f32" not in written else "")
        made = derived_map(forward, op, wanted, _upstream(op))
    except NotDerivableError as error:
        message = f"{shader.name}: the gradient by {wanted}: {error.message}"
        raise ShaderError(own.text.point(message, error.begin)) from None
    if made.is_zero and not isinstance(shader, MadeShader):
        warn_of_zero(shader, wanted)
    known = {*_imported(text), *own.module.functions}
    missing = [one for one in made.imports if one.rpartition("::")[2] not in known]
    imports = "".join(f"import {one};\n" for one in missing)
    head = f"// The gradient of {shader.name} by {wanted}, made of {text.file}.\n"
    return f"{head}{imports}{_without(text, OP_NAMES).text}\n{made.text}"


def _own_text(shader: ShaderKernel) -> Text:
    if isinstance(shader, MadeShader):
        return Text(shader.given, shader.text())
    return own_text(shader)


def _calling(text: Text, op: Function) -> Text:
    """Return a file whose op calls what was the op, where a comment gives its derivatives."""
    taken = {one.name for one in names_of(parse_source(text).module).symbols}
    called = free_name(f"{op.name}_value", taken)
    names = ", ".join([one.name for one in op.parameters])
    types = {one.name: spell(one.type) for one in op.parameters}
    head = written_function(op.name, types, spell(op.returns), f"return {called}({names});")
    made, renamed = TextBuilder(), _without(text, OP_NAMES)
    made.write([(renamed.text, 0, True)], renamed)
    made.generate(f"\n{head}")
    found = made.finish()
    return WrittenText(text.file, found.composed.text, found)


def _upstream(op: Function) -> str:
    return free_name("dy", {one.name for one in op.parameters})


def _without(raw: Text, functions: Collection[str]) -> Text:
    """Return a file with other names for functions that tell its form."""
    names = names_of(parse_source(raw).module)
    there = [one for one in names.module.functions if one in functions]
    taken = {one.name for one in names.symbols}
    new = {one: free_name(f"{one}_value", taken) for one in there}
    return renamed_with_rules(names, new)


def _imported(raw: Text) -> set[str]:
    """Return the names that a file imports."""
    found: set[str] = set()
    for one in parse_source(raw).imports:
        found.add(one.name)
    return found


def map_twins(shader: ShaderKernel) -> dict[str, Twin]:
    """Return the gradient of a map by each float input, as CPU kernels."""
    return {one: _derived(shader, one)[1] for one in map_parameters(shader)}


def _derived(shader: ShaderKernel, wanted: str) -> tuple[DerivedShader, Twin]:
    """Return the two kernels of a gradient by one parameter."""
    given = f"<gradient of {shader.name} by {wanted}>"
    name = derived_name(shader.name, wanted)
    made = DerivedShader(
        name, given, shader.origin, params=shader.params, parent=shader, wanted=wanted
    )
    try:
        return made, Twin(made)
    except ShaderError:
        Twin(shader)  # raises at the author's line, if it is that which does not run
        raise


def register_slopes(part: ShaderKernel) -> None:
    """Register the kernels of a map's gradients, which :func:`map_gradients` runs."""
    for one in map_parameters(part):
        _register(_derived(part, one), True)


def _register(pair: tuple[DerivedShader, Twin], override: bool) -> None:
    made, twin = pair
    origin, names = made.origin, made.names
    add_kernel(kernel_of(made, frozenset({"float32", "float16"})), override=override)
    floats = frozenset({"float32", "float16", "float64"})
    on_cpu = Kernel(made.name, "cpu", twin, origin, floats, names=names, files=[made])
    add_kernel(on_cpu, override=override)
    second = partial(map_second, made, override)
    rule = GradientRule(made.name, second, ("upstream", *names()), origin, any_attr=True)
    put_rule(rule, override=override)


def _shape_rule(kernel: str) -> Callable[..., Spec]:
    def shaped(*specs: Spec, **attrs: Any) -> Spec:
        named = {f"input {at}": one for at, one in enumerate(specs)}
        return specs[0].like(shape=broadcast(kernel, **named))

    return shaped


def map_second(
    shader: DerivedShader, override: bool, dy: Tensor, *values: Tensor, **attrs: Any
) -> Any:
    """Derive a derivative when it is first differentiated."""
    names = shader.names()
    for one in map_parameters(shader):
        _register(_derived(shader, one), True)
    func = partial(map_gradients, shader, names, override)
    put_rule(_rule_of(shader, names, func), override=True)
    return func(dy, *values, **attrs)


def map_gradients(
    shader: ShaderKernel,
    names: Sequence[str],
    override: bool,
    dy: Tensor,
    *values: Tensor,
    **attrs: Any,
) -> list[Any]:
    """Return the gradients of a map."""
    op = op_of(shader.source)
    assert op is not None
    given = {wgsl_name(name): one for name, one in zip(names, values, strict=True)}
    ordered = [given[one.name] for one in op.parameters if one.name in given]
    wanted = map_parameters(shader)
    refuse_complex(shader.name, [dy, *[x for name, x in given.items() if name in wanted]])

    def by(name: str, x: Tensor) -> Tensor:
        kernel = derived_name(shader.name, name)
        if find_signature(kernel) is None:
            inputs = (_upstream(op), *[one.name for one in op.parameters if one.name in given])
            rule = declared_as(_shape_rule(kernel), inputs, tuple(attrs))
            define_signature(kernel, rule, origin=shader.origin, override=override)
        return unbroadcast(run(kernel, dy, *ordered, **attrs), x.shape)

    return [
        partial(by, name, x) if name in wanted and is_differentiable(x.dtype) else None
        for name, x in given.items()
    ]
