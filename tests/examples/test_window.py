"""The window shows a pattern that grows, on either backend, and changes it at a key."""

import functools
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import ImageGrab
from tests.examples.program import EXAMPLES, output_of

SMALL = ("--size", "96", "--frames", "80")
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


@functools.cache
def last_frame(backend: str, display: str) -> np.ndarray:
    picture = Path(mkdtemp()) / "frame.png"
    printed = output_of(
        "window.py", "--backend", backend, *SMALL, "--screenshot", picture,
        environment={"DISPLAY": display},
    )  # fmt: skip
    assert printed.startswith(f"80 frames of 16 steps on {backend}\n")
    frame: np.ndarray = imread(picture)[..., :3]
    return frame


def check_pattern(frame: np.ndarray) -> None:
    """Demand stripes of both substances over the whole frame: neither flat nor noise."""
    red = frame[..., 0]
    for quarter in (half for part in np.array_split(red, 2) for half in np.array_split(part, 2, 1)):
        assert quarter.min() < 0.2
        assert quarter.max() > 0.8
        assert 0.15 < np.mean(quarter > 0.5) < 0.85
    steps = np.abs(np.diff(red, axis=0)).mean() + np.abs(np.diff(red, axis=1)).mean()
    assert 0.05 < steps < 0.5


@BACKENDS
def test_the_last_frame_has_grown_a_pattern(backend: str, display: str) -> None:
    check_pattern(last_frame(backend, display))


@pytest.mark.gpu
def test_both_backends_grow_the_same_pattern(display: str) -> None:
    frames = [last_frame(backend, display) for backend in ("cpu", "webgpu")]

    assert np.abs(frames[0] - frames[1]).mean() < 0.01


@pytest.mark.gpu
def test_the_screen_shows_what_was_computed(display: str) -> None:
    program = subprocess.Popen(
        [sys.executable, "-W", "error", EXAMPLES / "window.py", "--size", "128"],
        env={**os.environ, "DISPLAY": display},
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60.0
        while True:
            time.sleep(0.5)
            screen = np.asarray(ImageGrab.grab(xdisplay=display), np.float32)[:256, :256] / 255.0
            if np.mean(screen[..., 0] > 0.5) > 0.3:
                break
            assert program.poll() is None
            assert time.monotonic() < deadline
    finally:
        program.terminate()
        program.wait()
    check_pattern(screen[::2, ::2, :3])  # a cell is two pixels wide


@pytest.mark.gpu
def test_the_key_b_changes_the_backend_while_the_pattern_goes_on(display: str) -> None:
    pressing = """
import sys, runpy
import wgsl_kernels as wk
from rendercanvas.glfw import loop

show = runpy.run_path(sys.argv[1])["Show"](48, 4, 55)
seen = []

def press():
    if show.drawn >= 20 * (1 + len(seen)):
        seen.append(wk.get_backend())
        show.canvas.submit_event({"event_type": "key_down", "key": "b", "modifiers": []})
    loop.call_later(0.01, press)

wk.set_backend("webgpu")
loop.call_later(0.01, press)
loop.run()
print(show.drawn, *seen, wk.get_backend(), show.state.numpy().min() >= 0.0)
"""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", pressing, EXAMPLES / "window.py"],
        env={**os.environ, "DISPLAY": display},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.stdout.split() == ["55", "webgpu", "cpu", "webgpu", "True"], run.stderr
