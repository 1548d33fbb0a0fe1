"""A deconvolution of your own learns to double a photograph's size; draws what it learned."""

import argparse
import math
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_sample_image

import wgsl_kernels as wk

STRIDE = 2
CROP = (slice(150, 310), slice(200, 440))  # of the photograph: height and width divide by STRIDE


def deconvolution(x: wk.Tensor, filter: wk.Tensor, *, stride: int) -> wk.Tensor:
    """Return the transposed convolution of ``x`` with ``filter``.

    Every pixel of ``x`` paints the filter, weighted by its channels, ``stride`` pixels further on.

    Args:
        x: [batch, height, width, channels in].
        filter: [rows, columns, channels in, channels out].
        stride: How many pixels of the result one pixel of ``x`` stands for, along each side.

    Returns:
        [batch, (height - 1) · stride + rows, (width - 1) · stride + columns, channels out].
    """
    inputs = {"x": x, "filter": filter}
    return wk.engine().run_kernel("Deconvolution", inputs, {"stride": stride})


@wk.signature("Deconvolution")
def _signature(x: wk.Spec, filter: wk.Spec, /, *, stride: int) -> wk.Spec:
    if len(x.shape) != 4 or len(filter.shape) != 4 or x.shape[3] != filter.shape[2]:
        raise wk.ShapeError(
            f"Deconvolution: x has shape {x.shape}, filter {filter.shape}; want "
            "[batch, height, width, channels] and [rows, columns, channels, channels out]."
        )
    batch, height, width, _ = x.shape
    rows, columns, _, channels = filter.shape
    sizes = ((height - 1) * stride + rows, (width - 1) * stride + columns)
    return x.like(shape=(batch, *sizes, channels))


@wk.cpu_kernel("Deconvolution")
def _cpu(x: np.ndarray, filter: np.ndarray, *, stride: int) -> np.ndarray:
    batch, height, width, _ = x.shape
    rows, columns, _, channels = filter.shape
    sizes = ((height - 1) * stride + rows, (width - 1) * stride + columns)
    y = np.zeros((batch, *sizes, channels), x.dtype)
    for row, column in np.ndindex(rows, columns):
        _under(y, row, column, stride, x.shape)[...] += x @ filter[row, column]
    return y


wk.wgsl_kernel("Deconvolution", "deconvolution.wgsl")


@wk.gradient("Deconvolution")
def _grad(
    dy: wk.Tensor, x: wk.Tensor, filter: wk.Tensor, stride: int
) -> tuple[wk.Tensor, wk.Tensor]:
    return _input_grad(dy, filter, stride), _filter_grad(x, dy, filter.shape, stride)


# The gradient for x is a kernel of its own, with a gradient of its own.


def _input_grad(dy: wk.Tensor, filter: wk.Tensor, stride: int) -> wk.Tensor:
    inputs = {"dy": dy, "filter": filter}
    return wk.engine().run_kernel("DeconvolutionInputGrad", inputs, {"stride": stride})


