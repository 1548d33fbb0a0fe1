"""Kernels with one error each, at a random place and import depth, and where it is.

A statement is written with ``@`` before the token that an error must name: behind a missing token
the next one, a wrong name, an operand of the wrong type, the name of a function without a return.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FAULTS: dict[str, tuple[str, ...]] = {
    "token": (
        "let a9 = x * 2.0\n@let c9 = a9;",
        "let a9 = x * 2.0 // no semicolon\n\n@b += a9;",
        "let a9 = max(x, 1.0@;",
        "let a9 @x * 2.0;",
        "let a9 = select(1.0, 2.0 @x > 1.0);",
        "if (x > 1.0 @{ b = x; }",
        "let a9 = (x + 1.0@;",
        "for (var k = 0u; k < 3u @k++) { b += x; }",
        "let a9 = vec3<f32>(x, x, x@;",
        "for (var k = 0u @k < 3u; k++) { b += x; }",
        "let a9 = x * @;",
        "var q9 = array<f32, 2>(x, x);\nb += q9[0@;",
    ),
    "name": (
        "let a9 = @nowhere * 2.0;",
        "let a9 = @clampp(x, 0.0, 1.0);",
        "@undeclared = x;",
        "let a9: @f33 = x;",
        "if (x > @limit) { b = x; }",
        "b += 0.5 * (x - @Offset) ;",
        "for (var k = 0u; k < @count; k++) { b += x; }",
        "let a9 = @Trio(x, x);",
    ),
    "type": (
        "let n9 = 3u;\nlet a9 = x * @n9;",
        "let n9 = 3i;\nlet a9 = @n9 + x;",
        "let a9: u32 = @x;",
        "let n9 = 3u;\nlet a9 = sin(@n9);",
        "let a9 = x + @true;",
        "if (@x) { b = x; }",
        "let v9 = vec2<f32>(1.0, 2.0);\nlet a9: f32 = @v9;",
        "let n9 = 3u;\nb = @n9;",
        "let n9 = 3u;\nb += @n9;",
        "let n9 = 3u;\nlet a9 = half_of(@n9);",
        "let n9 = 3u;\nlet a9 = max(x, @n9);",
        "let n9 = 3i;\nreturn @n9;",
        "while (@b) { b -= 1.0; }",
        "let a9 = !@x;",
        "let n9 = 3u;\nlet a9 = x < @n9;",
        "let n9 = 3u;\nlet p9 = Pair(x, @n9);",
    ),
    "return": ("",),
    "field": (
        "let v9 = vec3<f32>(x, x, x);\nb += v9.@w;",
        "let p9 = Pair(x, 2.0);\nlet a9 = p9.first + p9.@third;",
        "var p9 = Pair(x, 2.0);\np9.@seconds = x;",
        "let a9 = x.@y;",
        "b += Pair(x, x).@frist;",
    ),
    "immutable": (
        "let a9 = x;\n@a9 = 2.0;",
        "@x = 1.0;",
        "let a9 = 3u;\n@a9++;",
        "let a9 = x;\n@a9 += 2.0;",
        "let v9 = vec2<f32>(x, x);\n@v9.y = 2.0;",
        "@LIMIT = 2.0;",
    ),
    "spelling": (
        "let a9 = @float(x);",
        "let a9 = x > 1.0 @? 2.0 : 3.0;",
        "let a9: @int = 3;",
        "let v9 = @float3(x, x, x);",
        "let a9 = @fmax(x, 1.0);",
        "var a9: @double = 1.0;",
    ),
    "refused": (
        "let v9 = vec3<f32>(x, x, x);\nb += v9[@3];",
        "let v9 = array<f32, 2>(x, b);\nb += v9[@2u];",
        "let m9 = mat2x2<f32>();\nb += m9[@2].x;",
        "let a9 = @dpdx(x);",
        "let a9 = b + @fwidthFine(x);",
        "if (x > 1.0) { @discard; }",
        "let a9 = x;\nlet @a9 = b;",
        "const a9 = @x;",
        "let a9 = b *@* x;",
        "let a9 = @*b;",
        "let a9: @f64 = 1.0;",
        "switch (@x) { case 1: { b += 1.0; } default: { } }",
        "var v9 = vec3<f32>(x, x, x);\n@v9.xy = vec2<f32>(b, b);",
    ),
    "arguments": (
        "let a9 = @clamp(x, 0.0);",
        "let a9 = @half_of(x, 2.0);",
        "b += @half_of();",
        "let p9 = @Pair(x);",
        "let a9 = 1.0 + @sqrt(x, x);",
    ),
}
"""Statements of each kind; in scope are ``x``, ``b``, ``half_of``, ``Pair`` and ``LIMIT``."""


@dataclass(frozen=True)
class Fault:
    """A Python file that registers the kernel ``Placed``, with one error.

    Attributes:
        program: The file.
        kind: A key of `FAULTS`.
        statement: The statement.
        file: Where the error is: a file of shaders, or the program.
        line: The line.
        column: The column.
    """

    program: Path
    kind: str
    statement: str
    file: Path
    line: int
    column: int


def write_fault(folder: Path, kind: str, seed: int) -> Fault:
    """Write a kernel with one error of a kind, in the kernel or up to three imports below it."""
    draw = random.Random(f"{kind} {seed}")
    statement = draw.choice(FAULTS[kind])
    depth = draw.randrange(4)
    wrong = draw.randrange(depth + 1)
    form, functions = draw.choice(_FORMS)
    texts = [
        _module(draw, level, depth, (kind, statement) if level == wrong else None)
        for level in range(depth + 1)
    ]
    texts[0] += functions
    is_inline = draw.random() < 0.5
    program = folder / "placed.py"
    files = [program if is_inline else folder / "placed.wesl"]
    files += [folder / f"part{level}.wesl" for level in range(1, depth + 1)]
    call = 'wk.testing.Sample("Placed", placed, ((3, 4),))'
    source = f'"""{texts[0]}"""' if is_inline else '"placed.wesl"'
    python = _PROGRAM.format(source=source, call=call, blank="\n" * draw.randrange(4), **form)
    written = {files[level]: texts[level] for level in range(depth + 1)} | {program: python}
    at = next(text for file, text in written.items() if file == files[wrong])
    before, _, _ = at.partition("@@")
    for file, text in written.items():
        file.write_text(text.replace("@@", ""))
    column = len(before) - (before.rfind("\n") + 1) + 1
    return Fault(program, kind, statement, files[wrong], before.count("\n") + 1, column)


_PROGRAM = """import wgsl_kernels as wk
{blank}
wk.signature("Placed")(lambda x, /, *, axis=-1: x.like({shape}))
wk.wgsl_kernel(
    "Placed",
    {source},{options}
)


