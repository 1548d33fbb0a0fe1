"""The tuner: what it measures, what it remembers, and when it leaves both alone."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.adapter import AdapterInfo
from wgsl_kernels.backends.webgpu.devices.timing import Noted
from wgsl_kernels.backends.webgpu.tuning import tuner as tuning
from wgsl_kernels.backends.webgpu.tuning import tuning_file
from wgsl_kernels.backends.webgpu.tuning.tuner import WORTH, Tuner, forced
from wgsl_kernels.backends.webgpu.tuning.tuning_file import TuningFile, cache_folder, file_for
from wgsl_kernels.engine.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.backends.webgpu.tuning.tuner import Measurement

INFO = AdapterInfo(
    index=0,
    name="Example 9000",
    vendor="Example Corp",
    driver="example 1.2.3",
    backend="Vulkan",
    type="DiscreteGPU",
    limits={},
    features=frozenset(),
    is_software=False,
)
NAMES = ("small", "large")


class FakeDevice:
    """A device whose clock says what each variant takes."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.info = INFO
        self.seconds = seconds
        self.is_profiling = False
        self.notes: object = None
        self.pipelines = SimpleNamespace(background=None)
        self.runs: list[str] = []
        self.compiling: dict[str, float] = {}  # seconds of a variant's first run
        self.lock = threading.RLock()

    def run(self, name: str) -> None:
        """Note the variant, or refuse it."""
        self.runs.append(name)
        if name not in self.seconds:
            raise wk.ShaderError(f"{name} does not compile")

    def wait(self) -> None:
        """Do nothing: there is no work."""

    def profile(self, on: bool) -> None:
        """Do nothing: the clock always runs."""

    def take_timings(self) -> list[Noted]:
        """Return what the last variant takes."""
        last = self.runs[-1]
        seconds = self.seconds[last] + self.compiling.pop(last, 0.0)
        return [Noted((), "", round(1e9 * seconds))]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WGSL_KERNELS_CACHE", str(tmp_path))
    with wk.config.using(tuning="on"):
        yield


def _chosen(device: FakeDevice, tuner: Tuner | None = None, **more: Any) -> str:
    given: Any = device
    tuner = tuner or Tuner(lambda: given)
    facts = {"names": NAMES, "static": "small", "work": WORTH, **more}
    return tuner.choose("Sum", ("float32", 10), run=device.run, **facts)


def test_the_fastest_variant_is_taken_and_remembered() -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    assert _chosen(device) == "large"
    again = FakeDevice({"small": 1e-3, "large": 2e-3})
    assert _chosen(again) == "large"
    assert again.runs == []


def test_what_was_measured_can_be_read() -> None:
    device: Any = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = Tuner(lambda: device)
    _chosen(device, tuner)
    (one,) = tuner.measured
    assert (one.kernel, one.static, one.chosen) == ("Sum", "small", "large")
    assert one.seconds == {"small": 2e-3, "large": 1e-3}


def test_the_static_variant_stays_unless_another_is_clearly_faster() -> None:
    assert _chosen(FakeDevice({"small": 1e-3, "large": 0.97e-3})) == "small"


def test_a_variant_that_cannot_run_is_left_out() -> None:
    assert _chosen(FakeDevice({"small": 1e-3}), names=("small", "large", "huge")) == "small"


def test_a_hopeless_variant_is_not_measured_to_the_end() -> None:
    device = FakeDevice({"small": 1e-3, "large": 9e-3})
    _chosen(device)
    assert device.runs.count("large") == 2
    assert device.runs.count("small") == 1 + tuning.ROUNDS


def test_what_takes_too_long_to_compare_stays_static_and_is_not_remembered(tmp_path: Path) -> None:
    device = FakeDevice({"small": 0.6, "large": 0.2})
    assert _chosen(device) == "small"
    assert device.runs == ["small", "large", "small"]
    assert not list(tmp_path.rglob("*.json"))


def test_a_first_run_that_compiles_does_not_count_as_measured() -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    device.compiling = dict.fromkeys(NAMES, 2.0)
    assert _chosen(device) == "large"
    assert _chosen(FakeDevice({})) == "large"


