"""A map's CPU kernel, from its shader: the same text, on NumPy, in float64 where that is asked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wgsl_kernels.backends.derived.accumulations import form_of
from wgsl_kernels.backends.derived.context import common, given_names, in_one_text, op_of
from wgsl_kernels.backends.derived.functions import NumpyFunctions, scalar_of_dtype
from wgsl_kernels.backends.derived.host_kernels import AccumulationTwin, ShaderTwin, check_served
from wgsl_kernels.backends.derived.kernels import KeptByDtype
from wgsl_kernels.backends.derived.windows import WindowTwin
from wgsl_kernels.backends.webgpu.composing.text.operands import VARIANTS, classify
from wgsl_kernels.backends.webgpu.declare.kernel import params_with
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.registry.registry import Kernel, add_kernel
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.wgsl.syntax.names import wgsl_name
from wgsl_kernels.wgsl.syntax.places import pointed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.wgsl.syntax.source_map import SourceMap


_Dtypes: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
"""The dtype of the first input, and those of inputs by name."""


class Twin(ShaderTwin):
    """A CPU kernel made of a shader.

    Attributes:
        shader: The shader, a map.
    """

    def __init__(self, shader: ShaderKernel, dtypes: frozenset[DType] | None = None) -> None:
        """Refuse at once what cannot be run for the first dtype that is served.

        Args:
            shader: The shader.
            dtypes: What its author says that it serves; None for all that its types allow.

        Raises:
            ShaderError: The shader is no map, or does what does not run on NumPy.
        """
        self.shader = shader
        self._kept = KeptByDtype(shader, self._compile)
        source = shader.source
        if classify(source, shader.form) != "map":
            raise ArgumentError(
                f"{shader.name}: cpu='derive' takes maps, reductions, scans, windows and "
                "products; write a CPU kernel."
            )
        served = shader.served if dtypes is None else dtypes
        for dtype in VARIANTS:
            if dtype in served and op_of(source, dtype) is not None:
                self._kept[dtype, ()]
                break

    def _compile(self, dtypes: _Dtypes) -> CompiledMap:
        dtype, others = dtypes
        return CompiledMap(self.shader.name, self.shader.source, dtype, dict(others))

    def __call__(self, *arrays: Any, **attrs: Any) -> Any:
        """Return the map of arrays."""
        names = [wgsl_name(one) for one in self.shader.names()]
        values = dict(zip(names, arrays, strict=True))
        dtypes = {name: str(one.dtype) for name, one in values.items() if one is not None}
        dtype = next(iter(dtypes.values()), "float32")
        check_served(self.shader, dtype)
        declared = find_signature(self.shader.name)
        texts = [file.text.text for file in self.shader.source.files]
        if declared is not None and any("T_y" in one or "T_wide" in one for one in texts):
            specs = [one if one is None else Spec(one.shape, str(one.dtype)) for one in arrays]
            dtypes["y"] = declared.infer(specs, attrs).specs[0].dtype
        if self.shader.params is not None:
            shapes = {f"{n}_shape": one.shape for n, one in values.items() if one is not None}
            more = params_with(self.shader.params, {**shapes, **attrs}, self.shader.name)
            attrs = {**attrs, **more}
        return self._kept[dtype, tuple(dtypes.items())].run(values, attrs)


class CompiledMap:
    """A map on NumPy, for inputs of some dtypes."""

    def __init__(self, kernel: str, source: Source, dtype: str, dtypes: Mapping[str, str]) -> None:
        """Compile it for a first input of a dtype, and for inputs by name."""
        op = op_of(source, "float32" if dtype == "float64" else dtype)
        if op is None:
            raise ArgumentError(f"{kernel}: its shader has no op for {dtype}.")
        self.op = op
        types = {name: scalar_of_dtype(one) for name, one in dtypes.items()}
        given = given_names(source, scalar_of_dtype(dtype), types)
        whole = in_one_text(source, given, common())
        wide = "float64" if "float64" in dtypes.values() else dtype
        point = partial(_point, whole)
        self._functions = NumpyFunctions(kernel, source, whole.composed, wide, point)
        self._functions.need(op.name)

    def run(self, values: Mapping[str, Any], attrs: Mapping[str, Any]) -> Any:
        present = [one for one in values.values() if one is not None]
        shape = np.broadcast_shapes(*[one.shape for one in present])
        given: list[Any] = []
        for one in self.op.parameters:
            value: Any = values.get(one.name)
            if value is None and one.name == "i":
                value = np.arange(int(np.prod(shape)), dtype=np.uint32).reshape(shape)
            given.append([value.real, value.imag] if np.iscomplexobj(value) else value)
        with self._functions.with_attributes(attrs) as call:
            found = call(self.op.name, *given)
        if isinstance(found, list):  # the parts of complex numbers
            whole = np.empty(shape, np.complex64)
            whole.real, whole.imag = found
            return whole
        return np.array(np.broadcast_to(found, shape))


def _point(whole: SourceMap, message: str, begin: int) -> str:
    place = whole.composed.place(begin)
    return pointed(*whole.origin(place.line, place.column), message)


def derive_cpu(shader: ShaderKernel, dtypes: frozenset[DType] | None) -> Callable[[bool], None]:
    """Return what registers the CPU kernel of a map, given whether it may replace another.

    Args:
        shader: The shader.
        dtypes: What its author says that it serves, if so.

    Raises:
        ArgumentError: The shader is no map.
    """
    twin: Any
    form = form_of(shader)
    if form is None:
        twin = Twin(shader, dtypes)
    else:
        twin = WindowTwin(shader) if form == "window" else AccumulationTwin(shader)
        twin.check("float32")
    kernel = Kernel(shader.name, "cpu", twin, shader.origin, names=shader.names, files=[shader])
    return lambda override: add_kernel(kernel, override=override)
