"""The kernels of derived accumulations on cpu, and those that ``cpu="derive"`` makes of shaders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.derived.context import common
from wgsl_kernels.backends.derived.functions import NumpyFunctions
from wgsl_kernels.backends.derived.kernels import DerivedKernel
from wgsl_kernels.backends.derived.walks import PartWalk, forward, gradient
from wgsl_kernels.backends.webgpu.declare.kernel import params_with
from wgsl_kernels.backends.webgpu.lowering.fit import fitting_call
from wgsl_kernels.backends.webgpu.lowering.reduce import AXIS_ATTRS
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.engine.values.shapes import normalize_axes
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.wgsl.derive.accumulations import Pulled
from wgsl_kernels.wgsl.syntax.names import wgsl_name
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.derived.accumulations import Derivation
    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.wgsl.derive.accumulations import Accumulation

    Array = np.ndarray[Any, Any]

_DTYPES = {"f16": "float16", "i32": "int32", "bool": "bool"}


def dtype_given(one: Accumulation, dtype: str) -> str:
    """Return the dtype of an accumulation's results for a first input of a dtype."""
    return _DTYPES.get(one.gives, "float64" if dtype == "float64" else "float32")


@dataclass(frozen=True)
class HostFunctions:
    """The functions of an accumulation, or of its gradient, on NumPy."""

    one: Accumulation
    pulled: Pulled | None
    functions: NumpyFunctions

    @classmethod
    def of(cls, derivation: Derivation, found: Accumulation | Pulled, dtype: str) -> HostFunctions:
        pulled = found if isinstance(found, Pulled) else None
        one = found.of if isinstance(found, Pulled) else found
        beside = f"{derivation.given()}{common().text}\n"
        functions = NumpyFunctions(
            derivation.shader.name,
            derivation.source,
            Text(COMPOSED, f"{beside}{found.text}"),
            dtype,
            lambda message, begin: derivation.point(message, begin - len(beside)),
        )
        end = ("settle", "apply") if one.form == "apply" else ("finish",)
        needed = ["init", "lift", "combine", "step", *end]
        needed += [] if pulled is None else sorted(pulled.there)
        functions.need(*[f"{one.prefix}{name}" for name in needed])
        return cls(one, pulled, functions)


class ArrayKernel(DerivedKernel[HostFunctions]):
    """A derived kernel on NumPy."""

    def make(
        self, derivation: Derivation, found: Accumulation | Pulled, dtype: str
    ) -> HostFunctions:
        return HostFunctions.of(derivation, found, dtype)

    def __call__(self, *arrays: Array, **attrs: Any) -> Array:
        inputs = arrays if self.wanted is None else arrays[1:]
        x = inputs[0]
        made = self.made(str(x.dtype))
        names = [each.name for each in made.one.elements]
        given = dict(zip(names, inputs, strict=True))
        how = {
            "exclusive": bool(attrs.get("exclusive", False)),
            "backward": bool(attrs.get("reverse", False)),
        }
        if self.wanted is None:
            shape = x.shape[:-1] if made.one.form == "reduce" else x.shape
            dtype: Any = np.dtype(dtype_given(made.one, str(x.dtype)))
        else:
            shape, dtype = x.shape, given[self.wanted].dtype
        is_derivative = self.wanted is not None or bool(self.path)
        if not x.size and (is_derivative or made.one.form != "reduce" or not x.shape[0]):
            return np.zeros(shape, dtype)
        with made.functions.with_attributes(attrs) as call:
            walk = PartWalk(made.one, made.pulled, call, given, **how)
            found = (
                forward(walk, dtype) if self.wanted is None else gradient(walk, arrays[0], dtype)
            )
        return found.reshape(shape)


