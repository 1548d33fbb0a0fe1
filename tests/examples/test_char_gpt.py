"""The transformer learns the text on either backend, writes in its letters, and draws."""

import functools
from pathlib import Path
from tempfile import mkdtemp

import pytest
from matplotlib.image import imread
from tests.examples.program import EXAMPLES, numbers_after, output_of
from tests.modes import ALL_MODES

IN_ALL_MODES = ["cpu", "webgpu"] if ALL_MODES else ["cpu"]
FEWER = ("--steps", "50", "--batch", "4", "--length", "20")
folder = functools.cache(lambda: Path(mkdtemp()))


@functools.cache
def printed_by(backend: str) -> str:
    picture = folder() / f"{backend}.png"
    return output_of("char_gpt.py", "--backend", backend, *FEWER, "--output", picture)


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_the_loss_falls_below_that_of_a_guess_by_frequency(backend: str) -> None:
    losses = [numbers_after(f"step {step:4}  loss", printed_by(backend)) for step in (25, 50)]

    assert losses[1] < losses[0]
    assert losses[1][0] < 3.0  # the letters' own entropy


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_it_goes_on_from_the_prompt_in_the_letters_of_the_text(backend: str) -> None:
    line = next(one for one in printed_by(backend).splitlines() if one.startswith("wrote: "))
    written = line.removeprefix("wrote: ")
    letters = set((EXAMPLES.parent / "LICENSE").read_text(encoding="utf-8"))

    assert written.startswith("subject to the")
    assert len(written) == len("subject to the") + 20
    assert set(written) <= letters


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_no_letter_looks_at_those_after_it(backend: str) -> None:
    printed_by(backend)
    picture = imread(folder() / f"{backend}.png")[..., :3]
    dark = picture.max(axis=2) < 0.05

    assert 0.01 < dark.mean() < 0.3  # above the diagonals of the heads


if ALL_MODES:

    @pytest.mark.gpu
    def test_both_backends_learn_alike() -> None:
        losses = [
            numbers_after("step   25  loss", printed_by(backend)) for backend in ("cpu", "webgpu")
        ]

        assert losses[1] == pytest.approx(losses[0], rel=1e-3)
