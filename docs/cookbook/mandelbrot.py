"""The Mandelbrot set as an image: a map over no tensor, which is given the element's index."""

import numpy as np

import wgsl_kernels as wk


def mandelbrot(*, size, rounds=50):
    """Return for each point which part of the rounds it stays in the circle: [height, width]."""
    return wk.engine().run_kernel("Mandelbrot", {}, {"size": size, "rounds": rounds})


wk.signature("Mandelbrot")(lambda *, size, rounds: wk.Spec(size, "float32"))


@wk.cpu_kernel("Mandelbrot")
def _cpu(*, size, rounds):
    y, x = np.mgrid[: size[0], : size[1]] / np.reshape(size, (2, 1, 1))
    c = z = 3 * x - 2.2 + 1j * (2.5 * y - 1.25)
    count = np.ones(c.shape, np.float32)
    for _ in range(rounds - 1):
        count += np.abs(z) < 2
        z = np.where(np.abs(z) < 2, z * z + c, z)
    return count / np.float32(rounds)


SHADER = """struct Attrs { size: vec2<u32>, rounds: f32 }
fn op(i: u32) -> f32 {
  let at = vec2(f32(i % attrs.size.y), f32(i / attrs.size.y)) / vec2<f32>(attrs.size.yx);
  let c = at * vec2(3.0, 2.5) - vec2(2.2, 1.25);
  var n = 1.0;
  for (var z = c; n < attrs.rounds && dot(z, z) < 4.0; n += 1.0) {
    z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
  }
  return n / attrs.rounds;
}
"""
wk.wgsl_kernel("Mandelbrot", SHADER)
S = wk.testing.Sample("Mandelbrot", mandelbrot, (), attrs={"size": (17, 19), "rounds": 12})
wk.testing.add_samples("Mandelbrot", S)
