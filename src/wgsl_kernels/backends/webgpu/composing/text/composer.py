"""What the forms share: names, types, bindings and the parameter block."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.composing.text.instances import (
    InstanceFunction,
    InstanceNames,
)
from wgsl_kernels.backends.webgpu.composing.text.params import Offer
from wgsl_kernels.backends.webgpu.modules.source import load_file, shaders_folder
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.types.layouts import TypeLayouts
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly
    from wgsl_kernels.backends.webgpu.composing.text.operands import Form, Operand
    from wgsl_kernels.backends.webgpu.composing.text.structure import After, Before
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.wgsl.syntax.tree import Declaration, Function, Name

REPORTS, REPORT = Instance("tensors/reports.wesl"), "report_index_of_X"
VALUE_FIELDS = {
    "float32": "f32",
    "float16": "f32",
    "int32": "i32",
    "int8": "i32",
    "uint8": "i32",
    "bool": "u32",
    "complex64": "vec2<f32>",
}


@functools.cache
def common_functions() -> Mapping[str, str]:
    """Return the functions that are the same for every kernel, as the package's file has them."""
    file = load_file(shaders_folder() / "templates" / "any_kernel.wgsl").own
    text, functions = file.text.text, file.module.functions
    return {name: text[one.begin : one.end] for name, one in functions.items()}


