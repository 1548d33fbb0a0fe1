"""Writing a shader again so that it watches its own accesses, barriers and loops."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.instrument.accesses import ElementAccess, accesses_in
from wgsl_kernels.wgsl.instrument.log import (
    MOST_SHADOWS,
    MOST_SITES,
    Site,
    of_workgroup_array,
    prelude,
)
from wgsl_kernels.wgsl.lint.loops import CHECK
from wgsl_kernels.wgsl.lint.remarks import builtins_of, functions_of, jumps_in
from wgsl_kernels.wgsl.lint.uniformity import BARRIERS, LOADS
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.infer import infer
from wgsl_kernels.wgsl.types.kinds import (
    F32,
    Array,
    Atomic,
    Reference,
    Scalar,
    Vector,
    concrete,
    value_of,
)

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.types.infer import Types

WORKGROUP_BYTES = 32_768 - 1024
"""Workgroup memory that a watching shader may take; a shadow has two words for each element."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A shader that watches itself.

    Attributes:
        text: What the compiler gets.
        original: The text that it was made of; sites have their places there.
        sites: What is watched.
        shadowed: The storage arrays with a shadow in the log, in its order.
        workgroup_bytes: Workgroup memory of the shadows.
    """

    text: str
    original: Text
    sites: tuple[Site, ...]
    shadowed: tuple[str, ...]
    workgroup_bytes: int


def watch(
    text: Text, entry: str, binding: int, group: tuple[int, int, int], used_bytes: int
) -> Watched:
    """Return a shader that notes what it does wrong in a buffer of its own.

    Args:
        text: A complete shader.
        entry: Its entry point.
        binding: The number of the log's binding.
        group: Its invocations along x, y and z.
        used_bytes: The workgroup memory that it has itself.
    """
    writer = _WatchWriter(text, entry, group, used_bytes)
    writer.arrays()
    writer.functions()
    body = writer.applied()
    shadows = "".join(writer.shadow_text(name) for name in writer.workgroup)
    return Watched(
        f"{body}\n{prelude(binding)}{shadows}",
        text,
        tuple(writer.sites),
        tuple(writer.storage),
        8 * sum(writer.workgroup.values()),
    )


@dataclass
class _WatchWriter:
    """The text with what is put into it."""

    text: Text
    entry: str
    group: tuple[int, int, int]
    used_bytes: int
    sites: list[Site] = field(default_factory=list[Site])
    storage: dict[str, int] = field(default_factory=dict[str, int])
    workgroup: dict[str, int] = field(default_factory=dict[str, int])
    inserted: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])

    def __post_init__(self) -> None:
        self.module = parse(self.text)
        self.types: Types = infer(self.module.declarations)

    def arrays(self) -> None:
        """Choose the arrays that get a shadow: those whose elements invocations may fight over."""
        called = {
            node.callee.name
            for function in functions_of(self.module)
            for node in descendants(function.body)
            if isinstance(node, tree.Call)
        }
        has_storage_barrier = "storageBarrier" in called
        room = WORKGROUP_BYTES - self.used_bytes
        for name, type_ in self._variables():
            store = type_.store
            if not isinstance(store, Array):
                continue
            if type_.space == "storage" and type_.access == "read_write":
                atomic = isinstance(store.element, Atomic)
                if not atomic and not has_storage_barrier and len(self.storage) < MOST_SHADOWS:
                    self.storage[name] = len(self.storage)
            elif type_.space == "workgroup" and LOADS not in called:
                count = _count(store)
                if count and 8 * count <= room:
                    room -= 8 * count
                    self.workgroup[name] = count

    def _variables(self) -> list[tuple[str, Reference]]:
        found: dict[str, Reference] = {}
        for function in functions_of(self.module):
            for node in descendants(function.body):
                if isinstance(node, tree.Name):
                    type_ = self.types.of(node)
                    is_shared = isinstance(type_, Reference) and type_.space in _SHARED
                    if isinstance(type_, Reference) and is_shared:
                        found.setdefault(node.name, type_)
        return list(found.items())

    def shadow_text(self, name: str) -> str:
        """Return the declarations that watch a workgroup array."""
        return of_workgroup_array(name, 2 * self.workgroup[name])

    def functions(self) -> None:
        """Put in what watches each function."""
        for function in functions_of(self.module):
            assert isinstance(function.body, tree.CompoundStatement)
            if function.ident.name == CHECK:
                continue
            if function.ident.name == self.entry:
                self._begin(function)
            for access in accesses_in(function, self.types):
                self._access(access)
            for node in descendants(function.body):
                if isinstance(node, tree.CallStatement) and node.call.callee.name in BARRIERS:
                    self._insert(node.begin, "wkd_epoch += 1u; ")
                elif isinstance(node, (tree.Loop, tree.While, tree.For)):
                    self._loop(node)
                elif isinstance(node, tree.CallStatement) and _says(node.call.callee.name):
                    self._say(node)

    def _begin(self, function: tree.Function) -> None:
        """Have the entry point tell who it is, and clear the shadows."""
        known = {
            builtin: f"{parameter.ident.name}{f'.{member}' if member else ''}"
            for parameter, member, builtin in builtins_of(function, self.module)
        }
        added: list[str] = []
        for builtin, type_ in _ASKED.items():
            if builtin not in known:
                known[builtin] = f"wkd_{builtin}"
                added.append(f"@builtin({builtin}) wkd_{builtin}: {type_}")
        if added:
            at = self.text.text.index("(", function.ident.end) + 1
            comma = ", " if function.parameters else ""
            self._insert(at, f"{', '.join(added)}{comma}")
        x, y, z = self.group
        groups, number = known["num_workgroups"], known["workgroup_id"]
        lane = known["local_invocation_index"]
        lines = [
            f"wkd_lane = {lane};",
            f"wkd_who = ({number}.x + ({number}.y + {number}.z * {groups}.y) * {groups}.x) "
            f"* {x * y * z}u + {lane} + 1u;",
        ]
        for name, count in self.workgroup.items():
            lines.append(
                f"for (var wkd_i = {lane}; wkd_i < {2 * count}u; wkd_i += {x * y * z}u) "
                f"{{ atomicStore(&wkd_shadow_{name}[wkd_i], 0u); }}"
            )
        if self.workgroup:
            lines.append("workgroupBarrier();")
        self._insert(function.body.begin + 1, " " + " ".join(lines))

    def _site(
        self,
        node: tree.Node,
        access: str,
        variable: str = "",
        type_: str = "",
        components: int = 1,
    ) -> int | None:
        if len(self.sites) >= MOST_SITES:
            return None
        number = len(self.sites)
        site = Site(number, node.span, access, variable, type_, components)  # type: ignore[arg-type]  # the words of Site
        self.sites.append(site)
        return site.number

    def _access(self, access: ElementAccess) -> None:
        """Have an index pass through a function that looks at it."""
        is_write = access.kind in ("write", "mark")
        number = self._site(access.node, "write" if is_write else "read", access.variable)
        if number is None:
            return
        function, rest = self._watcher(access, number)
        index = access.node.index
        self._insert(index.begin, f"{function}(u32(")
        self._insert(index.end, f"), {access.length}, {rest})", closes=True)

    def _watcher(self, access: ElementAccess, number: int) -> tuple[str, str]:
        """Return the function that looks at an index, and its arguments behind index and length."""
        name, index = access.variable, access.node.index
        if access.is_outer:
            return "wkd_outer", f"{number}u"
        if name in self.storage and access.kind in ("read", "write") and not access.above:
            return f"wkd_{access.kind}", f"{number}u, {self.storage[name]}u"
        if name in self.workgroup and not access.is_part:
            kinds = {"read": "read", "write": "write", "mark": "mark", "atomic": "set"}
            own = f"u32({self.text.text[index.begin : index.end]})"
            if _has_calls(index):
                return "wkd_in", f"{number}u"
            flat = own if not access.above else f"wkd_row * {access.length} + {own}"
            return f"wkd_{kinds[access.kind]}_{name}", f"{number}u, {flat}"
        return "wkd_in", f"{number}u"

    def _say(self, node: tree.CallStatement) -> None:
        """Have ``wk_print`` and ``wk_assert`` do what they are for."""
        if len(node.call.arguments) != 1:
            return
        (given,) = node.call.arguments
        text = self.text.text[given.begin : given.end]
        if node.call.callee.name == ASSERT:
            number = self._site(node, "assert")
            if number is not None:
                self._insert(node.begin, f"wkd_hold(({text}), {number}u); ")
            return
        found = self.types.of(given)
        type_ = F32 if found is None else concrete(value_of(found))
        if not isinstance(type_, (Scalar, Vector)):
            return
        scalar = type_ if isinstance(type_, Scalar) else type_.element
        parts = [f".{one}" for one in "xyzw"[: type_.size]] if isinstance(type_, Vector) else [""]
        number = self._site(node, "print", type_=scalar.name, components=len(parts))
        if number is None:
            return
        word = _WORDS.get(scalar.name, scalar.name)
        says = "".join(
            f" wkd_say(bitcast<u32>({word}(wkd_value{part})), {number}u, {at}u);"
            for at, part in enumerate(parts)
        )
        self._insert(node.begin, f"{{ let wkd_value = {type_}({text});{says} }} ")

    def _loop(self, node: tree.Loop | tree.While | tree.For) -> None:
        """Have a loop stop where it would go on for ever."""
        if isinstance(node, tree.Loop) and "break" not in jumps_in_loop(node):
            return  # what is behind it is never reached, and need not return
        number = self._site(node, "loop")
        if number is not None:
            self._insert(node.body.begin + 1, f" if (wkd_round({number}u)) {{ break; }}")

    def _insert(self, at: int, what: str, *, closes: bool = False) -> None:
        """Note a text to put in; of those at one place what closes comes first, inner ones first.

        An expression is met before those inside of it.
        """
        self.inserted.append(
            (at, -len(self.inserted) - _MANY if closes else len(self.inserted), what)
        )

    def applied(self) -> str:
        """Return the text with all that was put in."""
        parts: list[str] = []
        at = 0
        for place, _, what in sorted(self.inserted, key=lambda one: one[:2]):
            parts += (self.text.text[at:place], what)
            at = place
        return "".join((*parts, self.text.text[at:]))


ASSERT, PRINT = "wk_assert", "wk_print"
"""What a kernel says something with; what is printed, the name of the function ends in."""
LABEL = re.compile(r"//\s*@(\S.*?)\s*$")
"""The label of what a line prints, in a comment at its end."""
_WORDS = {"f16": "f32", "bool": "u32"}
"""As what a word keeps numbers that have none of their own."""
_MANY = 1 << 40
_SHARED = ("storage", "workgroup")
_ASKED = {
    "local_invocation_index": "u32",
    "workgroup_id": "vec3<u32>",
    "num_workgroups": "vec3<u32>",
}


def jumps_in_loop(node: tree.Loop) -> frozenset[str]:
    """Return how a loop's body leaves its round, a ``break if`` at its end included."""
    found = jumps_in(node.body)
    if any(isinstance(one, tree.BreakIf) for one in descendants(node.body)):
        return found | {"break"}
    return found


def _says(name: str) -> bool:
    return name == ASSERT or name.startswith(PRINT)


def _has_calls(node: tree.Expression) -> bool:
    """Say whether an expression must not be computed twice."""
    return any(
        isinstance(one, (tree.Call, tree.Index)) and _is_dear(one) for one in descendants(node)
    )


def _is_dear(node: tree.Node) -> bool:
    if isinstance(node, tree.Index):
        return True
    return isinstance(node, tree.Call) and node.callee.name not in ("u32", "i32", "min", "max")


def _count(array: Array) -> int | None:
    """Return how many elements an array of one or two dimensions has."""
    if not isinstance(array.count, int):
        return None
    if isinstance(array.element, Array):
        inner = array.element
        if not isinstance(inner.count, int) or isinstance(inner.element, Array):
            return None
        return array.count * inner.count
    return array.count
