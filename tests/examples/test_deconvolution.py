"""The deconvolution agrees with numbers, learns to enlarge a photograph, and draws it."""

import functools
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from matplotlib.image import imread
from tests.examples.program import numbers_after, output_of

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
folder = functools.cache(lambda: Path(mkdtemp()))


@functools.cache
def printed_by(backend: str) -> str:
    picture = folder() / f"{backend}.png"
    arguments = ("--backend", backend, "--steps", "40", "--output", picture)
    return output_of("deconvolution/run.py", *arguments)


@BACKENDS
def test_each_pixel_paints_the_filter_two_further_on(backend: str) -> None:
    rows = [line.strip(" []").split() for line in printed_by(backend).splitlines()[:5]]

    x, want = np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((5, 5))
    for (row, column), value in np.ndenumerate(x):
        want[2 * row : 2 * row + 3, 2 * column : 2 * column + 3] += value
    assert np.array(rows, float).tolist() == want.tolist()


@BACKENDS
def test_its_gradients_agree_with_differences(backend: str) -> None:
    printed = printed_by(backend)

    assert numbers_after("gradient error", printed)[0] < 1e-4
    assert numbers_after("error of the gradient's gradient", printed)[0] < 1e-3


@BACKENDS
def test_the_learned_filter_restores_more_than_interpolation(backend: str) -> None:
    line = next(line for line in printed_by(backend).splitlines() if "interpolated" in line)
    interpolated, learned = (float(word) for word in line.split() if word[0].isdigit())

    assert interpolated > 24.0
    assert learned > interpolated + 0.5  # 1.3 after the 100 steps of the example itself


@BACKENDS
def test_the_picture_shows_four_panels_of_one_flower(backend: str) -> None:
    printed_by(backend)
    picture = imread(folder() / f"{backend}.png")[..., :3]

    panels = np.array_split(picture[40 : len(picture) // 2], 4, axis=1)
    colors = np.array([panel[panel.min(axis=2) < 0.95].mean(axis=0) for panel in panels])
    assert np.all(colors[:, 0] > colors[:, 2] + 0.3)  # an orange flower
    assert np.ptp(colors, axis=0).max() < 0.12  # much the same in each
    assert all(panel.std() > 0.15 for panel in panels)


@pytest.mark.gpu
def test_both_backends_draw_the_same_picture() -> None:
    for backend in ("cpu", "webgpu"):
        printed_by(backend)
    pictures = [imread(folder() / f"{backend}.png") for backend in ("cpu", "webgpu")]

    assert np.abs(pictures[0] - pictures[1]).mean() < 1e-3
