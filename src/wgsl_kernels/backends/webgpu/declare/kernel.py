"""How a WGSL kernel is declared: by its shader, or by a function with full control."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from wgsl_kernels.backends.webgpu.modules.packages import plain_path
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.origin import Origin, caller
from wgsl_kernels.engine.environment.parameters import parameters_of
from wgsl_kernels.engine.registry.declaring import dtypes_given, implementation, kernel_name
from wgsl_kernels.engine.registry.gradients import find_rule, unregister_gradient
from wgsl_kernels.engine.registry.registry import (
    Kernel,
    add_kernel,
    get_kernel,
    keywords,
    unregister_kernel,
)
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.values.attributes import flag, function
from wgsl_kernels.engine.values.shapes import broadcast_shapes
from wgsl_kernels.engine.values.windows import sliding_by
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    import os

    from wgsl_kernels.backends.webgpu.composing.text.operands import DeclaredForm
    from wgsl_kernels.backends.webgpu.declare.sources import Sources
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Spec

F = TypeVar("F", bound=Callable[..., Any])
Grid = tuple[int, ...]
MakeForm: TypeAlias = "Callable[[str, Any, Origin, frozenset[DType] | None, Any], Kernel]"
"""Returns the kernel of a name, its source, its place, its dtypes and its ``params=``."""
Derive: TypeAlias = "Callable[[Kernel], Callable[[bool], None]]"
"""Derives something of a shader's kernel; returns what registers it, given if it may replace."""
_forms: dict[str, MakeForm] = {}
_derivers: dict[str, Derive] = {}
_OF_X = ("scan", "window")
"""The forms that tell the output's shape of their one input."""
_WRITTEN: Mapping[str, DType] = MappingProxyType(
    {
        "f32": "float32",
        "f16": "float16",
        "i32": "int32",
        "bool": "bool",
        "vec2<f32>": "complex64",
        "vec2f": "complex64",
    }
)


@dataclass(frozen=True, eq=False)
class ShaderKernel:
    """A kernel that is a shader; the file is read when it first runs, and when that is asked for.

    Attributes:
        groups: Computes the grid from the facts that its parameters name.
        params: Computes more parameter fields, likewise.
        form: What is done with the functions of a reduction instead of reducing.
        init: The number that an output starts from, by name.
    """

    name: str
    given: str
    origin: Origin
    groups: Callable[..., Grid] | None = None
    params: Callable[..., dict[str, Any]] | None = None
    form: DeclaredForm | None = None
    init: Mapping[str, complex] = field(default_factory=dict[str, complex])
    shared: Sources | None = None
    """The shaders of the kernel with full control that names this one."""

    @property
    def source(self) -> Source:
        """The shader and what it imports, as the files were when they were looked at."""
        return self._sources.find(self.given)

    def look_again(self) -> bool:
        """Read the files again; return whether any of them differs."""
        return self._sources.look_again()

    def differs(self) -> bool:
        """Say whether any of the files differs now; nothing changes by that."""
        return self._sources.differs()

    def anew(self) -> ShaderKernel:
        """Return the same kernel with its files as they are now."""
        return replace(self, shared=None)

    def names(self) -> tuple[str, ...]:
        """Return what the kernel calls its inputs: as its signature has it, else as a map's op.

        A scan or a window without a signature calls its one input ``x``.

        Raises:
            ArgumentError: It has no signature, and its form does not tell.
        """
        declared = find_signature(self.name)
        if declared is not None:
            return tuple(one.name for one in declared.inputs)
        from wgsl_kernels.backends.webgpu.composing.text.operands import OP_NAMES, classify

        source = self.source
        form = classify(source, self.form)
        if form in _OF_X:
            return ("x",)
        if form != "map":
            raise wants_signature(self.name, form)
        op = next(one for name, one in source.functions.items() if name in OP_NAMES)
        return tuple(one.name for one in op.parameters if one.name != "i")

    @property
    def served(self) -> frozenset[DType]:
        """The dtypes of the first input, of the output without one, that the file's types allow."""
        from wgsl_kernels.backends.webgpu.composing.text.operands import allowed_dtypes

        names = self.names()
        return allowed_dtypes(self.source, names[0] if names else "y", self.form)

    @functools.cached_property
    def _sources(self) -> Sources:
        if self.shared is not None:
            return self.shared
        from wgsl_kernels.backends.webgpu.declare.sources import Sources

        return Sources(self.origin)


