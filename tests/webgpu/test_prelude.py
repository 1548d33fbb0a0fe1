"""The table of names that kernels use without import, against the composer and the guide."""

from __future__ import annotations

import re
from pathlib import Path

from tests.webgpu.lab import HERE

from wgsl_kernels.backends.webgpu.composing.forms.accessors import add_free
from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly
from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.modules.source import load_text
from wgsl_kernels.backends.webgpu.templates.prelude import ALL, FORMS, TABLE

KERNEL = "@compute @workgroup_size(1)\nfn main() { store_y(0u, load_x(0u)); }\n"
BY_UNIFORM = "attrs"


def test_the_table_has_the_names_that_the_composer_offers() -> None:
    inputs = Operand("x", "float32", 1), Operand("indices", "int32", 1)
    source = load_text(KERNEL, "k.wgsl", HERE)
    output = Operand("y", "float32", 1)
    composer = Composer("K", "free", inputs, (output,), (), {}, Assembly(source, None))
    add_free(composer, None)
    public = {"wk_nan", "wk_inf", "wk_print", "wk_print_i32", "wk_print_u32", "wk_assert"}
    offered = {
        name for name in composer.assembly.helpers if name in public or not name.startswith("wk_")
    }
    rows = {one.partition("(")[0] for one in TABLE} - {BY_UNIFORM}
    patterns = [re.compile(one.replace("<tensor>", "(x|y|indices)")) for one in rows]
    assert [name for name in offered if not any(p.fullmatch(name) for p in patterns)] == []
    assert [p.pattern for p in patterns if not any(p.fullmatch(n) for n in offered)] == []


def test_the_guide_prints_the_table() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "wgsl.md").read_text()
    table = guide.split("## Names without import")[1]
    printed = re.findall(r"^\| `([^`]+)` \| (.+) \| (.+) \|$", table, re.M)
    assert printed == [(name, what, FORMS.get(name, ALL)) for name, what in TABLE.items()]
