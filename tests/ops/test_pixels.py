"""Pictures: arrays, Pillow images and files as tensors, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

import wgsl_kernels as wk

if TYPE_CHECKING:
    from pathlib import Path

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 4)).astype(np.uint8)


@BACKENDS
def test_an_array_an_image_and_a_file_give_the_same_tensor(backend: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    Image.fromarray(PIXELS).save(path)

    with wk.use_backend(backend):
        for given in (PIXELS, Image.fromarray(PIXELS), path, str(path)):
            found = wk.from_pixels(given, 4)
            assert found.dtype == "int32"
            np.testing.assert_array_equal(found.numpy(), PIXELS)


@BACKENDS
def test_gray_fills_three_channels_and_what_has_no_opacity_is_opaque(backend: str) -> None:
    gray = PIXELS[..., 0]
    with wk.use_backend(backend):
        for given in (gray, gray[..., np.newaxis], Image.fromarray(gray)):
            found = wk.from_pixels(given, 4).numpy()
            np.testing.assert_array_equal(found[..., :3], np.repeat(gray[..., np.newaxis], 3, 2))
            assert (found[..., 3] == 255).all()


@BACKENDS
def test_a_drawing_comes_back_from_every_kind_of_canvas(backend: str, tmp_path: Path) -> None:
    path = tmp_path / "drawn.png"
    array, picture = np.zeros((5, 7, 3), np.uint8), Image.new("RGBA", (7, 5))
    with wk.use_backend(backend):
        image = wk.tensor(PIXELS.astype(np.float32) / 255)
        np.testing.assert_array_equal(wk.draw(image), PIXELS)
        np.testing.assert_array_equal(wk.draw(image, path), PIXELS)
        assert wk.draw(image, array) is array
        assert wk.draw(image, picture) is picture

    np.testing.assert_array_equal(array, PIXELS[..., :3])
    np.testing.assert_array_equal(np.asarray(picture), PIXELS)
    np.testing.assert_array_equal(np.asarray(Image.open(path)), PIXELS)


@BACKENDS
def test_numbers_out_of_range_are_cut_and_nan_is_black(backend: str) -> None:
    with wk.use_backend(backend):
        found = wk.draw(np.array([[np.nan, -1.0, 2.0, np.inf, 0.5 / 255, 1.5 / 255]], np.float32))

    assert found[0, :, 0].tolist() == [0, 0, 255, 255, 0, 2]


@BACKENDS
def test_of_16_bits_the_upper_ones_are_taken_and_a_drawing_fills_them(
    backend: str, tmp_path: Path
) -> None:
    wide = np.array([[0, 255, 256, 0x7FFF, 0x8000, 0xFFFF]], np.uint16)
    path = tmp_path / "wide.png"
    Image.fromarray(wide).save(path)
    canvas = Image.new("I;16", (6, 1))
    with wk.use_backend(backend):
        for given in (Image.fromarray(wide), path):
            assert wk.from_pixels(given, 1).numpy().ravel().tolist() == [0, 0, 1, 127, 128, 255]
        wk.draw(wide.astype(np.float32) / 0xFFFF, canvas)
    drawn = np.asarray(canvas)
    assert drawn[0, 0] == 0
    assert drawn[0, -1] == 0xFFFF
    assert np.abs(drawn.astype(int) - wide).max() <= 129


@BACKENDS
def test_pictures_without_pixels_are_empty(backend: str) -> None:
    with wk.use_backend(backend), wk.config.using(small_ops="device"):
        for given in (np.zeros((0, 3), np.uint8), Image.new("RGB", (3, 0))):
            assert wk.from_pixels(given, 2).shape == (0, 3, 2)
        assert wk.draw(np.zeros((0, 3), np.float32)).shape == (0, 3, 4)
        canvas = Image.new("RGB", (3, 0))
        assert wk.draw(np.zeros((0, 3), np.float32), canvas) is canvas


def test_files_that_are_no_pictures_are_refused(tmp_path: Path) -> None:
    names = ("whole.png", "cut.png", "words.png", "large.png")
    whole, damaged, words, large = (tmp_path / name for name in names)
    Image.fromarray(PIXELS).save(whole)
    damaged.write_bytes(whole.read_bytes()[:-40])
    words.write_text("no picture")
    Image.fromarray(PIXELS).save(large, format="BMP")
    content = bytearray(large.read_bytes())
    content[21] = content[25] = 1  # 16 million columns and rows: more than Pillow decodes
    large.write_bytes(content)
    for path in (damaged, words, large):
        with pytest.raises(wk.ArgumentError, match=r"FromPixels: .*png' holds no picture"):
            wk.from_pixels(path)
    with pytest.raises(wk.ArgumentError, match=r"FromPixels: .* is a folder"):
        wk.from_pixels(tmp_path)
    with pytest.raises(FileNotFoundError):
        wk.from_pixels(tmp_path / "none.png")
    with pytest.raises(wk.ArgumentError, match="want a suffix that names a format"):
        wk.draw([[0.0]], tmp_path / "drawn.words")
    with pytest.raises(wk.ShapeError, match="a file wants at least one pixel"):
        wk.draw(np.zeros((0, 3), np.float32), tmp_path / "drawn.png")


def _read_only() -> Any:
    canvas = np.zeros((1, 1, 3), np.uint8)
    canvas.setflags(write=False)
    return canvas


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: wk.from_pixels(PIXELS.astype(np.float32)), wk.DTypeError, "want uint8"),
        (lambda: wk.from_pixels(PIXELS[..., :2]), wk.ShapeError, r"pixels has shape \[5, 7, 2\]"),
        (lambda: wk.from_pixels(PIXELS, 5), wk.ArgumentError, "num_channels is 5"),
        (lambda: wk.from_pixels(3), wk.ArgumentError, "want a uint8 array, a Pillow image"),
        (lambda: wk.draw(np.zeros((2, 2, 2), np.float32)), wk.ShapeError, "one, three or four"),
        (lambda: wk.draw([[0.0]], alpha=2.0), wk.ArgumentError, "alpha is 2.0"),
        (lambda: wk.draw([[0.0]], np.zeros((1, 1, 3))), wk.DTypeError, "canvas has dtype float64"),
        (lambda: wk.draw([[0.0]], np.zeros((2, 1, 3), np.uint8)), wk.ShapeError, "canvas has"),
        (lambda: wk.draw([[0.0]], Image.new("L", (2, 2))), wk.ShapeError, "2 rows and 2 columns"),
        (lambda: wk.draw([[0.0]], 7), wk.ArgumentError, "want a uint8 array"),
        (lambda: wk.draw([[0.0]], _read_only()), wk.ArgumentError, "canvas is read-only"),
        (lambda: wk.from_pixels(Image.new("F", (1, 1))), wk.ArgumentError, "of mode 'F'"),
        (lambda: wk.from_pixels(Image.new("I", (1, 1))), wk.ArgumentError, "of mode 'I'"),
    ],
)
def test_what_is_no_picture_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