def test_a_process_has_so_much_time_for_first_runs_and_leaves_the_rest_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tuning, "FIRST_RUNS", 0.0)  # so that the first one ends it
    device: Any = FakeDevice({"small": 4e-3, "large": 2e-3, "huge": 1e-3})
    tuner = Tuner(lambda: device)
    three = (*NAMES, "huge")
    assert _chosen(device, tuner, names=three) == "large"
    assert "huge" not in device.runs
    assert _chosen(device, tuner, names=three) == "large"
    device.runs.clear()
    given = {"names": three, "static": "small", "run": device.run, "work": WORTH}
    assert tuner.choose("Max", ("float32", 10), **given) == "small"
    assert device.runs == []
    monkeypatch.undo()
    assert _chosen(FakeDevice({"small": 4e-3, "large": 2e-3, "huge": 1e-3}), names=three) == "huge"


def test_a_warm_up_and_a_renewal_have_as_much_time_as_they_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tuning, "FIRST_RUNS", -1.0)
    device: Any = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = Tuner(lambda: device)
    assert _chosen(device, tuner) == "small"
    with tuner.renewing(0.1):
        assert _chosen(device, tuner) == "large"
    device.pipelines.background = object()
    assert _chosen(device, Tuner(lambda: device), names=("small", "large", "huge")) == "large"


def test_small_work_is_never_measured() -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    assert _chosen(device, work=WORTH - 1) == "small"
    device.pipelines.background = object()  # nor in a warm-up
    assert _chosen(device, work=WORTH - 1) == "small"
    assert device.runs == []


@pytest.mark.parametrize(
    "switch", [{"deterministic": True}, {"tuning": "off"}, {"tuning": "known"}], ids=str
)
def test_a_switch_pins_the_static_variant(switch: dict[str, Any]) -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    with wk.config.using(**switch):
        assert _chosen(device) == "small"
    assert device.runs == []


def test_known_takes_what_is_remembered() -> None:
    _chosen(FakeDevice({"small": 2e-3, "large": 1e-3}))
    with wk.config.using(tuning="known"):
        assert _chosen(FakeDevice({})) == "large"


@pytest.mark.parametrize("what", ["is_profiling", "notes"])
def test_nothing_is_measured_during_a_profile_or_a_capture(what: str) -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    setattr(device, what, True)
    assert _chosen(device) == "small"
    assert device.runs == []


class LockedDevice(FakeDevice):
    """A device that waits under its lock, and beside which another thread makes an array."""

    def __init__(self, tuner: list[Tuner]) -> None:
        super().__init__({"small": 2e-3, "large": 1e-3})
        self.tuner = tuner
        self.taken = threading.Event()
        self.other = threading.Thread(target=self._make, daemon=True)

    def _make(self) -> None:
        with self.lock, wk.config.using(tuning="on"):  # as for whatever is pending
            self.taken.set()
            _chosen(self, self.tuner[0])

    def run(self, name: str) -> None:
        """Have the other thread come as far as it can, then run the variant."""
        if not self.runs:
            self.other.start()
            self.taken.wait(0.2)
        super().run(name)

    def wait(self) -> None:
        """Wait as a device does: under its lock."""
        with self.lock:
            pass


def test_who_measures_and_who_makes_an_array_do_not_wait_for_each_other() -> None:
    tuners: list[Tuner] = []
    device: Any = LockedDevice(tuners)
    tuners.append(Tuner(lambda: device))
    found: list[str] = []

    def measure() -> None:
        with wk.config.using(tuning="on"):
            found.append(_chosen(device, tuners[0]))

    measuring = threading.Thread(target=measure, daemon=True)
    measuring.start()
    measuring.join(20)
    device.other.join(20)

    assert found == ["large"]
    assert not device.other.is_alive()


def test_forced_wins_where_the_variant_can_run() -> None:
    device = FakeDevice({})
    with forced("Sum", "large"):
        assert _chosen(device) == "large"
        assert _chosen(device, names=("small",)) == "small"
    assert _chosen(device, work=1) == "small"


def test_renewing_measures_again() -> None:
    device: Any = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = Tuner(lambda: device)
    assert _chosen(device, tuner) == "large"
    device.seconds = {"small": 1e-3, "large": 2e-3}
    assert _chosen(device, tuner) == "large"
    with tuner.renewing(1.0):
        assert _chosen(device, tuner, work=1) == "small"
    assert _chosen(device, tuner) == "small"


def test_variants_that_were_not_there_before_are_measured() -> None:
    _chosen(FakeDevice({"small": 2e-3, "large": 1e-3}))
    device = FakeDevice({"small": 3e-3, "large": 2e-3, "huge": 1e-3})
    assert _chosen(device, names=(*NAMES, "huge")) == "huge"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[]", b'{"format": 1}', b'{"format": 1, "choices": {"a": 3}}'],
    ids=repr,
)
def test_a_damaged_file_counts_as_empty(content: bytes) -> None:
    path = file_for(INFO)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert TuningFile(path).find("a") is None
    assert _chosen(FakeDevice({"small": 2e-3, "large": 1e-3})) == "large"
    assert json.loads(path.read_text(encoding="utf-8"))["format"] == tuning_file.FORMAT