def add_deriver(what: str, derive: Derive) -> None:
    """Have ``wgsl_kernel(gradient="derive")`` or ``cpu=`` register what follows from a shader.

    ``derive`` raises where it cannot be derived, and returns what registers it.
    """
    _derivers[what] = derive


def add_form(form: str, make: MakeForm) -> None:
    """Have ``wgsl_kernel(form=form)`` register what ``make`` returns.

    So a form may stand on what runs kernels, which imports this module.
    """
    _forms[form] = make


@overload
def wgsl_kernel(
    name: str,
    source: str | os.PathLike[str],
    *,
    dtypes: Iterable[DType] | None = None,
    form: DeclaredForm | Literal["product"] | None = None,
    groups: Callable[..., Grid] | None = None,
    params: Callable[..., dict[str, Any]] | None = None,
    init: Mapping[str, complex] | None = None,
    gradient: Literal["derive"] | None = None,
    cpu: Literal["derive"] | None = None,
    override: bool = False,
) -> None: ...
@overload
def wgsl_kernel(
    name: str,
    *,
    dtypes: Iterable[DType] | None = None,
    accepts_epilogue: bool = False,
    repeats: bool | None = None,
    override: bool = False,
) -> Callable[[F], F]: ...
def wgsl_kernel(
    name: str,
    source: str | os.PathLike[str] | None = None,
    *,
    dtypes: Iterable[DType] | None = None,
    form: DeclaredForm | Literal["product"] | None = None,
    groups: Callable[..., Grid] | None = None,
    params: Callable[..., dict[str, Any]] | None = None,
    init: Mapping[str, complex] | None = None,
    accepts_epilogue: bool = False,
    repeats: bool | None = None,
    gradient: Literal["derive"] | None = None,
    cpu: Literal["derive"] | None = None,
    override: bool = False,
) -> Any:
    """Register a shader as the WebGPU kernel ``name``; without ``source``, decorate a function.

    The function gets ``gpu`` (`backends.webgpu.control.gpu.Gpu`), the arrays in the signature's
    order and the attributes as keywords, and returns an array or a tuple of them.

    Args:
        name: The kernel's name.
        source: A path beside the caller's file or among the package's shaders; WGSL text if it
            has a newline or a brace.
        dtypes: The dtypes of its first input; by default what the file's types allow.
        form: What the file's ``init`` and ``combine`` make: running totals along an axis
            (``"scan"``), or totals of windows over images (``"window"``); by default the file
            tells the form. ``"product"``: its ``a_at`` and ``b_at`` are the elements of a product
            of matrices.
        groups: Returns the workgroup counts; its parameter names say what it needs (``y_shape``,
            an attribute). By default one invocation per element of the first output. For shaders
            with their own ``main``, as ``init``.
        params: Returns parameter fields that no attribute or shape gives, by name.
        init: A number per output that every element has before the shader runs; for shaders with
            their own ``main``. Other outputs start from undefined values.
        accepts_epilogue: Deprecated, and without effect: maps of the result of a function that
            repeats run in its last dispatch where that writes through ``store_y``.
        repeats: Of a function: whether it does the same for all arrays of the same layouts; see
            `backends.webgpu.control.gpu.Gpu.repeats`. It is then run for its program alone, from
            the first call on. By default the package's own do, and a user's where a run promises
            it.
        gradient: ``"derive"`` registers the gradient of a kernel of any form, too, made of its
            shader: by each float input, on both backends.
        cpu: ``"derive"`` registers the CPU kernel, too, made of its shader.
        override: Whether an existing kernel is replaced.

    Raises:
        AlreadyRegistered: Another place has registered one.
        ShaderError: What is to be derived cannot be; the message points at the reason.
        ArgumentError: The name is no string, ``dtypes`` are none, ``form`` is unknown, or
            ``init`` is not numbers by output, or it or ``groups`` is given for a shader without a
            ``main``.

    Warns:
        RuntimeWarning: An output is atomic, and ``init`` does not name it.
        DeprecationWarning: ``accepts_epilogue`` is given.
    """
    origin = caller()
    allowed = dtypes_given("wgsl_kernel", kernel_name("wgsl_kernel", name), dtypes)
    flags = {"accepts_epilogue": accepts_epilogue, "override": override}
    if repeats is not None:
        flags["repeats"] = repeats
    for word, is_on in flags.items():
        flag(f"wgsl_kernel: {name}", word, is_on)
    if accepts_epilogue:
        message = (
            f"wgsl_kernel: {name}: accepts_epilogue has no effect any more; want repeats=True."
        )
        warnings.warn(message, DeprecationWarning, stacklevel=2)
    _check_form(name, form)
    derived = _derived(name, source, gradient=gradient, cpu=cpu)
    _check_functions(name, source, form, groups=groups, params=params)
    if init is not None:
        from wgsl_kernels.backends.webgpu.declare.slips import checked_init

        init = checked_init(name, init)
        if source is None:
            raise ArgumentError(f"{name}: init is for a shader; in a function, call gpu.full.")
    if form == "product":
        if groups is not None or init is not None:
            word = "init" if groups is None else "groups"
            raise ArgumentError(f"{name}: {word} is for other forms; a {form} has its own.")
        product = _forms[form](name, source, origin, allowed, params)
        _register_with(product, [f"{form} {what}" for what in derived], override)
        return None
    if source is not None:
        given = plain_path(f"wgsl_kernel: {name}", "source", source)
        shader = ShaderKernel(name, given, origin, groups, params, form, init or {})
        _register_shader(shader, allowed, derived, override, looks=init is not None)
        return None

    def register(func: F) -> F:
        implementation("wgsl_kernel", name, func)
        is_repeated = origin.is_ours if repeats is None else repeats
        takes = keywords(func)
        made = Kernel(name, "webgpu", func, origin, allowed, takes=takes, repeats=is_repeated)
        _register_with(made, (), override)
        return func

    return register


