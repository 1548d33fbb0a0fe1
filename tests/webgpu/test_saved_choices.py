"""The choices of the tuner in a checkpoint."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.webgpu.fake_tuning import INFO, FakeDevice, chosen, measured, path_for, tuner_of

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.tuning.tuner import Tuner


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WGSL_KERNELS_CACHE", str(tmp_path))
    monkeypatch.setitem(wk.config.process, "tuning", "on")


def _as_saved(tuner: Tuner) -> Any:
    return json.loads(json.dumps(tuner.choices()))


def test_choices_that_are_loaded_hold_where_none_was_made_and_win_over_the_file() -> None:
    first = tuner_of(FakeDevice({}))
    assert chosen(FakeDevice({}), first) == "small"
    saved = _as_saved(first)
    measured(FakeDevice({"small": 2e-3, "large": 1e-3}))

    resumed = tuner_of(FakeDevice({}))
    resumed.load_choices(saved)
    assert chosen(FakeDevice({}), resumed) == "small"
    assert _as_saved(resumed) == saved

    begun = tuner_of(FakeDevice({}))
    assert chosen(FakeDevice({}), begun) == "large"
    begun.load_choices(saved)
    assert chosen(FakeDevice({}), begun) == "large"
    assert _as_saved(begun) != saved


def test_choices_of_another_adapter_or_template_are_kept_and_not_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    device = FakeDevice({"small": 2e-3, "large": 1e-3})
    first = tuner_of(device)
    measured(device, first)
    saved = _as_saved(first)
    path_for(INFO).unlink()
    other: Any = FakeDevice({})
    other.info = replace(INFO, driver="example 1.2.4")
    assert chosen(other, _resumed(other, saved)) == "small"
    assert saved.items() <= _as_saved(_resumed(other, saved)).items()
    assert not caplog.messages
    assert chosen(device, _resumed(device, saved), template="fn main() { return; }") == "small"
    (message,) = caplog.messages
    assert "large, as chosen before, is not taken: its template or configuration" in message
    assert chosen(device, _resumed(device, saved)) == "large"


def _resumed(device: Any, saved: Any) -> Tuner:
    tuner = tuner_of(device)
    tuner.load_choices(saved)
    return tuner


@pytest.mark.gpu
def test_a_checkpoint_carries_the_choices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.safetensors"
    backend: Any = find_driver("webgpu")
    for name in ("_chosen", "_asked_for", "_loaded"):
        monkeypatch.setattr(backend.tuner, name, {})
    monkeypatch.setattr(backend.tuner, "_file", None)
    x = wk.tensor(np.ones((600, 500), np.float32))
    w = wk.variable(np.ones((500, 24), np.float32))
    with wk.use_backend("webgpu"):
        wk.evaluate(wk.sum(x @ w, axis=0), wk.sum(x, axis=1))
        wk.save(path, {"w": w, "tuning": wk.tuning.choices})
        before = backend.choices()
        (entries,) = before.values()
        assert {label.split()[0] for label in entries} == {"BatchMatMul", "Sum"}

        for one in (backend.tuner._chosen, backend.tuner._asked_for):
            one.clear()
        wk.load(path, into={"w": w, "tuning": wk.tuning.choices})
        assert backend.choices() == before
    assert set(wk.load(path)) == {"w", "tuning/webgpu"}


def test_what_is_no_choices_is_refused_and_nothing_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    w = wk.variable([1.0])
    for value in (wk.tensor([1, 2, 3]), wk.tensor([0.5]), wk.tensor([[1]])):
        wk.save(path, {"w": wk.tensor([2.0]), "tuning": {"webgpu": value}})
        with pytest.raises(wk.ArgumentError, match="'webgpu' holds no choices of a tuner"):
            wk.load(path, into={"w": w, "tuning": wk.tuning.choices})
    assert w.tolist() == [1.0]
