"""The gradient and the CPU kernel of a product, from its file.

The operands are inputs in other axes (`reads`), the sum is one of terms of these (`terms`), and
``finish`` is a map of the sum and of what it reads. A gradient goes back through the three.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.derived.context import file_apart
from wgsl_kernels.backends.derived.maps import (
    map_gradients,
    map_parameters,
    map_text,
    register_slopes,
)
from wgsl_kernels.backends.derived.reads import (
    IndexedView,
    Read,
    is_cast,
    operand_of,
    read_by,
    reads_of,
    with_reads,
)
from wgsl_kernels.backends.derived.terms import (
    TermKernel,
    TermText,
    TermTwin,
    Types,
    fields_of,
    types_of,
    with_fields_of,
    written_term,
)
from wgsl_kernels.backends.derived.twins import Twin
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.products.form import element_types
from wgsl_kernels.backends.webgpu.products.slots import check_types
from wgsl_kernels.backends.webgpu.products.written import field_reads
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, tensor_facts
from wgsl_kernels.engine.environment.errors import DTypeError, ShaderError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import GradientRule, put_rule
from wgsl_kernels.engine.registry.registry import Kernel, add_kernel
from wgsl_kernels.engine.values.dtypes import is_differentiable
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.wgsl.derive.activity import NotDerivableError
from wgsl_kernels.wgsl.derive.custom import rules_written
from wgsl_kernels.wgsl.derive.linear import is_linear
from wgsl_kernels.wgsl.syntax.edited import edited
from wgsl_kernels.wgsl.syntax.made import written_function
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.derived.reads import Affine
    from wgsl_kernels.backends.webgpu.products.form import ProductForm
    from wgsl_kernels.backends.webgpu.products.written import ProductFile
    from wgsl_kernels.engine.tensors.tensor import Tensor

    Array = np.ndarray[Any, Any]

_SLOTS = frozenset({"a_at", "b_at", "b_vec4", "finish"})
_NARROW = {"float64": "float32"}
_COUNTS = re.compile(r"rows|cols|depth|\w*(shape|size|count|rank)")


@dataclass(frozen=True)
class ProductText:
    """What a product's file says, as its derivation wants it.

    Attributes:
        operands: What ``a_at`` and ``b_at`` read.
        reads: What ``finish`` reads.
        own: The declarations besides these three.
        term: The term, where the file has none: empty where it has one.
        finish: ``finish`` as a function of what it reads, too; empty where there is none.
        fields: The fields of ``params`` that these two name.
        is_straight: Whether the slope of ``finish`` is the same for all sums.
    """

    operands: tuple[Read, Read]
    reads: tuple[Read, ...]
    own: str
    term: str
    finish: str
    fields: tuple[str, ...]
    is_straight: bool

    @property
    def has_term(self) -> bool:
        """Whether there is a term of its own."""
        return not self.term


@dataclass(frozen=True)
class ProductCall:
    """A product of inputs of some shapes.

    Attributes:
        spec: Its result.
        sizes: Batches, rows and columns.
        views: The inputs as they are read, by the function and the input.
        fields: The fields that its text names.
        parts: Its kernels.
    """

    spec: Spec
    sizes: tuple[int, int, int]
    views: Mapping[tuple[str, str], IndexedView]
    fields: Mapping[str, Any]
    parts: ProductParts

    @property
    def attrs(self) -> dict[str, Any]:
        """The fields, as the attributes that its kernels take."""
        return {f"of_{name}": value for name, value in self.fields.items()}


@dataclass(frozen=True)
class ProductParts:
    """The kernels that a product is made of, for fields of some types.

    Attributes:
        sums: Its sum, unfinished.
        finish: What becomes of it, a map; None where that is itself.
        sums_twin: The sum on NumPy.
        finish_twin: The map on NumPy.
    """

    sums: TermKernel
    finish: ShaderKernel | None
    sums_twin: TermTwin
    finish_twin: Twin | None

    def register(self) -> None:
        """Register them, and the gradients of the map."""
        self.sums.register()
        if self.finish is not None:
            register_slopes(self.finish)


@dataclass(eq=False)
class DerivedProduct:
    """A product of which something is derived.

    Attributes:
        form: The product.
        wanted: What is derived, in the words of messages.
        said: What its file says, by its text.
        made: Its kernels, by the types of the fields.
        registered: Those that the registry has.
    """

    form: ProductForm
    wanted: str = "the gradient"
    said: dict[str, ProductText] = field(default_factory=dict[str, "ProductText"])
    made: dict[Types, ProductParts] = field(default_factory=dict[Types, "ProductParts"])
    registered: ProductParts | None = None

    @property
    def file(self) -> ProductFile:
        """Its file, in which names that derivations know are never the author's."""
        return file_apart(self.form.file())

    def text(self) -> ProductText:
        """Return what its file says."""
        text = self.form.file().text.text
        if text not in self.said:
            self.said.clear()
            self.made.clear()
            self.said[text] = self._followed(self._read)
        return self.said[text]

    def parts(self, fields: Mapping[str, Any]) -> ProductParts:
        """Return its kernels for fields by name."""
        said = self.text()
        types = types_of(fields, said.fields)
        if types not in self.made:
            self.made[types] = self._parts(said, types)
        return self.made[types]

    def register(self, parts: ProductParts) -> None:
        """Register kernels, where others are or none."""
        if self.registered is not parts:
            parts.register()
            self.registered = parts

    def check(self, *, has_gradient: bool) -> ProductParts:
        """Derive everything once, of fields that are floats but for counts."""
        said = self.text()
        guessed = {one: 1 if _COUNTS.fullmatch(one) else 1.0 for one in said.fields}
        parts = self._parts(said, types_of(guessed, said.fields))
        parts.sums_twin.functions("float64")
        if has_gradient:
            self._followed(lambda: self._check_gradient(parts))
        return parts

    def call(self, specs: Sequence[Spec | None], attrs: Mapping[str, Any]) -> ProductCall:
        """Return the product of inputs."""
        said, names = self.text(), self.form.names()
        is_double = any(one is not None and one.dtype == "float64" for one in specs)
        if is_double:  # which no device has
            specs = [one and one.like(dtype=_NARROW.get(one.dtype, one.dtype)) for one in specs]
        spec = self.form.output(specs, attrs)
        given = {n: one for n, one in zip(names, specs, strict=True) if one is not None}
        operands = [given[self.input_of(one)].dtype for one in said.operands]
        if spec.dtype == "int32" or "complex64" in operands:
            raise DTypeError(
                f"{self.form.name}: {self.wanted} is derived of sums of floats; its operands are "
                f"{' and '.join(operands)}, its output is {spec.dtype}. Write it by hand."
            )
        file, inputs = self.form.file(), {wgsl_name(one) for one in given}
        types = element_types({**given, "y": spec})
        check_types(file.kernel, file.text, file.names.module, types, inputs)
        shapes = {n: Argument(one.shape, one.dtype) for n, one in given.items()}
        facts = {**attrs, **tensor_facts({**shapes, "y": Argument(spec.shape, spec.dtype)})}
        own = self.form.fields(facts)
        *above, rows, cols = spec.shape
        sizes = (int(np.prod(above, dtype=np.int64)), rows, cols)
        known = {**facts, **own, "rows": rows, "cols": cols}
        fields = {one: known[one] for one in said.fields if one in known}

        def of(name: str, part: int | None) -> int:
            value = known[name]
            return int(value if part is None else value[part])

        views: dict[tuple[str, str], IndexedView] = {}
        batches, depth = sizes[0], own["depth"]
        a, b = said.operands
        for read, lengths in (
            (a, (batches, rows, depth)), (b, (batches, depth, cols)),
            *[(one, sizes) for one in said.reads],
        ):  # fmt: skip
            strides: Affine = read.strides(of)
            shape = given[self.input_of(read)].shape
            views[read.function.name, read.input] = IndexedView.of(
                f"{self.form.name}: {self.wanted} is derived where each element of an input is "
                "read once, or again along an axis",
                read, shape, lengths, strides,
            )  # fmt: skip
        spec = spec.like(dtype="float64") if is_double else spec
        return ProductCall(spec, sizes, views, fields, self.parts(fields))

    def input_of(self, read: Read) -> str:
        """Return the input that is read, as the signature has it."""
        return next(one for one in self.form.names() if wgsl_name(one) == read.input)

    def _followed(self, derive: Callable[[], Any]) -> Any:
        try:
            return derive()
        except NotDerivableError as error:
            file, name = self.file, self.form.name
            message = f"{name}: {self.wanted} cannot be derived: {error.message}"
            if 0 <= error.begin < len(file.text.text):
                raise ShaderError(file.text.point(message, error.begin)) from None
            raise ShaderError(f"{file.text.file}: {message}") from None

    def _check_gradient(self, parts: ProductParts) -> None:
        file = self.file
        for name in ("init", "combine", "term_at"):
            if name in file.functions:
                message = f"a product with {name} is not followed; its sums must add terms."
                raise NotDerivableError(message, file.functions[name].ident.begin)
        for name, span in rules_written(file.text):
            if name == "term" or (name == "finish" and self.text().reads):
                message = f"a @derivative of {name} is not followed; give it to a function it calls"
                raise NotDerivableError(f"{message}.", span.begin)
        if file.unbroken:
            begin = file.functions["term"].ident.begin
            raise NotDerivableError("term is not seen to return sum + something.", begin)
        for wanted in (0, 1):
            if "term" in file.functions:
                parts.sums.term.slope(wanted)
        if parts.finish is not None:
            for one in map_parameters(parts.finish):
                map_text(parts.finish, one)

    def _read(self) -> ProductText:
        file = self.file
        functions, text = file.functions, file.text.text
        if "b_at" not in functions:
            begin = functions["b_vec4"].ident.begin
            raise NotDerivableError("b_vec4 alone is not followed; declare b_at.", begin)
        outside = file.uses
        operands = [operand_of(functions[one], outside) for one in ("a_at", "b_at")]
        idents = [use.ident for use in file.names.unresolved]
        fields = {one.begin for one in field_reads(file.names)}
        for ident in idents:
            if ident.name == "params" and ident.begin not in fields:
                message = "params is followed by its fields; want one of them, as params.depth."
                raise NotDerivableError(message, ident.begin)
        optional = next((one for one in idents if one.name.startswith("has_")), None)
        if optional is not None:
            message = f"{optional.name} is not followed; its inputs must be given."
            raise NotDerivableError(message, optional.begin)
        finish = functions.get("finish")
        reads = [] if finish is None else reads_of(finish, 1, outside)
        for read in (*operands, *reads):
            read.strides(lambda *_: 1)
        slots = [functions[one].span for one in _SLOTS if one in functions]
        inputs = {read.input for read in (*operands, *reads)}
        own = edited(file.text, (), slots).text  # with the comments that give derivatives
        for ident in idents:
            name = read_by(ident.name)
            if name in inputs and not any(one.begin <= ident.begin < one.end for one in slots):
                message = f"{name} is read in a function besides a_at, b_at and finish."
                raise NotDerivableError(f"{message} Read it there.", ident.begin)
        term = "" if "term" in functions else written_term("return fma(a, b, sum);")
        written = "" if finish is None else with_reads(text, finish, reads)
        named = fields_of(f"{own}\n{written}")
        if written:
            named = tuple(dict.fromkeys((*named, "rows", "cols")))
        return ProductText(
            (operands[0], operands[1]), tuple(reads), own, term, written, named,
            finish is None or is_linear(finish, is_cast),
        )  # fmt: skip

    def _parts(self, said: ProductText, types: Types) -> ProductParts:
        name, origin = self.form.name, self.form.origin
        term = TermText(with_fields_of("params", f"{said.own}\n{said.term}"), types)
        a, b = said.operands
        sums = TermKernel(f"{name} sums", name, (a.input, b.input), term, origin)
        twin = TermTwin(name, term, has_init="init" in self.form.file().functions)
        if not said.finish:
            return ProductParts(sums, None, twin, None)
        rows = ", ".join([f"{one}: {type_}" for one, type_ in types])
        own = with_fields_of("attrs", f"{said.own}\n{said.finish}")
        inputs = [one.input for one in said.reads]
        parameters = {"wk_sum": "T", **{one: f"T_{one}" for one in inputs}, "i": "u32"}
        values = ", ".join([
            "T_wide(wk_sum)", "wk_line / attrs.of_rows", "wk_line % attrs.of_rows",
            "i % attrs.of_cols", *inputs,
        ])  # fmt: skip
        line = "let wk_line = i / attrs.of_cols;"
        op = written_function("op", parameters, "T", line, f"return T(finish({values}));")
        text = f"{own}\nstruct Attrs {{ {rows} }}\n{op}"
        finish = ShaderKernel(f"{name} finish", text, origin)
        return ProductParts(sums, finish, twin, Twin(finish))