def _check_functions(name: str, source: object, form: object, **given: object) -> None:
    for word, asked in given.items():
        if asked is None:
            continue
        function(name, word, asked)
        if source is None and form is None:
            raise ArgumentError(
                f"{name}: {word} is for a shader; in a function, pass it to gpu.dispatch."
            )


def _register_shader(
    shader: ShaderKernel,
    allowed: frozenset[DType] | None,
    derived: Sequence[str],
    override: bool,
    *,
    looks: bool,
) -> None:
    """Register a shader and what is derived of it, or nothing where any of that raises.

    ``looks`` says that its outputs are looked at, as are those of users' shaders.
    """
    if looks or not shader.origin.is_ours:
        from wgsl_kernels.backends.webgpu.declare.slips import look_at_outputs, warn_of_slips

        look_at_outputs(shader)
        if not shader.origin.is_ours:
            warn_of_slips(shader)
    _register_with(kernel_of(shader, allowed), derived, override)


def _register_with(kernel: Kernel, derived: Sequence[str], override: bool) -> None:
    """Register a kernel and what is derived of it, or nothing where that raises."""
    registering = [_derivers[what](kernel) for what in derived]
    before = get_kernel(kernel.name, "webgpu")
    add_kernel(kernel, override=override)
    for register in registering:
        register(override)
    if before is not None:
        _forget_derived(kernel.name, before.func)


def _forget_derived(name: str, shader: object) -> None:
    """Unregister what was derived of a shader that another has replaced."""
    twin, rule = get_kernel(name, "cpu"), find_rule(name)
    if twin is not None and any(one is shader for one in twin.files):
        unregister_kernel(name, "cpu")
    if rule is not None and rule.of is shader:
        unregister_gradient(name)


