"""Random programs over integers, and running a text of WGSL on the adapter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.webgpu.lab import lab

from wgsl_kernels.wgsl.linking.linker import LinkedModule, link_modules
from wgsl_kernels.wgsl.specialize.module import specialize

if TYPE_CHECKING:
    import random

OUTPUTS = 48
CONSTANTS = {"A": 3, "B": 1, "C": True, "D": -2}
HEAD = """
const A = 3u;
const B = 1u;
const C = true;
const D: i32 = -2;
const E = select(A, B, C);
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
var<private> at: u32;
fn put(value: u32) { y[at] = value; at += 1u; }
"""


def linked(text: str) -> LinkedModule:
    """Return a module that is written in one file, ``main.wesl``."""
    return link_modules({"main.wesl": text}, "main", {}, {}, {}, "clash")


def specialized(text: str, **constants: Any) -> str:
    """Return the text of a module with values of its constants."""
    return specialize(linked(text), constants).write().composed.text


def run(text: str) -> list[int]:
    """Return what ``main`` writes to ``y``."""
    device = lab().device
    module = device.create_shader_module(code=text)
    pipeline = device.create_compute_pipeline(
        layout="auto", compute={"module": module, "entry_point": "main"}
    )
    buffer = device.create_buffer(size=4 * OUTPUTS, usage=0x4 | 0x8 | 0x80)
    entries = [{"binding": 0, "resource": {"buffer": buffer, "offset": 0, "size": 4 * OUTPUTS}}]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    encoder = device.create_command_encoder()
    pass_ = encoder.begin_compute_pass()
    pass_.set_pipeline(pipeline)
    pass_.set_bind_group(0, group)
    pass_.dispatch_workgroups(1)
    pass_.end()
    device.queue.submit([encoder.finish()])
    return [int(one) for one in np.frombuffer(device.queue.read_buffer(buffer), np.uint32)]


def with_constants(text: str, constants: dict[str, Any]) -> str:
    """Return the text with other values written into the declarations of its constants."""
    for name, value in constants.items():
        old = CONSTANTS[name]
        before, after = f" = {_literal(name, old)};", f" = {_literal(name, value)};"
        begin = text.index(f"const {name}")
        text = text[:begin] + text[begin:].replace(before, after, 1)
    return text


def _literal(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value}u" if name in "AB" else f"{value}"


@dataclass
class Writer:
    """Writes a program of u32, i32 and bools; all that may fail as a constant is a ``let``."""

    rng: random.Random
    names: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    count: int = 0
    puts: int = 0

    def program(self) -> str:
        """Return a module whose ``main`` puts some of what it computes into ``y``."""
        self.names = {"u32": ["u0", "w0"], "i32": ["i0"], "bool": ["b0"]}
        body = "\n".join(self.statements(3))
        start = "let u0 = E + 7u; var w0 = at + 5u; let i0 = D + 3; let b0 = C && A > 1u;"
        return f"{HEAD}@compute @workgroup_size(1) fn main() {{ {start}\n{body}\nput(w0);\n}}\n"

    def pick(self, *choices: str) -> str:
        """Return one of the choices."""
        return self.rng.choice(choices)

    def expression(self, type_: str, depth: int) -> str:
        """Return an expression of a type."""
        if depth == 0:
            return self.leaf(type_)
        if type_ == "bool":
            kind = self.pick("u32", "i32")
            compare = self.pick("<", ">", "<=", ">=", "==", "!=")
            sides = [self.expression(kind, depth - 1) for _ in range(2)]
            logic = f" {self.pick('&&', '||')} {self.leaf('bool')}"
            return f"(({sides[0]}) {compare} ({sides[1]}){self.pick('', logic)})"
        one, two = (self.expression(type_, depth - 1) for _ in range(2))
        shape = self.rng.randrange(6)
        if shape == 0:
            return f"select({one}, {two}, {self.expression('bool', depth - 1)})"
        if shape == 1:
            return f"{self.pick('min', 'max')}({one}, {two})"
        if shape == 2:
            other = "i32" if type_ == "u32" else "u32"
            return f"{type_}({self.expression(other, depth - 1)})"
        if shape == 3:
            return f"(({one}) {self.pick('<<', '>>')} ({self.expression('u32', depth - 1)}))"
        return f"(({one}) {self.pick('+', '-', '*', '/', '%', '&', '|', '^')} ({two}))"

    def leaf(self, type_: str) -> str:
        """Return a name; a number only with one, since overflow of numbers alone is an error."""
        name = self.rng.choice(self.names[type_])
        if type_ == "bool":
            return self.pick(name, f"!{name}", f"(C && {name})", f"({name} || !C)")
        suffix = type_[0]
        number = f"{self.rng.choice([0, 1, 2, 5, 31, 2**31 - 1])}{suffix}"
        shared = ["A", "B", "E"] if type_ == "u32" else ["D"]
        return self.pick(
            name,
            f"({name} + {number})",
            f"({number} * {name})",
            f"({name} | {self.rng.choice(shared)})",
            f"({name} - {number})",
        )

    def statements(self, depth: int) -> list[str]:
        """Return statements with a scope of their own."""
        outer = {kind: list(names) for kind, names in self.names.items()}
        found = [self.statement(depth) for _ in range(self.rng.randint(2, 4))]
        self.names = outer
        return found

    def statement(self, depth: int) -> str:
        """Return one statement."""
        shape = self.rng.randrange(8 if depth else 4)
        if shape <= 1:
            return self.local()
        if shape == 2 or (depth == 0 and shape == 3):
            return f"put({self.expression('u32', 2)});"
        if shape == 3:
            return f"w0 = {self.expression('u32', 1)};"
        if shape == 4:
            body, other = ("\n".join(self.statements(depth - 1)) for _ in range(2))
            condition = self.pick("C", "!C", "A == 3u", "D < 0", self.expression("bool", 1))
            return f"if ({condition}) {{\n{body}\n}} else {{\n{other}\n}}"
        if shape == 5:
            first, second, third = ("\n".join(self.statements(depth - 1)) for _ in range(3))
            on = self.pick("A", "E & 1u", self.leaf("u32"))
            return (
                f"switch ({on}) {{\ncase 0u: {{\n{first}\nif (w0 == 5u) {{ break; }}\n}}\n"
                f"case 1u, 3u: {{\n{second}\nbreak;\n}}\ndefault: {{\n{third}\n}}\n}}"
            )
        return self.loop(depth)

    def loop(self, depth: int) -> str:
        """Return a loop of few rounds, marked or not."""
        self.count += 1
        name = f"l{self.count}"
        outer = list(self.names["u32"])
        self.names["u32"].append(name)
        inner = "\n".join(self.statements(depth - 1))
        self.names["u32"] = outer
        bound = self.pick("B + 1u", "E", "2u", "A - A")
        mark = self.pick("// @unroll", "")
        zero = f"var z{name}: u32; z{name} += 2u; w0 ^= z{name};"
        return f"for (var {name} = 0u; {name} < {bound}; {name}++) {{ {mark}\n{zero}\n{inner}\n}}"

    def local(self) -> str:
        """Return a ``let``."""
        self.count += 1
        kind = self.pick("u32", "i32", "bool")
        name = f"v{self.count}"
        text = f"let {name} = {self.expression(kind, 2)};"
        self.names[kind].append(name)
        return text