def product_inputs(form: ProductForm) -> list[str]:
    """Return the inputs of a product that may have a gradient."""
    said = DerivedProduct(form).text()
    return list(dict.fromkeys([one.input for one in (*said.operands, *said.reads)]))


def product_text(form: ProductForm, wanted: str) -> str:
    """Return the shaders of a gradient by one input."""
    product = DerivedProduct(form)
    parts, said = product.check(has_gradient=True), product.text()
    costs, texts = list[str](), list[str]()
    for n, read in enumerate(said.operands):
        if read.input == wanted and not said.has_term:
            costs.append("a BatchMatMul")
        elif read.input == wanted:
            term = parts.sums.term.slope(n)
            costs += ["a product"] * (term is not None)
            texts += [] if term is None else [term.whole()]
    if parts.finish is not None:
        inputs = ["wk_sum"] * bool(costs)
        inputs += [one.input for one in said.reads if one.input == wanted]
        costs += ["a map"] * len(inputs)
        if not said.is_straight or said.reads:
            costs.append("the product again, for what finish is given")
        texts += [map_text(parts.finish, one) for one in inputs]
    cost = f"costs {' and '.join(costs)}" if costs else "zero throughout"
    head = f"// The gradient of {form.name} by {wanted}, made of {form.file().text.file}: {cost}.\n"
    return "\n".join((head, *texts))


