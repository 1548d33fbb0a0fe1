"""Reaction and diffusion on a web page: a kernel of your own, and a state that the page keeps.

The kernel, and what it begins from, are those of window.py. Here sixteen steps are a program for a
browser, which goes on from where the last run ended; drops of the second substance come from the
pointer.
"""

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

import wgsl_kernels as wk
from window import react, seeded

PAGE = Path(__file__).with_suffix(".html")
DROP = np.zeros(3, np.float32)


def growing(size: int, steps: int) -> Callable[[wk.Tensor], dict[str, wk.Tensor]]:
    """Return a function that lets a square of ``size`` cells grow by some steps."""
    state = wk.variable(seeded(size), name="state")
    cells = wk.arange(size, dtype="float32")
    poured = wk.tensor([0.5, 0.25])

    def grow(drop: wk.Tensor) -> dict[str, wk.Tensor]:
        """Return the second substance, after a drop: its row, column and radius in cells."""
        away = wk.square(cells[:, None] - drop[0]) + wk.square(cells - drop[1])
        now = wk.where((away < wk.square(drop[2]))[..., None], poured, state)
        for _ in range(steps):
            now = react(now)
        state.assign(now)
        return {"second": now[..., 1]}

    return grow


def main() -> None:
    """Write the page, and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "webgpu"), default=wk.get_backend())
    parser.add_argument("--size", type=int, default=256, help="cells along a side")
    parser.add_argument("--steps", type=int, default=16, help="steps between two frames")
    parser.add_argument("--output", type=Path, default=Path("build/demo-web/coral"))
    given = parser.parse_args()
    wk.set_backend(given.backend)
    grow = growing(given.size, given.steps)
    wk.web.export(grow, given.output / "program", {"drop": DROP})
    shutil.copy(PAGE, given.output / "index.html")
    print(f"page: {given.output / 'index.html'}")


if __name__ == "__main__":
    main()
