"""An interrupt at any line of a step: the step has happened whole or not at all."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.interrupts import chosen, interrupted, lines_of

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 6)).astype(np.float32)
Y = RNG.normal(size=(16, 3)).astype(np.float32)
FIRST = RNG.normal(size=(6, 5)).astype(np.float32)
SECOND = RNG.normal(size=(5, 3)).astype(np.float32)


STEADY = 6
"""Steps after which all is compiled and every plan is made."""


class Guarded:
    """Leaves a lock in each of the ways in which a `with` can be left."""

    def __init__(self) -> None:
        self.lock: Any = threading.RLock()

    def through(self) -> int:
        """Leave at the end, by a return and by ``break``."""
        with self.lock:
            count = self.returned()
        for _ in range(2):
            with self.lock:
                if count:
                    break
        return count

    def returned(self) -> int:
        """Leave with a value that was worked out inside."""
        with self.lock:
            return len([self.lock])


def test_interrupts_are_raised_where_python_raises_them() -> None:
    lines = lines_of(Guarded().through)
    assert lines >= 8
    for line in range(1, lines + 1):
        guarded = Guarded()
        place = interrupted(guarded.through, line)
        assert not guarded.lock._is_owned(), place


class Model:
    """Two layers and Adam, whose whole state can be had as bytes."""

    def __init__(self) -> None:
        self.x, self.y = wk.tensor(X), wk.tensor(Y)
        self.first = wk.variable(FIRST, name="first")
        self.second = wk.variable(SECOND, name="second")
        self.adam = wk.train.Adam(0.05)

    def step(self) -> wk.Tensor:
        """Do one step and return the loss."""
        return self.adam.minimize(self.loss)

    def loss(self) -> wk.Tensor:
        """Return the loss."""
        hidden = wk.tanh(wk.matmul(self.x, self.first))
        return wk.mean(wk.square(wk.matmul(hidden, self.second) - self.y))

    def state(self) -> list[bytes]:
        """Return all values that a step changes."""
        held = [self.first, self.second, *self.adam.state_dict().values()]
        return [one.numpy().tobytes() for one in held]


def stepped() -> Model:
    """Return a model that has done one step, so that its optimizer has all its state."""
    model = Model()
    model.step()
    return model


class Expected:
    """The states that the same model goes through without interrupts."""

    def __init__(self) -> None:
        self._model = Model()
        self._states = [self._model.state()]

    def __getitem__(self, index: int) -> list[bytes]:
        while len(self._states) <= index:
            self._model.step()
            self._states.append(self._model.state())
        return self._states[index]


def torn_by_interrupts(prepared: Callable[[Model], Callable[[], Any]]) -> list[str]:
    """Interrupt step after step, each at another line; return where one was torn."""
    expected = Expected()
    model, torn, done = Model(), [], STEADY + 1
    step = prepared(model)
    for _ in range(STEADY):
        step()
    for line in chosen(lines_of(step)):
        place = interrupted(step, line)
        state = model.state()
        if state == expected[done + 1]:
            done += 1
        elif state != expected[done]:
            torn.append(place)
            model, done = Model(), STEADY
            step = prepared(model)
            for _ in range(STEADY):
                step()
    return torn


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fusion", ["auto", "always"])
def test_an_interrupted_step_is_whole_or_none(backend: str, fusion: str) -> None:
    with wk.config.using(fusion=fusion):
        assert torn_by_interrupts(lambda model: model.step) == []


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("backend")
def test_an_interrupted_replay_is_whole_or_none() -> None:
    assert torn_by_interrupts(lambda model: wk.capture(model.step)) == []


@pytest.mark.timeout(7200)
def test_an_interrupted_recording_is_whole_or_none() -> None:
    with wk.use_backend("webgpu"):
        expected, torn = Expected(), []
        lines = [lines_of(wk.capture(stepped().step)) for _ in range(3)][-1]
        for line in chosen(lines, 800):
            model = stepped()
            step = wk.capture(model.step)
            place = interrupted(step, line)
            done = 1 + (model.state() == expected[2])
            is_whole = model.state() == expected[done]
            for _ in range(3):
                step()
            if not is_whole or model.state() != expected[done + 3] or step.why:
                torn.append(place)
        assert torn == []


@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("backend")
def test_an_interrupted_warm_up_leaves_all_as_it_was() -> None:
    model, expected, torn = Model(), Expected(), []
    for _ in range(STEADY):
        model.step()
    lines = [lines_of(lambda: wk.warmup(model.step, progress=False)) for _ in range(2)][-1]
    for line in chosen(lines):
        place = interrupted(lambda: wk.warmup(model.step, progress=False), line)
        if model.state() != expected[STEADY]:
            torn.append(place)
            break
    assert torn == []


def test_an_interrupt_before_a_submit_keeps_what_was_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with wk.use_backend("webgpu"):
        v = wk.variable(np.zeros(300, np.float32))
        for _ in range(6):
            v.assign(v + 1.0)
            v.numpy()
        device: Any = find_driver("webgpu")
        recorder = device.open().recorder

        def interrupt(*given: Any) -> None:
            raise KeyboardInterrupt

        v.assign(v + 1.0)
        v.assign(v + 1.0)
        with monkeypatch.context() as patch:
            patch.setattr(recorder, "_encode", interrupt)
            with pytest.raises(KeyboardInterrupt):
                wk.evaluate(v)
        assert v.numpy().tolist() == [8.0] * 300
