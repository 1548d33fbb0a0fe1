"""Loops of derived accumulations as WGSL: over the elements of rows or parts, by one or by four.

Statements of an element call it ``k``, the k-th of an input ``x`` ``x_k``, and its place along the
axis of a scan ``along``. A row's elements are stored where they were loaded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.types.kinds import FLOATS

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.derive.accumulations import Accumulation

_EXCLUSIVE = """      if (wk_sizes.exclusive != 0u) {{
        {name}_k = {type}();
        if (k + 1u < wk_sizes.n) {{
          {name}_k = load_{name}(row * wk_sizes.n + {along});
        }}
      }}
"""
"""An exclusive scan is an inclusive one whose results are those of the element before. It goes by
one: llvmpipe takes a third longer where a branch of four loads is there that is not taken."""


@dataclass(frozen=True)
class Loops:
    """The loops of an accumulation.

    Attributes:
        one: The accumulation.
        upstream: What the upstream gradient is called.
        result: What the result is called.
        gives: The type of its elements.
        lanes: How many elements are loaded and stored at a time, 1 or 4.
    """

    one: Accumulation
    upstream: str
    result: str
    gives: str
    lanes: int

    @property
    def all(self) -> str:
        """The k-th elements."""
        return ", ".join([f"{each.name}_k" for each in self.one.elements])

    @property
    def lifted(self) -> str:
        """The k-th elements that are combined."""
        return ", ".join([f"{each.name}_k" for each in self.one.lifted])

    def step(self, total: str) -> str:
        """Return an accumulator with the k-th element."""
        return f"{self.one.prefix}step({total}, {self.lifted}, {self.along})"

    @property
    def along(self) -> str:
        """The place of the k-th element along the axis."""
        return "along" if self.one.form == "scan" else "k"

    def forward(self, body: str, value: str = "", *, keep: bool = False) -> str:
        """Return the loop from ``begin`` to ``end``, of which ``step`` tells the next turn.

        Args:
            body: The statements of an element.
            value: What is stored of it.
            keep: Whether ``total`` is kept at each turn, for the way back.
        """
        head = "  for (var turn = begin; turn < end; turn += step) {\n"
        kept = f"{self._kept} = total;\n" if keep else ""
        if not self.keeps_each:
            return f"{head}    {kept}{self._turn(self._each(body, value))}  }}\n"
        return f"{head}{self._turn(self._each(f'      {kept}{body}', value))}  }}\n"

    def backward(self, first: str, value: str, last: str, *, has_states: bool) -> str:
        """Return the loop from ``end`` to ``begin``; ``state`` is what was before an element.

        Args:
            first: The statements of an element before its value.
            value: What is stored of it.
            last: The statements behind it.
            has_states: Whether ``total`` was kept; else ``state`` is what ``init`` returns.
        """
        again, state = "", f"{self.one.prefix}init()"
        if has_states and self.keeps_each:
            state = self._kept
        elif has_states:
            state = "states[lane]"
            step = f"      states[lane] = total;\n      total = {self.step('total')};\n"
            again = f"    var total = {self._kept};\n"
            again += f"    var states: array<{self.one.total}, {self.lanes}>;\n{self._each(step)}"
        body = f"      let state = {state};\n{first}"
        return f"""  for (var left = end; left > begin; left -= {self.lanes}u) {{
    let turn = left - {self.lanes}u;
{self._turn(again + self._each(body, value, last, down=True))}  }}
"""

    @property
    def keeps_each(self) -> bool:
        """Whether the accumulator before each element is kept, not only that of a turn.

        A number that cost exponentials is read faster than it is combined again; structs would
        take too much memory.
        """
        return self.lanes == 1 or (self.one.is_costly and self.one.total in FLOATS)

    @property
    def _kept(self) -> str:
        if self.keeps_each:
            return "wk_states[row * wk_sizes.n + k]"
        return f"wk_states[(row * wk_sizes.n + turn) / {self.lanes}u]"

    def _turn(self, lanes: str) -> str:
        """Return what a turn loads, the loops over its lanes, and what it stores."""
        scans, by_four = self.one.form == "scan", self.lanes == 4
        names = {each.name: each.is_wide for each in self.one.elements} | {self.upstream: True}
        place = "turn"
        if scans:
            place = f"select(turn, wk_sizes.n - {self.lanes}u - turn, wk_sizes.backward != 0u)"
        lines = f"    let place = {place};\n    let first = row * wk_sizes.n + place;\n"
        for name in dict.fromkeys(re.findall(r"\b(\w+)_k\b", lanes)):
            at = "first" if names[name] else "place"
            if by_four:
                four = self._in_order(f"{name}_four")
                lines += f"    let {name}_four = load4_{name}({at});\n"
                lines += f"    let {name}_turn = {four};\n"
            else:
                lines += f"    let {name}_turn = array({self._loaded(name, at)});\n"
        if "found[lane]" not in lanes:
            return lines + lanes
        lines += f"    var found: {'vec4' if by_four else 'array'}<{self.gives}"
        lines += ">;\n" if by_four else ", 1>;\n"
        store = f"store4_{self.result}(first, {self._in_order('found')})"
        store = store if by_four else f"store_{self.result}(first, found[0])"
        return f"{lines}{lanes}    {store};\n"

    def _loaded(self, name: str, at: str) -> str:
        types = {each.name: each.type for each in self.one.elements}
        return f"load_{name}({at}){' != 0u' if types.get(name) == 'bool' else ''}"

    def _in_order(self, four: str) -> str:
        """Return four elements in the order of a scan, or back from that."""
        backward = f"select({four}, {four}.wzyx, wk_sizes.backward != 0u)"
        return backward if self.one.form == "scan" else four

    def _each(self, body: str, value: str = "", last: str = "", *, down: bool = False) -> str:
        """Return the loop over the lanes of a turn."""
        text = body + value + last
        lines = ""
        if re.search(r"\balong\b", text) or self._shifts(text):
            lines += f"      let along = {self._along('k')};\n"
        for name in dict.fromkeys(re.findall(r"\b(\w+)_k\b", text)):
            word = "var" if name == self.upstream and self._shifts(text) else "let"
            lines += f"      {word} {name}_k = {name}_turn[lane];\n"
        if self._shifts(text):
            lines += _EXCLUSIVE.format(
                name=self.upstream, type=self.one.gives, along=self._along("(k + 1u)")
            )
        found = f"      found[lane] = {value};\n" if value else ""
        head = f"    for (var lane = 0u; lane < {self.lanes}u; lane++) {{\n"
        if down:
            head = f"    for (var above = {self.lanes}u; above > 0u; above--) {{\n"
            head += "      let lane = above - 1u;\n"
        return f"{head}      let k = turn + lane;\n{lines}{body}{found}{last}    }}\n"

    def _shifts(self, text: str) -> bool:
        is_of_scan = self.one.form == "scan" and self.lanes == 1
        return is_of_scan and f"{self.upstream}_k" in text

    def _along(self, k: str) -> str:
        return f"select({k}, wk_sizes.n - 1u - {k}, wk_sizes.backward != 0u)"
