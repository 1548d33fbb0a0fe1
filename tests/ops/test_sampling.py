"""Images read at places, beyond the samples: where a place is an element, and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wgsl_kernels as wk

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
IMAGE = np.random.default_rng(1).uniform(-1, 1, (1, 7, 7, 2)).astype(np.float32)


@BACKENDS
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_a_box_of_the_whole_image_reaches_its_last_row_at_any_size(
    backend: str, method: str
) -> None:
    """Where places are a sum of steps, the last one comes to lie outside for some sizes."""
    with wk.use_backend(backend):
        for size in (2, 11, 23, 50):
            found = wk.crop_and_resize(
                IMAGE, [[0, 0, 1, 1.0]], [0], (size, size), method=method, extrapolation_value=9.0
            ).numpy()
            assert found.max() < 1
            np.testing.assert_array_equal(found[0, -1, -1], IMAGE[0, -1, -1])
        whole = wk.crop_and_resize(IMAGE, [[0, 0, 1, 1.0]], [0], (7, 7), method=method)
        np.testing.assert_array_equal(whole.numpy(), IMAGE)


@BACKENDS
def test_a_place_on_an_element_does_not_look_at_the_next(backend: str) -> None:
    image = IMAGE.copy()
    image[0, 3, 3] = np.inf
    shift = [[1.0, 0, 1, 0, 1, 0, 0, 0]]
    with wk.use_backend(backend):
        same = wk.crop_and_resize(image, [[0, 0, 1, 1.0]], [0], (7, 7)).numpy()
        moved = wk.transform(image, shift, interpolation="bilinear", fill_mode="nearest").numpy()

    np.testing.assert_array_equal(same, image)
    np.testing.assert_array_equal(moved[:, :, :-1], image[:, :, 1:])


@BACKENDS
@pytest.mark.parametrize("size", [6, 7])
def test_quarter_turns_move_every_element_to_another(backend: str, size: int) -> None:
    image = IMAGE[:, :size, :size]
    center = (size - 1) / 2 / size
    with wk.use_backend(backend):
        for turns in range(1, 5):
            found = wk.rotate_with_offset(image, turns * math.pi / 2, center=center).numpy()
            np.testing.assert_array_equal(found, np.rot90(image, turns, (1, 2)))


@BACKENDS
def test_a_transform_at_infinity_gives_the_fill_value(backend: str) -> None:
    numbers = [[1.0, 0, 0, 0, 1, 0, -1, 0]]  # divides by 0 in column 1
    with wk.use_backend(backend):
        for mode in ("constant", "reflect", "wrap", "nearest"):
            found = wk.transform(IMAGE, numbers, fill_mode=mode, fill_value=5.0).numpy()
            assert (found[:, :, 1] == 5).all()


@BACKENDS
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_coordinate_that_is_not_finite_reads_the_fill_value(backend: str, number: float) -> None:
    with wk.use_backend(backend), wk.config.using(small_ops="device"):
        for at in range(8):
            numbers = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0]], np.float32)
            numbers[0, at] = number
            for mode in ("constant", "reflect", "wrap", "nearest"):
                method = "bilinear" if at % 2 else "nearest"
                found = wk.transform(
                    IMAGE, numbers, fill_mode=mode, fill_value=5.0, interpolation=method
                )
                assert (found.numpy() == 5).all()
        box = [[0, 0, 1, number]]
        cut = wk.crop_and_resize(IMAGE, box, [0], (2, 2), extrapolation_value=5.0)
        assert (cut.numpy() == 5).all()


@BACKENDS
def test_integers_are_filled_with_integers_alone(backend: str) -> None:
    image, outside = np.arange(4).reshape(1, 2, 2, 1), [[1, 0, 9, 0, 1, 0, 0, 0]]
    with wk.use_backend(backend), wk.config.using(small_ops="device"):
        assert (wk.transform(image, outside, fill_value=2**24 + 1).numpy() == 2**24 + 1).all()
        assert wk.transform(image, outside, interpolation="bilinear", fill_value=0.5).numpy().any()
        for number in (1e20, 0.7, math.nan, -math.inf, 2**31):
            with pytest.raises(wk.ArgumentError, match="Transform: fill_value is"):
                wk.transform(image, outside, fill_value=number)
            with pytest.raises(wk.ArgumentError, match="RotateWithOffset: fill_value is"):
                wk.rotate_with_offset(image, 1.0, fill_value=number)
        with pytest.raises(wk.ArgumentError, match="center is inf; want a finite number"):
            wk.rotate_with_offset(image, 1.0, center=math.inf)


@BACKENDS
def test_a_box_of_an_image_that_is_not_there_is_reported(backend: str) -> None:
    def cropped() -> wk.Tensor:
        return wk.crop_and_resize(IMAGE, [[0, 0, 1, 1.0]], wk.tensor([0]) + 3, (2, 2))

    with wk.use_backend(backend), pytest.raises(wk.IndexOutOfRange, match="box_ind"):
        cropped().numpy()


@pytest.mark.parametrize(
    ("attrs", "words"),
    [
        ({"interpolation": "cubic"}, "interpolation is 'cubic'"),
        ({"fill_mode": "edge"}, "fill_mode is 'edge'"),
        ({"output_shape": (0, 3)}, r"output_shape is \[0, 3\]"),
    ],
)
def test_an_option_that_is_none_is_refused(attrs: dict[str, object], words: str) -> None:
    with pytest.raises(wk.ArgumentError, match=words):
        wk.transform(IMAGE, np.zeros((1, 8), np.float32), **attrs)  # type: ignore[arg-type] # wrong


def test_a_rotation_wants_a_number_for_each_channel_and_two_for_the_center() -> None:
    with pytest.raises(wk.ArgumentError, match="fill_value is"):
        wk.rotate_with_offset(IMAGE, 1.0, fill_value=[1.0])
    with pytest.raises(wk.ArgumentError, match="center is"):
        wk.rotate_with_offset(IMAGE, 1.0, center=[0.5, 0.5, 0.5])
