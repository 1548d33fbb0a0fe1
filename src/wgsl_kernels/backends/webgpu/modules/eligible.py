"""What a source says of how its kernel may run: by itself, later, or as a part of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.modules.source import Source


def is_light(source: Source) -> bool:
    """Say whether a map is one expression without calls, so that a text with many compiles fast."""
    op = source.own.module.functions.get("op")
    if op is None:
        return False
    body = source.own.text.text[op.span.begin : op.span.end].partition("{")[2]
    return "(" not in body


def can_wait(source: Source) -> bool:
    """Say whether a kernel of another form may be deferred: whole, and silent about indices."""
    whole = all(file.module.is_whole for file in source.files)
    return whole and not reports(source)


def reports(source: Source) -> bool:
    """Say whether a kernel tells something of single elements: what is behind the last is none."""
    noted = ("report_index", "wk_print", "wk_assert")
    return any(one.startswith(noted) for file in source.files for one in file.needs)


def is_plain(source: Source) -> bool:
    """Say whether a fused text can hold a map: it has no variables, overrides or ranks."""
    directives = [one for file in source.files for one in file.module.directives]
    asked = {name for file in source.files for name in file.needs}
    return (
        can_wait(source)
        and not source.variables
        and all(one.keyword != "override" for one in source.constants.values())
        and all(one.keyword == "enable" and one.words == ("f16",) for one in directives)
        and not any(name.endswith("_rank") for name in asked)
    )
