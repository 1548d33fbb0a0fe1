"""Derived reductions, scans and normalizations as WGSL: passes over parts of rows.

A row goes in parts of about the square root of its length. One pass combines each part, one what
is before each; cotangents of accumulators then go from part to part backwards, by the slopes of
``combine``, and in the last pass from element to element. Where the upstream gradient meets every
element, a pass collects what a part itself gives, before that.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.types.kinds import FLOATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.wgsl.derive.accumulations import Accumulation, Element, Pulled

GROUP = 64
SIZES = ("rows", "n", "part", "parts", "short", "exclusive", "backward")
"""What every pass is given, as fields of ``wk_sizes``: lengths, and how a scan goes."""
RUN = 16 * GROUP
"""How many elements of a row a workgroup takes, where it takes each by itself."""
SHORT = GROUP
"""Below how many elements an invocation takes a whole row."""
_HEADS = {
    "parts": """  if (item >= wk_sizes.rows * wk_sizes.parts) {
    return;
  }
  let row = item / wk_sizes.parts;
  let begin = item % wk_sizes.parts * wk_sizes.part;
  let end = min(begin + wk_sizes.part, wk_sizes.n);
""",
    "rows": """  if (item >= wk_sizes.rows) {
    return;
  }
  let row = item;
  let first = row * wk_sizes.parts;
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
_LOOP = "  for (var k = begin; k < end; k += step) {\n"
_SETTLED = "  let settled = wk_settled[row];\n"


@dataclass(frozen=True)
class Pass:
    """One dispatch.

    Attributes:
        over: What has an invocation each, parts or rows; of elements it takes several.
        main: The statements of its entry point.
        tensors: The inputs, and the result, that it reads and writes by accessors.
        buffers: The arrays of accumulators that it reads or writes.
        vec4: The statements where elements go four at a time, empty where they do not.
    """

    over: str
    main: str
    tensors: tuple[str, ...]
    buffers: tuple[str, ...]
    vec4: str = ""

    def body(self, *, vec4: bool = False) -> str:
        """Return the statements with what finds the item of an invocation."""
        words = {"group": GROUP, "run": RUN, "lanes": 4 if vec4 else 1}
        head = _HEADS[self.over]
        for name, value in words.items():
            head = head.replace(f"{{{name}}}", str(value))
        return f"{head}{self.vec4 if vec4 else self.main}"


