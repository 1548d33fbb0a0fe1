"""Which maps may become part of a fused shader."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.text.structure import Kind
from wgsl_kernels.backends.webgpu.modules.eligible import is_plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.engine.values.spec import Spec

_LAYOUT_FACTS = ("_strides", "_offset")
_FACTS = ("_shape", "_size", *_LAYOUT_FACTS)


def kind_of(
    shader: ShaderKernel,
    names: tuple[str, ...],
    arrays: Sequence[Any],
    outputs: Sequence[Spec],
    output_names: Sequence[str],
    attrs: Mapping[str, Any],
) -> Kind | None:
    """Return a map as a part of fused shaders, None where it must run by itself.

    It must where part of its text could not be read, where it reports errors, asks for the rank
    or the layout of a tensor, or declares variables, overrides or features of its own.
    """
    source = shader.source
    if len(outputs) != 1 or not is_plain(source) or _asks_for_layout(shader):
        return None
    dtypes = tuple(one.dtype for one in arrays)
    fields = tuple(source.structs["Attrs"].fields) if "Attrs" in source.structs else ()
    if any(one.name.endswith(_FACTS) and one.name not in attrs for one in fields):
        return None
    given = tuple(one.name for one in fields)
    key = (source.digest, names, dtypes, output_names[0], outputs[0].dtype)
    return Kind(shader.name, source, names, dtypes, output_names[0], outputs[0].dtype, given, key)


def _asks_for_layout(shader: ShaderKernel) -> bool:
    if shader.params is None:
        return False
    return any(name.endswith(_LAYOUT_FACTS) for name in inspect.signature(shader.params).parameters)
