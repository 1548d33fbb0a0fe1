"""What every test runs under: one shader cache for all workers, and the mark of GPU tests."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.modes import ALL_MODES, ENGINE, FUSION, drawn
from tests.portable_device import lower_for_any_browser
from tests.sharing import order
from tests.sharing import pytest_xdist_make_scheduler as pytest_xdist_make_scheduler

from wgsl_kernels.backends.webgpu.adapter import policy
from wgsl_kernels.backends.webgpu.composing.text import composed
from wgsl_kernels.backends.webgpu.devices import device as device_module
from wgsl_kernels.engine.drivers.backends import find_driver, use_backend
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.registry import registry

ROOT = Path(__file__).resolve().parents[1]
pytest.register_assert_rewrite("tests.samples")  # whose checks assert, in no file of tests

# Set before anything loads a driver. A new pipeline costs 30 ms to compile, 1 ms from this cache.
CACHE = Path(os.environ.setdefault("MESA_SHADER_CACHE_DIR", str(ROOT / "build" / "mesa-cache")))
CACHE.mkdir(parents=True, exist_ok=True)
# A process that tests start compiles no module that another has: that took half of its time. Who
# wants no bytecode beside the sources has it in a folder.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / "build" / "pycache"))
# What a test computes depends on no measurement: here, and in the processes that tests start.
config.tuning = os.environ.setdefault("WGSL_KERNELS_TUNING", "off")
config.small_ops = "device"  # most tests are small, and it is the kernels that they are for
config.fusion = FUSION
# Shaders of the package are held to what browsers take here, since no user's run looks at them.
composed.is_all_ours = lambda source_map: False
# Where processes take all cores, threads that compile ahead take turns with them, and compile each
# text on a device that they open for it: a tenth of the time. All modes have them, and their tests.
if "PYTEST_XDIST_WORKER" in os.environ and not ALL_MODES:
    device_module.__dict__["ahead_for"] = lambda choice: None
if ENGINE == "portable":
    lower_for_any_browser()
# At every 700 new objects Python looked for garbage: a twelfth of what tests do in Python. There
# are few cycles here, and after STAYING tests they go anyway.
gc.set_threshold(20_000, 50, 1_000)


@pytest.fixture(autouse=True)
def _nothing_stays_in_force() -> Iterator[None]:
    """Fail a test that leaves a backend, a tape, a scope or a setting behind in its thread."""
    yield
    assert context.current().change is None


@pytest.fixture
def auto_fusion() -> Iterator[None]:
    """Have kernels fuse as they do by themselves, whatever mode the suite runs in."""
    with config.using(fusion="auto"):
        yield


@pytest.fixture
def halves_anywhere() -> Iterator[None]:
    """Have float16 on cpu, without a warning, and cpu active, where the adapter has none."""
    has_halves = find_driver("webgpu").supports("float16")
    with (
        config.using(fallback=config.fallback if has_halves else "silent"),
        nullcontext() if has_halves else use_backend("cpu"),
    ):
        yield


@pytest.fixture
def follow_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    """Give what has the device follow a software adapter's rules, or a GPU's, in this test.

    Its own are taken where it is of that kind.
    """
    changed = False

    def follow(is_software: bool) -> None:
        nonlocal changed
        driver: Any = find_driver("webgpu")
        device = driver.open()
        if device.info.is_software != is_software:
            other = policy.SOFTWARE if is_software else policy.GPU
            monkeypatch.setattr(device, "policy", other)
            registry.announce_change()  # what was prepared by other rules is forgotten
            changed = True

    yield follow
    if changed:
        registry.announce_change()


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the tests themselves, which stay to the end.

    They are 600,000 objects; a full collection, of which leak checks make two each, took 0.3 s.
    """
    gc.collect()
    gc.freeze()


STAYING = 50
"""After how many tests what they left in caches is out of the garbage collector's way, too."""
_run = 0


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let the garbage collector pass over what earlier tests left, once their garbage is gone.

    Caches hold millions of objects in the end, and a full collection took 2 s. What a test itself
    makes is looked through as ever.
    """
    global _run
    _run += 1
    if _run % STAYING == 0:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests on webgpu for -m "not gpu", and leave out what `sampled` tests do not draw.

    Those of every kernel come last: see tests/sharing.py.
    """
    items.sort(key=order)
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            values = item.callspec.params.values()
            if any(isinstance(value, str) and value == "webgpu" for value in values):
                item.add_marker(pytest.mark.gpu)
    if any("::" in one for one in config.args):  # somebody asks for this very test
        return
    kept = drawn(items)
    left_out = [item for item in items if item not in kept]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item in kept]
