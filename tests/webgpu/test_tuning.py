"""The tuner: what it measures, what it remembers, and when it leaves both alone."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.webgpu.fake_tuning import (
    INFO,
    NAMES,
    Clock,
    FakeDevice,
    choice_of,
    chosen,
    measured,
    path_for,
    tuner_of,
)

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter.policy import SOFTWARE
from wgsl_kernels.backends.webgpu.templates.template import hash_of
from wgsl_kernels.backends.webgpu.tuning import tuner as tuning
from wgsl_kernels.backends.webgpu.tuning import tuning_file
from wgsl_kernels.backends.webgpu.tuning.tuner import WORTH, Tuner, forced
from wgsl_kernels.backends.webgpu.tuning.tuning_file import TuningFile, file_for

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give each test a cache and a clock of its own."""
    clock = Clock()
    monkeypatch.setenv("WGSL_KERNELS_CACHE", str(tmp_path))
    monkeypatch.setattr(tuning, "time", clock)
    monkeypatch.setitem(wk.config.process, "tuning", "on")
    return clock


@pytest.mark.parametrize("switch", ["on", "auto"])
def test_the_first_process_takes_the_static_variant_and_the_next_one_the_fastest(
    switch: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(wk.config.process, "tuning", switch)
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = tuner_of(device)
    assert [chosen(device, tuner) for _ in range(3)] == ["small"] * 3
    assert device.runs == []
    clock.now = tuning.LATER
    assert [chosen(device, tuner) for _ in range(3)] == ["small"] * 3
    assert device.runs.count("large") == 1 + tuning.ROUNDS

    again = FakeDevice({"small": 1e-3, "large": 2e-3})
    assert chosen(again) == "large"
    assert again.runs == []


def test_what_a_plan_was_made_of_is_asked_again_when_it_is_time_to_measure(clock: Clock) -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = tuner_of(device)
    before = tuner.state()
    chosen(device, tuner)
    assert tuner.state() == before
    clock.now = tuning.LATER
    after = tuner.state()
    assert after != before
    assert tuner.state() == after
    chosen(device, tuner)
    clock.now *= 3
    assert tuner.state() == after


def test_a_software_adapter_is_measured_only_where_that_is_asked_for(clock: Clock) -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    device.policy = SOFTWARE
    tuner = tuner_of(device)
    with wk.config.using(tuning="auto"):
        chosen(device, tuner)
        clock.now = tuning.LATER
        assert chosen(device, tuner) == "small"
        assert device.runs == []
        assert measured(device) == "large"
        assert chosen(FakeDevice({})) == "large"


def test_a_choice_that_was_used_stays_though_it_is_measured_afterwards() -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = tuner_of(device)
    assert chosen(device, tuner) == "small"
    assert measured(device, tuner) == "small"
    assert chosen(FakeDevice({})) == "large"


def test_what_was_measured_can_be_read() -> None:
    device: Any = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = tuner_of(device)
    measured(device, tuner)
    (one,) = tuner.measured
    assert (one.choice.kernel, one.choice.static, one.chosen) == ("Sum", "small", "large")
    assert one.seconds == {"small": 2e-3, "large": 1e-3}


def test_the_static_variant_stays_unless_another_is_clearly_faster() -> None:
    assert measured(FakeDevice({"small": 1e-3, "large": 0.97e-3})) == "small"


def test_a_variant_that_cannot_run_is_left_out() -> None:
    assert measured(FakeDevice({"small": 1e-3}), names=("small", "large", "huge")) == "small"


def test_a_hopeless_variant_is_not_measured_to_the_end() -> None:
    device = FakeDevice({"small": 1e-3, "large": 9e-3})
    measured(device)
    assert device.runs.count("large") == 2
    assert device.runs.count("small") == 1 + tuning.ROUNDS


def test_what_takes_too_long_to_compare_stays_static_and_is_not_remembered(tmp_path: Path) -> None:
    device = FakeDevice({"small": 0.6, "large": 0.2})
    assert measured(device) == "small"
    assert device.runs == ["small", "large", "small"]
    assert not list(tmp_path.rglob("*.json"))


def test_a_block_measures_a_choice_once_even_if_it_was_too_long_to_compare() -> None:
    device = FakeDevice({"small": 0.6, "large": 0.2})
    tuner = tuner_of(device)
    with tuner.tuning():
        assert [chosen(device, tuner) for _ in range(3)] == ["small"] * 3
    assert len(device.runs) == 3


def test_a_first_run_that_compiles_does_not_count_as_measured() -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    device.compiling = dict.fromkeys(NAMES, 2.0)
    assert measured(device) == "large"
    assert chosen(FakeDevice({})) == "large"


def test_a_process_measures_so_long_along_the_way_and_leaves_the_rest_to_the_next(
    clock: Clock,
) -> None:
    device = SlowDevice(clock, {"small": 4e-3, "large": 2e-3, "huge": 1e-3})
    tuner = tuner_of(device)
    three = (*NAMES, "huge")
    chosen(device, tuner, names=three)
    chosen(device, tuner)
    clock.now = tuning.LATER
    assert chosen(device, tuner, names=three) == "small"
    assert device.runs == ["small", "large"]
    assert chosen(device, tuner) == "small"
    assert device.runs == ["small", "large"]
    assert chosen(FakeDevice({}), names=three) == "small"
    assert measured(device, names=three) == "huge"


class SlowDevice(FakeDevice):
    """A device that compiles each variant for two seconds."""

    def __init__(self, clock: Clock, seconds: dict[str, float]) -> None:
        super().__init__(seconds)
        self.clock = clock

    def run(self, name: str) -> None:
        """Let the time go by that compiling takes."""
        self.clock.now += 0.0 if name in self.runs else 2.0
        super().run(name)


def test_small_work_is_never_measured(clock: Clock) -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = tuner_of(device)
    assert chosen(device, tuner, work=WORTH - 1) == "small"
    clock.now = tuning.LATER
    assert chosen(device, tuner, work=WORTH - 1) == "small"
    assert measured(device, work=WORTH - 1) == "small"
    assert device.runs == []


@pytest.mark.parametrize("switch", [{"deterministic": True}, {"tuning": "off"}], ids=str)
def test_a_switch_pins_the_static_variant(switch: dict[str, Any]) -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    with wk.config.using(**switch):
        assert measured(device) == "small"
    assert device.runs == []
    measured(device)
    with wk.config.using(**switch):
        assert chosen(FakeDevice({})) == "small"
    assert chosen(FakeDevice({})) == "large"


def test_known_takes_what_is_remembered_and_measures_nothing(clock: Clock) -> None:
    with wk.config.using(tuning="known"):
        device = FakeDevice({"small": 2e-3, "large": 1e-3})
        tuner = tuner_of(device)
        chosen(device, tuner)
        clock.now = tuning.LATER
        assert chosen(device, tuner) == "small"
        assert device.runs == []
    measured(FakeDevice({"small": 2e-3, "large": 1e-3}))
    with wk.config.using(tuning="known"):
        assert chosen(FakeDevice({})) == "large"


@pytest.mark.parametrize("what", ["is_profiling", "notes"])
def test_nothing_is_measured_during_a_profile_or_a_capture(what: str, clock: Clock) -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = tuner_of(device)
    setattr(device, what, True)
    assert measured(device, tuner) == "small"
    clock.now = tuning.LATER
    assert chosen(device, tuner) == "small"
    assert device.runs == []


class LockedDevice(FakeDevice):
    """A device that waits under its lock, and beside which another thread makes an array."""

    def __init__(self, tuner: list[Tuner]) -> None:
        super().__init__({"small": 2e-3, "large": 1e-3})
        self.tuner = tuner
        self.taken = threading.Event()
        self.other = threading.Thread(target=self._make, daemon=True)

    def _make(self) -> None:
        with self.lock:  # as for whatever is pending
            self.taken.set()
            measured(self, self.tuner[0])

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
        found.append(measured(device, tuners[0]))

    measuring = threading.Thread(target=measure, daemon=True)
    measuring.start()
    measuring.join(20)
    device.other.join(20)

    assert found == ["large"]
    assert not device.other.is_alive()


def test_forced_wins_where_the_variant_can_run() -> None:
    device = FakeDevice({})
    with forced("Sum", "large"):
        assert chosen(device) == "large"
        assert chosen(device, names=("small",)) == "small"
    assert chosen(device, work=1) == "small"


def test_renewing_measures_again_and_takes_force_at_once() -> None:
    device: Any = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = tuner_of(device)
    assert measured(device, tuner) == "large"
    device.seconds = {"small": 1e-3, "large": 2e-3}
    assert measured(device, tuner) == "large"
    before = tuner.state()
    with tuner.renewing(1.0):
        assert tuner.state() is None
        assert chosen(device, tuner, work=1) == "small"
    assert chosen(device, tuner) == "small"
    assert tuner.state() != before


def test_a_renewal_may_be_the_first_thing_that_is_asked_for() -> None:
    device: Any = FakeDevice({"small": 2e-3, "large": 1e-3})
    tuner = tuner_of(device)
    with tuner.renewing(1.0):
        assert chosen(device, tuner) == "large"
    assert chosen(FakeDevice({})) == "large"


def test_variants_that_were_not_there_before_are_measured() -> None:
    measured(FakeDevice({"small": 2e-3, "large": 1e-3}))
    device = FakeDevice({"small": 3e-3, "large": 2e-3, "huge": 1e-3})
    assert measured(device, names=(*NAMES, "huge")) == "huge"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[]", b'{"format": 2}', b'{"format": 2, "choices": {"a": 3}}'],
    ids=repr,
)
def test_a_damaged_file_counts_as_empty(content: bytes) -> None:
    path = path_for(INFO)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert TuningFile(file_for(INFO)).find("a") is None
    assert measured(FakeDevice({"small": 2e-3, "large": 1e-3})) == "large"
    assert json.loads(path.read_text(encoding="utf-8"))["format"] == tuning_file.FORMAT


