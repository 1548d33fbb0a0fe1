"""Composing free kernels: the loads and stores that they call, and checks of what they declare."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.elements import PLACES, arrays_of
from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.composing.text.instances import (
    InstanceNames,
    functions_of,
)
from wgsl_kernels.backends.webgpu.modules.kernel_source import declared_as_vec4
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.types.kinds import Array, Atomic, Scalar, Vector

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.instances import InstanceFunction
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.wgsl.syntax.tree import Function

ACCESSORS = Instance("tensors/accessors.wesl")
_REFUSED = {
    "f32": frozenset({"int32", "bool", "float16"}),
    "i32": frozenset({"float32", "complex64", "float16"}),
    "f16": frozenset({"float32", "int32", "bool", "complex64"}),
}


def add_free(composer: Composer, entry: str | None) -> Function:
    """Add to ``composer`` the accessors that a free kernel may call; return its entry point."""
    helpers = composer.assembly.helpers
    for operand in composer.operands:
        for name in operand.spellings:
            alias = f"alias Coords_{name} = array<u32, {max(operand.rank, 1)}>;"
            helpers[f"Coords_{name}"] = functools.partial(str, alias)
            helpers |= _accessors(composer, operand, name)
    for operand in composer.operands:
        _check_element(composer, operand)
    return _entry(composer, entry)


def _accessors(composer: Composer, operand: Operand, name: str) -> dict[str, InstanceFunction]:
    """Return the accessors of a tensor whose names end in ``name``, and offer their parameters."""
    is_output, after = operand in composer.outputs, composer.after
    is_computed = operand.name in composer.before
    composer.slots(f"wk_{name}_shape", f"{operand.name}_shape", operand.rank, pad=1)
    composer.slots(f"wk_{name}_strides", f"{operand.name}_strides", operand.rank)
    composer.word(f"wk_{name}_offset", f"{operand.name}_offset")
    composer.word(f"wk_{name}_size", f"{operand.name}_size")
    if operand.access == "value":
        composer.value(operand, f"wk_{name}_value")
    if is_output:
        is_wide = after is None and (
            _binds_vec4(composer, operand, "store")
            or declared_as_vec4(composer.source, operand.name)
        )
    else:
        is_wide = operand.access == "flat" and not is_computed and operand.dtype not in BYTES
        is_wide = is_wide and _binds_vec4(composer, operand, "load")
    instance = ACCESSORS.given(
        RANK=operand.rank,
        ABSENT=operand.access == "absent",
        VALUE=operand.access == "value",
        STRIDED=operand.access == "strided",
        COMPUTED=is_computed,
        BYTES=operand.dtype in BYTES,
        WIDE=is_wide,
        EPILOGUE=is_output and after is not None,
        EPILOGUE_VEC4=is_output and after is not None and after.structure.vec4,
        LOOPS=is_output and after is not None and after.loops,
    )
    found = functions_of(instance, InstanceNames({"X": name}, arrays_of(composer, operand, "X")))
    if operand.access == "strided":
        places = PLACES.given(STRIDED=True, RANK=operand.rank, KEPT=operand.rank)
        shape = functools.partial(str, f"wk_{name}_shape")
        found |= functions_of(places, InstanceNames({"X": name}, {"wk_shape": shape}))
    left_out = () if is_output else ("store_X", "store4_X")
    if operand.dtype == "complex64":  # WGSL has no vectors of pairs
        left_out = (*left_out, "load4_X")
    return {name: one for name, one in found.items() if one.name not in left_out}


def _entry(composer: Composer, wanted: str | None) -> Function:
    entries = {n: f for n, f in composer.source.functions.items() if f.is_entry}
    name = wanted or ("main" if "main" in entries else next(iter(entries)))
    if name not in entries:
        known = ", ".join(sorted(entries))
        raise ShaderError(
            f"{composer.kernel}: {composer.source.file} has no entry point '{name}'; found {known}."
        )
    return entries[name]


def _binds_vec4(composer: Composer, operand: Operand, verb: str) -> bool:
    """Say whether the tensor can be bound as vec4: nobody reads or writes a single element."""
    single = {f"{verb}_{name}{end}" for name in operand.spellings for end in ("", "_at")}
    source = composer.source
    needs = set[str]().union(*map(source.needs_of, source.functions.values()))
    declared = composer.source.variables.get(operand.wgsl)
    return declared is None and not needs & single


def _check_element(composer: Composer, operand: Operand) -> None:
    """Refuse a binding whose written element type would read the tensor's bits as another's.

    u32 is left alone: it is how bits are read on purpose.
    """
    variable = composer.source.variables.get(operand.wgsl)
    if variable is None or operand.access == "absent":
        return
    type_ = composer.types.of(variable.type)
    while isinstance(type_, (Array, Vector, Atomic)):
        type_ = type_.element
    if variable.type is None or not isinstance(type_, Scalar):
        return
    if operand.dtype in _REFUSED.get(type_.name, ()):
        has = f"{operand.name} is {operand.dtype} ({operand.storage_type})"
        message = f"{operand.wgsl} is declared {spell(variable.type)}, but {has}."
        raise composer.wrong(message, variable, blames_kernel=operand in composer.outputs)
