"""Kernels of the form ``"product"``: a user says what the elements are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from wgsl_kernels.backends.webgpu.composing.text.operands import STORAGE_TYPES
from wgsl_kernels.backends.webgpu.declare.kernel import params_with, wants_signature
from wgsl_kernels.backends.webgpu.modules.packages import plain_path
from wgsl_kernels.backends.webgpu.modules.source import text_given
from wgsl_kernels.backends.webgpu.products.dispatching import declare_product, multiply
from wgsl_kernels.backends.webgpu.products.tilings import LONGEST_UNBROKEN, Product
from wgsl_kernels.backends.webgpu.products.written import (
    OWN_FIELDS,
    OWN_NAMES,
    SLOT_NAMES,
    read_product,
    write_product,
)
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, tensor_facts
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DTypeError,
    ShapeError,
    WgslKernelsError,
)
from wgsl_kernels.engine.registry.registry import Kernel
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.values.attributes import plain
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.wgsl.errors.words import shown
from wgsl_kernels.wgsl.specialize.vectors import VEC4
from wgsl_kernels.wgsl.syntax.inline import note_python_file
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.backends.webgpu.products.written import ProductFile, WrittenProduct
    from wgsl_kernels.engine.environment.origin import Origin
    from wgsl_kernels.engine.registry.signature import Signature
    from wgsl_kernels.engine.values.dtypes import DType

PARTS = "templates/product_parts.wesl"
_SUMMED = ("float32", "float16", "int32")


class ProductForm:
    """A kernel that is a product of a user's own elements.

    Attributes:
        params: What returns the fields of ``params``, ``depth`` among them.
    """

    def __init__(
        self, name: str, given: str, origin: Origin, params: Callable[..., dict[str, Any]]
    ) -> None:
        """Read the file for the first time."""
        self.name = name
        self.given = given
        self.origin = origin
        self.params = params
        self._file: ProductFile | None = self._read()

    def __call__(self, gpu: Gpu, *arrays: GpuArray | None, **attrs: Any) -> GpuArray:
        """Return the product of arrays."""
        names = self.names()
        given = {n: a for n, a in zip(names, arrays, strict=True) if a is not None}
        specs = [None if one is None else Spec(one.shape, one.dtype) for one in arrays]
        spec = self.output(specs, attrs)
        file = self.file()
        indexed = [name for name in given if wgsl_name(name) in file.uses]
        given = {n: gpu.contiguous(a) if n in indexed else a for n, a in given.items()}
        shapes = {n: Argument(one.shape, one.dtype, one.layout) for n, one in given.items()}
        facts = {**attrs, **tensor_facts({**shapes, "y": Argument(spec.shape, spec.dtype)})}
        fields = self.fields(facts)
        depth = fields["depth"]
        rows, cols = spec.shape[-2:]
        strided = [name for name, one in given.items() if one.layout is not None]
        written = write_product(
            file,
            list(given),
            strided,
            (rows, cols, depth),
            fields,
            element_types({**given, "y": spec}),
            [name for name in names if name not in given],
        )
        return self.run(gpu, given, spec, fields, written)

    def run(
        self,
        gpu: Gpu,
        given: Mapping[str, GpuArray],
        spec: Spec,
        fields: Mapping[str, Any],
        written: WrittenProduct,
    ) -> GpuArray:
        """Dispatch the product with its slots filled."""
        *above, rows, cols = spec.shape
        depth, unbroken = fields["depth"], self.file().unbroken
        product = Product(math.prod(above), rows, cols, 1, depth, unbroken=bool(unbroken))
        if unbroken and depth > LONGEST_UNBROKEN:
            raise ArgumentError(
                f"{self.name}: depth is {depth}, and {unbroken}; want at most {LONGEST_UNBROKEN}."
            )
        spelled = {wgsl_name(name): one for name, one in given.items()}
        arrays = {**given, **{f"{name}{VEC4}": spelled[name] for name in written.vec4}}
        notes = [f"operand {operand}: {one}" for operand, one in written.loads.items()]
        functions = self.file().functions
        extra = {"WHOLE": True}
        own = {
            "OWN_TERM": bool({"term", "term_at"} & functions.keys()),
            "OWN_INIT": "init" in functions,
            "OWN_PLACE": "term_at" in functions,
        }
        sizes = {**product.fields(), "tap_block": 0, "channel_block": 0, "across": 0}

        def add(parts: GpuArray, y: GpuArray, count: int) -> GpuArray:
            gpu.dispatch(
                PARTS,
                {**given, "parts": parts, "y": y},
                slots=written.text,
                configuration={**extra, "OWN_TERM": own["OWN_TERM"], "OWN_PLACE": own["OWN_PLACE"]},
                params={**sizes, **fields, "part_size": spec.size, "taps": count},
            )
            return y

        return multiply(
            gpu,
            written.text,
            product,
            arrays,
            spec.shape,
            spec.dtype,
            params=fields,
            layout=written.layout,
            configuration=own,
            of_whole=extra,
            add=add,
            notes=[*notes, *([unbroken] if unbroken else ())],
        )

    def file(self) -> ProductFile:
        """Return the file as it was when it was looked at."""
        if self._file is None:
            self._file = self._read()
        return self._file

    def look_again(self) -> bool:
        """Read the file again; return whether it differs."""
        before = self._file
        try:
            self._file = self._read()
        except WgslKernelsError:
            self._file = None  # it raises where the kernel runs next
        return before is None or self._file is None or self._file.text != before.text

    def differs(self) -> bool:
        """Say whether the file differs now; nothing changes by that."""
        try:
            return self._file is None or self._read().text != self._file.text
        except WgslKernelsError:
            return True

    def anew(self) -> ProductForm:
        """Return the same kernel with its file as it is now."""
        return ProductForm(self.name, self.given, self.origin, self.params)

    def names(self) -> tuple[str, ...]:
        """Return what the kernel calls its inputs.

        Raises:
            ArgumentError: It has no signature, or an input has a name that the form needs.
        """
        names = tuple([one.name for one in self._signature.inputs])
        self._check_names(names, (*OWN_NAMES, *SLOT_NAMES), "it has the input")
        return names

    def infer(self, specs: list[Spec], attrs: dict[str, Any]) -> NoReturn:
        """Refuse to run without a signature, which alone gives the output's shape."""
        raise wants_signature(self.name, "product")

    def output(self, specs: Sequence[Spec | None], attrs: Mapping[str, Any]) -> Spec:
        """Return what the signature gives.

        Raises:
            ArgumentError: It gives several outputs.
            ShapeError, DTypeError: A product can have no such result.
        """
        found = self._signature.infer(list(specs), attrs).specs
        if len(found) != 1:
            raise ArgumentError(f"{self.name}: its signature gives {len(found)} outputs; want one.")
        (spec,) = found
        if len(spec.shape) < 2:
            message = f"its output is {show(spec.shape)}; want at least two axes, rows and columns"
            raise ShapeError(f"{self.name}: {message}.")
        if spec.dtype not in _SUMMED:
            raise DTypeError(f"{self.name}: its output is {spec.dtype}; want {', '.join(_SUMMED)}.")
        return spec

    def fields(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that ``params=`` gives, and the facts that the file reads beside them.

        Raises:
            ArgumentError: ``depth`` is not among them, or is no length, or one has a name that
                products use themselves.
            ShaderError: The file reads a field that is not there.
        """
        given = params_with(self.params, dict(facts), self.name)
        found = {name: plain(value) for name, value in given.items()}
        depth = found.get("depth")
        if not isinstance(depth, int) or isinstance(depth, bool) or not 0 <= depth < 2**32:
            message = (
                f"params= gave depth = {shown(depth)}"
                if "depth" in found
                else "params= gave no 'depth'"
            )
            raise ArgumentError(
                f"{self.name}: {message}; want the length of each sum, an int from 0 to 4294967295."
            )
        file = self.file()
        asked = {n: facts[n] for n in file.fields if n in facts and n not in found}
        fields = {**found, **asked}
        self._check_names(fields, OWN_FIELDS, "params has the field")
        others = [one for one in facts if one not in fields and not one.startswith("wk_")]
        file.check_fields(("rows", "cols", *fields, *others))
        return fields

    def _check_names(self, names: Iterable[str], taken: Sequence[str], what: str) -> None:
        for name in names:
            if name in taken:
                raise ArgumentError(
                    f"{self.name}: {what} {name!r}, a name that products use themselves; want "
                    f"another than {', '.join(taken)}."
                )

    @property
    def _signature(self) -> Signature:
        declared = find_signature(self.name)
        if declared is None:
            raise wants_signature(self.name, "product")
        return declared

    def _read(self) -> ProductFile:
        note_python_file(self.origin.inline, self.origin.file)
        beside = self.origin.folder
        return read_product(self.name, text_given(self.given, beside, self.origin.inline))


def element_types(tensors: Mapping[str, GpuArray | Spec]) -> dict[str, str]:
    """Return what ``T``, ``T_wide`` and ``T_<tensor>`` are; the output comes last."""
    found = {f"T_{wgsl_name(name)}": STORAGE_TYPES[one.dtype] for name, one in tensors.items()}
    first, last = next(iter(found.values())), found["T_y"]
    return {**found, "T": first, "T_wide": "f32" if last == "f16" else last}


def product_kernel(
    name: str,
    source: str | os.PathLike[str] | None,
    origin: Origin,
    dtypes: frozenset[DType] | None,
    params: Callable[..., dict[str, Any]] | None,
) -> Kernel:
    """Return the kernel of a user's product.

    Raises:
        ArgumentError: ``source`` or ``params`` is missing.
        ShaderError: The file cannot be read, or lacks a function.
    """
    if source is None:
        raise ArgumentError(f"{name}: source is missing; want a path, or WGSL text with lines.")
    if params is None:
        raise ArgumentError(
            f"{name}: params is missing; want a function that returns 'depth', the length of each "
            "sum, as params=lambda a_shape: {'depth': a_shape[-1]}."
        )
    form = ProductForm(name, plain_path(name, "source", source), origin, params)
    declare_product(name)
    return Kernel(
        name, "webgpu", form, origin, dtypes,
        infer=form.infer, names=form.names, repeats=True, files=[form],
    )  # fmt: skip