@dataclass
class Passes:
    """The passes of an accumulation, or of its gradient by one input.

    Attributes:
        one: The accumulation.
        pulled: The gradient.
        upstream: What the upstream gradient is called.
        result: What the result is called.
    """

    one: Accumulation
    pulled: Pulled | None
    upstream: str
    result: str
    made: list[Pass] = field(default_factory=list[Pass])

    def written(self) -> list[Pass]:
        """Return them."""
        self.made = []
        if self.pulled is None:
            self._forward()
        elif not self.pulled.through_total:
            self._settled()
            self._each(self._by_apply())
        elif self.one.form == "scan":
            self._scan_gradient()
        else:
            self._row_gradient(self.pulled)
        return self.made

    def types(self) -> dict[str, str]:
        """Return what each buffer of accumulators is made of."""
        total, settled = self.one.total, self.one.settled
        names = ("wk_totals", "wk_before", "wk_states", "wk_to", "wk_own", "wk_ends")
        direct = "f32" if self.pulled is None else self.pulled.wanted.type
        types = {"wk_settled": settled, "wk_shares": settled, "wk_direct": direct}
        return dict.fromkeys(names, total) | types

    def counts(self, rows: int, n: int, parts: int) -> dict[str, int]:
        """Return how many accumulators each buffer holds."""
        each = rows if self.one.adds and self.one.form != "scan" else rows * parts
        return {
            "wk_totals": rows * parts, "wk_before": rows * parts, "wk_own": rows * parts,
            "wk_shares": rows * parts, "wk_states": rows * n, "wk_direct": rows * n,
            "wk_to": each,
            "wk_ends": rows, "wk_settled": rows,
        }  # fmt: skip

    # Forms.

    def _forward(self) -> None:
        one, p = self.one, self.one.prefix
        if one.form == "reduce":
            self._totals()
            end = f"  store_{self.result}(row, {p}finish(total, wk_sizes.n));\n"
            self._rows(end, (self.result,), ())
        elif one.form == "apply":
            self._settled()
            self._each(f"{p}apply({self._applied('k')})")
        else:
            self._totals()
            self._rows("", (), ("wk_before",))
            main = f"""  var total = wk_before[item];
  for (var k = begin; k < end; k++) {{
    let next = {self._step("total")};
    let i = row * wk_sizes.n + {self._along("k")};
    if (wk_sizes.exclusive != 0u) {{
      store_{self.result}(i, {p}finish(total, k));
    }} else {{
      store_{self.result}(i, {p}finish(next, k + 1u));
    }}
    total = next;
  }}
"""
            self._add("parts", main, (*self._lifted, self.result), ("wk_before",))

    def _row_gradient(self, pulled: Pulled) -> None:
        """Write the gradient of a reduction, or of a normalization by what it reduces."""
        one, p = self.one, self.one.prefix
        slope = f"{p}by_step({p}init(), {self._values(one.lifted, 'k')}, k, to)"
        if self._is_stateless:
            to = f"{p}by_finish({p}init(), wk_sizes.n, load_{self.upstream}(row))"
            return self._each(slope, f"  let to = {to};\n")
        before = () if one.adds else ("wk_before",)
        if one.form == "reduce":
            self._totals()
            to = f"{p}by_finish(total, wk_sizes.n, load_{self.upstream}(row))"
            buffers = ("wk_to", *before)
            self._rows(f"  var to = {to};\n{self._passed()}", (self.upstream,), buffers)
        else:
            self._settled(ends=True, before=before)
            self._shares()
        if one.adds:
            row = "  let to = wk_to[row];\n"
            return self._each(self._with_direct(slope, pulled), row, "wk_to")
        return self._sweep(pulled)

    def _scan_gradient(self) -> None:
        one = self.one
        states, buffers = "", tuple[str, ...]()
        if not self._is_stateless:
            self._totals()
            self._rows("", (), ("wk_before",))
            states, buffers = self._states("wk_before[item]"), ("wk_before", "wk_states")
        tensors = (*self._lifted, self.upstream)
        main = f"{states}  var to = {one.total}();\n{self._backwards('')}  wk_own[item] = to;\n"
        self._add("parts", main, tensors, (*buffers, "wk_own"))
        own = f"    to = {one.prefix}plus(to, wk_own[at]);\n"
        end = f"  var to = {one.total}();\n{self._passed(own)}"
        chain = () if one.adds else ("wk_totals", "wk_before")
        self._add("rows", end, (), (*chain, "wk_own", "wk_to"))
        slope = f"{one.prefix}by_step(state, {self._values(one.lifted, 'k')}, along, to)"
        store = f"    store_{self.result}(i, {slope});\n"
        main = f"  var to = wk_to[item];\n{self._backwards(store)}"
        self._add("parts", main, (*tensors, self.result), (*buffers[1:], "wk_to"))

    # Passes.

    def _states(self, start: str) -> str:
        """Return the loop that keeps the accumulator before each element of a part."""
        return f"""  var total = {start};
  for (var k = begin; k < end; k++) {{
    wk_states[row * wk_sizes.n + k] = total;
    total = {self._step("total")};
  }}
"""

    def _totals(self) -> None:
        main = f"""  var total = {self.one.prefix}init();
  for (var k = begin; k < end; k++) {{
    total = {self._step("total")};
  }}
  wk_totals[item] = total;
"""
        self._add("parts", main, self._lifted, ("wk_totals",))

    def _rows(self, end: str, tensors: Sequence[str], buffers: Sequence[str]) -> None:
        p = self.one.prefix
        before = "    wk_before[at] = total;\n" if "wk_before" in buffers else ""
        main = f"""  var total = {p}init();
  for (var at = first; at < first + wk_sizes.parts; at++) {{
{before}    total = {p}combine(total, wk_totals[at]);
  }}
{end}"""
        self._add("rows", main, tensors, ("wk_totals", *buffers))

    def _settled(self, *, ends: bool = False, before: tuple[str, ...] = ()) -> None:
        self._totals()
        end = f"  wk_settled[row] = {self.one.prefix}settle(total, wk_sizes.n);\n"
        end += "  wk_ends[row] = total;\n" if ends else ""
        buffers = ("wk_settled", *before, *(("wk_ends",) if ends else ()))
        self._rows(end, (), buffers)

    def _shares(self) -> None:
        """Write what the upstream gradient gives the total of a row, and pass that on."""
        one, p = self.one, self.one.prefix
        i = f"load_{self.upstream}(row * wk_sizes.n + k)"
        main = f"""{_SETTLED}  var share = {one.settled}();
  for (var k = begin; k < end; k++) {{
    share = {p}plus_settled(share, {p}by_settled({self._applied("k")}, {i}));
  }}
  wk_shares[item] = share;
"""
        tensors = (*[each.name for each in one.elements], self.upstream)
        self._add("parts", main, tensors, ("wk_settled", "wk_shares"))
        main = f"""  var share = {one.settled}();
  for (var at = first; at < first + wk_sizes.parts; at++) {{
    share = {p}plus_settled(share, wk_shares[at]);
  }}
  var to = {p}by_settle(wk_ends[row], wk_sizes.n, share);
{self._passed()}"""
        chain = () if one.adds else ("wk_totals", "wk_before")
        self._add("rows", main, (), ("wk_shares", "wk_ends", "wk_to", *chain))

    def _sweep(self, pulled: Pulled) -> None:
        """Write the pass through each part, after what ``apply`` gives of an element itself."""
        one = self.one
        slope = f"{one.prefix}by_step(state, {self._values(one.lifted, 'k')}, k, to)"
        direct: tuple[str, ...] = ()
        if "by_apply" in pulled.there:  # by itself: a pass binds few buffers
            direct = ("wk_direct",)
            value = f"    wk_direct[row * wk_sizes.n + k] = {self._by_apply()};\n"
            main = f"{_SETTLED}{_LOOP}{value}  }}\n"
            tensors = (*[each.name for each in one.elements], self.upstream)
            self._add("elements", main, tensors, ("wk_settled", *direct))
            slope = f"{slope} + wk_direct[i]"
        store = f"    store_{self.result}(i, {slope});\n"
        # from init on: what is before a part may be written otherwise than a chain of steps
        to = f"{one.total}()"
        if "by_second" in pulled.there:
            to = f"{one.prefix}by_second(wk_before[item], wk_totals[item], wk_to[item])"
        states = self._states(f"{one.prefix}init()")
        main = f"{states}  var to = {to};\n{self._backwards(store)}"
        buffers = ("wk_before", "wk_totals", "wk_states", "wk_to", *direct)
        self._add("parts", main, (*self._lifted, self.result), buffers)

    def _each(self, value: str, of_row: str = "", *buffers: str) -> None:
        """Write the pass that computes each element of the result by itself.

        Args:
            value: An element, whose number is k.
            of_row: What is computed once before.
            *buffers: The buffers that it reads.
        """
        settled = ("wk_settled",) if "settled" in value else ()
        of_row += _SETTLED if settled else ""
        wide = [one for one in self.one.elements if one.is_wide]
        names = [*[one.name for one in wide], self.upstream]
        loads = {f"load_{one}(row * wk_sizes.n + k)": f"{one}_vec4" for one in names}
        used = {load: four for load, four in loads.items() if load in value}
        main = f"{of_row}{_LOOP}    store_{self.result}(row * wk_sizes.n + k, {value});\n  }}\n"
        four: list[str] = []
        for at, lane in enumerate("xyzw"):
            one = value
            for load, name in used.items():
                one = one.replace(load, f"{name}.{lane}")
            four.append(re.sub(r"\bk\b", f"(k + {at}u)", one))
        lets = "".join(
            f"    let {name} = {load.replace('load_', 'load4_', 1)};\n"
            for load, name in used.items()
        )
        vec4 = f"""{of_row}{_LOOP}{lets}    store4_{self.result}(row * wk_sizes.n + k, vec4(
      {", ".join(four)},
    ));
  }}
"""
        has_floats = all(one.type in FLOATS for one in wide)
        tensors = [*[one.name for one in self.one.elements], self.upstream, self.result]
        self._add("elements", main, tensors, (*buffers, *settled), vec4 if has_floats else "")

    def _add(
        self,
        over: str,
        main: str,
        tensors: Sequence[str],
        buffers: Sequence[str],
        vec4: str = "",
    ) -> None:
        used = [one for one in tensors if f"load_{one}(" in main or one == self.result]
        self.made.append(Pass(over, main, tuple(used), tuple(dict.fromkeys(buffers)), vec4))

    # Parts of texts.

    @property
    def _is_stateless(self) -> bool:
        """Whether no slope depends on an accumulator."""
        return self.one.adds and self.one.is_straight

    @property
    def _lifted(self) -> tuple[str, ...]:
        return tuple([one.name for one in self.one.lifted])

    def _along(self, k: str) -> str:
        """Return where along the axis the k-th element of a scan is."""
        if self.one.form != "scan":
            return k
        return f"select({k}, wk_sizes.n - 1u - {k}, wk_sizes.backward != 0u)"

    def _values(self, elements: Sequence[Element], k: str) -> str:
        """Return the elements of a row that are k-th."""
        return ", ".join([self._value(one, self._along(k)) for one in elements])

    def _value(self, one: Element, at: str) -> str:
        index = f"row * wk_sizes.n + {at}" if one.is_wide else at
        return f"load_{one.name}({index}){' != 0u' if one.type == 'bool' else ''}"

    def _step(self, total: str) -> str:
        p = self.one.prefix
        return f"{p}step({total}, {self._values(self.one.lifted, 'k')}, {self._along('k')})"

    def _applied(self, k: str) -> str:
        """Return the arguments of ``apply``."""
        return f"{self._values(self.one.elements, k)}, {k}, wk_sizes.n, settled"

    def _by_apply(self) -> str:
        upstream = f"load_{self.upstream}(row * wk_sizes.n + k)"
        return f"{self.one.prefix}by_apply({self._applied('k')}, {upstream})"

    def _with_direct(self, slope: str, pulled: Pulled) -> str:
        """Return a slope by the total with that of ``apply`` itself."""
        return f"{slope} + {self._by_apply()}" if "by_apply" in pulled.there else slope

    def _back(self, before: str, after: str) -> str:
        """Return the cotangent of an accumulator whose combination has the cotangent ``to``."""
        if self.one.adds:
            return "to"
        if self.pulled is None or "by_combine" not in self.pulled.there:
            return f"{self.one.total}()"
        return f"{self.one.prefix}by_combine({before}, {after}, to)"

    def _passed(self, own: str = "") -> str:
        """Return the loop that passes a cotangent from the last part of a row to the first."""
        if self.one.adds and self.one.form != "scan":
            return "  wk_to[row] = to;\n"
        return f"""  for (var left = wk_sizes.parts; left > 0u; left--) {{
    let at = first + left - 1u;
    wk_to[at] = to;
    to = {self._back("wk_before[at]", "wk_totals[at]")};
{own}  }}
"""

    def _backwards(self, store: str) -> str:
        """Return the loop that passes a cotangent from the last element of a part to the first."""
        p, scans = self.one.prefix, self.one.form == "scan"
        upstream = f"load_{self.upstream}(i)"
        values = self._values(self.one.lifted, "k")
        state = f"{p}init()" if self._is_stateless else "wk_states[row * wk_sizes.n + k]"
        after = "state" if self._is_stateless else self._step("state")
        with_it = f"{p}by_finish({after}, k + 1u, {upstream})"
        without = f"{p}by_finish(state, k, {upstream})"
        first = f"""    if (wk_sizes.exclusive == 0u) {{
      to = {p}plus(to, {with_it});
    }}
"""
        last = f"""    if (wk_sizes.exclusive != 0u) {{
      to = {p}plus(to, {without});
    }}
"""
        return f"""  for (var left = end; left > begin; left--) {{
    let k = left - 1u;
    let along = {self._along("k")};
    let i = row * wk_sizes.n + along;
    let state = {state};
{first if scans else ""}{store}    to = {self._back("state", f"{p}lift({values}, along)")};
{last if scans else ""}  }}
"""


def part_size(n: int) -> int:
    """Return how many elements of a row one invocation takes."""
    return max(n, 1) if n <= 16 else 1 << math.ceil(math.log2(n) / 2)
