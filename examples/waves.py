"""A wave meets a wall with two slits: physics as ops on a grid, and its gradient.

The wave equation, stepped in time, as one captured function; behind the wall the waves of both
slits add up and cancel. Then the gradient asks where the source must be moved so that the signal
at one place becomes stronger, which is the derivative of the whole simulation.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import wgsl_kernels as wk

WALL, SLITS, WIDTH = 0.4, (0.38, 0.62), 0.06  # parts of the grid's length
WAVELENGTH = 0.05  # the same
COURANT = 0.5  # cells that a wave passes in a step; stable below 2**-0.5


def medium(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where waves pass, 0 or 1, and how much of them a step leaves: less at the edges."""
    place = (np.arange(size) + 0.5) / size
    passes = np.ones((size, size), np.float32)
    open_rows = np.any([np.abs(place - slit) < WIDTH / 2 for slit in SLITS], axis=0)
    wall = np.abs(place - WALL) < 0.01
    passes[np.ix_(~open_rows, wall)] = 0.0
    depth = np.clip(0.08 - np.minimum(place, 1.0 - place), 0.0, None) / 0.08
    damping = 1.0 - 0.15 * np.maximum(depth[:, None], depth[None, :]) ** 2
    return passes, damping.astype(np.float32)


def laplacian(u: wk.Tensor) -> wk.Tensor:
    """Return the second differences of u along both axes, with 0 beyond the edges."""
    wide = wk.pad(u, ((1, 1), (1, 1)))
    return wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:] - 4.0 * u


class Tank:
    """A square of water with a wall in it, and the step of its waves."""

    def __init__(self, size: int) -> None:
        passes, damping = medium(size)
        self.size = size
        self.passes, self.damping = wk.tensor(passes), wk.tensor(damping)
        self.column = wk.tensor((np.arange(size, dtype=np.float32) + 0.5) / size)

    def source(self, row: wk.Tensor) -> wk.Tensor:
        """Return the shape of the source: a short bar on the left, centred at ``row``."""
        across = wk.exp(-(((self.column - row) / 0.1) ** 2.0))
        along = wk.exp(-(((self.column - 0.15) / 0.01) ** 2.0))
        return across.reshape(-1, 1) * along

    def step(self, u: wk.Tensor, before: wk.Tensor, push: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
        """Return the heights one step later, and those now."""
        after = u + (u - before) * self.damping + COURANT**2 * laplacian(u) + push
        return after * self.passes, u

    def run(
        self, row: wk.Tensor, steps: int, step: Callable[..., tuple[wk.Tensor, wk.Tensor]]
    ) -> tuple[wk.Tensor, wk.Tensor]:
        """Return the heights after ``steps`` steps, and the mean square of all heights so far."""
        u = before = energy = wk.zeros((self.size, self.size))
        shape = self.source(row) * 0.1
        for number in range(steps):
            phase = 2.0 * np.pi * number * COURANT / (WAVELENGTH * self.size)
            u, before = step(u, before, shape * float(np.sin(phase)))
            energy = energy + u * u / steps
        return u, energy


def draw(path: Path, u: np.ndarray, energy: np.ndarray, passes: np.ndarray) -> None:
    """Draw the waves, their mean energy, and that energy along the far side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    half = len(u) // 2
    top = 2.0 * np.quantile(np.abs(u[:, half:]), 0.99)  # what is behind the wall is seen
    left.imshow(np.where(passes > 0, u, np.nan), cmap="RdBu", vmin=-top, vmax=top)
    left.set_title("heights")
    shown = np.sqrt(energy)
    middle.imshow(shown, cmap="magma", vmax=1.5 * shown[:, half:].max())
    middle.set_title("mean amplitude")
    for panel in (left, middle):
        panel.set_facecolor("black")
        panel.set(xticks=[], yticks=[])
    right.plot(shown[:, int(0.9 * len(shown))], np.arange(len(shown)), color="tab:orange")
    right.invert_yaxis()
    right.set(title="behind the wall", yticks=[], xlabel="amplitude")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run the waves, print what arrives, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "webgpu"), default=wk.get_backend())
    parser.add_argument("--size", type=int, default=256, help="cells along a side")
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--output", type=Path, help="where the picture is written")
    given = parser.parse_args()
    wk.set_backend(given.backend)

    tank = Tank(given.size)
    u, energy = tank.run(wk.tensor(0.5), given.steps, wk.capture(tank.step))
    far = energy[:, int(0.9 * given.size)]
    print("behind the wall", [f"{part.mean().item():.3e}" for part in wk.split(far, 8)])

    small = Tank(32)

    def signal(row: wk.Tensor) -> wk.Tensor:
        return small.run(row, 50, small.step)[1][10, 20]

    value, slope = wk.value_and_grad(signal)(wk.tensor(0.45))
    print(f"signal {value.item():.4e}  its slope by the source's row {slope.item():.4e}")
    moved = [signal(wk.tensor(0.45 + way)).item() for way in (-0.01, 0.01)]
    print(f"the slope by differences {(moved[1] - moved[0]) / 0.02:.4e}")
    if given.output is not None:
        draw(given.output, u.numpy(), energy.numpy(), tank.passes.numpy())
        print(f"wrote {given.output}")


if __name__ == "__main__":
    main()