@dataclass(frozen=True)
class Rows:
    """How the tensors of a kernel become rows whose last axis is combined.

    Attributes:
        shape: The first input's.
        order: Its axes, those that are combined last.
        kept: The lengths of the others.
        n: How many elements are combined.
        attrs: What the shader reads of the attributes, and how a scan goes.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    kept: tuple[int, ...]
    n: int
    attrs: Mapping[str, Any]

    @classmethod
    def of(cls, shader: ShaderKernel, shapes: Sequence[tuple[int, ...]], attrs: Any) -> Rows:
        """Return how a call's tensors become rows."""
        known, shape = dict(attrs), shapes[0]
        if shader.params is not None:
            facts = {f"{n}_shape": s for n, s in zip(shader.names(), shapes, strict=True)}
            known |= params_with(shader.params, {**facts, **known}, shader.name)
        given = next((known[name] for name in AXIS_ATTRS if name in known), None)
        axes = normalize_axes(shader.name, given, len(shape)) if shape else ()
        others = [axis for axis in range(len(shape)) if axis not in axes]
        n = int(np.prod([shape[axis] for axis in axes], dtype=np.int64))
        struct = shader.source.structs.get("Attrs")
        read = [] if struct is None else [one.name for one in struct.fields]
        read += ["exclusive", "reverse"] if shader.form == "scan" else []
        return cls(
            tuple(shape),
            (*others, *axes),
            tuple([shape[axis] for axis in others]),
            n,
            {name: known[name] for name in read if name in known},
        )

    @property
    def count(self) -> int:
        return int(np.prod(self.kept, dtype=np.int64))

    @property
    def back(self) -> tuple[int, ...]:
        """The order that undoes ``order``."""
        return tuple([self.order.index(axis) for axis in range(len(self.order))])

    @property
    def moved(self) -> tuple[int, ...]:
        """The first input's shape in the order of rows."""
        return tuple([self.shape[axis] for axis in self.order])

    def of_array(self, x: Array) -> Array:
        """Return an array like the first input as rows."""
        return x.transpose(self.order).reshape(self.count, self.n)

    def to_array(self, rows: Array) -> Array:
        """Return rows as an array like the first input."""
        return np.ascontiguousarray(rows.reshape(self.moved).transpose(self.back))


def check_served(shader: ShaderKernel, dtype: str) -> None:
    """Refuse a dtype of the first input that the shader does not serve; NumPy takes any float.

    Raises:
        DTypeError: It is one.
    """
    if dtype.startswith("float"):
        return
    kernel = get_kernel(shader.name, "webgpu")
    given = None if kernel is None else kernel.dtypes
    served = shader.served if given is None else given
    if dtype not in served and not (dtype in BYTES and "int32" in served):
        raise DTypeError(
            f"{shader.name}: its shader takes {', '.join(sorted(served))} for the first "
            f"input, which is {dtype}. Cast it, or write a CPU kernel."
        )


class ShaderTwin:
    """A CPU kernel that is made of a shader, and refuses what that does."""

    shader: ShaderKernel

    def check_fit(self, inputs: Sequence[Any], *call: Any) -> None:
        """Refuse what the shader's form does, before anything runs."""
        on_device = [  # which has no float64
            one.like(dtype="float32") if isinstance(one, Spec) and one.dtype == "float64" else one
            for one in inputs
        ]
        fitting_call(self.shader, on_device, *call)


class GradientTwin:
    """The gradient of a shader that combines elements by one input, on NumPy."""

    def __init__(self, shader: ShaderKernel, wanted: str) -> None:
        self.shader, self.wanted = shader, wanted
        self._kernel = ArrayKernel(shader, (), wanted)

    def __call__(self, dy: Array, *arrays: Array, **attrs: Any) -> Array:
        rows = Rows.of(self.shader, [one.shape for one in arrays], attrs)
        given = [rows.of_array(arrays[0]), *[one.reshape(rows.n) for one in arrays[1:]]]
        dy = rows.of_array(dy) if dy.shape == rows.shape else dy.reshape(rows.count)
        found = self._kernel(dy, *given, **rows.attrs)
        at = [wgsl_name(one) for one in self.shader.names()].index(self.wanted)
        return rows.to_array(found) if at == 0 else found.sum(axis=0).reshape(arrays[at].shape)


class AccumulationTwin(ShaderTwin):
    """The CPU kernel of a shader that combines elements."""

    def __init__(self, shader: ShaderKernel) -> None:
        self.shader, self._kernel = shader, ArrayKernel(shader, (), None)

    def check(self, dtype: str) -> None:
        """Compile it for a dtype."""
        self._kernel.made(dtype)

    def __call__(self, *arrays: Array, **attrs: Any) -> Array:
        check_served(self.shader, str(arrays[0].dtype))
        shapes = [one.shape for one in arrays]
        rows = Rows.of(self.shader, shapes, attrs)
        others = [one.reshape(rows.n) for one in arrays[1:]]
        found = self._kernel(rows.of_array(arrays[0]), *others, **rows.attrs)
        if found.ndim == 2:
            return rows.to_array(found)
        declared = find_signature(self.shader.name)
        assert declared is not None
        specs = [Spec(one.shape, str(one.dtype)) for one in arrays]
        return found.reshape(declared.infer(specs, attrs).specs[0].shape)
