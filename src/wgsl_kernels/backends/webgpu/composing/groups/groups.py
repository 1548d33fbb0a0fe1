"""Composing a group of maps into one shader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.maps import MAP_SLOTS, OWN
from wgsl_kernels.backends.webgpu.composing.groups.attach import (
    expressions_of,
    leaves_of,
    outputs_of,
)
from wgsl_kernels.backends.webgpu.composing.groups.functions import Functions
from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly
from wgsl_kernels.backends.webgpu.composing.text.binding import bind
from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
from wgsl_kernels.backends.webgpu.composing.text.instances import MAP
from wgsl_kernels.backends.webgpu.modules.source import read_alone
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.composing.text.structure import Across, Structure

_NO_FILE = Text(COMPOSED, "")


def compose_group(structure: Structure, *, across: Across | None = None) -> Composed:
    """Return the shader that computes ``structure``: one dispatch, one pass over memory.

    Args:
        structure: What is computed.
        across: The axis that invocations go along, if items are met in its order.
    """
    loop = MAP.given(VEC4=structure.vec4, ACROSS=across is not None)
    leaves, outputs = leaves_of(structure, OWN), outputs_of(structure, OWN)
    composer = Composer(
        structure.label,
        "map",
        tuple(leaves.values()),
        outputs,
        (),
        {},
        Assembly(read_alone(_NO_FILE), loop.names()),
    )
    composer.assembly.offers |= loop.offers()
    functions = Functions(composer)
    expressions = expressions_of(composer, structure, functions, OWN)
    expressions.across = across
    values = expressions.compute()
    for output, number in zip(outputs, structure.outputs, strict=True):
        expressions.store(output, values[number])
    slot = "wk_item" if across is None else "wk_item_across"
    written = functions.written(MAP_SLOTS, slot, expressions.lines, {})
    composer.assembly.helpers[slot] = lambda: written
    assert functions.start is not None
    text, op = functions.start
    entry = loop.names().module.functions["main"]
    return bind(composer, entry, text.origin(op.name_span.begin), vec4=structure.vec4)
