"""Derived reductions, scans and normalizations as WGSL: passes over rows, or over parts of them.

Where rows are many, an invocation takes a whole row, forwards and then backwards. Else a row goes
in parts of about the square root of its length: one pass combines each part, one what is before
each; cotangents of accumulators then go from part to part backwards, by the slopes of ``combine``,
and in the last pass from element to element. Where the upstream gradient meets every element, a
pass collects what the results of a part give what is before it, in front of that.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.backends.derived.loops import Loops
from wgsl_kernels.backends.webgpu.adapter.facts import DEFAULT_LIMITS

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.derive.accumulations import Accumulation, Pulled

BOUND_LIMIT = "max-storage-buffers-per-shader-stage"
MOST_BOUND = DEFAULT_LIMITS[BOUND_LIMIT]
"""Arrays that a dispatch binds on each device of WebGPU."""
GROUP = 64
SIZES = ("rows", "n", "part", "parts", "short", "exclusive", "backward")
"""What every pass is given, as fields of ``wk_sizes``: lengths, and how a scan goes."""
RUN = 16 * GROUP
"""How many elements of a row a workgroup takes, where it takes each by itself."""
SHORT = GROUP
"""Up to how many elements an invocation takes a whole row."""
_HEADS = {
    "parts": """  if (item >= wk_sizes.rows * wk_sizes.parts) {
    return;
  }
  let row = item / wk_sizes.parts;
  let begin = item % wk_sizes.parts * wk_sizes.part;
  let end = min(begin + wk_sizes.part, wk_sizes.n);
  let step = {lanes}u;
""",
    "rows": """  if (item >= wk_sizes.rows) {
    return;
  }
  let row = item;
  let begin = 0u;
  let end = wk_sizes.n;
  let step = {lanes}u;
""",
    "elements": """  let step = select({group}u * {lanes}u, {lanes}u, wk_sizes.short != 0u);
  let row = select(id.y + id.z * groups.y, item, wk_sizes.short != 0u);
  let chunk = id.x / {group}u * {run}u;
  let begin = select(chunk + id.x % {group}u * {lanes}u, 0u, wk_sizes.short != 0u);
  let end = select(min(chunk + {run}u, wk_sizes.n), wk_sizes.n, wk_sizes.short != 0u);
  if (row >= wk_sizes.rows) {
    return;
  }
""",
}  # fmt: skip

_PART = """  let item = row * wk_sizes.parts + part;
  let begin = part * wk_sizes.part;
  let end = min(begin + wk_sizes.part, wk_sizes.n);
