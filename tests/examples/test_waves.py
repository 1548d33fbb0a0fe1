"""The waves interfere behind the slits, their gradient is that of the whole run, and both draw."""

import functools
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from matplotlib.image import imread
from tests.examples.program import numbers_after, output_of
from tests.modes import ALL_MODES

BACKENDS = ["cpu", "webgpu"]
FEWER = ("--size", "96", "--steps", "250")
folder = functools.cache(lambda: Path(mkdtemp()))
IN_ALL_MODES = BACKENDS if ALL_MODES else ["cpu"]


@functools.cache
def printed_by(backend: str) -> str:
    picture = folder() / f"{backend}.png"
    return output_of("waves.py", "--backend", backend, *FEWER, "--output", picture)


def arriving(backend: str) -> np.ndarray:
    words = printed_by(backend).splitlines()[0].removeprefix("behind the wall").replace("'", "")
    return np.array(words.strip(" []").split(", "), float)


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_what_arrives_is_symmetric_and_came_through_the_slits(backend: str) -> None:
    energy = arriving(backend)

    assert energy == pytest.approx(energy[::-1], rel=1e-3)
    assert energy.min() > 1e-6
    assert energy[3:5].min() > energy[[0, -1]].max()


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_the_gradient_of_the_run_agrees_with_differences(backend: str) -> None:
    slope = float(printed_by(backend).splitlines()[1].split()[-1])

    assert numbers_after("the slope by differences", printed_by(backend)) == [
        pytest.approx(slope, rel=0.02)
    ]


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_the_picture_has_waves_on_both_sides_of_a_wall(backend: str) -> None:
    printed_by(backend)
    picture = imread(folder() / f"{backend}.png")[..., :3]
    heights = picture[40:-60, 35:295]

    assert (heights.max(axis=2) < 0.05).mean() > 0.005  # the wall is black
    red = heights[..., 0] - heights[..., 2]
    assert red.max() > 0.5
    assert red.min() < -0.3


if ALL_MODES:

    @pytest.mark.gpu
    def test_both_backends_say_the_same() -> None:
        assert arriving("webgpu") == pytest.approx(arriving("cpu"), rel=1e-3)