def test_a_file_of_format_1_is_ignored() -> None:
    path = path_for(INFO)
    path.parent.mkdir(parents=True)
    choices = {choice_of().label: {"variant": "large", "milliseconds": {}}}
    path.write_text(json.dumps({"format": 1, "choices": choices}), encoding="utf-8")
    assert chosen(FakeDevice({})) == "small"


def test_a_choice_is_named_by_the_hash_of_its_template_and_its_configuration() -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    measured(device)
    (entry,) = json.loads(path_for(INFO).read_text(encoding="utf-8"))["choices"].values()
    assert entry["template"] == hash_of(["fn main() {}"])
    assert entry["configuration"] == {"variant": "large"}
    edited = FakeDevice({"small": 1e-3, "large": 2e-3})
    assert chosen(edited, template="fn main() { return; }") == "small"
    assert measured(edited, template="fn main() { return; }") == "small"
    assert edited.runs


def test_a_configuration_in_the_file_that_no_variant_has_is_measured_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    measured(FakeDevice({"small": 2e-3, "large": 1e-3}))
    path = path_for(INFO)
    path.write_text(path.read_text(encoding="utf-8").replace('"large"', '"gone"'), encoding="utf-8")
    with caplog.at_level("INFO", "wgsl_kernels"):
        assert chosen(FakeDevice({})) == "small"
    assert f"{choice_of().label}: gone, as chosen before, is not taken" in caplog.text
    assert measured(FakeDevice({"small": 2e-3, "large": 1e-3})) == "large"


def test_a_folder_that_cannot_be_written_only_forgets(tmp_path: Path) -> None:
    (tmp_path / "tuning").write_text("in the way", encoding="utf-8")
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    assert measured(device) == "large"
    assert chosen(device) == "small"


def test_another_driver_has_a_file_of_its_own() -> None:
    assert path_for(INFO) != path_for(replace(INFO, driver="example 1.2.4"))
    assert path_for(INFO).name.startswith("example-9000-vulkan-")