"""
_EACH_PART = f"  for (var part = 0u; part < wk_sizes.parts; part++) {{\n{_PART}"


@dataclass(frozen=True)
class Pass:
    """One dispatch.

    Attributes:
        over: What has an invocation each, parts or rows; of elements it takes several.
        body: The statements of its entry point.
        tensors: The inputs, and the result, that it reads and writes by accessors.
        buffers: The arrays of accumulators that it reads or writes.
    """

    over: str
    body: str
    tensors: tuple[str, ...]
    buffers: tuple[str, ...]

    @property
    def bound(self) -> int:
        """How many arrays the dispatch binds."""
        return len(self.tensors) + len(self.buffers)


@dataclass
class Passes:
    """The passes of an accumulation, or of its gradient by one input.

    Attributes:
        one: The accumulation.
        pulled: The gradient.
        upstream: What the upstream gradient is called.
        result: What the result is called.
        whole: Whether an invocation takes a whole row.
        lanes: How many elements are loaded and stored at a time, 1 or 4.
    """

    one: Accumulation
    pulled: Pulled | None
    upstream: str
    result: str
    whole: bool = False
    lanes: int = 1
    made: list[Pass] = field(default_factory=list[Pass])

    def written(self) -> list[Pass]:
        self.made = []
        if self.pulled is None:
            self._forward()
        elif self.one.form == "scan":
            self._scan_gradient()
        elif not self.pulled.through_total:
            self._then_each(self._total() + self._settled, self._by_apply)
        else:
            self._row_gradient(self.pulled)
        return self.made

    def types(self) -> dict[str, str]:
        """Return what each buffer of accumulators is made of."""
        total, settled = self.one.total, self.one.settled
        names = ("wk_totals", "wk_before", "wk_states", "wk_to", "wk_own", "wk_ends")
        types = {"wk_settled": settled, "wk_shares": settled, "wk_direct": self._gives}
        return dict.fromkeys(names, total) | types

    def counts(self, rows: int, n: int, parts: int) -> dict[str, int]:
        """Return how many accumulators each buffer holds."""
        each = rows if self.one.adds and self.one.form != "scan" else rows * parts
        kept = rows * n // (1 if self._loops.keeps_each else self.lanes)
        return {
            "wk_totals": rows * parts, "wk_before": rows * parts, "wk_own": rows * parts,
            "wk_shares": rows * parts, "wk_states": kept,
            "wk_direct": rows * n, "wk_to": each, "wk_ends": rows, "wk_settled": rows,
        }  # fmt: skip

    # Forms.

    def _forward(self) -> None:
        one, p = self.one, self.one.prefix
        if one.form == "reduce":
            end = f"  store_{self.result}(row, {p}finish(total, wk_sizes.n));\n"
            self._add("rows", self._total() + end)
        elif one.form == "apply":
            self._then_each(self._total() + self._settled, f"{p}apply({self._applied})")
        else:
            start = f"{p}init()"
            if not self.whole:
                self._add("rows", self._total(before=True))
                start = "wk_before[item]"
            exclusive = f"""      if (wk_sizes.exclusive != 0u) {{
        finished = {p}finish(total, k);
      }}
"""
            body = f"""      let after = {self._loops.step("total")};
      var finished = {p}finish(after, k + 1u);
{exclusive if self.lanes == 1 else ""}      total = after;
"""
            main = f"  var total = {start};\n{self._loops.forward(body, 'finished')}"
            self._add("rows" if self.whole else "parts", main)

    def _row_gradient(self, pulled: Pulled) -> None:
        """Write the gradient of a reduction, or of a normalization by what it reduces."""
        one, p = self.one, self.one.prefix
        upstream, chained = f"load_{self.upstream}(row)", not one.adds
        if self._is_stateless:
            to = f"  let to = {p}by_finish({p}init(), wk_sizes.n, {upstream});\n"
            self._add("elements", to + self._loops.forward("", self._slope(f"{p}init()")))
            return
        if one.form == "reduce":
            main = self._total(keep=chained, before=chained)
            main += f"  var to = {p}by_finish(total, wk_sizes.n, {upstream});\n"
        else:
            main = self._shares(keep=chained)
        direct = f" + {self._by_apply}" if "by_apply" in pulled.there else ""
        if not chained:
            self._then_each(main, f"{self._slope(f'{p}init()')}{direct}")
        elif self.whole:
            before, after = "wk_before[item]", "wk_totals[item]"
            self._add(
                "rows",
                f"""{main}  var passed = to;
  for (var later = wk_sizes.parts; later > 0u; later--) {{
    let part = later - 1u;
{_PART}  var to = {self._second(before, after, "passed")};
{self._swept(direct)}  passed = {self._back(before, after, "passed")};
  }}
