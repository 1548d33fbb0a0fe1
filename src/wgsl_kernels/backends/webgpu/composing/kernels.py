"""The text of a kernel: what the forms add to it, and the loop around an author's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.accessors import add_free
from wgsl_kernels.backends.webgpu.composing.forms.maps import add_map
from wgsl_kernels.backends.webgpu.composing.forms.reductions import (
    add_reduction,
    add_scan,
    add_window,
)
from wgsl_kernels.backends.webgpu.composing.groups import add_group, attach
from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly
from wgsl_kernels.backends.webgpu.composing.text.binding import bind
from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
from wgsl_kernels.backends.webgpu.composing.text.instance import MAP, Instance
from wgsl_kernels.backends.webgpu.composing.text.long_loops import check_loops
from wgsl_kernels.backends.webgpu.composing.text.operands import Form, Operand, classify
from wgsl_kernels.backends.webgpu.composing.text.structure import AFTER, OWN, prefix_of
from wgsl_kernels.backends.webgpu.modules.source import read_alone
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.compose import Options
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.syntax.tree import Function


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
    if options.maps is None:
        form = classify(source, options.form)
    else:
        form, source = "map", read_alone(_NO_FILE)
        inputs = tuple(options.maps.reads(OWN).values())
        outputs = options.maps.writes(OWN)
    leaves = [
        leaf for one in options.before for leaf in one.structure.reads(prefix_of(one.name)).values()
    ]
    written: tuple[Operand, ...] = ()
    if options.after is not None:
        leaves += options.after.structure.reads(AFTER).values()
        written = options.after.structure.writes(AFTER)
    composer = Composer(
        kernel,
        form,
        (*inputs, *leaves),
        (*outputs, *written),
        attrs,
        constants,
        Assembly(source, _loop(form, options)),
        before={one.name: one for one in options.before},
        after=options.after,
    )
    attach(composer)
    try:
        return _bound(composer, options)
    except ShaderError as error:
        raise source.refused(error) from None


_NO_FILE = Text(COMPOSED, "")


def _loop(form: Form, options: Options) -> Instance | None:
    """Return the loop around the author's functions, None where it is their own."""
    if form == "reduce":
        loop = options.loop or Instance("templates/reduce_lanes.wesl")
        return loop.given(WIDE=options.wide and options.stage != "final")
    return options.loop or (MAP if form == "map" else None)


def _bound(composer: Composer, options: Options) -> Composed:
    loop, skeleton = composer.assembly.loop, composer.assembly.skeleton
    vec4 = composer.form == "map" and loop is not None and bool(loop.value("VEC4", False))
    if options.maps is not None:
        text, start = add_group(composer, options.maps, options.across)
    else:
        start = _added(composer, options, vec4=vec4)
        text = composer.source.text_of(start)
    entry = start if skeleton is None else skeleton.module.functions["main"]
    if composer.source.checks_loops:
        file = skeleton or next(one for one in composer.source.files if one.text is text)
        check_loops(composer.assembly, entry, file)
    return bind(composer, entry, text.origin(start.name_span.begin), vec4=vec4)


def _added(composer: Composer, options: Options, *, vec4: bool) -> Function:
    """Add to ``composer`` what its form needs; return the function where the kernel begins."""
    if composer.form == "map":
        return add_map(composer, vec4=vec4, held=options.held, in_parts=options.in_parts)
    if composer.form == "scan":
        return add_scan(composer, options.stage, wide=options.wide)
    if composer.form == "window":
        return add_window(composer, options.stage, wide=options.wide)
    if composer.form == "reduce":
        beside = options.loop is not None and options.loop.value("ROWS", 1) > 1
        kept, wide = options.kept, options.wide
        return add_reduction(composer, options.stage, kept, wide=wide, beside=beside)
    return add_free(composer, options.entry)
