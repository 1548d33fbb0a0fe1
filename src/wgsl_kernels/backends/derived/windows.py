"""Derived windows that add, on both backends: over places of the window, then over elements.

A window's cotangent is that of its total, by the slope of ``finish``. Accumulators are added, so
each element of the window is given it unchanged: an element gathers those of the windows that
cover it, and nothing is scattered. Channels come last; where they are first each is an image.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.derived.dispatches import ShaderTexts, field_of
from wgsl_kernels.backends.derived.host_kernels import ArrayKernel, check_served, dtype_given
from wgsl_kernels.backends.derived.kernels import DerivedKernel
from wgsl_kernels.backends.derived.passes import GROUP, Pass
from wgsl_kernels.backends.webgpu.declare.kernel import params_with
from wgsl_kernels.backends.webgpu.programs.building import fold
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.windows import sliding_by
from wgsl_kernels.simulator.masks import written
from wgsl_kernels.wgsl.syntax.places import text_beside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wgsl_kernels.backends.derived.accumulations import Derivation
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.engine.values.windows import Sliding
    from wgsl_kernels.wgsl.derive.accumulations import Accumulation, Pulled

    Array = np.ndarray[Any, Any]

_AXES = ("image", "places", "window", "reach", "dilation", "before")
"""Facts that a window has along each axis: planes, rows, columns."""
_SIZES = {"size": "u32", "channels": "u32", **dict.fromkeys(_AXES, "vec3<u32>")}
_MOVES: Mapping[str, Any] = MappingProxyType(
    {
        "filter_size": None,
        "strides": None,
        "pad": "valid",
        "dilations": 1,
        "dim_rounding_mode": None,
        "data_format": None,
    }
)
"""Attributes that say how a window moves, and what they are where they are not given."""
_GUARD = """  if (item >= wk_sizes.size) {
    return;
  }
"""
_PLACE = f"""{_GUARD}  let cell = wk_cell(item, wk_sizes.places, wk_sizes.image);
  let corner = cell.at * wk_sizes.reach;
  let first = wk_elements_before(wk_sizes.before, corner);
  let past = wk_elements_before(wk_sizes.before + wk_sizes.image, corner);
  let last = max(min(past, wk_sizes.window), first);
  let n = (last.x - first.x) * (last.y - first.y) * (last.z - first.z);
"""
_ELEMENT = f"""{_GUARD}  let cell = wk_cell(item, wk_sizes.image, wk_sizes.places);
  let corner = cell.at + wk_sizes.before;
  let span = (wk_sizes.window - 1u) * wk_sizes.dilation + 1u;
  let first = (max(corner + 1u, span) - span + wk_sizes.reach - 1u) / wk_sizes.reach;
  let last = min(corner / wk_sizes.reach + 1u, wk_sizes.places);
"""
_TOTAL = """  var total = {p}init();
{loops}        let w = vec3<u32>(plane, row, col);
        let there = corner + w * wk_sizes.dilation - wk_sizes.before;
        let at = wk_index(cell.start, there, wk_sizes.image);
        total = {p}step(total, {loaded}, wk_number(w));
      }}
    }}
  }}
"""
_LOOPS = """  for (var plane = first.x; plane < last.x; plane++) {
    for (var row = first.y; row < last.y; row++) {
      for (var col = first.z; col < last.z; col++) {
"""
_COVERED = """        let place = vec3<u32>(plane, row, col);
        let apart = corner - place * wk_sizes.reach;
        let to = wk_to[wk_index(cell.start, place, wk_sizes.places)];
{body}      }}
    }}
  }}