@wk.signature("DeconvolutionInputGrad")
def _input_grad_signature(dy: wk.Spec, filter: wk.Spec, /, *, stride: int) -> wk.Spec:
    batch, height, width, _ = dy.shape
    rows, columns, channels, _ = filter.shape
    sizes = ((height - rows) // stride + 1, (width - columns) // stride + 1)
    return dy.like(shape=(batch, *sizes, channels))


@wk.cpu_kernel("DeconvolutionInputGrad")
def _input_grad_cpu(dy: np.ndarray, filter: np.ndarray, *, stride: int) -> np.ndarray:
    batch, height, width, _ = dy.shape
    rows, columns, channels, _ = filter.shape
    sizes = ((height - rows) // stride + 1, (width - columns) // stride + 1)
    y = np.zeros((batch, *sizes, channels), dy.dtype)
    for row, column in np.ndindex(rows, columns):
        y += _under(dy, row, column, stride, y.shape) @ filter[row, column].T
    return y


wk.wgsl_kernel("DeconvolutionInputGrad", "deconvolution_input_grad.wgsl")


@wk.gradient("DeconvolutionInputGrad")
def _input_grad_grad(
    dx: wk.Tensor, dy: wk.Tensor, filter: wk.Tensor, stride: int
) -> tuple[wk.Tensor, wk.Tensor]:
    return deconvolution(dx, filter, stride=stride), _filter_grad(dx, dy, filter.shape, stride)


# And so is that for the filter.


def _filter_grad(x: wk.Tensor, dy: wk.Tensor, shape: tuple[int, ...], stride: int) -> wk.Tensor:
    attrs = {"rows": shape[0], "columns": shape[1], "stride": stride}
    return wk.engine().run_kernel("DeconvolutionFilterGrad", {"x": x, "dy": dy}, attrs)


@wk.signature("DeconvolutionFilterGrad")
def _filter_grad_signature(
    x: wk.Spec, dy: wk.Spec, /, *, rows: int, columns: int, stride: int
) -> wk.Spec:
    return x.like(shape=(rows, columns, x.shape[3], dy.shape[3]))


@wk.cpu_kernel("DeconvolutionFilterGrad")
def _filter_grad_cpu(
    x: np.ndarray, dy: np.ndarray, *, rows: int, columns: int, stride: int
) -> np.ndarray:
    y = np.empty((rows, columns, x.shape[3], dy.shape[3]), x.dtype)
    for row, column in np.ndindex(rows, columns):
        y[row, column] = np.einsum("bijn,bijo->no", x, _under(dy, row, column, stride, x.shape))
    return y


wk.wgsl_kernel(
    "DeconvolutionFilterGrad",
    "deconvolution_filter_grad.wgsl",
    groups=lambda y_shape: (math.prod(y_shape),),
)


@wk.gradient("DeconvolutionFilterGrad")
def _filter_grad_grad(
    dfilter: wk.Tensor, x: wk.Tensor, dy: wk.Tensor, stride: int
) -> tuple[wk.Tensor, wk.Tensor]:
    return _input_grad(dy, dfilter, stride), deconvolution(x, dfilter, stride=stride)


def _under(
    y: np.ndarray, row: int, column: int, stride: int, x_shape: tuple[int, ...]
) -> np.ndarray:
    """Return the view of ``y`` that one tap of the filter touches, an element per pixel of x."""
    _, height, width, _ = x_shape
    return y[:, row:, column:][:, : height * stride : stride, : width * stride : stride]


def by_two(x: wk.Tensor, filter: wk.Tensor) -> wk.Tensor:
    """Return the deconvolution with stride 2."""
    return deconvolution(x, filter, stride=2)


def squared_slopes(x: wk.Tensor, filter: wk.Tensor) -> wk.Tensor:
    """Return a number that depends on both gradients, so that these are differentiated in turn."""
    dx, dfilter = wk.grads(lambda x, filter: wk.square(by_two(x, filter)))(x, filter)
    return wk.sum(wk.square(dx)) + wk.sum(wk.square(dfilter))


def check() -> None:
    """Compare the op with numbers: one worked by hand, and its gradient with differences."""
    x = wk.reshape(wk.tensor([1.0, 2.0, 3.0, 4.0]), (1, 2, 2, 1))
    wide = by_two(x, wk.ones((3, 3, 1, 1)))
    print(wide.numpy()[0, :, :, 0])
    draw = np.random.default_rng(0).normal
    near = [0.3 * draw(size=(2, 3, 2, 2)), 0.3 * draw(size=(3, 4, 2, 3))]
    error = wk.testing.compute_gradient_error
    print(f"gradient error {error(by_two, near):.2g}")
    print(f"error of the gradient's gradient {error(squared_slopes, near):.2g}")


def learn(small: np.ndarray, large: np.ndarray, steps: int) -> tuple[np.ndarray, list[float]]:
    """Return the enlarged picture before and after learning the filter, and the loss per step."""
    x, target = wk.tensor(small[None]), wk.tensor(large[None])
    ramp = np.outer([0, 1, 3, 3, 1, 0], [0, 1, 3, 3, 1, 0]) / 16.0  # interpolates linearly
    filter = wk.variable(ramp[:, :, None, None] * np.eye(3), name="filter")
    adam = wk.train.Adam(0.003)

    def enlarged() -> wk.Tensor:
        return deconvolution(x, filter, stride=STRIDE)[:, 2:-2, 2:-2, :]

    first = enlarged().numpy()[0]
    losses = []
    for _ in range(steps):
        loss = adam.minimize(lambda: wk.mean(wk.square(enlarged() - target)))
        losses.append(loss)
    return np.stack([first, enlarged().numpy()[0]]), [one.item() for one in losses]


def decibels(picture: np.ndarray, truth: np.ndarray) -> float:
    """Return the peak signal-to-noise ratio of pictures with values in [0, 1]."""
    return -10.0 * math.log10(float(np.mean(np.square(picture - truth))))


def draw(path: Path, titled: dict[str, np.ndarray], losses: list[float]) -> None:
    """Write the pictures side by side, and the losses below, to ``path``."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(9.6, 3.4), layout="constrained")
    panels = figure.subplot_mosaic([[*titled], ["loss"] * len(titled)], height_ratios=(2, 1))
    for title, picture in titled.items():
        panels[title].imshow(np.clip(picture, 0.0, 1.0), interpolation="nearest")
        panels[title].set_title(title, fontsize=9)
        panels[title].axis("off")
    panels["loss"].semilogy(losses)
    panels["loss"].set_xlabel("step")
    panels["loss"].set_ylabel("squared error", fontsize=9)
    figure.savefig(path, dpi=100)


def main(steps: int, output: Path) -> None:
    """Check the op, teach it to enlarge a photograph, and draw it."""
    check()
    large = (load_sample_image("flower.jpg")[CROP] / 255.0).astype(np.float32)
    height, width, channels = large.shape
    blocks = large.reshape(height // STRIDE, STRIDE, width // STRIDE, STRIDE, channels)
    small = blocks.mean(axis=(1, 3))
    (first, last), losses = learn(small, large, steps)
    blurred, sharp = decibels(first, large), decibels(last, large)
    print(f"interpolated {blurred:.3f} dB, learned {sharp:.3f} dB")
    zoom = (slice(30, 110), slice(80, 200))
    titled = {
        "half size": small[15:55, 40:100],
        f"interpolated, {blurred:.1f} dB": first[zoom],
        f"learned, {sharp:.1f} dB": last[zoom],
        "photograph": large[zoom],
    }
    draw(output, titled, losses)
    print(f"wrote {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "webgpu"), default=wk.get_backend())
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--output", type=Path, default=Path("deconvolution.png"))
    given = parser.parse_args()
    wk.set_backend(given.backend)
    main(given.steps, given.output)
