"""What drivers can do besides: asked once, when they start, and by protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.cpu.backend import CpuBackend
from wgsl_kernels.engine.drivers import abilities
from wgsl_kernels.engine.drivers.abilities import Abilities, abilities_of
from wgsl_kernels.engine.drivers.backends import close_backend, find_driver
from wgsl_kernels.engine.drivers.driver import Usage

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Spec

NAMES = ("limited", "host_readable", "recording", "compiling", "tuning", "profiling")


class Small(CpuBackend):
    """A driver that refuses whatever it is asked about."""

    name = "small"

    def check_size(self, spec: Spec) -> None:
        """Refuse it."""
        raise wk.OutOfMemoryError(f"no room for {spec.shape}")


class Plain:
    """A user's backend, which has nothing but what every backend has."""

    def upload(self, values: Array) -> Any:
        """Keep them."""
        return values

    def download(self, array: Any) -> Array:
        """Give them back."""
        return np.asarray(array)

    def free(self, array: Any) -> None:
        """Do nothing: Python counts."""

    def run(self, *rest: Any) -> Any:
        """Run nothing."""
        raise NotImplementedError

    def memory(self) -> Usage:
        """Count nothing."""
        return Usage(0, 0)

    def close(self) -> None:
        """Do nothing."""


def started(factory: Any, name: str) -> Any:
    """Return a driver that was registered and started under its name."""
    wk.register_backend(name, factory, -100)
    return find_driver(name)


def has(driver: Any) -> set[str]:
    return {name for name in NAMES if getattr(abilities_of(driver), name) is not None}


def test_the_cpu_knows_its_values_and_its_limit_and_records_nothing() -> None:
    assert has(find_driver("cpu")) == {"limited", "host_readable"}


@pytest.mark.gpu
def test_webgpu_can_do_all_of_it() -> None:
    driver = find_driver("webgpu")
    assert has(driver) == set(NAMES)
    assert all(getattr(abilities_of(driver), name) is driver for name in NAMES)


def test_a_users_backend_needs_none() -> None:
    assert has(started(Plain, "plain")) == set()
    with wk.use_backend("plain"):
        x = wk.tensor([1.0, 2.0])
        assert x.tolist() == [1.0, 2.0]
        fast = wk.capture(lambda: x)
        assert fast().tolist() == [1.0, 2.0]
        assert fast.why == "backend 'plain' does not record"
        assert wk.profile(lambda: x).dispatches == []
        assert wk.warmup(lambda: x).pipelines == 0


def test_a_drivers_limit_is_asked_before_the_host_makes_values() -> None:
    started(Small, "small")
    with (
        wk.use_backend("small"),
        pytest.raises(wk.OutOfMemoryError, match=r"no room for \(7,\)"),
    ):
        wk.tensor(0.0, shape=(7,))


def test_a_driver_is_asked_when_it_starts_and_forgotten_when_it_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver: Any = started(Small, "small")
    found = abilities_of(driver)
    assert has(driver) == {"limited", "host_readable"}
    monkeypatch.delattr(Small, "check_size")
    assert abilities_of(driver) is found
    close_backend("small")
    assert abilities_of(driver) == Abilities()
    assert driver not in abilities._running