"""
_APART = "        if (all(apart % wk_sizes.dilation == vec3<u32>())) {{\n  {body}        }}\n"
"""Where neighbours in a window are apart on the image it leaves elements out."""


class WindowShaders(ShaderTexts):
    """The texts of a window, or of its gradient by one input, for one dtype.

    Attributes:
        passes: The dispatches, and the shader of each, by whether neighbours in a window are
            apart on the image.
        held: The dtype of the buffer of cotangents, and the bytes from one to the next.
    """

    def __init__(self, derivation: Derivation, found: Accumulation | Pulled) -> None:
        super().__init__(derivation, found)
        self.head = f"{self.head}\n{text_beside(__file__, 'windows.wgsl')}"
        types = {"wk_to": self.one.total}
        self.passes: dict[bool, list[tuple[Pass, str]]] = {}
        for is_dilated in (False, True):
            made = [] if self.is_zero else self._written(is_dilated=is_dilated)
            self.passes[is_dilated] = [(one, self.text(one, types, _SIZES)) for one in made]
        self.held = self.buffer(self.one.total)

    def _written(self, *, is_dilated: bool) -> list[Pass]:
        one, p = self.one, self.one.prefix
        lifted = [each.name for each in one.lifted]
        loaded = ", ".join([f"load_{name}(at)" for name in lifted])
        total = _TOTAL.format(p=p, loops=_LOOPS, loaded=loaded)
        if self.pulled is None:
            end = f"  store_{self.result}(item, {p}finish(total, n));\n"
            return [Pass("places", f"{_PLACE}{total}{end}", (*lifted, self.result), ())]
        read = () if one.is_straight else tuple(lifted)
        total = f"  let total = {p}init();\n" if one.is_straight else total
        to = f"  wk_to[item] = {p}by_finish(total, n, load_{self.upstream}(item));\n"
        places = Pass("places", f"{_PLACE}{total}{to}", (*read, self.upstream), ("wk_to",))
        values = "".join(f"  let {name}_k = load_{name}(item);\n" for name in lifted)
        given = ", ".join([f"{name}_k" for name in lifted])
        if one.is_numbered:
            zero, end = "f32()", "found"
            number = "apart / wk_sizes.dilation" if is_dilated else "apart"
            slope = f"{p}by_step({p}init(), {given}, wk_number({number}), to)"
            body = f"        found += f32({slope});\n"
        else:
            zero, end = f"{one.total}()", f"{p}by_step({p}init(), {given}, 0u, found)"
            body = f"        found = {p}plus(found, to);\n"
        body = _APART.format(body=body) if is_dilated else body
        loop = f"  var found = {zero};\n{_LOOPS}{_COVERED.format(body=body)}"
        store = f"  store_{self.result}(item, {self.pulled.wanted.type}({end}));\n"
        body = f"{_ELEMENT}{values}{loop}{store}"
        return [places, Pass("elements", body, (*lifted, self.result), ("wk_to",))]


def _fields(sliding: Sliding) -> dict[str, Any]:
    """Return the facts of a window along planes, rows and columns; images have one plane."""
    axes = sliding.axes
    names = ("size", "out", "window", "stride", "dilation", "before")
    alone = (1, 1, 1, 1, 1, 0)
    found: dict[str, Any] = {"channels": sliding.channels}
    for name, attribute, one in zip(_AXES, names, alone, strict=True):
        along = [getattr(axis, attribute) for axis in axes]
        found[name] = (*[one] * (3 - len(along)), *along)
    return found


class WindowDeviceKernel(DerivedKernel[WindowShaders]):
    """A derived kernel of windows with full control."""

    def make(
        self, derivation: Derivation, found: Accumulation | Pulled, dtype: str
    ) -> WindowShaders:
        del dtype  # the derivation is for it
        return WindowShaders(derivation, found)

    def __call__(self, gpu: Gpu, *arrays: GpuArray, **attrs: Any) -> GpuArray:
        x = arrays[0 if self.wanted is None else 1]
        made = self.made(x.dtype)
        names = [each.name for each in made.one.elements]
        upstream = [made.upstream] * (self.wanted is not None)
        tensors = dict(zip([*upstream, *names], arrays, strict=True))
        sliding = sliding_by(self.shader.name, x.shape, attrs)
        if self.wanted is not None:
            shape, dtype = x.shape, tensors[self.wanted].dtype
        else:
            shape, dtype = sliding.out_shape, dtype_given(made.one, x.dtype)
        sliding = sliding.of_one_channel()
        size, count = math.prod(shape), sliding.places * sliding.channels
        if made.is_zero or not size or not count or not math.prod(x.shape):
            return gpu.full(shape, dtype, 0)
        y = tensors[made.result] = gpu.empty(shape, dtype)
        params = _fields(sliding)
        params |= {f"attr_{name}": field_of(attrs[name]) for name in read_of(self.shader)}
        held, stride = made.held
        buffer = None
        is_dilated = any(axis.dilation > 1 for axis in sliding.axes)
        for one, text in made.passes[is_dilated]:
            given = {name: tensors[name] for name in one.tensors}
            if one.buffers:
                words = stride // (2 if held == "float16" else 4)
                buffer = gpu.empty((count * words,), held) if buffer is None else buffer
                given["wk_to"] = buffer
            items = count if one.over == "places" else size
            groups = fold(-(-items // GROUP))
            gpu.dispatch(text, given, params={**params, "size": items}, groups=groups)
        return y


class WindowArrayKernel(ArrayKernel):
    """A derived kernel of windows on NumPy: all places at once, element by element of a window."""

    def __call__(self, *arrays: Array, **attrs: Any) -> Array:
        given = arrays if self.wanted is None else arrays[1:]
        x = given[0]
        made = self.made(str(x.dtype))
        sliding = sliding_by(self.shader.name, x.shape, attrs)
        out = sliding.out_shape
        sliding = sliding.of_one_channel()
        spatial = [axis.size for axis in sliding.axes]
        images = [
            sliding.padded(one.reshape(sliding.batch, *spatial, sliding.channels)) for one in given
        ]
        read = {name: attrs[name] for name in read_of(self.shader)}
        with made.functions.with_attributes(read) as call:
            walk = _WindowWalk(made.one, call, sliding, images)
            if self.wanted is None:
                return walk.forward(dtype_given(made.one, str(x.dtype))).reshape(out)
            names = [each.name for each in made.one.elements]
            dtype = given[names.index(self.wanted)].dtype
            if made.pulled is None or made.pulled.is_zero or not x.size:
                return np.zeros(x.shape, dtype)
            dy = arrays[0].reshape(sliding.out_shape)
            return walk.gradient(dy, dtype).reshape(x.shape)


class _WindowWalk:
    def __init__(self, one: Accumulation, call: Any, sliding: Sliding, images: list[Array]) -> None:
        self.one, self.sliding, self.images = one, sliding, images
        self._call = call
        self.shape = sliding.out_shape

    def call(self, name: str, *arguments: Any) -> Any:
        return self._call(f"{self.one.prefix}{name}", *arguments)

    def elements(self) -> Iterator[tuple[Any, Any, np.uint32, list[Array]]]:
        """Yield which elements of padded images are read, whether that is inside, and values."""
        axes = self.sliding.axes
        for k, w in enumerate(np.ndindex(*[axis.window for axis in axes])):
            moves = list(zip(axes, w, strict=True))
            at = (slice(None), *[axis.places(tap) for axis, tap in moves])
            inside: Any = True
            for n, (axis, tap) in enumerate(moves):
                side = [1] * len(axes) + [1]
                side[n] = axis.out
                inside = inside & axis.inside(tap).reshape(side)
            mask = np.broadcast_to(inside, self.shape)
            yield at, mask, np.uint32(k), [one[at] for one in self.images]

    def total(self) -> tuple[Any, Array]:
        """Return the accumulator of each place, and how many elements it has."""
        total = _full(self.call("init"), self.shape)
        n = np.zeros(self.shape, np.uint32)
        for _, mask, k, values in self.elements():
            n += mask
            if not mask.all():
                total = written(mask, self.call("step", total, *values, k), total)
            else:
                total = self.call("step", total, *values, k)
        return _full(total, self.shape), n

    def forward(self, dtype: Any) -> Array:
        """Return the result of each place."""
        total, n = self.total()
        return np.array(np.broadcast_to(self.call("finish", total, n), self.shape), dtype)

    def gradient(self, dy: Array, dtype: Any) -> Array:
        """Return the gradient by one input."""
        total, n = self.total()
        to = self.call("by_finish", total, n, dy)
        wide = np.promote_types(dtype, np.float32)
        padded = np.zeros(self.images[0].shape, wide)
        for at, _, k, values in self.elements():
            padded[at] += self.call("by_step", self.call("init"), *values, k, to)
        return np.ascontiguousarray(self.sliding.cropped(padded)).astype(dtype)


def _full(value: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(value, list):
        return [_full(one, shape) for one in value]
    return np.broadcast_to(value, shape)


def read_of(shader: ShaderKernel) -> list[str]:
    struct = shader.source.structs.get("Attrs")
    return [] if struct is None else [one.name for one in struct.fields]


def window_attrs(
    shader: ShaderKernel, shape: tuple[int, ...], attrs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return how a window moves over an input of a shape, and what its shader reads.

    Raises:
        ArgumentError: An attribute that the shader reads is missing.
    """
    known = dict(attrs)
    if shader.params is not None:
        facts = {f"{shader.names()[0]}_shape": shape, **attrs}
        known |= params_with(shader.params, facts, shader.name)
    missing = [name for name in read_of(shader) if name not in known]
    if missing:
        raise ArgumentError(f"{shader.name}: attribute {missing[0]!r} is missing.")
    read = {name: known[name] for name in read_of(shader)}
    return {name: known.get(name, value) for name, value in _MOVES.items()} | read


class WindowTwin:
    """The CPU kernel of a window, or of its gradient."""

    def __init__(self, shader: ShaderKernel, wanted: str | None = None) -> None:
        self.shader = shader
        self._kernel = WindowArrayKernel(shader, (), wanted)

    def check(self, dtype: str) -> None:
        """Compile it for a dtype."""
        self._kernel.made(dtype)

    def __call__(self, *arrays: Array, **attrs: Any) -> Array:
        check_served(self.shader, str(arrays[-1].dtype))
        given = window_attrs(self.shader, arrays[-1].shape, attrs)
        return self._kernel(*arrays, **given)