""",
            )
        else:
            self._add("rows", f"{main}{self._passed()}")
            if direct:  # by itself: a pass binds few buffers
                kept = "wk_direct[row * wk_sizes.n + k]"
                loop = self._loops.forward(f"      {kept} = {self._by_apply};\n")
                self._add("elements", f"  let settled = wk_settled[row];\n{loop}")
                direct = f" + {kept}"
            to = self._second("wk_before[item]", "wk_totals[item]", "wk_to[item]")
            self._add("parts", f"  var to = {to};\n{self._swept(direct)}")
            if self.made[-1].bound >= MOST_BOUND:  # the status is one more, where loops are ended
                del self.made[-1]
                self._add("parts", f"  wk_to[item] = {to};\n")
                self._add("parts", f"  var to = wk_to[item];\n{self._swept(direct)}")

    def _scan_gradient(self) -> None:
        # Results are of what is before a part, combined with a chain from init on. So are
        # cotangents: of what means the same, but is written otherwise, there are others.
        one, p, has_states = self.one, self.one.prefix, not self._is_stateless
        zero, in_parts = f"{one.total}()", has_states and not self.whole
        before = "  let before = wk_before[item];\n" if in_parts else ""
        result = f"{p}combine(before, after)" if in_parts else "after"
        share = f"      let share = {p}by_finish({result}, k + 1u, {self.upstream}_k);\n"
        after = self._loops.step("state") if has_states else "state"
        to = self._second("before", "after", "share") if in_parts else "share"
        meets = f"      let after = {after};\n{share}      to = {p}plus(to, {to});\n"
        if self.whole:
            main = self._total(keep=True) if has_states else ""
            self._add("rows", f"{main}  var to = {zero};\n{self._swept('', meets)}")
            return
        if has_states:
            self._add("rows", self._total(keep=True, before=True))
        own = self._back("before", "after", "share") if in_parts else "share"
        after = self._loops.step("total") if has_states else "total"
        body = f"""      let after = {after};
{share}      own = {p}plus(own, {own});
      total = after;
"""
        main = f"{before}  var total = {p}init();\n  var own = {zero};\n"
        self._add("parts", f"{main}{self._loops.forward(body)}  wk_own[item] = own;\n")
        passed = self._passed(f"    to = {p}plus(to, wk_own[at]);\n")
        self._add("rows", f"  let first = row * wk_sizes.parts;\n  var to = {zero};\n{passed}")
        to = self._second("before", "wk_totals[item]", "wk_to[item]")
        self._add("parts", f"{before}  var to = {to};\n{self._swept('', meets)}")

    # Passes.

    def _total(self, *, keep: bool = False, before: bool = False) -> str:
        """Return the statements that give a row's ``total``; write the pass of its parts.

        Args:
            keep: Whether accumulators are kept for the way back.
            before: Whether what is before each part is kept.
        """
        p = self.one.prefix
        body = f"      total = {self._loops.step('total')};\n"
        chain = f"  var total = {p}init();\n{self._loops.forward(body, keep=keep)}"
        if self.whole and self.one.form == "scan":
            return chain
        if self.whole:
            kept = "  wk_before[item] = joined;\n  wk_totals[item] = total;\n" if before else ""
            part = f"{chain}{kept}  joined = {p}combine(joined, total);\n"
            return f"  var joined = {p}init();\n{_EACH_PART}{part}  }}\n  let total = joined;\n"
        self._add("parts", f"{chain}  wk_totals[item] = total;\n")
        kept = "    wk_before[at] = total;\n" if before else ""
        return f"""  let first = row * wk_sizes.parts;
  var total = {p}init();
  for (var at = first; at < first + wk_sizes.parts; at++) {{
{kept}    total = {p}combine(total, wk_totals[at]);
  }}
