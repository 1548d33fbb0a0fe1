"""Pictures of outputs: heat maps in files, and the window that watches a file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import ImageGrab
from typer.testing import CliRunner

from wgsl_kernels.bench.pictures import painted, plane_of, write_png
from wgsl_kernels.cli.app import app
from wgsl_kernels.cli.window import moved
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.testing.registered import drop_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECIPE = Path(__file__).resolve().parents[2] / "docs" / "cookbook" / "mandelbrot.py"
CHECK = (sys.executable, "-W", "error", "-m", "wgsl_kernels", "check")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()
    drop_samples("Mandelbrot")


def test_a_heat_map_shows_low_and_high_and_what_is_no_number(tmp_path: Path) -> None:
    values = np.linspace(0.0, 1.0, 100).reshape(10, 10)
    values[0, 3], values[0, 4] = np.nan, np.inf
    file = tmp_path / "map.png"

    write_png(file, painted(values))

    shown = np.round(imread(file)[..., :3] * 255)
    assert shown.shape == (10, 10, 3)
    assert [tuple(shown[one]) for one in ((0, 0), (9, 9), (0, 3), (0, 4))] == [
        (68, 1, 84), (253, 231, 37), (255, 0, 255), (255, 255, 255),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "plane"),
    [
        ((8, 9), (8, 9)), ((7, 9), None), ((9,), None), ((16, 16, 3), (16, 16, 3)),
        ((16, 16, 5), (16, 16)), ((2, 16, 12, 1), (16, 12)), ((0, 8, 8, 1), None),
    ],
)  # fmt: skip
def test_what_is_like_an_image_has_rows_and_columns(
    shape: tuple[int, ...], plane: tuple[int, ...] | None
) -> None:
    found = plane_of(np.zeros(shape, np.complex64))

    assert (None if found is None else found.shape) == plane


def test_an_attribute_moves_by_a_tenth_or_one() -> None:
    assert [moved(one, 1) for one in (False, 3, 50, 0.0)] == [True, 4, 55, 0.1]
    assert moved(2.0, -1) == pytest.approx(2.0 / 1.1)


@pytest.mark.gpu
def test_check_writes_what_is_given_and_right_and_off(tmp_path: Path) -> None:
    arguments = ["check", str(RECIPE), "--section", "right", "--image", str(tmp_path)]
    done = CliRunner().invoke(app, arguments)

    assert done.exit_code == 0, done.output
    picture = np.round(imread(tmp_path / "Mandelbrot-0.png")[..., :3] * 255)
    head, picture = picture[: -17 * 15], picture[-17 * 15 :]
    assert (head == 0).any(axis=(0, 1)).all()  # its titles
    width = picture.shape[1]
    got, right = picture[:, : width * 19 // 59], picture[:, width * 20 // 59 : width * 39 // 59]
    assert len(np.unique(got.reshape(-1, 3), axis=0)) > 5
    assert (got == right).mean() > 0.99
    assert (picture[:, -19 * 15 :] == (68, 1, 84)).all()  # nowhere off


def test_without_a_display_there_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)

    done = CliRunner().invoke(app, ["check", str(RECIPE), "--window"])

    assert done.exit_code == 2
    assert "--window finds no display" in done.output


def shown_on(display: str, holds: Callable[[np.ndarray], bool], name: str = "") -> bool:
    """Wait until what is on the screen is as it should be."""
    for _ in range(150):
        picture = np.asarray(ImageGrab.grab(xdisplay=display).convert("RGB"), np.int32)
        if holds(picture):
            if name:
                ImageGrab.grab(xdisplay=display).save(name)
            return True
        time.sleep(0.1)
    return False


def part(picture: np.ndarray, colour: tuple[int, int, int]) -> float:
    return float((np.abs(picture - colour).max(axis=-1) < 40).mean())


@pytest.mark.gpu
def test_the_window_shows_a_save_and_over_the_last_good_one_what_is_wrong(
    display: str, tmp_path: Path
) -> None:
    file = tmp_path / "mandelbrot.py"
    text = RECIPE.read_text()
    file.write_text(text)
    keep = os.environ.get("WGSL_KERNELS_KEEP_SCREENSHOTS", "")
    names = [f"{keep}/{one}.png" if keep else "" for one in ("good", "bad")]
    program = subprocess.Popen(
        [*CHECK, file, "--window"],
        env={**os.environ, "DISPLAY": display},
        stdout=subprocess.DEVNULL,
    )
    try:
        yellow, red = (253, 231, 37), (106, 10, 30)
        assert shown_on(display, lambda one: part(one, yellow) > 0.1, names[0])
        file.write_text(text.replace("return n /", "return m /"))
        assert shown_on(display, lambda one: part(one, red) > 0.05 < part(one, yellow), names[1])
        file.write_text(text)
        assert shown_on(display, lambda one: part(one, red) < 0.01 and part(one, yellow) > 0.1)
        assert program.poll() is None
    finally:
        program.terminate()
        program.wait()