def _derived(name: str, source: object, **asked: object) -> list[str]:
    """Return what is to be derived of a shader; refuse any other word than "derive"."""
    for word, wanted in asked.items():
        if wanted not in (None, "derive"):
            raise ArgumentError(f"{name}: {word} is {shown(wanted)}; want 'derive', or None.")
    found = [word for word, wanted in asked.items() if wanted is not None]
    if found and source is None:
        raise ArgumentError(f"{name}: {found[0]}='derive' is for a shader; there is none.")
    return found


def kernel_of(shader: ShaderKernel, allowed: frozenset[DType] | None = None) -> Kernel:
    """Return what the registry keeps of a shader, ``allowed`` being its first input's dtypes."""
    infer, names = _infer(shader), shader.names
    return Kernel(
        shader.name, "webgpu", shader, shader.origin, allowed,
        infer=infer, names=names, files=[shader],
    )  # fmt: skip


def _check_form(name: str, form: str | None) -> None:
    if form not in (None, *_OF_X, *_forms):
        *first, last = map(repr, (*_OF_X, *_forms))
        want = f"{', '.join(first)} or {last}, or None for the file's own"
        raise ArgumentError(f"{name}: form is {form!r}; want {want}.")


def _infer(shader: ShaderKernel) -> Callable[[list[Spec], dict[str, Any]], Spec]:
    """Return the shape rule of a shader without a signature, which some forms have."""

    def infer(specs: list[Spec], attrs: dict[str, Any]) -> Spec:
        from wgsl_kernels.backends.webgpu.composing.text.operands import classify

        form = classify(shader.source, shader.form)
        if form in _OF_X and len(specs) == 1:
            shape = specs[0].shape
            if form == "window":
                shape = sliding_by(shader.name, shape, attrs).out_shape
            return specs[0].like(shape=shape, dtype=_finished_dtype(shader.source))
        if form != "map" or not specs:
            raise wants_signature(shader.name, form)
        broadcast = broadcast_shapes(*(spec.shape for spec in specs))
        if broadcast is None:
            raise ArgumentError(f"{shader.name}: shapes do not broadcast: {specs}.")
        returns = next(
            (f.returns for f in shader.source.functions.values() if f.name.startswith("op")), None
        )
        is_bool = returns is not None and returns.name == "bool"
        return specs[0].like(shape=broadcast, dtype="bool" if is_bool else None)

    return infer


def _finished_dtype(source: Source) -> DType | None:
    """Return the dtype that ``finish`` is written to return, None where it is the input's."""
    from wgsl_kernels.wgsl.syntax.printer import spell

    finish = source.functions.get("finish")
    written = None if finish is None else finish.returns
    return _WRITTEN.get(spell(written))


def wants_signature(name: str, form: str) -> ArgumentError:
    """Return the error for a shader of a form that does not tell its output's shape."""
    return ArgumentError(
        f"{name}: a {form} shader needs a signature that gives its output's shape; "
        f"declare one with @signature({name!r})."
    )


def call_with(func: Callable[..., Any], facts: dict[str, Any], kernel: str) -> Any:
    """Call ``func`` with the facts that its parameters name; refuse one that names none."""
    arguments: dict[str, Any] = {}
    parameters = parameters_of(func)
    for name in parameters.names:
        if name in facts:
            arguments[name] = facts[name]
        elif name not in parameters.defaults:
            known = ", ".join(one for one in facts if not one.startswith("wk_"))
            raise ArgumentError(
                f"{kernel}: groups or params asks for {name!r}, which is no fact; known: {known}."
            )
    return func(**arguments)


def params_with(func: Callable[..., Any], facts: dict[str, Any], kernel: str) -> dict[str, Any]:
    """Return the parameter fields that a ``params=`` gives."""
    found = call_with(func, facts, kernel)
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise ArgumentError(f"{kernel}: params= gave {shown(found)}; want a dict by field name.")
    return found