"""

    def _shares(self, *, keep: bool) -> str:
        """Return the statements that give ``to``, of what elements are given of a row's total."""
        one, p = self.one, self.one.prefix
        main = self._total(keep=keep, before=keep) + self._settled
        each = f"{p}by_settled({self._applied}, {self.upstream}_k)"
        loop = self._loops.forward(f"      share = {p}plus_settled(share, {each});\n")
        zero = f"  var share = {one.settled}();\n"
        to = f"  var to = {p}by_settle(total, wk_sizes.n, share);\n"
        if self.whole:
            part = f"{zero}{loop}  shares = {p}plus_settled(shares, share);\n"
            loop = f"  var shares = {one.settled}();\n{_EACH_PART}{part}  }}\n"
            return f"{main}{loop}  let share = shares;\n{to}"
        self._add("rows", f"{main}  wk_settled[row] = settled;\n  wk_ends[row] = total;\n")
        settled = "  let settled = wk_settled[row];\n"
        self._add("parts", f"{settled}{zero}{loop}  wk_shares[item] = share;\n")
        return f"""  let first = row * wk_sizes.parts;
  let total = wk_ends[row];
{zero}  for (var at = first; at < first + wk_sizes.parts; at++) {{
    share = {p}plus_settled(share, wk_shares[at]);
  }}
{to}"""

    def _then_each(self, main: str, value: str) -> None:
        """Write what a row comes to, and what each of its elements is given of that.

        Args:
            main: The statements of a row.
            value: An element, by ``to`` or ``settled``.
        """
        loop = self._loops.forward("", value)
        if self.whole:
            self._add("rows", main + loop)
            return
        used = [one for one in ("to", "settled") if re.search(rf"\b{one}\b", value)]
        made = [one for one in used if re.search(rf"\b{one} =", main)]
        self._add("rows", main + "".join([f"  wk_{one}[row] = {one};\n" for one in made]))
        lets = "".join([f"  let {one} = wk_{one}[row];\n" for one in used])
        self._add("elements", lets + loop)

    def _passed(self, own: str = "") -> str:
        """Return the loop that passes a cotangent from the last part of a row to the first."""
        return f"""  for (var left = wk_sizes.parts; left > 0u; left--) {{
    let at = first + left - 1u;
    wk_to[at] = to;
    to = {self._back("wk_before[at]", "wk_totals[at]")};
{own}  }}
"""

    def _swept(self, direct: str, meets: str = "") -> str:
        """Return the loop that passes a cotangent from the last element to the first."""
        p = self.one.prefix
        lifted = f"{p}lift({self._loops.lifted}, {self._loops.along})"
        back = f"      to = {self._back('state', lifted)};\n"
        value = f"{self._slope('state')}{direct}"
        return self._loops.backward(meets, value, back, has_states=not self._is_stateless)

    def _add(self, over: str, main: str) -> None:
        words = {"group": GROUP, "run": RUN, "lanes": self.lanes}
        body = f"{_HEADS[over]}{main}"
        for name, value in words.items():
            body = body.replace(f"{{{name}}}", str(value))
        found = set(re.findall(r"\b(?:load4?|store4?)_(\w+)\(", main))
        named = [*[one.name for one in self.one.elements], self.upstream, self.result]
        tensors = tuple([one for one in named if one in found])
        buffers = tuple([one for one in self.types() if re.search(rf"\b{one}\b", main)])
        self.made.append(Pass(over, body, tensors, buffers))

    # Parts of texts.

    @property
    def _is_stateless(self) -> bool:
        """Whether no slope depends on an accumulator."""
        return self.one.adds and self.one.is_straight

    @property
    def _gives(self) -> str:
        """The type of the result's elements."""
        return self.one.gives if self.pulled is None else self.pulled.wanted.type

    @property
    def _loops(self) -> Loops:
        return Loops(self.one, self.upstream, self.result, self._gives, self.lanes)

    @property
    def _settled(self) -> str:
        return f"  let settled = {self.one.prefix}settle(total, wk_sizes.n);\n"

    @property
    def _applied(self) -> str:
        """The arguments of ``apply``."""
        return f"{self._loops.all}, k, wk_sizes.n, settled"

    @property
    def _by_apply(self) -> str:
        return f"{self.one.prefix}by_apply({self._applied}, {self.upstream}_k)"

    def _slope(self, state: str) -> str:
        """Return what an element is given of the cotangent of the accumulator with it."""
        return f"{self.one.prefix}by_step({state}, {self._loops.lifted}, {self._loops.along}, to)"

    def _back(self, before: str, after: str, to: str = "to") -> str:
        """Return the cotangent of what was before, of that of a combination."""
        return self._pulled_by("by_combine", before, after, to)

    def _second(self, before: str, after: str, to: str) -> str:
        """Return the cotangent of what came after, of that of a combination."""
        return self._pulled_by("by_second", before, after, to)

    def _pulled_by(self, name: str, before: str, after: str, to: str) -> str:
        if self.one.adds:
            return to
        if self.pulled is None or name not in self.pulled.there:
            return f"{self.one.total}()"
        return f"{self.one.prefix}{name}({before}, {after}, {to})"


def part_size(n: int) -> int:
    """Return how many elements of a row of ``n`` a part has."""
    return max(n, 1) if n <= 16 else 1 << math.ceil(math.log2(n) / 2)
