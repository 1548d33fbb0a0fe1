"""Sharpens a blurred, noisy photograph: what is sought is an image, trained as weights are."""

from sklearn.datasets import load_sample_image

import wgsl_kernels as wk


def decibels(image: wk.Tensor, other: wk.Tensor) -> wk.Tensor:
    """Return the ratio of peak to noise of an image in [0, 1]."""
    return -10 / wk.log(wk.tensor(10.0)) * wk.log(wk.mean_squared_error(image, other))


def main(steps: int = 115) -> None:
    """Restore the photograph, and print how much nearer it is than the blurred one."""
    photo = wk.tensor(load_sample_image("china.jpg")[:128, 200:328]).mean(-1) / 255
    bell = wk.exp(-(wk.arange(-4.0, 5.0) ** 2) / 8)
    window = wk.outer(bell, bell) / bell.sum() ** 2

    def blur(image: wk.Tensor) -> wk.Tensor:
        return wk.conv2d(image[..., None], window[..., None, None], pad="same")[..., 0]

    seen = blur(photo) + wk.random_normal(photo.shape, std_dev=0.01)
    image = wk.variable(seen)
    adam = wk.train.Adam(0.02)

    def loss() -> wk.Tensor:
        down, right = image[1:, :-1] - image[:-1, :-1], image[:-1, 1:] - image[:-1, :-1]
        variation = wk.sqrt(down**2 + right**2 + 1e-6).mean()
        return wk.mean_squared_error(seen, blur(image)) + 2e-3 * variation

    step = wk.capture(lambda: adam.minimize(loss))
    for _ in range(steps):
        step()
    print(f"blurred  decibels {decibels(photo, seen):.2f}")
    print(f"restored  decibels {decibels(photo, image):.2f}")
