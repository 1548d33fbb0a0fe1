"""Whatever stands in a shader, only errors of ours come out of reading and composing it."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING

import pytest

from wgsl_kernels.backends.webgpu.composing.compose import Options, compose
from wgsl_kernels.backends.webgpu.composing.text.instance import MAP, Instance
from wgsl_kernels.backends.webgpu.composing.text.operands import (
    Form,
    Operand,
    allowed_access,
    allowed_dtypes,
    classify,
)
from wgsl_kernels.backends.webgpu.lowering.spreads import reduce_loop
from wgsl_kernels.backends.webgpu.modules.source import load_text, shaders_folder
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.tokens import scan

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source

FILES = sorted(shaders_folder().rglob("*.w[eg]sl"))
ODD = (
    "0", "-1", "4294967296", "9" * 5000, "1e999", "0x", "T", "vec9<f32>", "@align(0)", "@size()",
    "(", ")", "{", "}", "<", ">", ";", "\0", '"', "#", "i", "x", "const x = x;", "attrs.", "()",
    "struct Attrs { a: Attrs }", "[0]", "array<T>", "init", "combine", "op", "main", "apply",
    "settle", "finish", "lift", "append", "params", "attrs", "hold",
)  # fmt: skip
VARIANTS: dict[Form, tuple[Options, ...]] = {
    "map": (Options(), Options(loop=MAP.given(VEC4=True))),
    "free": (Options(),),
    "reduce": tuple(
        Options(loop=reduce_loop(name, "whole", maps=False), kept=1)
        for name in ("rows", "lanes", "columns")
    ),
    "scan": tuple(
        Options(form="scan", loop=Instance(f"templates/{name}.wesl"))
        for name in ("scan", "scan_tiles")
    ),
    "window": tuple(
        Options(form="window", loop=Instance("templates/window.wesl", flags))
        for flags in ((), (("VEC4", True),), (("JOINS", True),))
    ),
}


def _mutant(text: str, seed: int) -> str:
    """Return a text with a few tokens dropped, swapped, repeated or replaced."""
    draw = random.Random(seed)
    tokens = scan(Text("a.wgsl", text))
    begins, ends = tokens.begins[:-1], tokens.ends[:-1]
    words = [text[begin:end] for begin, end in zip(begins, ends, strict=True)]
    gaps = [text[end:begin] for end, begin in zip([0, *ends[:-1]], begins, strict=True)]
    for _ in range(draw.randint(1, 4)):
        i, j = draw.randrange(len(words)), draw.randrange(len(words))
        kind = draw.randrange(6)
        if kind == 0:
            words[i : i + draw.randint(1, 8)] = [""] * len(words[i : i + 8])
            gaps += [""] * (len(words) - len(gaps))
        elif kind == 1:
            words[i], words[j] = words[j], words[i]
        elif kind == 2:
            words[i] = words[j]
        elif kind == 3:
            words[i] = f"{words[i]} " * draw.choice([2, 3, 600])
        else:
            words[i] = draw.choice(ODD)
    return "".join(a + b for a, b in zip(gaps, words, strict=False)) + "\n"


def _operands(source: Source, form: Form, draw: random.Random) -> tuple[list[Operand], ...]:
    variables = [one for one in source.variables.values() if one.space == "storage"]
    names = ["x"]
    if form == "map":
        op = next(f for name, f in source.functions.items() if name.startswith("op"))
        names = [one.name for one in op.parameters if one.name != "i"]
    elif form == "free":
        names = [one.name for one in variables if one.access == "read"]
    outputs = [one.name for one in variables if one.access != "read"] or ["y"]
    rank = 4 if form == "window" else 2
    dtype = draw.choice(["float32", "float32", "int32", "float16", "bool", "complex64"])
    inputs = [
        Operand(name, dtype, rank, draw.choice(["flat", "strided", "value"])) for name in names
    ]
    return inputs, [Operand(name, "float32", rank) for name in outputs]


def _compose(text: str, path: Path, seed: int) -> None:
    draw = random.Random(seed)
    source = load_text(text, str(path), path.parent)
    for declared in (None, "scan", "window"):
        with contextlib.suppress(ShaderError):
            form = classify(source, declared)
            inputs, outputs = _operands(source, form, draw)
            for one in (*inputs, *outputs):
                allowed_dtypes(source, one.name, declared)
                allowed_access(source, one.name)
            fields = [one.name for struct in source.structs.values() for one in struct.fields]
            for options in VARIANTS[form]:
                composed = compose(
                    "K", source, inputs, outputs, attrs=["axis", *fields], options=options
                )
                composed.with_immediates()
                composed.explain("wgsl:3:4 error")


@pytest.mark.parametrize("first", range(0, 500, 50))
def test_only_errors_of_ours_come_out_of_a_damaged_shader(first: int) -> None:
    for seed in range(first, first + 50):
        path = FILES[(seed * 7919) % len(FILES)]
        with contextlib.suppress(ShaderError):
            _compose(_mutant(path.read_text(), seed), path, seed)
