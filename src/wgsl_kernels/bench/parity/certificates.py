"""What a machine certifies of each kernel, and the JSON that keeps it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Certificate:
    """How far a kernel is from float64 in one dtype and direction, over its samples.

    Attributes:
        kernel: The kernel's name.
        dtype: Of the samples' first input; ``"none"`` where they have no input.
        direction: ``"forward"``, or ``"gradient"`` for that of ``webgpu`` against that of ``cpu``.
        samples: How many samples ran.
        ulp: The worst error, in units in the last place of what was expected, to six digits:
            of each sample, that of the element nearest to its tolerance. Infinite where a result
            has no number to compare.
        used: The largest part of its tolerance that any element used, to six digits; above 1 it
            failed.
        failures: What failed, in words, each with its sample.
        warnings: What a check only warns of, in words, each with its sample: values beyond their
            tolerance that may be right, as no bound of them is known.
    """

    kernel: str
    dtype: str
    direction: str
    samples: int
    ulp: float
    used: float
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """Kernel, dtype and direction."""
        return self.kernel, self.dtype, self.direction

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    def __str__(self) -> str:
        if not math.isfinite(self.ulp):
            return "FAILED"
        verdict = "" if self.passed else "FAILED, "
        return f"{verdict}{self.ulp:g} ULP, {100 * self.used:g} % of the tolerance"


def lost(kernel: str, why: str) -> Certificate:
    """Return what stands for the certificates of a kernel whose process ended."""
    return Certificate(kernel, "any", "any", 0, math.inf, math.inf, (why,))


@dataclass(frozen=True)
class Machine:
    """What decides about the bits of a result: adapter, driver, system and versions.

    Attributes:
        adapter: The adapter's name.
        backend: What it is reached through: Vulkan, Metal, D3D12 or OpenGL.
        driver: The driver with its version, as it describes itself.
        system: Operating system and processor architecture.
        limits: ``"adapter"``, or ``"default"`` where the device has WebGPU's default limits.
        package: The version of wgsl-kernels.
        wgpu: That of wgpu.
        numpy: That of NumPy, which computes what is expected.
    """

    adapter: str
    backend: str
    driver: str
    system: str
    limits: str
    package: str
    wgpu: str
    numpy: str

    def __str__(self) -> str:
        limits = "" if self.limits == "adapter" else f", {self.limits} limits"
        return f"{self.adapter} through {self.backend}{limits}"


@dataclass(frozen=True)
class ParityRecord:
    """The certificates of one machine.

    Attributes:
        machine: Where they were made.
        date: When, as ``2026-11-26``, in UTC.
        certificates: A certificate per kernel, dtype and direction, in this order.
    """

    machine: Machine
    date: str
    certificates: tuple[Certificate, ...]

    @property
    def passed(self) -> bool:
        """Whether every certificate passed."""
        return all(one.passed for one in self.certificates)

    def of_kernels(self, names: Iterable[str]) -> ParityRecord:
        """Return the record with the certificates of these kernels alone."""
        kept = set(names)
        rows = tuple(one for one in self.certificates if one.kernel in kept)
        return ParityRecord(self.machine, self.date, rows)

    def by_key(self) -> dict[Key, Certificate]:
        """Return the certificates by kernel, dtype and direction."""
        return {one.key: one for one in self.certificates}


def to_json(records: Iterable[ParityRecord]) -> str:
    """Return records as JSON, a certificate a line; what is not finite is ``null``."""
    blocks = []
    for one in records:
        rows = ",\n  ".join(json.dumps(_written(row)) for row in one.certificates)
        head = f'{{\n "machine": {json.dumps(asdict(one.machine))},\n "date": "{one.date}"'
        blocks.append(f'{head},\n "certificates": [\n  {rows}\n ]\n}}')
    return f"[{', '.join(blocks)}]\n"


def _written(row: Certificate) -> dict[str, Any]:
    found = {**asdict(row), "ulp": _finite(row.ulp), "used": _finite(row.used)}
    if not row.warnings:
        del found["warnings"]
    return found


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def from_json(text: str) -> tuple[ParityRecord, ...]:
    """Return the records that `to_json` wrote.

    Raises:
        ValueError: The text is something else.
    """
    try:
        return tuple(_record(one) for one in json.loads(text))
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _record(found: Mapping[str, Any]) -> ParityRecord:
    rows = [
        Certificate(
            **{
                **row,
                "ulp": math.inf if row["ulp"] is None else float(row["ulp"]),
                "used": math.inf if row["used"] is None else float(row["used"]),
                "failures": tuple(row["failures"]),
                "warnings": tuple(row.get("warnings", ())),
            }
        )
        for row in found["certificates"]
    ]
    return ParityRecord(Machine(**found["machine"]), found["date"], tuple(rows))


def read_records(file: Path) -> tuple[ParityRecord, ...]:
    """Return the records of a file.

    Raises:
        ArgumentError: It cannot be read, or is none that ``wgsl-kernels parity --out`` wrote.
    """
    try:
        return from_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(f"parity: {file} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise ArgumentError(
            f"parity: {file} holds no certificates ({error}); want a file that "
            "`wgsl-kernels parity --out` wrote."
        ) from None
