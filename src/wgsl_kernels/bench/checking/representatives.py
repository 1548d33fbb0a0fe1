"""Calls made up for a kernel that has no samples, so that its shaders are compiled all the same."""

from __future__ import annotations

import itertools
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.text.operands import (
    VALUE_TYPES,
    allowed_dtypes,
    classify,
)
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.programs.call import FACT_ENDINGS
from wgsl_kernels.engine.environment.errors import WgslKernelsError
from wgsl_kernels.engine.observe.facade import engine
from wgsl_kernels.engine.registry.registrations import announce_change
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.engine.registry.signature import Input, Signature, find_signature, signature_table
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.wgsl.syntax.printer import spell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source

LENGTH = 8
"""Every length of every input: matrices, images and filters of equal lengths fit each other."""
RANKS = (2, 1, 3, 4, 0)
MOST = 8
"""Calls that are tried for one kernel."""
_VALUES: tuple[Any, ...] = (1, True, "same", (1, 1))
"""What an attribute without a default is given: the first that is of its kind."""
_READ = re.compile(r"load_(\w+)")
_COUNTS = re.compile(r"vec([234])")


def representatives(name: str) -> Iterator[Sample]:
    """Yield calls that the kernel's signature accepts: ranks and dtypes, the likeliest first."""
    declared = find_signature(name)
    kernel = get_kernel(name, "webgpu")
    if declared is None or kernel is None:
        return
    source = None
    if isinstance(kernel.func, ShaderKernel):
        source = kernel.func.source
    attrs = _attributes(declared)
    found = 0
    for inputs in _chosen(declared.inputs):
        names = [one.name for one in inputs]
        dtypes = [_dtype(kernel.served, kernel.func, source, one) for one in names]
        for ranks in _ranks(len(inputs)):
            shapes = tuple([(LENGTH,) * rank for rank in ranks])
            specs = dict(zip(names, map(Spec, shapes, dtypes), strict=True))
            if found < MOST and _accepts(declared, specs, attrs):
                found += 1
                run = _call(name, inputs)
                yield Sample(name, run, shapes, tuple(dtypes), attrs=attrs)


@contextmanager
def with_signature(name: str) -> Iterator[None]:
    """Let a shader without a signature have one for a block, read from what it declares.

    Raises:
        ShaderError: The shader cannot be read.
    """
    kernel = get_kernel(name, "webgpu")
    if find_signature(name) is not None or kernel is None:
        yield
        return
    before = take_snapshot()
    if isinstance(kernel.func, ShaderKernel):
        signature_table()[name] = _read_from(kernel.func)
        announce_change(("signature", name))
    try:
        yield
    finally:
        before.restore()


def _read_from(shader: ShaderKernel) -> Signature:
    """Return the signature of a shader as its text has it: outputs have the first input's shape."""
    source = shader.source
    form = classify(source, shader.form)
    inputs, outputs = _tensors(source) if form == "free" else ((), ("y",))
    if not inputs and form != "free":
        inputs = shader.names() if form != "reduce" else ("x",)
    defaults: dict[str, Any] = _fields(source)
    if form in ("reduce", "scan"):
        defaults |= {"axis": -1}
    if form == "window":
        defaults |= {"filter_size": (2, 2)}

    def rule(*specs: Spec, **attrs: Any) -> Any:
        if form not in ("free", "reduce") and (kernel := get_kernel(shader.name, "webgpu")):
            assert kernel.infer is not None
            return kernel.infer(list(specs), attrs)
        shape = specs[0].shape if specs else (LENGTH, LENGTH)
        shape = shape[:-1] if form == "reduce" else shape
        made = {one: Spec(shape, _preferred(allowed_dtypes(source, one))) for one in outputs}
        return made["y"] if form == "reduce" or outputs == ("y",) else made

    return Signature(
        name=shader.name,
        inputs=tuple([Input(one, optional=False, is_list=False, is_float=False) for one in inputs]),
        attrs=defaults,
        required=frozenset(),
        kinds=dict.fromkeys(defaults, _as_it_is),
        promote=(),
        rule=rule,
        origin=shader.origin,
    )