def derive_product_gradient(form: ProductForm) -> Callable[[bool], None]:
    """Return what registers a product's gradient, given whether it may replace another."""
    product = DerivedProduct(form)
    product.check(has_gradient=True)

    def register(override: bool) -> None:
        func = partial(product_gradients, product)
        rule = GradientRule(
            form.name, func, ("upstream",), form.origin, any_attr=True, any_input=True, of=form
        )
        put_rule(rule, override=override)

    return register


def derive_product_cpu(form: ProductForm) -> Callable[[bool], None]:
    """Return what registers a product's CPU kernel, given whether it may replace another."""
    product = DerivedProduct(form, "the CPU kernel")
    product.check(has_gradient=False)
    twin = ProductTwin(product)
    kernel = Kernel(form.name, "cpu", twin, form.origin, names=form.names, files=[form])
    return lambda override: add_kernel(kernel, override=override)


class ProductTwin:
    """The CPU kernel of a product."""

    def __init__(self, product: DerivedProduct) -> None:
        self.product = product

    def __call__(self, *arrays: Any, **attrs: Any) -> Array:
        product = self.product
        specs = [Spec(one.shape, str(one.dtype)) for one in arrays]
        call, said = product.call(specs, attrs), product.text()
        named = dict(zip(product.form.names(), arrays, strict=True))

        def seen(read: Read) -> Any:
            return call.views[read.function.name, read.input].array(named[product.input_of(read)])

        a, b = map(seen, said.operands)
        batches = call.sizes[0]
        a = np.broadcast_to(a, (batches, *a.shape[1:]))
        b = np.broadcast_to(b, (batches, *b.shape[1:]))
        fields = call.attrs
        found = call.parts.sums_twin(a, b, **fields)
        if call.parts.finish_twin is not None:
            found = call.parts.finish_twin(found, *map(seen, said.reads), **fields)
        return found.reshape(call.spec.shape).astype(call.spec.dtype)


