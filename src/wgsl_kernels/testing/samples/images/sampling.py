"""Samples of images read at places: parts by boxes, projective transforms, rotations."""

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, absolute, exact
from wgsl_kernels.testing.sample import Bound, Sample

Shape = tuple[int, ...]
Size = tuple[int, int]

EPS = float(np.finfo(np.float32).eps)


def between(places: float | None = None) -> Bound:
    """Allow the error of weights: a few roundings of places, at most this or the image's size."""

    def error(image: Array, *others: Array) -> Array:
        del others
        most = max(image.shape) if places is None else places
        return np.asarray(2 * (12 + 8 * most) * EPS * np.max(np.abs(image), initial=1))

    return absolute(error)


def _crop(shape: Shape, boxes: int, size: Size, dtype: str = "float32", **attrs: Any) -> Sample:
    linear = attrs.get("method") != "nearest"
    wide = attrs.pop("wide", 0.0)
    return Sample(
        "CropAndResize",
        wk.crop_and_resize,
        (shape, (boxes, 4), (boxes,)),
        (dtype, "float32", "int32"),
        {"crop_size": size, **attrs},
        (-9 if dtype == "int32" else -2.0, 0.0 - wide, 0),
        (9 if dtype == "int32" else 2.0, 1.0 + wide, shape[0]),
        between() if linear else exact(),
    )


TURNED = ((0.8, -0.3, 0.61, 0.31, 0.83, 0.27, 0.013, 0.021),)
FAR = ((-1.7, 0.2, 9.33, 0.1, 1.9, -7.15, 0.0, 0.011), (2.1, -0.6, -4.4, 0.7, 0.9, 5.2, 0.01, 0.0))


def _drawn(shape: Shape, dtype: str = "float32") -> Array:
    draw = np.random.default_rng(list(shape)).uniform(-9, 9, shape)
    return draw.round().astype(np.int32) if dtype == "int32" else draw.astype(np.float32)


def _transform(
    shape: Shape, numbers: tuple[tuple[float, ...], ...], dtype: str = "float32", **attrs: Any
) -> Sample:
    linear = attrs.get("interpolation") == "bilinear"
    return Sample(
        "Transform",
        wk.transform,
        (shape, (len(numbers), 8)),
        (dtype, "float32"),
        attrs,
        bound=between(64) if linear else exact() if dtype == "float32" else None,
        values=(_drawn(shape, dtype), np.array(numbers, np.float32)),
    )


def _rotate(shape: Shape, radians: float, dtype: str = "float32", **attrs: Any) -> Sample:
    low, high = (-9, 9) if dtype == "int32" else (-2.0, 2.0)
    bound = None if dtype == "int32" else exact()
    attrs = {"radians": radians, **attrs}
    return Sample(
        "RotateWithOffset", wk.rotate_with_offset, (shape,), dtype, attrs, low, high, bound
    )


SAMPLES = [
    _crop((1, 4, 5, 2), 2, (3, 3)),
    _crop((2, 3, 4, 1), 3, (2, 5), wide=0.6, extrapolation_value=-1.5),
    _crop((1, 1, 7, 6), 1, (4, 1), wide=0.3),
    _crop((3, 4, 4, 4), 4, (3, 2), method="nearest"),
    _crop((2, 3, 6, 1), 2, (1, 4), method="nearest", wide=0.4, extrapolation_value=9.0),
    _crop((1, 3, 3, 4), 2, (4, 4), "int32"),
    _transform((2, 3, 4, 1), FAR, fill_mode="reflect"),
    _transform((1, 4, 4, 1), FAR[:1], "int32", fill_mode="wrap"),
    _transform((2, 4, 5, 1), TURNED, interpolation="bilinear", fill_value=0.5),
    _transform((1, 4, 5, 4), TURNED, interpolation="bilinear", fill_mode="reflect"),
    _transform((2, 3, 5, 1), FAR, interpolation="bilinear", fill_mode="nearest"),
    _transform(
        (1, 4, 4, 3), TURNED, interpolation="bilinear", fill_mode="wrap", output_shape=(3, 6)
    ),
    _rotate((1, 3, 4, 2), 0.7),
    _rotate((2, 4, 3, 1), 1.5707963267948966),
    _rotate((1, 5, 5, 3), -2.3, fill_value=(1.0, 2.0, 3.0)),
    _rotate((2, 2, 6, 4), 0.4, fill_value=(0.5, 1.5, 2.5), center=(0.25, 0.75)),
    _rotate((1, 7, 2, 1), 9.0, fill_value=-3.0, center=0.1),
    _rotate((1, 4, 4, 2), 0.3, "int32", fill_value=5.0),
]
