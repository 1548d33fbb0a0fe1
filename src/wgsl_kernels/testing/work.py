"""About how much arithmetic a dispatch does: by its form where that tells, else as written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.wgsl.lint.work import operations, operations_of_calls
from wgsl_kernels.wgsl.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.wgsl.syntax import tree

PRODUCT = "templates/product.wesl"
PARTS = ("lowering/sum_parts.wesl", "templates/product_parts.wesl")
"""What adds the parts of a product whose terms were split."""


def work_of(dispatch: Dispatch) -> int | None:
    """Return about how many operations a dispatch does, None where its loops do not tell.

    A product of matrices does two for each of M · N · K. A reduction takes ``lift`` and ``combine``
    for each element and ``finish`` for each row, a normalization ``apply`` for each element too; a
    scan ``lift``, ``combine`` and ``finish`` for each element; a window ``lift`` and ``combine``
    for each place in it and ``finish`` for each result; a map its op for each element.
    Of another shader what its entry does counts for each invocation, see
    `wgsl.lint.work.operations`.
    """
    composed = dispatch.module.composed
    facts = dispatch.params.facts
    source = None if dispatch.composition is None else dispatch.composition.source.file
    if source == PRODUCT:
        sizes = [int(facts[one]) for one in ("batches", "rows", "cols", "taps", "channels")]
        return 2 * math.prod(sizes)
    if source in PARTS and "y_size" in facts:
        return int(facts.get("parts_count", facts.get("taps", 1))) * int(facts["y_size"])
    module = parse(composed.source_map.composed)
    count = _FORMS.get(composed.form)
    done = None if count is None else count(_Costs(module, facts), facts)
    if done is not None:
        return done
    each = operations(module, facts)
    groups = math.prod(dispatch.grid) * math.prod(composed.workgroup_size)
    return None if each is None else groups * each


class _Costs:
    """What a call of each function of a form takes."""

    def __init__(self, module: tree.Module, facts: Mapping[str, Any]) -> None:
        self._calls = operations_of_calls(module, facts)

    @property
    def ops(self) -> list[str]:
        """The functions of a map; of a fused one there are several."""
        return [name for name in self._calls if name == "op" or name.startswith("op_")]

    def of(self, *names: str) -> int:
        """Return what calls of these take together; 0 of one that there is not, or has loops."""
        return sum(self._calls.get(name) or 0 for name in names)


def _of_map(costs: _Costs, facts: Mapping[str, Any]) -> int | None:
    return int(facts["y_size"] * costs.of(*costs.ops)) if costs.ops and "y_size" in facts else None


def _of_reduction(costs: _Costs, facts: Mapping[str, Any]) -> int:
    rows, length = facts["wk_rows"], facts["wk_n"]
    each = costs.of("lift", "combine", "append", "apply")
    return int(rows * (length * each + costs.of("settle", "finish")))


def _of_scan(costs: _Costs, facts: Mapping[str, Any]) -> int:
    return int(facts["y_size"] * costs.of("lift", "combine", "finish"))


def _of_window(costs: _Costs, facts: Mapping[str, Any]) -> int:
    places = math.prod(facts["wk_window"])
    return int(facts["y_size"] * (places * costs.of("lift", "combine") + costs.of("finish")))


_FORMS: Mapping[str, Callable[[_Costs, Mapping[str, Any]], int | None]] = {
    "map": _of_map,
    "reduce": _of_reduction,
    "scan": _of_scan,
    "window": _of_window,
}
