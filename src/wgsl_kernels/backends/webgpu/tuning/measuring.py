"""Comparing variants by the device's clock."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import DeviceLostError, WgslKernelsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.backends.webgpu.devices.device import Device

ROUNDS = 5
GAIN = 0.95
"""A variant replaces the static one if it takes at most this part of its time."""

HOPELESS = 2.0
"""A variant that takes this many times the best after one round is not measured again."""

_logger = logging.getLogger("wgsl_kernels")


def least_seconds(
    device: Device, names: list[str], run: Callable[[str], object], budget: float
) -> dict[str, float]:
    """Return the least seconds of each variant; none where they take too long to compare.

    Each ran before: a driver may compile within the first run.
    """
    seconds: dict[str, float] = {}
    spent = 0.0
    left = names
    for turn in range(ROUNDS):
        for name in left:
            if spent > budget:
                return seconds if turn else {}
            took = seconds_of(device, run, name)
            if took is not None:
                spent += took
                seconds[name] = min(took, seconds.get(name, took))
        least = min(seconds.values(), default=0.0)
        left = [name for name in left if seconds.get(name, least) <= HOPELESS * least]
    return seconds


def seconds_of(device: Device, run: Callable[[str], object], name: str) -> float | None:
    """Return the seconds of one run by the device's clock, else by ours; None where it fails."""
    try:
        device.wait()
        start = time.perf_counter()
        device.profile(on=True)
        try:
            run(name)
            nanoseconds = sum(row.nanoseconds or 0 for row in device.take_timings())
        finally:
            device.profile(on=False)
        device.wait()
        wall = time.perf_counter() - start
    except DeviceLostError:
        raise
    except WgslKernelsError as error:
        _logger.info("variant %s cannot run: %s", name, error)
        return None
    return nanoseconds / 1e9 if nanoseconds else wall


def fastest_of(seconds: Mapping[str, float], static: str) -> str:
    """Return the fastest variant, but the static one where that is almost as fast."""
    if static not in seconds:
        return static
    fastest = min(seconds, key=lambda name: seconds[name])
    return fastest if seconds[fastest] <= GAIN * seconds[static] else static
