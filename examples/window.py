"""Reaction and diffusion, a kernel of your own, stepped every frame and shown in a window.

Two substances spread and react; where the rates are right they grow into a pattern like coral.
Press b to change the backend, space to begin again, q to leave.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import wgsl_kernels as wk

PALETTE = np.array([[8, 24, 58], [22, 104, 130], [240, 230, 190], [214, 84, 44]])


def react(x: wk.Tensor, *, feed: float = 0.055, kill: float = 0.062) -> wk.Tensor:
    """Return the two concentrations one step later.

    Args:
        x: [height, width, 2]; the edges meet, as on a torus.
        feed: How fast the first substance is supplied.
        kill: How fast the second one decays, beyond ``feed``.

    Source: Pearson, Complex Patterns in a Simple System, 1993 (the model of Gray and Scott).
    """
    return wk.engine().run_kernel("GrayScott", {"x": x}, {"feed": feed, "kill": kill})


@wk.signature("GrayScott")
def _react_signature(x: wk.Spec, /, *, feed: float, kill: float) -> wk.Spec:
    if len(x.shape) != 3 or x.shape[2] != 2:
        raise wk.ShapeError(f"GrayScott: x has shape {x.shape}; want [height, width, 2].")
    return x.like()


@wk.cpu_kernel("GrayScott")
def _react_cpu(x: np.ndarray, *, feed: float, kill: float) -> np.ndarray:
    rows = np.roll(x, 1, 0) + np.roll(x, -1, 0)
    sides = rows + np.roll(x, 1, 1) + np.roll(x, -1, 1)
    corners = np.roll(rows, 1, 1) + np.roll(rows, -1, 1)
    spread = 0.2 * sides + 0.05 * corners - x
    u, v = x[..., 0], x[..., 1]
    reaction = u * v * v
    y = np.empty_like(x)
    y[..., 0] = u + spread[..., 0] - reaction + feed * (1.0 - u)
    y[..., 1] = v + 0.5 * spread[..., 1] + reaction - (feed + kill) * v
    return y


SHADER = """
const GROUP = 64u;

struct Params { x_shape: vec3<u32>, x_size: u32, feed: f32, kill: f32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

fn cell(row: u32, column: u32) -> vec2<f32> {
  let i = 2u * (row % params.x_shape[0] * params.x_shape[1] + column % params.x_shape[1]);
  return vec2(x[i], x[i + 1u]);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (2u * i >= params.x_size) {
    return;
  }
  let row = i / params.x_shape[1];
  let column = i % params.x_shape[1];
  let up = row + params.x_shape[0] - 1u; // wraps round in cell
  let left = column + params.x_shape[1] - 1u;
  let here = cell(row, column);
  let sides = cell(up, column) + cell(row + 1u, column) + cell(row, left) + cell(row, column + 1u);
  let corners = cell(up, left) + cell(up, column + 1u) + cell(row + 1u, left)
    + cell(row + 1u, column + 1u);
  let spread = 0.2 * sides + 0.05 * corners - here;
  let reaction = here.x * here.y * here.y;
  y[2u * i] = here.x + spread.x - reaction + params.feed * (1.0 - here.x);
  y[2u * i + 1u] = here.y + 0.5 * spread.y + reaction - (params.feed + params.kill) * here.y;
}
"""
wk.wgsl_kernel("GrayScott", SHADER)


def seeded(size: int) -> wk.Tensor:
    """Return a square full of the first substance, with drops of the second."""
    state = np.tile(np.array([1.0, 0.0], np.float32), (size, size, 1))
    for row, column in np.random.default_rng(5).integers(0, size - 12, (size // 10, 2)):
        state[row : row + 12, column : column + 12] = (0.5, 0.25)
    return wk.tensor(state)


def painted(state: wk.Tensor) -> np.ndarray:
    """Return the second substance's concentration as colours, [height, width, 4] uint8."""
    level = np.clip(state.numpy()[..., 1] * 2.5, 0.0, 1.0) * (len(PALETTE) - 1)
    stops = np.arange(len(PALETTE))
    channels = [np.interp(level, stops, PALETTE[:, channel]) for channel in range(3)]
    return np.stack([*channels, np.full(level.shape, 255.0)], axis=-1).astype(np.uint8)


class Show:
    """The window: what it shows, on which backend, and how many frames it has drawn."""

    def __init__(self, size: int, steps: int, frames: int | None) -> None:
        from rendercanvas.glfw import RenderCanvas

        self.size, self.steps, self.frames = size, steps, frames
        self.drawn = 0
        self.state = seeded(size)
        self.picture = painted(self.state)
        self.canvas = RenderCanvas(
            size=(2 * size, 2 * size), title="wgsl-kernels", update_mode="continuous", max_fps=60
        )
        self.bitmap = self.canvas.get_bitmap_context()
        self.canvas.add_event_handler(self.press, "key_down")
        self.canvas.request_draw(self.draw)
        self.since = time.perf_counter()

    def draw(self) -> None:
        """Go on by some steps and show where that leads."""
        for _ in range(self.steps):
            self.state = react(self.state)
        self.picture = painted(self.state)
        self.bitmap.set_bitmap(self.picture)
        self.drawn += 1
        if self.drawn % 30 == 0:
            now = time.perf_counter()
            self.canvas.set_title(f"{wk.get_backend()}: {30 / (now - self.since):.0f} frames/s")
            self.since = now
        if self.frames is not None and self.drawn >= self.frames:
            self.canvas.close()

    def press(self, event: dict[str, str]) -> None:
        """Change the backend, begin again, or leave."""
        if event["key"] == "b":
            wk.set_backend("cpu" if wk.get_backend() == "webgpu" else "webgpu")
        elif event["key"] == " ":
            self.state = seeded(self.size)
        elif event["key"] == "q":
            self.canvas.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "webgpu"), default="webgpu")
    parser.add_argument("--size", type=int, default=256, help="cells along a side")
    parser.add_argument("--steps", type=int, default=16, help="steps between two frames")
    parser.add_argument("--frames", type=int, help="frames after which the window closes")
    parser.add_argument("--screenshot", type=Path, help="where the last frame is written")
    given = parser.parse_args()
    wk.set_backend(given.backend)

    from rendercanvas.glfw import loop

    show = Show(given.size, given.steps, given.frames)
    loop.run()
    print(f"{show.drawn} frames of {given.steps} steps on {wk.get_backend()}")
    if given.screenshot is not None:
        from matplotlib.image import imsave

        imsave(given.screenshot, show.picture)
        print(f"wrote {given.screenshot}")