def test_a_name_in_the_file_that_no_variant_has_is_measured_again() -> None:
    _chosen(FakeDevice({"small": 2e-3, "large": 1e-3}))
    path = file_for(INFO)
    path.write_text(path.read_text(encoding="utf-8").replace('"large"', '"gone"'), encoding="utf-8")
    assert _chosen(FakeDevice({"small": 2e-3, "large": 1e-3})) == "large"


def test_a_folder_that_cannot_be_written_only_forgets(tmp_path: Path) -> None:
    (tmp_path / "tuning").write_text("in the way", encoding="utf-8")
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    assert _chosen(device) == "large"
    assert _chosen(device) == "large"


def test_another_driver_has_a_file_of_its_own() -> None:
    assert file_for(INFO) != file_for(replace(INFO, driver="example 1.2.4"))
    assert file_for(INFO).name.startswith("example-9000-vulkan-")


@pytest.mark.gpu
def test_a_product_is_measured_once_and_gives_the_same_bits_afterwards() -> None:
    rng = np.random.default_rng(0)
    a, b = (wk.tensor(rng.standard_normal((96, 96)).astype(np.float32)) for _ in range(2))
    with wk.use_backend("webgpu"):
        first, second = wk.matmul(a, b), wk.matmul(a, b)
        assert first.numpy().tobytes() == second.numpy().tobytes()
        with wk.config.using(deterministic=True):
            seen = wk.profile(lambda: wk.matmul(a, b))
            assert [row.kernels for row in seen.dispatches] == [("BatchMatMul",)]
    assert len(list(cache_folder().rglob("*.json"))) <= 1


@pytest.fixture
def measured_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[Measurement]]]:
    """Use the GPU with time enough, and give what returns the measurements since then."""
    monkeypatch.setattr(tuning, "SECONDS", 60.0)
    with wk.use_backend("webgpu"):
        tuner = cast("WebGpuBackend", find_driver("webgpu")).tuner
        before = len(tuner.measured)
        yield lambda: tuner.measured[before:]


@pytest.mark.gpu
def test_a_reduction_is_measured_once_whether_it_was_fused_or_not(
    measured_here: Callable[[], list[Measurement]],
) -> None:
    x = wk.tensor(np.random.default_rng(0).standard_normal((512, 1024)).astype(np.float32))
    fused = wk.sum(x * 2.0, axis=0).numpy()
    measured = measured_here()
    doubled = (x * 2.0).numpy()
    apart = wk.sum(wk.tensor(doubled), axis=0).numpy()
    assert measured_here() == measured

    assert [one.kernel for one in measured] == ["Sum"]
    assert {"rows", "lanes", "columns"} <= measured[0].seconds.keys()
    assert fused.tobytes() == apart.tobytes()
    np.testing.assert_allclose(fused, doubled.sum(axis=0, dtype=np.float64), atol=1e-2)


@pytest.mark.gpu
def test_a_warm_up_measures_what_a_captured_function_then_runs(
    measured_here: Callable[[], list[Measurement]],
) -> None:
    x = wk.tensor(np.random.default_rng(0).standard_normal((600, 700)).astype(np.float32))
    fast = wk.capture(lambda x: wk.max(x, axis=0))
    wk.warmup(fast, x)
    measured = [one.kernel for one in measured_here()]
    found = fast(x).numpy()

    assert measured == ["Max"]
    np.testing.assert_array_equal(found, x.numpy().max(axis=0))


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "workgroups"), [("rows", 2), ("lanes", 128), ("columns", 1)])
def test_a_reduction_runs_as_the_variant_that_is_forced(
    name: str, workgroups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).standard_normal((300, 128)).astype(np.float32)
    with wk.use_backend("webgpu"), forced("Sum", name):
        backend: Any = find_driver("webgpu")
        record = backend.open().run
        grids: list[tuple[int, int, int]] = []

        def noted(ready: Any, storages: Any) -> None:
            grids.append(ready.groups)
            record(ready, storages)

        monkeypatch.setattr(backend.open(), "run", noted)
        found = wk.sum(wk.tensor(x), axis=0).numpy()

    assert grids == [(workgroups, 1, 1)]
    np.testing.assert_allclose(found, x.sum(axis=0, dtype=np.float64), atol=1e-4)
