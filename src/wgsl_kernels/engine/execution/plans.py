"""Plans: what is known of a kernel run before its values, remembered per specs and attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.drivers.fallbacks import note_fallback
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound
from wgsl_kernels.engine.environment.recent import Recent
from wgsl_kernels.engine.registry import registrations, registry
from wgsl_kernels.engine.registry.gradients import Keeping, keeping_for
from wgsl_kernels.engine.registry.signature import Outputs, Signature, find_signature, output_names
from wgsl_kernels.engine.registry.widening import is_widened, narrows_of
from wgsl_kernels.engine.values.attributes import plain
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.drivers.driver import Driver, Launch
    from wgsl_kernels.engine.registry.registrations import Key, Uses
    from wgsl_kernels.engine.registry.registry import Kernel
    from wgsl_kernels.engine.registry.widening import Narrows
    from wgsl_kernels.engine.values.dtypes import DType

PLAN_BYTES = 4000
"""What a plan takes, with a launch that has run nothing yet."""


class Plan:
    """How to run one kernel on inputs of given specs with given attributes on one backend.

    Attributes:
        casts: A dtype per input that must be cast first (None: as it is), or None if none must.
        narrows: Where inputs or outputs are int8 or uint8 and the kernel computes in int32, what
            each output is cast to afterwards; `casts` is empty then. None for all other runs.
        launch: Runs it; takes arrays of ``driver``, gives arrays of ``result_drivers``.
        retire: Has the backend forget what it keeps for the launch, None where that is nothing.
        outputs: The specs, or None where they are known only after the run.
        output: The spec of the output, where there is one and it is known.
        pattern: What the signature says of them, unknown lengths included.
        keeping: What a tape keeps for the registered gradient rule.
        form: What the tape made of that; None before it was needed.
        uses: The registrations that it came from; that of the gradient rule only a tape needs.
    """

    __slots__ = (
        "attrs",
        "casts",
        "driver",
        "form",
        "input_names",
        "keeping",
        "launch",
        "name",
        "narrows",
        "output",
        "output_names",
        "outputs",
        "pattern",
        "result_drivers",
        "retire",
        "single",
        "uses",
    )

    name: str
    attrs: dict[str, Any]
    driver: Driver
    casts: tuple[DType | None, ...] | None
    narrows: Narrows | None
    launch: Launch
    retire: Callable[[], None] | None
    outputs: tuple[Spec, ...] | None
    output: Spec | None
    pattern: tuple[Spec, ...] | None
    result_drivers: tuple[Driver, ...]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    single: bool
    keeping: Keeping | None
    form: Any
    uses: Uses


def _retire(_: Any, plan: Plan) -> None:
    """Have a backend forget what it keeps for a plan that goes."""
    if plan.retire is not None:
        plan.retire()


plans: Recent[Any, Plan] = Recent(PLAN_BYTES, _retire)
"""By name, backend, specs and attributes, as `run` puts them together."""
find_plan = plans.get
_around: Callable[[str, Sequence[Any], Launch], Launch] | None = None


def wrap_launches(around: Callable[[str, Sequence[Any], Launch], Launch] | None) -> None:
    """Have each kernel run by what ``around(name, specs, launch)`` returns; None: by its launch.

    A launch is wrapped once, when it is planned; where nothing wraps it, a run costs nothing more.
    """
    global _around
    _around = around
    plans.clear()


def _drop_changed(keys: tuple[Key, ...]) -> None:
    """Forget the plans that came from registrations that have changed, and no others."""
    if not keys:
        plans.clear()
        return
    names = {one[1] for one in keys if one[0] == "gradient"}

    def is_gone(key: Any, plan: Plan) -> bool:
        if plan.name not in names and not any(one in plan.uses for one in keys):
            return False
        _retire(key, plan)
        return True

    plans.drop(is_gone)


registrations.on_change(_drop_changed)


def make_plan(
    key: Any,
    name: str,
    driver: Driver,
    specs: Sequence[Any],
    attrs: dict[str, Any],
    names: tuple[str, ...],
) -> Plan:
    """Check a run against its signature, find its kernel, and remember the plan under ``key``.

    Args:
        key: Where to remember it.
        name: The kernel's name.
        driver: The active backend.
        specs: A `Spec`, a list of them or None per input, in the signature's order.
        attrs: As the caller gave them.
        names: The inputs' names, for a kernel without a signature.

    Raises:
        KernelNotFound: No backend that may run it has the kernel for these dtypes.
        ArgumentError, ShapeError, DTypeError: The signature refuses the run.
    """
    rule: Key = ("gradient", name)
    number = registrations.number_of(rule)
    with registrations.noting() as uses:
        plan = _planned(name, driver, specs, attrs, names)
    plan.uses = uses
    if plan.casts is None and plan.driver is not driver:
        return plan  # remembered, it would neither be counted nor forbidden later on
    kept = plans.keep(key, plan)
    if not registrations.are_current({**uses, rule: number}):
        plans.discard(key)  # another thread has changed one meanwhile
    return kept


def _planned(
    name: str,
    driver: Driver,
    specs: Sequence[Any],
    attrs: dict[str, Any],
    names: tuple[str, ...],
) -> Plan:
    registry.look_again_if_failed(name)
    plan = Plan()
    plan.name = name
    plan.form = plan.retire = None
    registrations.look_up(("signature", name))
    declared = find_signature(name)
    if declared is None:
        plan.attrs = {one: plain(value) for one, value in attrs.items()}
        plan.input_names = names
        plan.casts = None
    else:
        declared.check_inputs(specs)
        plan.attrs = declared.check_attrs(attrs)
        plan.input_names = tuple(one.name for one in declared.inputs)
        plan.casts = declared.casts(specs)
    plan.narrows = None
    if plan.casts is None and is_widened(name, driver.name, specs, plan.attrs):
        plan.casts, plan.narrows = (), narrows_of(declared, specs, plan.attrs)
    if plan.casts is None:
        _finish(plan, declared, driver, specs)
    return plan


def _finish(plan: Plan, declared: Signature | None, driver: Driver, specs: Sequence[Any]) -> None:
    inferred = declared.infer(specs, plan.attrs) if declared is not None else None
    kernel, chosen = _kernel_for(plan.name, driver, specs, inferred)
    if declared is None and not plan.input_names and kernel.names is not None:
        names = kernel.names()
        plan.input_names = names if len(names) == len(specs) else ()
    if inferred is None and kernel.infer is not None:
        flat = [spec for spec in specs if isinstance(spec, Spec)]
        inferred = Outputs((kernel.infer(flat, plan.attrs),), output_names(plan.input_names), True)
    plan.single = inferred.single if inferred is not None else False
    plan.pattern = None if inferred is None else inferred.specs
    known = inferred is not None and all(spec.is_known for spec in inferred.specs)
    plan.outputs = plan.pattern if known else None
    plan.output = plan.outputs[0] if plan.single and plan.outputs else None
    plan.output_names = () if inferred is None else inferred.names
    plan.driver = chosen
    plan.result_drivers = ()
    if plan.outputs is not None:
        plan.result_drivers = tuple(chosen for _ in plan.outputs)
    launch = chosen.prepare(kernel, list(specs), plan.attrs, plan.outputs, plan.output_names)
    plan.retire = getattr(launch, "retire", None)
    plan.launch = launch if _around is None else _around(plan.name, specs, launch)
    plan.keeping = None
    if inferred is not None:
        plan.keeping = keeping_for(
            plan.name, plan.input_names, plan.output_names, tuple(plan.attrs)
        )


def _kernel_for(
    name: str, driver: Driver, specs: Sequence[Any], inferred: Outputs | None
) -> tuple[Kernel, Driver]:
    dtypes = {one.dtype for one in _flat(specs)}
    dtypes |= set() if inferred is None else {one.dtype for one in inferred.specs}
    registrations.look_up(("backend", driver.name))
    kernel = registry.get_kernel(name, driver.name)
    if kernel is not None and _serves(kernel, driver, dtypes, specs, inferred):
        return kernel, driver
    cpu = registry.get_kernel(name, "cpu") if driver.name != "cpu" else None
    strings = "string" in dtypes
    if cpu is None or (config.fallback == "error" and not strings):
        if kernel is None:
            raise KernelNotFound(registry.not_found_message(name, driver.name))
        raise KernelNotFound(f"{name}: {_lacking(driver, dtypes)}.")
    if not strings:
        what = f"{_lacking(driver, dtypes)}; it runs on cpu with transfers"
        note_fallback(name, driver.name, what)
    return cpu, find_driver("cpu")


def _lacking(driver: Driver, dtypes: set[DType]) -> str:
    """Say what a backend lacks to run a kernel of these dtypes: one of them, or the kernel."""
    missing = [one for one in sorted(dtypes) if not driver.supports(one)]
    if missing:
        return f"backend {driver.name!r} has no {' and no '.join(missing)} here"
    return f"no kernel on backend {driver.name!r} for dtypes {', '.join(sorted(dtypes))}"


def _serves(
    kernel: Kernel,
    driver: Driver,
    dtypes: set[DType],
    specs: Sequence[Any],
    inferred: Outputs | None,
) -> bool:
    if not all(driver.supports(dtype) for dtype in dtypes):
        return False
    first = next(iter(_flat(specs)), None)
    if kernel.dtypes is None:
        return first is None or driver.serves(kernel, first.dtype)
    if first is None:
        return inferred is None or inferred.specs[0].dtype in kernel.dtypes
    return first.dtype in kernel.dtypes


def _flat(specs: Sequence[Any]) -> list[Spec]:
    found: list[Spec] = []
    for one in specs:
        if isinstance(one, list):
            found.extend(one)
        elif one is not None:
            found.append(one)
    return found


def check_pattern(plan: Plan, specs: Sequence[Spec]) -> None:
    """Refuse results that do not fit what the signature says.

    Raises:
        ArgumentError: A count, dtype or known length differs.
    """
    if plan.pattern is None:
        return
    fits = len(specs) == len(plan.pattern) and all(
        _matches(spec, wanted) for spec, wanted in zip(specs, plan.pattern, strict=True)
    )
    if not fits:
        raise ArgumentError(
            f"{plan.name}: the kernel gave {list(specs)}, its signature says {list(plan.pattern)}."
        )


def _matches(spec: Spec, wanted: Spec) -> bool:
    return (
        spec.dtype == wanted.dtype
        and spec.ndim == wanted.ndim
        and all(want in (None, have) for have, want in zip(spec.shape, wanted.shape, strict=True))
    )