@dataclass
class Composer:
    """One kernel being composed.

    Attributes:
        attrs: Names of its attributes and of the fields that ``params=`` returns.
        bound: Element types of the arrays that the composer declares, by WGSL name.
        before: Groups of maps that stand for inputs, by the input's name.
        dtypes: Those that maps in the text compute in, which are not its tensors'.
        partials: The element type of the array of partial results, None without one.
        writes_partials: Whether partial results are written rather than read.
    """

    kernel: str
    form: Form
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    attrs: tuple[str, ...]
    constants: Mapping[str, float]
    assembly: Assembly
    bound: dict[str, str] = field(default_factory=dict[str, str])
    before: Mapping[str, Before] = field(default_factory=dict[str, "Before"])
    after: After | None = None
    uses_status: bool = False
    dtypes: set[DType] = field(default_factory=set["DType"])
    partials: str | None = None
    writes_partials: bool = False

    def __post_init__(self) -> None:
        """Offer what every form may name."""
        self.assembly.offers["wk_zero"] = Offer("u32", "wk_zero", constant=True)
        self.assembly.fields["wk_zero"] = self.assembly.offers["wk_zero"]
        helpers = self.assembly.helpers
        for name, type_ in self.aliases.items():
            helpers[name] = functools.partial(_alias, name, type_)
        for name, text in common_functions().items():
            helpers[name] = functools.partial(str, text)
        for operand in self.operands:
            present = "false" if operand.access == "absent" else "true"
            for name in operand.spellings:
                helpers[f"has_{name}"] = functools.partial(_const, f"has_{name}", present)
                helpers[f"{name}_rank"] = functools.partial(
                    _const, f"{name}_rank", f"{operand.rank}u"
                )
        self._offer_reports()

    @property
    def source(self) -> Source:
        return self.assembly.source

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.inputs, *self.outputs)

    @functools.cached_property
    def aliases(self) -> Mapping[str, str]:
        """The element types that the composer names: ``T``, ``T_<name>`` and ``T_wide``.

        The last is what sums of the first output's type are kept in: f32 for f16. Templates of
        accumulators have ``wk_Total``, ``wk_Input`` and ``wk_Result`` besides.
        """
        aliases = {"T": self.element_type(self.operands[0])} if self.operands else {}
        if self.outputs:
            own = self.element_type(self.outputs[0])
            aliases["T_wide"] = "f32" if own == "f16" else own
        for operand in self.operands:
            for name in operand.spellings:
                aliases[f"T_{name}"] = self.element_type(operand)
        if self.form in ("reduce", "scan", "window"):
            aliases["wk_Input"] = self.element_type(self.inputs[0])
            aliases["wk_Result"] = self.element_type(self.outputs[0])
            aliases["wk_Stored"] = self.outputs[0].storage_type
            aliases["wk_Total"] = spell(self.source.functions["init"].returns)
        return aliases

    @functools.cached_property
    def types(self) -> NamedTypes:
        return NamedTypes(self.source.declarations, self.aliases, self.constants)

    @functools.cached_property
    def layouts(self) -> TypeLayouts:
        return TypeLayouts(self.types)

    def element_type(self, operand: Operand) -> str:
        """Return the type that ``T_<name>`` stands for in this form."""
        return operand.storage_type if self.form == "free" else operand.value_type

    def variable(self, operand: Operand, element: str = "") -> str:
        """Return the WGSL variable of a tensor's array, and have it bound, as ``element``s."""
        variable = self.source.variables.get(operand.wgsl)
        if variable is not None and variable.space == "storage":
            return operand.wgsl
        self.bound[operand.wgsl] = element or operand.bound_type
        return self.name_of(operand)

    def name_of(self, operand: Operand) -> str:
        """Return the variable's name: the tensor's own, unless it means something else, too."""
        name = operand.wgsl
        variable = self.source.variables.get(name)
        if variable is not None and variable.space == "storage":
            return name
        is_taken = name in self.source.declared or is_predeclared(name)
        return f"wk_{name}" if is_taken or self.assembly.declares(name) else name

    def value(self, operand: Operand, name: str = "") -> str:
        """Return the expression of a value operand, of the type ``T_<name>``, from a field."""
        name = name or f"wk_{operand.wgsl}_value"
        offer = Offer(VALUE_FIELDS[operand.dtype], f"{operand.name}_value")
        self.assembly.offers[name] = offer
        expression = f"wk_params.{name}"
        if operand.dtype == "float16":
            return f"f16({expression})"
        if operand.dtype == "bool" and self.form != "free":
            return f"({expression} != 0u)"
        return expression

    def slots(self, name: str, fact: str, rank: int, *, pad: int = 0) -> list[str]:
        """Offer a field of ``rank`` words and return the expressions of its elements."""
        if rank == 0:
            return []
        rows = -(-rank // 4)
        self.assembly.offers[name] = Offer(f"array<vec4<u32>, {rows}>", fact, pad)
        words = range(4 * rows - rank, 4 * rows)
        return [f"wk_params.{name}[{word // 4}].{'xyzw'[word % 4]}" for word in words]

    def word(self, name: str, fact: str) -> str:
        """Offer a field of one word and return its expression."""
        self.assembly.offers[name] = Offer("u32", fact)
        return f"wk_params.{name}"

    def wrong(
        self, message: str, declaration: Declaration, *, blames_kernel: bool = False
    ) -> ShaderError:
        """Return the error about a declaration of the author's, with its place and line."""
        error = ShaderError(self.source.point(f"{self.kernel}: {message}", declaration))
        error.blames_kernel = blames_kernel
        return error

    def check_type(
        self, function: Function, written: Name | None, expected: str, what: str
    ) -> None:
        """Refuse a function of the author's whose written type is another than the tensor's.

        Types that the reader does not know are left to the compiler.
        """
        found = str(self.types.of(written))
        if found != expected and found in _KNOWN:
            message = f"{function.name} has {found} for {what}, which is {expected}."
            raise self.wrong(message, function, blames_kernel=written is function.returns)

    def _offer_reports(self) -> None:
        helpers = self.assembly.helpers
        helpers["wk_report"] = self._report
        for index, operand in enumerate(self.inputs):
            instance = REPORTS.given(CODE=index + 1)
            for name in operand.spellings:
                names = InstanceNames({"X": name})
                helpers[names.of(REPORT)] = InstanceFunction(instance, REPORT, names)
            if operand.name == "indices":
                names = InstanceNames({}, {REPORT: functools.partial(str, "report_index")})
                helpers["report_index"] = InstanceFunction(instance, REPORT, names)
        if "report_index" not in helpers:
            helpers["report_index"] = self._refuse_report

    def _report(self) -> str:
        self.uses_status = True
        self.word("wk_status_slot", "wk_status_slot")
        return common_functions()["wk_report"]

    def _refuse_report(self) -> str:
        raise ShaderError(
            f"{self.kernel}: {self.source.file} calls report_index, but no input is called "
            f"'indices'; call report_index_of_<input>."
        )


def _alias(name: str, type_: str) -> str:
    return f"alias {name} = {type_};"


def _const(name: str, value: str) -> str:
    return f"const {name} = {value};"


_KNOWN = frozenset({"f32", "f16", "i32", "u32", "bool", "vec2<f32>"})
