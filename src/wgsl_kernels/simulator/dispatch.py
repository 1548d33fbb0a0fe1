"""Running a compute entry point: all invocations of many workgroups at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from wgsl_kernels.simulator.domains import FLOAT32
from wgsl_kernels.simulator.late_stores import LateRun
from wgsl_kernels.simulator.memory import Run, VariableMemory
from wgsl_kernels.simulator.module import EndlessLoopError, ModuleCompiler
from wgsl_kernels.simulator.places import RefusedError
from wgsl_kernels.simulator.statements import MOST_ROUNDS
from wgsl_kernels.simulator.subgroups import Subgroups
from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.lint.remarks import builtin_named
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.simulator.accesses import AccessLog
    from wgsl_kernels.simulator.domains import Domain
    from wgsl_kernels.wgsl.syntax.places import Text

Order: TypeAlias = Literal["forward", "reversed", "shuffled", "late stores"]
_BACKWARD: tuple[Order, ...] = ("reversed", "shuffled")
MOST_LANES = 1 << 16
"""Invocations that run at once; whole workgroups, one at least."""


@dataclass(frozen=True)
class EntryPoint:
    """A compute entry point, compiled.

    Attributes:
        module: Its module.
        node: The function.
        size: Invocations of a workgroup along x, y and z.
    """

    module: ModuleCompiler
    node: tree.Function
    size: tuple[int, int, int]

    def run(
        self,
        groups: tuple[int, int, int],
        bound: Mapping[Any, Any],
        *,
        subgroup_size: int = 32,
        order: Order = "forward",
        log: AccessLog | None = None,
        most_rounds: int | None = None,
        runs: Callable[[int, Subgroups, AccessLog | None], Run] = Run,
    ) -> None:
        """Run all workgroups, which changes the words that are bound.

        Args:
            groups: Workgroups along x, y and z.
            bound: The words of each buffer by its group and binding; those of ``immediate``
                variables under that word. Where the domain has more than words, it may be that:
                ``ShadowedWords`` keep the float64 that dispatches before gave.
            subgroup_size: Invocations of a subgroup.
            order: In which order invocations come that run at once, and workgroups; with late
                stores each ``atomicStore`` to workgroup memory comes last.
            log: What notes accesses to memory.
            most_rounds: Rounds after which a loop is taken for one that does not end; without it
                those of the log, or 2^20.
            runs: Makes what the invocations of a part share while it runs.

        Raises:
            ShaderError: It does what is not simulated, or a loop does not end.
        """
        shared = self._shared(bound)
        if log is not None and most_rounds is None:
            most_rounds = log.most_rounds
        self.module.globals["most_rounds"] = most_rounds or MOST_ROUNDS
        workgroup = self.size[0] * self.size[1] * self.size[2]
        try:
            parts = list(_parts(groups, workgroup))
            for first, number in reversed(parts) if order in _BACKWARD else parts:
                subgroups = Subgroups(subgroup_size, workgroup, number * workgroup)
                if log is not None:
                    log.begin(workgroup, first * workgroup)
                make = LateRun if order == "late stores" else runs
                run = make(subgroups.count, subgroups, log)
                self._run(groups, first, run, shared, self._order(run, order))
        except EndlessLoopError as error:
            message = "this loop goes on for too long to be simulated."
            raise ShaderError(self.module.text.point(message, error.begin)) from error

    def _run(
        self,
        groups: tuple[int, int, int],
        first: int,
        run: Run,
        shared: Mapping[str, VariableMemory],
        invocations: Any,
    ) -> None:
        module, subgroups = self.module, run.subgroups
        within = invocations % subgroups.workgroup
        number = invocations // subgroups.workgroup
        known = module.globals
        known |= run.names
        known |= module.first_values()
        known |= {module.memory(name): one for name, one in shared.items()}
        for name, node in module.variables.items():
            if node.space == "workgroup":
                assert node.type is not None
                type_ = module.named(node.type)
                size = module.words(type_)
                words = np.zeros(size * (run.count // subgroups.workgroup), np.uint32)
                views = module.domain.views(words)
                memory = VariableMemory(name, views, size, module.spacing(type_), number * size)
                known[module.memory(name)] = memory
        given = self._builtins(groups, number + first, within, subgroups)
        function = known[module.function(self.node.name)]
        with np.errstate(all="ignore"), module.stack():
            function(True, *given)

    def _order(self, run: Run, order: Order) -> Any:
        """Return which invocation comes when; those of a subgroup stay side by side."""
        if order not in _BACKWARD:
            return run.lanes
        size = run.subgroups.workgroup
        rows = run.lanes.reshape(-1, size)[::-1]
        if order == "shuffled":
            rows = np.random.default_rng(0).permutation(rows)
        if self.module.uses_subgroups:
            return rows.ravel()
        if order == "reversed":
            return rows[:, ::-1].ravel()
        return np.random.default_rng(1).permuted(rows, axis=1).ravel()

    def _shared(self, bound: Mapping[Any, Any]) -> dict[str, VariableMemory]:
        """Return the memory of variables that all workgroups share."""
        found: dict[str, VariableMemory] = {}
        for name, node in self.module.variables.items():
            if node.space in ("workgroup", "private", "handle"):
                continue
            key = "immediate" if node.space == "immediate" else _binding(node)
            words = bound.get(key)
            if words is not None and node.type is not None:
                spacing = self.module.spacing(self.module.named(node.type))
                views = self.module.domain.views(words)
                is_constant = node.space in ("uniform", "immediate")
                count = len(views["u32"])
                found[name] = VariableMemory(name, views, count, spacing, is_constant=is_constant)
        return found

    def _builtins(
        self, groups: tuple[int, int, int], number: Any, within: Any, subgroups: Subgroups
    ) -> list[Any]:
        """Return what the entry point's parameters are."""
        x, y, _ = self.size
        local = within % x, within // x % y, within // (x * y)
        group = (
            number % groups[0],
            number // groups[0] % groups[1],
            number // (groups[0] * groups[1]),
        )
        u32 = self.module.scalars["u32"]

        def made(*parts: Any) -> list[Any]:
            return [u32(one) for one in parts]

        known: dict[str, Any] = {
            "local_invocation_id": made(*local),
            "local_invocation_index": made(within)[0],
            "workgroup_id": made(*group),
            "workgroup_index": made(number)[0],
            "num_workgroups": made(*groups),
            "global_invocation_id": made(
                *[a * b + c for a, b, c in zip(group, self.size, local, strict=True)]
            ),
            "subgroup_invocation_id": made(subgroups.lane)[0],
            "subgroup_size": made(subgroups.size)[0],
            "subgroup_id": made(within // subgroups.size)[0],
            "num_subgroups": made(-(-subgroups.workgroup // subgroups.size))[0],
        }
        return [self._given(one, known) for one in self.node.parameters]

    def _given(self, parameter: tree.Parameter, known: Mapping[str, Any]) -> Any:
        name = builtin_named(parameter)
        if name in known:
            return known[name]
        fields = self.module.fields(parameter.type)
        if fields:
            return [self._given(one, known) for one in fields]
        message = f"the built-in value {name or parameter.name} is not simulated."
        raise ShaderError(self.module.text.point(message, parameter.begin))


def compile_entry(
    text: Text,
    entry: str,
    constants: Mapping[str, float],
    domain: Domain = FLOAT32,
    compiler: Callable[[tree.Module, Mapping[str, float], Domain], ModuleCompiler] = ModuleCompiler,
) -> EntryPoint:
    """Return an entry point of a text of WGSL.

    Args:
        text: The text.
        entry: The entry point.
        constants: Values of overrides.
        domain: What it computes in.
        compiler: Makes what compiles its module, of that, the overrides and the domain.

    Raises:
        RefusedError: The text is not understood, or does what is not simulated.
    """
    module = parse(text)
    for problem in module.problems:
        raise RefusedError(problem.message, problem.begin)
    compiled = compiler(module, constants, domain)
    for misfit in compiled.types.problems:
        raise RefusedError(misfit.message, misfit.begin)
    node = module.functions.get(entry)
    if node is None:
        raise RefusedError(f"there is no entry point {entry!r}.", 0)
    x, y, z = (*[compiled.known(one) or 1 for one in node.workgroup_size or ()], 1, 1, 1)[:3]
    compiled.function(entry)
    return EntryPoint(compiled, node, (x, y, z))


def _parts(groups: Sequence[int], workgroup: int) -> Iterator[tuple[int, int]]:
    """Yield the first workgroup and how many run at once."""
    total = groups[0] * groups[1] * groups[2]
    step = max(1, MOST_LANES // workgroup)
    for first in range(0, total, step):
        yield first, min(step, total - first)


def _binding(node: tree.Var) -> tuple[int, int]:
    found = {"group": 0, "binding": 0}
    for one in node.attributes:
        if one.name in found and one.arguments and isinstance(one.arguments[0], tree.Literal):
            found[one.name] = int(one.arguments[0].text.rstrip("iu"))
    return found["group"], found["binding"]
