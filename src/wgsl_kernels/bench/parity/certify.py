"""Makes certificates: runs the samples of kernels on the adapter in use."""

from __future__ import annotations

import datetime
import math
import os
import platform
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.devices.adapters import LIMITS_VARIABLE, choose_adapter
from wgsl_kernels.bench.checking.cases import plain
from wgsl_kernels.bench.checking.right import judged
from wgsl_kernels.bench.checking.subject import Subject
from wgsl_kernels.bench.comparison.checks import check_forward, check_gradient_parity, has_gradient
from wgsl_kernels.bench.parity.certificates import Certificate, Machine, ParityRecord
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound
from wgsl_kernels.engine.registry.registry import kernel_names
from wgsl_kernels.testing.registered import samples_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
    from wgsl_kernels.bench.parity.certificates import Key
    from wgsl_kernels.testing.report import Row
    from wgsl_kernels.testing.sample import Sample

DIGITS = 6
"""Of a number in a certificate: the last ones of a quotient depend on the host's NumPy."""


def certified_kernels(only: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names in ``only`` in alphabetical order, or all kernels that have samples.

    Raises:
        KernelNotFound: One has no samples.
    """
    for name in only:
        if not samples_of(name):
            raise KernelNotFound(
                f"parity: {name!r} has no samples; `wgsl-kernels kernels` lists the kernels."
            )
    return tuple(sorted(set(only) or {one for one in kernel_names() if samples_of(one)}))


def machine_in_use() -> Machine:
    """Return the facts of the adapter in use.

    Raises:
        ArgumentError: There is no adapter.
    """
    return machine_of(_adapter())


def certify(
    only: Sequence[str] = (), through: Callable[[Sequence[str]], Iterable[str]] = iter
) -> ParityRecord:
    """Run samples on the adapter in use, and return what it certifies.

    Kernels run one by one, unfused and as their static variants, so that nothing that ran before in
    the process changes a bit. Samples in float16 are left out where the adapter has no float16.

    Args:
        only: The kernels, all that have samples where it is empty.
        through: Given their names, yields them; what shows progress.

    Raises:
        ArgumentError: There is no adapter.
        KernelNotFound: A kernel has no samples.
    """
    names = certified_kernels(only)
    info = _adapter()
    found: list[Certificate] = []
    with config.using(fusion="never", deterministic=True):
        for name in through(names):
            found += _certificates(name, has_halves="shader-f16" in info.features)
    return ParityRecord(machine_of(info), today(), tuple(found))


def today() -> str:
    """Return the date in UTC, as ``2026-11-26``."""
    return datetime.datetime.now(tz=datetime.UTC).date().isoformat()


def _adapter() -> AdapterInfo:
    choice = choose_adapter()
    if choice is None:
        raise ArgumentError("parity: this machine has no WebGPU adapter.")
    return choice.info


def machine_of(info: AdapterInfo) -> Machine:
    """Return the facts of one adapter of this machine."""
    return Machine(
        adapter=info.name,
        backend=info.backend,
        driver=info.driver or "unknown",
        system=_system(),
        limits=os.environ.get(LIMITS_VARIABLE, "adapter"),
        package=version("wgsl-kernels"),
        wgpu=version("wgpu"),
        numpy=version("numpy"),
    )


def _system() -> str:
    # Elsewhere the system brings the compiler of shaders; on Linux it is part of the driver.
    name = platform.system()
    release = "" if name == "Linux" else platform.mac_ver()[0] or platform.version()
    return " ".join(filter(None, (name, release, platform.machine())))


def _certificates(name: str, *, has_halves: bool) -> list[Certificate]:
    found: dict[Key, Certificate] = {}
    for sample in samples_of(name):
        if "float16" in sample.input_dtypes and not has_halves:
            continue
        _take_in(found, sample, "forward", _forward)
        if has_gradient(sample):
            _take_in(found, sample, "gradient", check_gradient_parity)
    return [found[key] for key in sorted(found)]


def _forward(sample: Sample, backend: str) -> Row:
    """Compare results with the exact ones; what a check only warns of has not failed."""
    row = check_forward(sample, backend)
    if row.passed:
        return row
    subject = Subject(sample.kernel, (sample,), (backend,))
    noted = judged(subject, plain(sample), backend, "wrong-values")
    is_open = bool(noted) and all(one.severity == "warning" for one in noted)
    return replace(row, passed=is_open).with_findings(noted if is_open else ())


def _take_in(
    found: dict[Key, Certificate],
    sample: Sample,
    direction: str,
    check: Callable[[Sample, str], Row],
) -> None:
    """Run a check, and make its result part of the certificate that it belongs to."""
    dtype = sample.input_dtypes[0] if sample.input_dtypes else "none"
    key = (sample.kernel, dtype, direction)
    before = found.get(key) or Certificate(*key, samples=0, ulp=0.0, used=0.0)
    try:
        row = check(sample, "webgpu")
    except Exception as error:  # a kernel may raise anything; the certificate says so
        ulp, used, warned = math.inf, math.inf, []
        failures = [f"{type(error).__name__}: {error}"]
    else:
        ulp, used = _rounded(row.worst_ulp), _rounded(_used(row))
        failures = [] if row.passed else [row.note]
        warned = [one.words for one in row.findings]
    found[key] = Certificate(
        *key,
        samples=before.samples + 1,
        ulp=max(before.ulp, ulp),
        used=max(before.used, used),
        failures=(*before.failures, *(f"{sample.id}: {one}" for one in failures)),
        warnings=(*before.warnings, *(f"{sample.id}: {one}" for one in warned)),
    )


def _used(row: Row) -> float:
    if row.worst_abs == 0:
        return 0.0
    return row.worst_abs / row.tolerance if row.tolerance else math.inf


def _rounded(number: float) -> float:
    return math.inf if math.isnan(number) else float(f"{number:.{DIGITS}g}")
