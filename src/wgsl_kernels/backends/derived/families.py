"""The gradients of what combines elements, from its text: what is registered when.

A shader's gradient by an input is a kernel. The gradient of that kernel is made of what directions
by the input give, which is a kernel too, whose gradients are derived like the shader's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.derived.accumulations import derived_by, form_of
from wgsl_kernels.backends.derived.context import warn_of_zero
from wgsl_kernels.backends.derived.dispatches import DeviceKernel
from wgsl_kernels.backends.derived.host_kernels import ArrayKernel, Rows, dtype_given
from wgsl_kernels.backends.derived.kernels import refuse_complex
from wgsl_kernels.backends.derived.sums import SumScan
from wgsl_kernels.backends.derived.windows import (
    WindowArrayKernel,
    WindowDeviceKernel,
    window_attrs,
)
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.environment.parameters import declared_as
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import GradientRule, put_rule
from wgsl_kernels.engine.registry.registry import Kernel, add_kernel
from wgsl_kernels.engine.registry.signature import define_signature
from wgsl_kernels.engine.values.dtypes import is_differentiable
from wgsl_kernels.engine.values.windows import sliding_by
from wgsl_kernels.wgsl.derive.accumulations import Pulled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.derived.passes import Pass
    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.spec import Spec
    from wgsl_kernels.wgsl.derive.accumulations import Accumulation

_ON_DEVICE = frozenset({"float32", "float16"})
_WIDE = frozenset({"float32", "float64"})
_ON_HOST = frozenset({"float32", "float16", "float64"})


def derive_accumulated(shader: ShaderKernel) -> Callable[[bool], None]:
    """Return what registers the gradient of a shader that combines elements.

    Warns:
        RuntimeWarning: It is zero throughout.
    """
    on_device, on_host = _kernels(shader)
    for wanted in float_elements(shader):
        on_host(shader, (), wanted).made("float64")
        if on_device(shader, (), wanted).made("float32").is_zero:
            warn_of_zero(shader, wanted)
    family = Family(shader, ())
    func = window_gradients if form_of(shader) == "window" else accumulated_gradients

    def register(override: bool) -> None:
        rule = GradientRule(
            shader.name, partial(func, family), ("upstream",), shader.origin,
            any_attr=True, any_input=True, of=shader,
        )  # fmt: skip
        put_rule(rule, override=override)

    return register


def float_elements(shader: ShaderKernel) -> tuple[str, ...]:
    """Return the inputs of a shader that combines elements which may have a gradient.

    Raises:
        ShaderError: The elements or the results are no floats.
    """
    base, source = Family(shader, ()).accumulation(), shader.source
    for what, type_, of in (
        ("result", base.gives, "finish" if base.form != "apply" else "apply"),
        ("elements", base.elements[0].type, "lift"),
    ):
        if type_ not in ("f32", "f16"):
            at = source.functions[of if of in source.functions else "combine"]
            message = f"{shader.name}: gradient='derive' wants floats; its {what}: {type_}."
            raise ShaderError(source.point(message, at))
    if base.form == "window" and not base.adds:
        raise ShaderError(
            source.point(
                f"{shader.name}: gradient='derive' takes windows that add, whose combine returns "
                "a + b, or that of each member; of another one a window's elements are given what "
                "depends on the others. Write it as ops, or register one with "
                f"@gradient({shader.name!r}).",
                source.functions["combine"],
            )
        )
    return base.floats


def _kernels(
    shader: ShaderKernel,
) -> tuple[type[DeviceKernel | WindowDeviceKernel], type[ArrayKernel | WindowArrayKernel]]:
    """Return what runs a shader's derived kernels on either backend."""
    if form_of(shader) == "window":
        return WindowDeviceKernel, WindowArrayKernel
    return DeviceKernel, ArrayKernel