def _as_it_is(kernel: str, name: str, value: Any) -> Any:
    del kernel, name
    return value


def _tensors(source: Source) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a shader with its own ``main`` reads, and what it writes."""
    read = [one for one in source.variables.values() if one.space == "storage"]
    inputs = [one.name for one in read if one.access != "read_write"]
    outputs = [one.name for one in read if one.access == "read_write"]
    needed = {one for function in source.functions.values() for one in source.needs_of(function)}
    loaded = sorted(found[1] for one in needed if (found := _READ.fullmatch(one)))
    stored = sorted(one.removeprefix("store_") for one in needed if one.startswith("store_"))
    inputs += [one for one in loaded if one not in inputs]
    outputs += [one for one in stored if one not in outputs]
    return tuple(inputs), tuple(outputs) or ("y",)


def _fields(source: Source) -> dict[str, Any]:
    """Return a value for each field of a parameter block that tells no fact of a tensor."""
    uniform = {
        one.type.name
        for one in source.variables.values()
        if one.space == "uniform" and one.type is not None
    }
    found: dict[str, Any] = {}
    for struct in source.structs.values():
        if struct.name != "Attrs" and struct.name not in uniform:
            continue
        for field in struct.fields:
            if not field.name.endswith(FACT_ENDINGS):
                count = _COUNTS.match(spell(field.type))
                found[field.name] = (1,) * int(count[1]) if count else 1
    return found


def _chosen(inputs: tuple[Input, ...]) -> Iterator[tuple[Input, ...]]:
    """Yield all inputs, then those alone that may not be absent."""
    yield inputs
    needed = tuple([one for one in inputs if not one.optional])
    if needed != inputs:
        yield needed


def _ranks(count: int) -> Iterator[tuple[int, ...]]:
    """Yield ranks for so many inputs: equal ones first, then, of few, all others."""
    yield from ((rank,) * count for rank in RANKS)
    if 2 <= count <= 3:
        mixed = itertools.product(RANKS[:-1], repeat=count)
        yield from (ranks for ranks in mixed if len(set(ranks)) > 1)


def _dtype(served: frozenset[str] | None, func: Any, source: Source | None, name: str) -> str:
    if source is not None:
        try:
            return _preferred(allowed_dtypes(source, name, func.form))
        except WgslKernelsError:
            pass
    return _preferred(served or frozenset(VALUE_TYPES))


def _preferred(dtypes: frozenset[str]) -> str:
    return next((one for one in VALUE_TYPES if one in dtypes), "float32")


def _attributes(declared: Signature) -> dict[str, Any]:
    """Return values for the attributes that have none."""
    found: dict[str, Any] = {}
    for name in declared.attrs:
        if name not in declared.required:
            continue
        for value in _VALUES:
            try:
                found[name] = declared.kinds[name](declared.name, name, value)
                break
            except WgslKernelsError:
                continue
    return found


def _accepts(declared: Signature, specs: Mapping[str, Spec], attrs: Mapping[str, Any]) -> bool:
    given = [specs.get(one.name) for one in declared.inputs]
    listed = [
        [spec] if one.is_list and spec is not None else spec
        for one, spec in zip(declared.inputs, given, strict=True)
    ]
    try:
        declared.infer(listed, declared.check_attrs(attrs))
    except Exception:  # a shape rule that refuses may raise anything
        return False
    return True


def _call(name: str, inputs: tuple[Input, ...]) -> Any:
    def run(*xs: Any, **attrs: Any) -> Any:
        given = {one.name: [x] if one.is_list else x for one, x in zip(inputs, xs, strict=True)}
        return engine().run_kernel(name, given, attrs)

    return run
