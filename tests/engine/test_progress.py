"""A line says what takes long, once and only where it was asked for; the log has the rest."""

from __future__ import annotations

import logging
import time
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.environment import progress


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress, "_spells", {what: progress._Spell() for what in progress._ADVICE})


def test_a_long_wait_is_said_once_and_names_warmup(capsys: pytest.CaptureFixture[str]) -> None:
    with wk.config.using(progress="on"):
        with progress.busy("compiling"):
            said = ""
            for _ in range(500):
                time.sleep(0.02)
                said += capsys.readouterr().err
                if said.endswith("\n"):
                    break
            assert said.count("wk.warmup") == 1
        with progress.busy("compiling"):
            time.sleep(0.15)
    assert capsys.readouterr().err == ""


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the time by a clock that only the test moves."""
    now = [100.0]
    monkeypatch.setattr("wgsl_kernels.engine.environment.progress.clock.monotonic", lambda: now[0])
    timer = "wgsl_kernels.engine.environment.progress.threading.Timer"
    monkeypatch.setattr(timer, Mock())  # of that clock
    return now


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(progress, "_write", lines.append)
    return lines


def test_many_short_waits_are_one_long_wait(now: list[float], lines: list[str]) -> None:
    with wk.config.using(progress="on"):
        for _ in range(8):
            with progress.busy("measuring"):
                now[0] += 0.01
    assert [line.count("wgsl-kernels tune") for line in lines] == [1]


def test_the_line_says_how_many_kernels_there_are_of_those_needed(
    now: list[float], lines: list[str]
) -> None:
    with wk.config.using(progress="on"):
        for _ in range(40):
            progress.count("compiling", expected=1)
        for _ in range(20):
            with progress.busy("compiling"):
                now[0] += 0.0045
            progress.count("compiling", done=1)
    assert [line.split(";")[0] for line in lines] == ["wgsl-kernels: compiling 12 of 40 kernels"]


def test_a_kernel_that_takes_long_is_named_after_the_line_was_written_for_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LONG", 0.1)
    with wk.config.using(progress="on"):
        for name, seconds in (("Exp", 0.07), ("Sum", 0.0), ("Slow", 0.0)):
            with progress.busy("compiling", name):
                time.sleep(seconds)
        with progress.busy("compiling", "Slow"):
            said = ""
            for _ in range(500):
                time.sleep(0.02)
                said += capsys.readouterr().err
                if "(Slow)" in said:
                    break
    assert [line.split(";")[0] for line in said.splitlines()] == [
        "wgsl-kernels: compiling kernels (Exp)", "wgsl-kernels: compiling kernels (Slow)"
    ]  # fmt: skip


@pytest.mark.parametrize("switch", ["auto", "off"])
def test_nothing_is_said_where_no_terminal_is_or_it_is_off(
    switch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with wk.config.using(progress=switch), progress.busy("compiling"):
        time.sleep(0.15)
    assert capsys.readouterr().err == ""


@pytest.mark.gpu
def test_the_log_names_what_is_compiled(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "wgsl_kernels"), wk.use_backend("webgpu"):
        wk.wgsl_kernel("Logged", "// y = x + 41\nfn op(x: T) -> T { return x + T(41.0); }")
        assert wk.run("Logged", wk.tensor([1.0])).tolist() == [42.0]
    wk.unregister_kernel("Logged", "webgpu")
    assert any("Logged" in one.getMessage() for one in caplog.records)


@pytest.mark.gpu
def test_the_cache_can_be_emptied() -> None:
    with wk.use_backend("webgpu"):
        x = wk.tensor(np.ones(1 << 18, np.float32)) * 2.0
        kept = x * 3.0
        wk.evaluate(x, kept)
        del x
        freed = wk.empty_cache()
        assert freed >= 1 << 20
        assert wk.memory().by_backend["webgpu"].pool_bytes == 0
        assert kept.sum().item() == 6.0 * (1 << 18)


def test_an_op_in_one_decorator_runs_checks_and_documents_itself() -> None:
    @wk.op("Scaled cube")
    def scaled_cube(x: wk.Tensor, *, scale: float = 1.0) -> None:
        """Return scale · x³."""

    @wk.cpu_kernel("Scaled cube")
    def _scaled_cube_cpu(x: Any, *, scale: float) -> Any:
        return x * x * x * np.float32(scale)

    @wk.op("Rows")
    def rows(x: wk.Spec) -> wk.Spec:
        if x.ndim != 2:
            raise wk.ShapeError("Rows: want a matrix.")
        return x.like(shape=(x.shape[0],))

    @wk.cpu_kernel("Rows")
    def _rows_cpu(x: Any) -> Any:
        return x.sum(1)

    with wk.use_backend("cpu"):
        assert scaled_cube(wk.tensor([1.0, 2.0]), scale=2.0).tolist() == [2.0, 16.0]
        assert rows(wk.ones((2, 3))).tolist() == [3.0, 3.0]
        with pytest.raises(wk.ShapeError, match="want a matrix"):
            rows(wk.ones(3))
        with pytest.raises(wk.ArgumentError, match="attribute 'scales' is unknown"):
            scaled_cube(wk.ones(3), scales=2.0)
    assert scaled_cube.__doc__ == "Return scale · x³."
    for name in ("Scaled cube", "Rows"):
        wk.unregister_kernel(name, "cpu")