def accumulated_text(shader: ShaderKernel, wanted: str) -> str:
    """Return the shaders of a gradient by one input: functions, and dispatches that call them."""
    head = f"// The gradient of {shader.name} by {wanted}, made of {shader.source.file}"
    if form_of(shader) == "window":
        windows = WindowDeviceKernel(shader, (), wanted).made("float32")
        if windows.is_zero:
            return f"{head}: zero throughout.\n"
        each = "one pass over the places of the window and one over the elements"
        passes = _written([one for one, _ in windows.passes[False]])
        return f"{head}: costs {each}.\n{windows.head}\n{passes}"
    made = DeviceKernel(shader, (), wanted).made("float32")
    if made.is_zero:
        return f"{head}: zero throughout.\n"
    sums = SumScan.of(shader, made.one)
    if sums is not None:
        return f"{head}: costs a scan.\n{sums.text()}"
    _, written = made.passes[False, 1]
    count = len(written)
    cost = "one pass over the elements" if count == 1 else f"{count} passes"
    return f"{head}: costs {cost}.\n{made.head}\n{_written([one for one, _ in written])}"


def _written(passes: Sequence[Pass]) -> str:
    return "\n".join(f"// Pass {n}, over {one.over}\n{one.body}" for n, one in enumerate(passes, 1))


@dataclass(eq=False)
class Family:
    """A kernel of a shader and the gradients of it.

    Attributes:
        shader: The shader.
        path: The inputs whose directions it takes; the shader itself takes none.
        digest: Of the shader's text when the gradients were registered.
        sums: The scan where it adds numbers, whose gradient is one, too.
        further: The families of gradients, by input.
    """

    shader: ShaderKernel
    path: tuple[str, ...]
    digest: bytes = b""
    sums: SumScan | None = None
    further: dict[str, Family] = field(default_factory=dict[str, "Family"])

    @property
    def name(self) -> str:
        """What the kernel is called."""
        return " ".join((self.shader.name, *[f"tangent {one}" for one in self.path]))

    def gradient(self, wanted: str) -> str:
        """Return what the kernel of a gradient is called."""
        return f"{self.name} gradient {wanted}"

    def accumulation(self) -> Accumulation:
        """Return what the kernel does."""
        _, found = derived_by(self.shader, "float32", self.path, None)
        assert not isinstance(found, Pulled)
        return found

    def registered(self, attrs: Sequence[str]) -> Accumulation:
        """Register what is not yet, for a shader that reads these attributes; say what it does."""
        one = self.accumulation()
        if self.digest == self.shader.source.digest:
            return one
        self.digest = self.shader.source.digest
        self.sums = None if self.path else SumScan.of(self.shader, one)
        if self.sums is not None:
            self.sums.register()
        names = [each.name for each in one.elements]
        if self.path:
            spec = partial(_window_spec, self.shader.name, one)
            spec = spec if one.form == "window" else partial(_forward_spec, one)
            self._put(self.name, None, names, attrs, spec)
            self._rule(self.name, partial(_moved, self))
        for wanted in one.floats:
            spec = partial(_gradient_spec, 1 + names.index(wanted))
            self._put(self.gradient(wanted), wanted, ["upstream", *names], attrs, spec)
            further = self.further[wanted] = Family(self.shader, (*self.path, wanted))
            self._rule(self.gradient(wanted), partial(_second, further, self.name))
        return one

    def _put(
        self,
        name: str,
        wanted: str | None,
        inputs: Sequence[str],
        attrs: Sequence[str],
        spec: Callable[..., Spec],
    ) -> None:
        shader, origin = self.shader, self.shader.origin
        on_device, on_host = [one(shader, self.path, wanted) for one in _kernels(shader)]
        for backend, func, dtypes in (
            ("webgpu", on_device, _ON_DEVICE), ("cpu", on_host, _ON_HOST)
        ):  # fmt: skip
            kernel = Kernel(
                name, backend, func, origin, dtypes, names=lambda: tuple(inputs),
                repeats=backend == "webgpu",
            )  # fmt: skip
            add_kernel(kernel, override=True)

        def shaped(*specs: Spec, **given: Any) -> Spec:
            return spec(specs, given)

        rule = declared_as(shaped, tuple(inputs), tuple(attrs))
        define_signature(name, rule, origin=origin, override=True)

    def _rule(self, name: str, func: Callable[..., Any]) -> None:
        rule = GradientRule(
            name, func, ("upstream",), self.shader.origin, any_attr=True, any_input=True
        )
        put_rule(rule, override=True)


def _gradient_spec(at: int, specs: Sequence[Spec], _: Mapping[str, Any]) -> Spec:
    return specs[1].like(dtype=specs[at].dtype)


