"""Sums over ``k`` of a term of two operands, ``[batch, row, k]`` and ``[batch, k, col]``.

Their gradients are products too. By the left operand the right one goes with the upstream gradient,
the term being the slope times that; the left one is read at the place of the result where the slope
depends on it. So the gradient of a term that is linear in each operand has gradients of all orders.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.derived.context import common, declared, in_one_text
from wgsl_kernels.backends.derived.functions import NumpyFunctions
from wgsl_kernels.backends.derived.library import RULES
from wgsl_kernels.backends.webgpu.modules.source import load_text
from wgsl_kernels.backends.webgpu.products.form import product_kernel
from wgsl_kernels.backends.webgpu.products.written import field_reads
from wgsl_kernels.engine.environment.parameters import declared_as
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import GradientRule, put_rule
from wgsl_kernels.engine.registry.registry import Kernel, add_kernel
from wgsl_kernels.engine.registry.signature import define_signature
from wgsl_kernels.wgsl.derive.custom import renamed_with_rules
from wgsl_kernels.wgsl.derive.forward import Forward
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.names.resolve import names_of
from wgsl_kernels.wgsl.syntax.edited import edited
from wgsl_kernels.wgsl.syntax.made import written_function
from wgsl_kernels.wgsl.syntax.names import free_name
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED, Edit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.engine.environment.origin import Origin
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.spec import Spec

    Array = np.ndarray[Any, Any]

NUMBERS = "alias T_wide = f32;\nalias T = f32;\n"
"""What types a text may name; ``f32`` stands for float64, too."""
_ON_DEVICE = frozenset({"float32", "float16"})
_ON_HOST = frozenset({"float32", "float16", "float64"})
Types = tuple[tuple[str, str], ...]
"""The fields that a text reads, and their types."""


@dataclass(frozen=True)
class TermText:
    """A term, and how its operands are laid out.

    Attributes:
        text: Declarations, ``term`` or ``term_at`` among them; what it reads of ``params`` begins
            with ``of_``.
        types: The types of these.
        turned: Whether the left operand, the right one, and the one at the place of the result
            are transposed.
        has_place: Whether there is one at the place of the result.
    """

    text: str
    types: Types
    turned: tuple[bool, bool, bool] = (False, False, False)
    has_place: bool = False

    @property
    def term(self) -> str:
        """What its term is called."""
        return "term_at" if self.has_place else "term"

    @property
    def operands(self) -> tuple[str, ...]:
        """What its operands are called."""
        return ("left", "right", "place") if self.has_place else ("left", "right")

    def whole(self) -> str:
        """Return the file of a product."""
        axes = (("a", "row", "k", "rows", "depth"), ("b", "k", "col", "depth", "cols"),
                ("c", "row", "col", "rows", "cols"))  # fmt: skip
        lines: list[str] = []
        for (name, i, j, rows, cols), operand, turned in zip(
            axes, self.operands, self.turned, strict=False
        ):
            first, last, outer, inner = (j, i, cols, rows) if turned else (i, j, rows, cols)
            value = f"{operand}[(batch * params.{outer} + {first}) * params.{inner} + {last}]"
            parameters = dict.fromkeys(("batch", i, j), "u32")
            element = (f"{name}_at", parameters, f"T_{operand}", f"return {value};")
            lines.append(written_function(*element))
        return "\n".join((self.text, *lines))

    def beside(self) -> str:
        """Return declarations of what it names from outside, but for its imports."""
        return f"{NUMBERS}{fields_struct('params', self.types)}"

    def slope(self, wanted: int) -> TermText | None:
        """Return the term of the gradient by the left operand, 0, or the right one, 1.

        Returns:
            It, None where the gradient is zero throughout.
        """
        parsed = parse_source(Text(COMPOSED, self.text))
        names = names_of(parsed.module)
        taken = [one.name for one in names.symbols if one.is_global]
        own, slope = free_name("own_term", taken), free_name("slope", taken)
        raw = renamed_with_rules(names, {"term": own}).text
        source = load_text(raw, COMPOSED, _nowhere())
        others = [*declared(self.beside()), *parse(common()).declarations, *imported(source)]
        forward = Forward(source.own, others, RULES)
        active = (wanted == 0, wanted == 1, False)
        if not forward.gives_tangent(own, active):
            return None
        called = forward.function(own, active)
        value = f"{called}(a, b, T_wide(), T_wide(1)).tangent"
        lines = written_function(slope, dict.fromkeys("ab", "T_wide"), "T_wide", f"return {value};")
        have = {one.name for one in parsed.imports}
        imports = [one for one in forward.imports if one.rpartition("::")[2] not in have]
        head = "".join([f"import {one};\n" for one in imports])
        text = "\n".join((f"{head}{raw}", forward.written, lines))
        again = load_text(text, COMPOSED, _nowhere())
        others = [*declared(self.beside()), *parse(common()).declarations, *imported(again)]
        depends = Forward(again.own, others, RULES)
        has_place = depends.gives_tangent(slope, (wanted == 0, wanted == 1))
        at = "c" if has_place else "T_wide()"
        slopes = f"{slope}({at}, b)" if wanted == 0 else f"{slope}(a, {at})"
        of = "a" if wanted == 0 else "b"
        term = written_term(f"return fma({of}, {slopes}, sum);", has_place=has_place)
        left, right, _ = self.turned
        turned = (False, not right, left) if wanted == 0 else (not left, False, right)
        return TermText("\n".join((text, term)), self.types, turned, has_place)


def written_term(statement: str, *, has_place: bool = False) -> str:
    """Return a term of this statement, of an operand at the place of the result or without."""
    name, operands = (
        ("term_at", ("a", "b", "sum", "c")) if has_place else ("term", ("a", "b", "sum"))
    )
    return written_function(name, dict.fromkeys(operands, "T_wide"), "T_wide", statement)


def fields_of(text: str) -> tuple[str, ...]:
    """Return the fields of ``params`` that a text reads."""
    names = names_of(parse_source(Text(COMPOSED, text)).module)
    return tuple(dict.fromkeys([one.member.name for one in field_reads(names)]))


def with_fields_of(variable: str, text: str) -> str:
    """Return a text that reads fields of ``params`` as those of a variable, behind ``of_``."""
    names = names_of(parse_source(Text(COMPOSED, text)).module)
    edits = [Edit(one.span, f"{variable}.of_{one.member.name}") for one in field_reads(names)]
    return edited(names.text, edits, ()).text


def fields_struct(name: str, types: Types) -> str:
    """Return the declaration of a variable with these fields."""
    if not types:
        return ""
    struct = f"wk_{name}_fields" if name == "params" else "Attrs"
    rows = ", ".join([f"{one}: {type_}" for one, type_ in types])
    return f"struct {struct} {{ {rows} }}\nvar<private> {name}: {struct};\n"


def imported(source: Source) -> list[Any]:
    """Return the declarations of the files that a source imports."""
    return [one for file in source.imported for one in file.module.declarations]


def _nowhere() -> Any:
    from wgsl_kernels.backends.webgpu.modules.source import shaders_folder

    return shaders_folder()


@dataclass(frozen=True, eq=False)
class TermKernel:
    """A kernel that is such a sum.

    Attributes:
        name: The kernel's name.
        of: The product's, whose sum it is, or the gradient of that.
        inputs: Those that the operands are of; "" of the upstream gradient.
        by: The input by which the gradient is; "" of the product itself.
        term: What is summed.
        origin: Where the product was registered that it is of.
        slopes: The kernels of its gradients that are registered.
    """

    name: str
    of: str
    inputs: tuple[str, str]
    term: TermText
    origin: Origin
    by: str = ""
    slopes: dict[int, TermKernel | None] = field(default_factory=dict[int, "TermKernel | None"])

    def register(self) -> None:
        """Register it, and its gradient."""
        turned = self.term.turned
        axis = 1 if turned[0] else 2

        def params(left_shape: tuple[int, ...]) -> dict[str, Any]:
            return {"depth": left_shape[axis]}

        def shaped(left: Spec, right: Spec, *_: Spec, **_given: Any) -> Spec:
            dtype = "float64" if "float64" in (left.dtype, right.dtype) else "float32"
            rows = left.shape[2 if turned[0] else 1]
            cols = right.shape[1 if turned[1] else 2]
            return left.like(shape=(left.shape[0], rows, cols), dtype=dtype)

        fields = tuple([name for name, _ in self.term.types])
        rule = declared_as(shaped, self.term.operands, fields)
        define_signature(self.name, rule, origin=self.origin, override=True)
        given = (self.name, self.term.whole(), self.origin, _ON_DEVICE, params)
        add_kernel(product_kernel(*given), override=True)
        twin = TermTwin(self.name, self.term)
        names = partial(tuple, self.term.operands)
        on_cpu = Kernel(self.name, "cpu", twin, self.origin, _ON_HOST, names=names)
        add_kernel(on_cpu, override=True)
        if self.term.has_place:
            put_rule(
                GradientRule(self.name, None, (), self.origin, refusal=self._refusal),
                override=True,
            )
            return
        func = partial(term_gradients, self)
        parameters = ("upstream", *self.term.operands)
        made = GradientRule(self.name, func, parameters, self.origin, any_attr=True)
        put_rule(made, override=True)

    def slope(self, wanted: int) -> TermKernel | None:
        """Return the kernel of the gradient by an operand, registered; None where that is zero."""
        if wanted not in self.slopes:
            term = self.term.slope(wanted)
            name = f"{self.name} gradient {self.term.operands[wanted]}"
            left, right = self.inputs
            inputs = ("", right) if wanted == 0 else (left, "")
            made = None
            if term is not None:
                by = self.inputs[wanted]
                made = TermKernel(name, self.of, inputs, term, self.origin, by)
            if made is not None:
                made.register()
            self.slopes[wanted] = made
        return self.slopes[wanted]

    @property
    def _refusal(self) -> str:
        """What to say where a gradient is asked for that it has not."""
        return (
            f"{self.of}: its gradient by {self.by!r} is derived once: the slope of its term by "
            f"{self.by!r} depends on {self.by!r}. For a derivative of that register a gradient "
            f"made of ops, with @gradient({self.of!r}, override=True); to check it without, give "
            "its Sample second_order=False."
        )


def term_gradients(
    kernel: TermKernel, dy: Tensor, left: Tensor, right: Tensor, **fields: Any
) -> list[Callable[[], Tensor] | None]:
    """Return the gradients by both operands."""
    by = [partial(_gradient, kernel, n, dy, left, right, fields) for n in (0, 1)]
    return [one if kernel.slope(n) is not None else None for n, one in enumerate(by)]


def _gradient(
    kernel: TermKernel, wanted: int, dy: Tensor, left: Tensor, right: Tensor, fields: Any
) -> Tensor:
    slope = kernel.slope(wanted)
    assert slope is not None
    given = (dy, right) if wanted == 0 else (left, dy)
    own = (left, right)[wanted]
    found = run(slope.name, *given, *[own] * slope.term.has_place, **fields)
    if kernel.term.turned[wanted]:
        found = run("Transpose", found, perm=(0, 2, 1))
    return found if found.dtype == own.dtype else run("Cast", found, dtype=own.dtype)


class TermTwin:
    """Such a sum on NumPy, one term of all results after the other."""

    def __init__(self, name: str, term: TermText, *, has_init: bool = False) -> None:
        """Take a term; ``has_init`` says that sums do not start at 0."""
        self.name, self.term, self.has_init = name, term, has_init
        self._kept: dict[str, NumpyFunctions] = {}

    def functions(self, dtype: str) -> NumpyFunctions:
        """Return its functions for a precision."""
        if dtype not in self._kept:
            names = names_of(parse_source(Text(COMPOSED, self.term.text)).module)
            text = renamed_with_rules(names, {"params": "attrs"}).text
            fields = fields_struct("attrs", self.term.types)
            source = load_text(f"{text}\n{fields}", COMPOSED, _nowhere())
            whole = in_one_text(source, NUMBERS, common()).composed
            made = NumpyFunctions(self.name, source, whole, dtype, lambda message, _: message)
            made.need(self.term.term, *["init"] * self.has_init)
            self._kept[dtype] = made
        return self._kept[dtype]

    def __call__(self, *operands: Array, **fields: Any) -> Array:
        wide = np.float64 if any(one.dtype == np.float64 for one in operands) else np.float32
        left, right, *place = [
            (one.transpose(0, 2, 1) if turned else one).astype(wide, copy=False)
            for one, turned in zip(operands, self.term.turned, strict=False)
        ]
        shape = (left.shape[0], left.shape[1], right.shape[2])
        with self.functions(str(np.dtype(wide))).with_attributes(fields) as call:
            start = call("init") if self.has_init else 0
            total = np.full(shape, start, wide)
            for k in range(left.shape[2]):
                given = (left[:, :, k, None], right[:, k, None, :])
                total = call(self.term.term, *given, total, *place)
        return np.array(np.broadcast_to(total, shape), wide)


def types_of(fields: Mapping[str, Any], named: Sequence[str]) -> Types:
    return tuple([(f"of_{name}", _type_of(fields[name])) for name in named])


def _type_of(value: Any) -> str:
    if isinstance(value, tuple):
        return f"vec{len(value)}<{_type_of(value[0])}>"
    return "f32" if isinstance(value, float) else "u32"
