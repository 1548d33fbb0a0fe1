"""Kernels of the form ``"product"``: a user says what the elements are."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.source import text_given
from wgsl_kernels.backends.webgpu.kernel import params_with
from wgsl_kernels.backends.webgpu.launching.recipe import tensor_facts
from wgsl_kernels.backends.webgpu.packages import plain_path
from wgsl_kernels.backends.webgpu.products.dispatching import Epilogue, declare_product, multiply
from wgsl_kernels.backends.webgpu.products.tilings import Product
from wgsl_kernels.backends.webgpu.products.written import read_product, write_product
from wgsl_kernels.backends.webgpu.templates.vectors import VEC4
from wgsl_kernels.backends.webgpu.wgsl.names import wgsl_name
from wgsl_kernels.engine.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.signature import find_signature
from wgsl_kernels.engine.spec import Spec

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.backends.webgpu.products.written import ProductFile, WrittenProduct
    from wgsl_kernels.engine.origin import Origin

PARTS = "templates/product_parts.wesl"
_SUMMED = {"float32": "float32", "float16": "float32", "int32": "int32"}
_KEPT = 64


@dataclass(eq=False)
class ProductForm:
    """A kernel that is a product of a user's own elements.

    Attributes:
        name: The kernel's name.
        given: The file, or its text.
        origin: Where it was registered.
        params: What returns the fields of ``params``, ``depth`` among them.
        loads: How the operands were read last, and why; what ``explain`` prints.
    """

    name: str
    given: str
    origin: Origin
    params: Callable[..., dict[str, Any]]
    loads: Mapping[str, object] = field(default_factory=dict[str, object])

    def __call__(self, gpu: Gpu, *arrays: GpuArray | None, **attrs: Any) -> GpuArray:
        """Return the product of arrays."""
        declared = find_signature(self.name)
        assert declared is not None, self.name
        names = [one.name for one in declared.inputs]
        given = {n: a for n, a in zip(names, arrays, strict=True) if a is not None}
        spec = self.output([Spec(one.shape, one.dtype) for one in given.values()], attrs)
        file = self.file()
        indexed = [name for name in given if wgsl_name(name) in file.uses]
        given = {n: gpu.contiguous(a) if n in indexed else a for n, a in given.items()}
        facts = {**attrs, **tensor_facts(given), "y_shape": spec.shape, "y_size": spec.size}
        fields = self.fields(facts)
        depth = fields["depth"]
        rows, cols = spec.shape[-2:]
        asked = {n: facts[n] for n in file.fields() if n in facts and n not in fields}
        fields = {**fields, **asked}
        strided = [name for name, one in given.items() if one.layout is not None]
        written = write_product(file, list(given), strided, (rows, cols, depth), fields)
        self.loads = written.loads
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
        product = Product(math.prod(above), rows, cols, 1, fields["depth"])
        spelled = {wgsl_name(name): one for name, one in given.items()}
        arrays = {**given, **{f"{name}{VEC4}": spelled[name] for name in written.vec4}}
        extra = {"WHOLE": True}
        own = {"OWN_TERM": "term" in self.file().functions}
        sizes = {**product.fields(), "tap_block": 0, "channel_block": 0, "across": 0}

        def add(parts: GpuArray, y: GpuArray, count: int) -> GpuArray:
            gpu.dispatch(
                PARTS,
                {**given, "parts": parts, "y": y},
                slots=written.text,
                configuration={**extra, **own},
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
            epilogue=Epilogue(configuration=extra, fields={}, adds=add),
            configuration=own,
        )

    def file(self) -> ProductFile:
        """Return the file as it is now."""
        beside = Path(self.origin.file).parent
        return _read(self.name, text_given(self.given, beside, self.origin.inline))

    def output(self, specs: Sequence[Spec], attrs: Mapping[str, Any]) -> Spec:
        """Return what the signature gives.

        Raises:
            ShapeError, DTypeError: A product can have no such result.
        """
        declared = find_signature(self.name)
        assert declared is not None, self.name
        (spec,) = declared.infer(list(specs), attrs).specs
        if len(spec.shape) < 2:
            message = f"its output is {show(spec.shape)}; want at least two axes, rows and columns"
            raise ShapeError(f"{self.name}: {message}.")
        if spec.dtype not in _SUMMED:
            raise DTypeError(f"{self.name}: its output is {spec.dtype}; want {', '.join(_SUMMED)}.")
        return spec

    def fields(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that ``params=`` gives.

        Raises:
            ArgumentError: ``depth`` is not among them, or is no length.
        """
        found = params_with(self.params, dict(facts), self.name)
        depth = found.get("depth")
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < 0:
            message = f"params= gave depth = {depth!r}" if "depth" in found else "params= gave none"
            raise ArgumentError(f"{self.name}: {message}; want 'depth', the length of each sum.")
        return found


def product_kernel(
    name: str,
    source: str | os.PathLike[str] | None,
    origin: Origin,
    params: Callable[..., dict[str, Any]] | None,
) -> ProductForm:
    """Return what runs a user's product, whose file is read for the first time.

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
    declare_product(name)
    found = ProductForm(name, plain_path(name, "source", source), origin, params)
    found.file()
    return found


_read = functools.lru_cache(maxsize=_KEPT)(read_product)