def _window_spec(
    kernel: str, one: Accumulation, specs: Sequence[Spec], attrs: Mapping[str, Any]
) -> Spec:
    shape = sliding_by(kernel, specs[0].shape, attrs).out_shape
    return specs[0].like(shape=shape, dtype=dtype_given(one, specs[0].dtype))


def _forward_spec(one: Accumulation, specs: Sequence[Spec], _: Mapping[str, Any]) -> Spec:
    shape = specs[0].shape[:-1] if one.form == "reduce" else specs[0].shape
    return specs[0].like(shape=shape, dtype=dtype_given(one, specs[0].dtype))


def _by_inputs(
    family: Family, dy: Tensor, values: Sequence[Tensor], attrs: Mapping[str, Any]
) -> dict[str, Callable[[], Tensor]]:
    """Return what computes the gradient by each input of rows."""
    one = family.registered(tuple(attrs))

    def by(wanted: str, x: Tensor) -> Tensor:
        return unbroadcast(run(family.gradient(wanted), dy, *values, **attrs), x.shape)

    named = zip(one.elements, values, strict=True)
    return {each.name: partial(by, each.name, x) for each, x in named if each.name in one.floats}


def accumulated_gradients(family: Family, dy: Tensor, *values: Tensor, **attrs: Any) -> list[Any]:
    """Return the gradients of a shader, along the axes that it combines."""
    shader = family.shader
    refuse_complex(shader.name, [dy, *values])
    rows = Rows.of(shader, [one.shape for one in values], attrs)
    one = family.registered(tuple(rows.attrs))
    given = [_as_rows(rows, values[0])]
    given += [run("Reshape", each, shape=(rows.n,)) for each in values[1:]]
    upstream = (
        run("Reshape", dy, shape=(rows.count,)) if one.form == "reduce" else _as_rows(rows, dy)
    )
    if upstream.dtype != given[0].dtype and one.gives == one.elements[0].type:
        upstream = run("Cast", upstream, dtype=given[0].dtype)
    sums = family.sums if {upstream.dtype, given[0].dtype} <= _WIDE else None
    found = (
        _by_inputs(family, upstream, given, rows.attrs)
        if sums is None
        else {one.elements[0].name: partial(sums.gradient, upstream, given[0], rows.attrs)}
    )

    def by(each: str, x: Tensor) -> Tensor:
        dx = found[each]()
        return _from_rows(rows, dx) if x is values[0] else run("Reshape", dx, shape=x.shape)

    return [
        partial(by, each.name, x) if each.name in found and is_differentiable(x.dtype) else None
        for each, x in zip(one.elements, values, strict=True)
    ]


def window_gradients(family: Family, dy: Tensor, *values: Tensor, **attrs: Any) -> list[Any]:
    """Return the gradient of a window that adds."""
    x = values[0]
    refuse_complex(family.shader.name, [dy, x])
    given = window_attrs(family.shader, x.shape, attrs)
    one = family.registered(tuple(given))
    if dy.dtype != x.dtype and one.gives == one.elements[0].type:
        dy = run("Cast", dy, dtype=x.dtype)
    return list(_by_inputs(family, dy, [x], given).values())


def _as_rows(rows: Rows, x: Tensor) -> Tensor:
    if rows.order != tuple(range(len(rows.order))):
        x = run("Transpose", x, perm=rows.order)
    return run("Reshape", x, shape=(rows.count, rows.n))


def _from_rows(rows: Rows, x: Tensor) -> Tensor:
    x = run("Reshape", x, shape=rows.moved)
    return x if rows.back == tuple(range(len(rows.back))) else run("Transpose", x, perm=rows.back)


def _moved(family: Family, dy: Tensor, *values: Tensor, **attrs: Any) -> list[Any]:
    """Return the gradients of what directions give."""
    found = _by_inputs(family, dy, values, attrs)
    names = [each.name for each in family.accumulation().elements]
    return [found.get(name) for name in names]


def _second(
    family: Family, of: str, direction: Tensor, dy: Tensor, *values: Tensor, **attrs: Any
) -> list[Any]:
    """Return the gradients of a gradient: by its upstream gradient, and by the inputs."""
    given = (*values, direction)
    found = _by_inputs(family, dy, given, attrs)
    names = [each.name for each in family.accumulation().elements][: len(values)]
    return [partial(run, family.name, *given, **attrs), *[found.get(name) for name in names]]
