"""The text of a kernel: what the forms add to it, and the loop around an author's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.accessors import add_free
from wgsl_kernels.backends.webgpu.composing.forms.maps import add_map, can_vec4
from wgsl_kernels.backends.webgpu.composing.forms.reductions import (
    add_reduction,
    add_scan,
    add_window,
)
from wgsl_kernels.backends.webgpu.composing.groups import (
    attach,
    leaves_of,
    outputs_of,
)
from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly
from wgsl_kernels.backends.webgpu.composing.text.binding import bind
from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
from wgsl_kernels.backends.webgpu.composing.text.instance import MAP, Instance
from wgsl_kernels.backends.webgpu.composing.text.instances import names_of, offers_of
from wgsl_kernels.backends.webgpu.composing.text.long_loops import check_loops
from wgsl_kernels.backends.webgpu.composing.text.operands import Form, Operand, classify
from wgsl_kernels.backends.webgpu.composing.text.structure import AFTER, prefix_of
from wgsl_kernels.engine.environment.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.compose import Options
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source


def compose_kernel(
    kernel: str,
    source: Source,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    attrs: tuple[str, ...],
    constants: Mapping[str, float],
    options: Options,
) -> Composed:
    """Return the shader that runs ``source``; see `composing.compose.compose`."""
    form = classify(source, options.form)
    vec4 = form == "map" and options.vec4 and can_vec4(tuple(inputs), outputs[0])
    skeleton = _skeleton(form, options, vec4=vec4)
    names = names_of(skeleton) if skeleton else None
    leaves = [
        leaf
        for one in options.before
        for leaf in leaves_of(one.structure, prefix_of(one.name)).values()
    ]
    written: tuple[Operand, ...] = ()
    if options.after is not None:
        leaves += leaves_of(options.after.structure, AFTER).values()
        written = outputs_of(options.after.structure, AFTER)
    composer = Composer(
        kernel,
        form,
        (*inputs, *leaves),
        (*outputs, *written),
        attrs,
        constants,
        Assembly(source, names),
        before={one.name: one for one in options.before},
        after=options.after,
    )
    if skeleton is not None:
        composer.assembly.offers |= offers_of(skeleton)
    attach(composer)
    try:
        return _bound(composer, options, vec4=vec4)
    except ShaderError as error:
        raise source.refused(error) from None


def _skeleton(form: Form, options: Options, *, vec4: bool) -> Instance | None:
    """Return the loop around the author's functions, None where it is their own."""
    if form == "reduce":
        loop = options.loop or Instance("templates/reduce_lanes.wesl")
        return loop.given(WIDE=options.wide and options.stage != "final")
    return MAP.given(VEC4=vec4) if form == "map" else options.loop


def _bound(composer: Composer, options: Options, *, vec4: bool) -> Composed:
    if composer.form == "map":
        start = add_map(composer, vec4=vec4, held=options.held, in_parts=options.in_parts)
    elif composer.form == "scan":
        start = add_scan(composer, options.stage, wide=options.wide)
    elif composer.form == "window":
        start = add_window(composer, options.stage, wide=options.wide)
    elif composer.form == "reduce":
        beside = options.loop is not None and options.loop.value("ROWS", 1) > 1
        kept, wide = options.kept, options.wide
        start = add_reduction(composer, options.stage, kept, wide=wide, beside=beside)
    else:
        start = add_free(composer, options.entry)
    skeleton, text = composer.assembly.skeleton, composer.source.text_of(start)
    entry = start if skeleton is None else skeleton.module.functions["main"]
    if composer.source.checks_loops:
        file = skeleton or next(one for one in composer.source.files if one.text is text)
        check_loops(composer.assembly, entry, file)
    return bind(composer, entry, text.origin(start.name_span.begin), vec4=vec4)