def product_gradients(product: DerivedProduct, dy: Tensor, *values: Tensor, **attrs: Any) -> Any:
    """Return the gradients of a product by its inputs."""
    said, names = product.text(), product.form.names()
    call = product.call([Spec(one.shape, one.dtype) for one in values], attrs)
    named = dict(zip(names, values, strict=True))
    fields = call.attrs
    wide = "float64" if dy.dtype == "float64" else "float32"
    upstream = run("Reshape", dy, shape=call.sizes)
    upstream = upstream if upstream.dtype == wide else run("Cast", upstream, dtype=wide)

    def seen(read: Read) -> Tensor:
        return call.views[read.function.name, read.input].tensor(named[product.input_of(read)])

    def whole(x: Tensor) -> Tensor:
        batches = call.sizes[0]
        if x.shape[0] == batches:
            return x
        return run("BroadcastTo", x, shape=(batches, *x.shape[1:]))

    a, b = (whole(seen(one)) for one in said.operands)
    sums = call.parts.sums
    product.register(call.parts)
    finished: list[Any] = []
    if call.parts.finish is not None:
        total = upstream if said.is_straight and not said.reads else run(sums.name, a, b, **fields)
        given = [total, *map(seen, said.reads)]
        inputs = ["wk_sum", *[one.input for one in said.reads]]
        finished = map_gradients(call.parts.finish, inputs, True, upstream, *given, **fields)

    def of_operand(wanted: int) -> Tensor | None:
        dsum = finished[0]() if finished else upstream
        if not said.has_term:  # a product of matrices
            given = (dsum, b) if wanted == 0 else (a, dsum)
            turn = {"transpose_a": wanted == 1, "transpose_b": wanted == 0}
            return run("BatchMatMul", *_alike(*given), **turn)
        slope = sums.slope(wanted)
        if slope is None:
            return None
        own = (a, b)[wanted]
        given = (dsum, b) if wanted == 0 else (a, dsum)
        return run(slope.name, *given, *[own] * slope.term.has_place, **fields)

    def by(name: str, x: Tensor) -> Tensor:
        found: Tensor | None = None
        reads = [(one, partial(of_operand, n)) for n, one in enumerate(said.operands)]
        reads += [(one, finished[1 + n]) for n, one in enumerate(said.reads)]
        for read, gradient in reads:
            if product.input_of(read) == name:
                dx = gradient()
                if dx is None:
                    continue
                view = call.views[read.function.name, read.input]
                dx = view.back(dx, x.shape)
                found = dx if found is None else run("Add", found, dx)
        if found is None:
            return run("ZerosLike", x)
        return found if found.dtype == x.dtype else run("Cast", found, dtype=x.dtype)

    return [
        partial(by, name, x) if is_differentiable(x.dtype) else None for name, x in named.items()
    ]


def _alike(x: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Return two tensors of the wider dtype of both."""
    wide = next((one for one in ("float64", "float32") if one in (x.dtype, z.dtype)), x.dtype)
    x, z = (one if one.dtype == wide else run("Cast", one, dtype=wide) for one in (x, z))
    return x, z