def placed(x):
    return wk.engine().run_kernel("Placed", {{"x": x}}, {attrs})


wk.testing.add_samples("Placed", {call})
"""


def _module(draw: random.Random, level: int, depth: int, fault: tuple[str, str] | None) -> str:
    """Return a file: what it imports, what it declares, and its functions."""
    parts = ["// part {level}, ünïcode behind\n"] if draw.random() < 0.7 else ["\n"]
    if level < depth:
        parts.append(f"import package::part{level + 1}::step{level + 1};\n")
    parts += ["\n" * draw.randrange(3), "const LIMIT = 4.0;\n"]
    parts.append("struct Pair { first: f32, second: f32 }\n")
    parts.append("fn half_of(x: f32) -> f32 { return 0.5 * x; }\n")
    inner = f"step{level + 1}(b)" if level < depth else "half_of(b)"
    body = _body(draw, inner, fault)
    if fault is not None and fault[0] == "return":
        late = draw.choice(_LATE)
        parts.append(late)
        body.insert(1, "b += late(x);")
    name = f"step{level}" if level else "kernel"
    unit = draw.choice(("  ", "    ", "\t"))
    lines = "".join(f"{unit}{line}\n" for one in body for line in one.split("\n"))
    parts.append(f"fn {name}(x: f32) -> f32 {{\n{lines}}}\n")
    if draw.random() < 0.5 and level:
        parts.append("\n// the end")
    return "".join(parts)


_LATE = (
    "fn @@late(x: f32) -> f32 {\n  if (x > 0.0) {\n    return x;\n  }\n}\n",
    "fn  @@late(x: f32) -> f32 {\n  var y = x;\n  y += 1.0;\n}\n",
    "fn\n@@late(x: f32) -> f32 {\n  for (var i = 0; i < 3; i++) { return x; }\n}\n",
    "fn @@late(x: f32) -> f32 { switch (i32(x)) { case 1: { return x; } default: { } } }\n",
)
_ACCUMULATING = """fn init() -> f32 { return 0.0; }
fn lift(x: T) -> f32 { return kernel(f32(x)); }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
"""
_PRODUCT = """fn a_at(batch: u32, row: u32, k: u32) -> f32 { return kernel(f32(x[row * 4u + k])); }
fn b_at(batch: u32, k: u32, col: u32) -> T { return x[col * 4u + k]; }
"""
_FREE = """@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&x)) { y[id.x] = kernel(x[id.x]); }
}
"""
_FORMS: tuple[tuple[dict[str, str], str], ...] = (
    (
        {"shape": "", "attrs": "{}", "options": ""},
        "fn op(x: T) -> T { return T(kernel(f32(x))); }\n",
    ),
    ({"shape": "shape=x.shape[:-1]", "attrs": "{'axis': -1}", "options": ""}, _ACCUMULATING),
    ({"shape": "", "attrs": "{'axis': -1}", "options": 'form="scan"'}, _ACCUMULATING),
    (
        {
            "shape": "shape=x.shape[:1] * 2",
            "attrs": "{}",
            "options": 'form="product", params=lambda x_shape: {"depth": 4}',
        },
        _PRODUCT,
    ),
    ({"shape": "", "attrs": "{}", "options": ""}, _FREE),
)
"""What a file is given to, and the functions that stand for a form."""
_FILLING = (
    "b = b * 0.5 + x;",
    "if (b > 2.0) {\n  b = b - x;\n}",
    "for (var i = 0u; i < 3u; i++) {\n  b += f32(i) * x;\n}",
    "let {name} = Pair(x, b); /* é ü */ b += {name}.second;",
    "let {name} = vec3<f32>(x, b, 1.0);\nb += {name}.y;",
    "b = select(b, LIMIT, b > LIMIT);",
)


def _body(draw: random.Random, inner: str, fault: tuple[str, str] | None) -> list[str]:
    """Return a function's statements, the wrong one among them."""
    filling = [
        draw.choice(_FILLING).replace("{name}", f"c{n}") for n in range(draw.randrange(1, 6))
    ]
    if fault is not None and fault[1]:
        wrong = fault[1].replace("@", "@@")
        if draw.random() < 0.3 and not fault[1].startswith("return"):
            wrong = "if (b < 7.0) {\n" + "\n".join(f"  {one}" for one in wrong.split("\n")) + "\n}"
        filling.insert(draw.randrange(len(filling) + 1), wrong)
    return ["var b = x;", *filling, f"b += {inner};", "return b;"]
