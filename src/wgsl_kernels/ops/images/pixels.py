"""Pictures as tensors, and tensors as pictures: NumPy arrays, Pillow images and files.

On their way pixels are 32-bit numbers: red, green, blue and opacity, a byte each, the first lowest.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DTypeError,
    ShapeError,
)
from wgsl_kernels.engine.environment.files import naming_damage, path_of
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.elementwise import cast
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType, DTypeLike

_OPAQUE = 255
_WIDE_STEP = 257
"""Of a 16-bit number for each step of a byte: 255 of these are 65535."""


@public(tfjs="browser.draw browser.toPixels")
def draw(image: TensorLike, canvas: Any = None, *, alpha: float = 1.0) -> Any:
    """Write an image into an array, a Pillow image or a file; waits for it.

    Numbers outside of their range are cut to it, and rounded, halves to even; NaN is 0.

    Args:
        image: [height, width] or [height, width, channels], one, three or four of them: floats
            from 0 to 1, or int32 from 0 to 255.
        canvas: Where to write: a uint8 array [height, width, 3 or 4], a Pillow image of that size,
            or the path of a file, whose suffix says its format; a new array without it.
        alpha: The opacity, from 0 to 1, of images without a fourth channel.

    Returns:
        The canvas; where that is a path or left out, uint8 [height, width, 4].

    Raises:
        ShapeError: The shapes do not fit.
        ArgumentError: ``alpha`` is out of range, the canvas is none of these or cannot be written,
            or Pillow is missing.
        OSError: The file cannot be written.

    Example:
        >>> draw([[0.0, 1.0]]).tolist()
        [[[0, 0, 0, 255], [255, 255, 255, 255]]]
    """
    words = run("Draw", image, alpha=alpha).numpy()
    pixels = np.ascontiguousarray(words).view(np.uint8).reshape(*words.shape, 4)
    if canvas is None:
        return pixels
    if isinstance(canvas, np.ndarray):
        return _written(pixels, canvas)
    if isinstance(canvas, str | os.PathLike):
        _save(pixels, path_of("Draw", canvas))
        return pixels
    if not _is_picture(canvas):
        raise ArgumentError(
            f"Draw: canvas is {shown(canvas)}; want a uint8 array, a Pillow image or a path."
        )
    if canvas.size != pixels.shape[1::-1]:
        raise ShapeError(
            f"Draw: canvas is of {canvas.size[1]} rows and {canvas.size[0]} columns; want "
            f"{pixels.shape[0]} and {pixels.shape[1]}."
        )
    if pixels.size:
        canvas.paste(_picture_of(pixels, canvas.mode))
    return canvas


def _written(pixels: Array, canvas: Array) -> Array:
    if canvas.dtype != np.uint8:
        raise DTypeError(f"Draw: canvas has dtype {canvas.dtype}; want uint8.")
    if canvas.shape not in (pixels.shape, (*pixels.shape[:2], 3)):
        raise ShapeError(
            f"Draw: canvas has shape {show(canvas.shape)}; want {show(pixels.shape)}, or 3 "
            "channels."
        )
    if not canvas.flags.writeable:
        raise ArgumentError("Draw: canvas is read-only; want an array that can be written.")
    canvas[...] = pixels[..., : canvas.shape[2]]
    return canvas


def _picture_of(pixels: Array, mode: str) -> Any:
    """Return pixels as a Pillow image; what has 16 bits goes from 0 to 65535."""
    picture = _pillow("Draw").fromarray(pixels)
    if not mode.startswith("I;16"):
        return picture.convert(mode)
    gray = np.asarray(picture.convert("L")).astype(np.uint16) * _WIDE_STEP
    return _pillow("Draw").fromarray(gray).convert(mode)


def _save(pixels: Array, path: Path) -> None:
    """Write a file in the format that its suffix names.

    Raises:
        ShapeError: There are no pixels.
        ArgumentError: There is no such format.
        OSError: The file cannot be written.
    """
    pillow = _pillow("Draw")
    if not pixels.size:
        raise ShapeError(
            f"Draw: image has shape {show(pixels.shape[:2])}; a file wants at least one pixel."
        )
    if path.suffix.lower() not in pillow.registered_extensions():
        raise ArgumentError(
            f"Draw: canvas is {str(path)!r}; want a suffix that names a format, such as .png."
        )
    picture = pillow.fromarray(pixels)
    has_opacity = path.suffix.lower() not in (".jpg", ".jpeg", ".bmp", ".ppm")
    (picture if has_opacity else picture.convert("RGB")).save(path)


@signature("Draw")
def _draw_signature(image: Spec, /, *, alpha: float = 1.0) -> Spec:
    require_rank("Draw", "image", image, 2, 3)
    require_dtype("Draw", "image", image, "float32", "int32")
    if image.ndim == 3 and image.shape[2] not in (1, 3, 4):
        raise ShapeError(
            f"Draw: image has shape {show(image.shape)}; want one, three or four channels."
        )
    if not 0 <= alpha <= 1:
        raise ArgumentError(f"Draw: alpha is {alpha}; want a number in [0, 1].")
    return Spec(image.shape[:2], "int32")


def _scale(dtype: str) -> float:
    return 1.0 if dtype == "int32" else float(_OPAQUE)


@cpu_kernel("Draw")
@silent
def _draw_cpu(image: Array, *, alpha: float) -> Array:
    height, width = image.shape[:2]
    values = image if image.ndim == 3 else image[..., np.newaxis]
    wide = np.result_type(image.dtype, np.float32).type
    scaled = values if image.dtype == np.int32 else values.astype(wide) * wide(_OPAQUE)
    drawn = np.nan_to_num(np.rint(np.clip(scaled, 0, _OPAQUE)), nan=0)
    pixels = np.empty((height, width, 4), np.uint8)
    pixels[..., :3] = drawn[..., :3]  # one channel broadcasts
    pixels[..., 3] = drawn[..., 3] if values.shape[2] == 4 else np.rint(alpha * _OPAQUE)
    return pixels.view("<i4").reshape(height, width).astype(np.int32, copy=False)


@wgsl_kernel("Draw")
def _draw_webgpu(gpu: Gpu, image: GpuArray, *, alpha: float) -> GpuArray:
    y = gpu.empty(image.shape[:2], "int32")
    if y.size:
        channels = image.size // y.size
        gpu.dispatch(
            "images/pixels/draw.wesl",
            {"image": image, "y": y},
            params={
                "channels": channels,
                "scale": _scale(image.dtype),
                "alpha": alpha * _OPAQUE,
            },
        )
    return y


no_gradient("Draw", because="its pixels are whole numbers")


@public(tfjs="browser.fromPixels")
def from_pixels(pixels: Any, num_channels: int = 3, *, dtype: DTypeLike = "int32") -> Tensor:
    """Return a picture as a tensor, of whole numbers unless told.

    Args:
        pixels: A uint8 array, [height, width] or [height, width, channels], one, three or four of
            them; a Pillow image; or the path of a file. Of 16 bits the upper 8 are taken.
        num_channels: How many channels the tensor has, from 1 to 4: red, green, blue, opacity.
        dtype: The result's dtype; uint8 takes a quarter of the memory.

    Returns:
        [height, width, num_channels], from 0 to 255.

    Raises:
        DTypeError, ShapeError: An array is of another dtype or shape.
        ArgumentError: There can be no so many channels, ``pixels`` is none of these, a file holds
            no picture, an image's numbers have no range (those of Pillow's modes F and I), or
            Pillow is missing.
        OSError: The file cannot be read.

    Example:
        >>> import numpy as np
        >>> from_pixels(np.array([[[7, 8, 9]]], np.uint8), 4).tolist()
        [[[7, 8, 9, 255]]]
    """
    found = run("FromPixels", _packed(pixels), num_channels=num_channels)
    return cast.astype(found, dtype, copy=False)


def _packed(pixels: Any) -> Array:
    """Return a picture as a number for each pixel."""
    if isinstance(pixels, str | os.PathLike):
        return _read(path_of("FromPixels", pixels))
    if _is_picture(pixels):
        return _packed(_bytes_of(pixels))
    if not isinstance(pixels, np.ndarray):
        raise ArgumentError(
            f"FromPixels: pixels is {shown(pixels)}; want a uint8 array, a Pillow image or a path."
        )
    if pixels.dtype != np.uint8:
        raise DTypeError(f"FromPixels: pixels has dtype {pixels.dtype}; want uint8.")
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3, 4)):
        raise ShapeError(
            f"FromPixels: pixels has shape {show(pixels.shape)}; want [height, width], or one, "
            "three or four channels behind."
        )
    height, width = pixels.shape[:2]
    given = pixels if pixels.ndim == 3 else pixels[..., np.newaxis]
    bytes_of = np.full((height, width, 4), _OPAQUE, np.uint8)
    count = given.shape[2]
    bytes_of[..., : max(count, 3)] = given  # one channel broadcasts
    return bytes_of.view("<i4").reshape(height, width).astype(np.int32, copy=False)


def _read(path: Path) -> Array:
    """Return the picture in a file as a number for each pixel."""
    pillow = _pillow("FromPixels")
    with (
        path.open("rb") as file,
        naming_damage(f"FromPixels: {str(path)!r} holds no picture"),
        pillow.open(file) as picture,
    ):
        return _packed(_bytes_of(picture))


def _bytes_of(picture: Any) -> Array:
    """Return a Pillow image's red, green, blue and opacity; of 16 bits the upper 8."""
    if picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format == "PNG"):
        wide = np.asarray(picture).astype(np.uint16)
        return (wide >> 8).astype(np.uint8)
    if picture.mode in ("F", "I"):
        raise ArgumentError(
            f"FromPixels: pixels is an image of mode {picture.mode!r}, whose numbers have no "
            "range; want bytes. Scale them to 0 to 255 and give a uint8 array."
        )
    return np.asarray(picture.convert("RGBA"))


def _is_picture(value: Any) -> bool:
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(value, pillow.Image)


def _pillow(kernel: str) -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise ArgumentError(
            f'{kernel}: files need Pillow; pip install "wgsl-kernels[images]".'
        ) from None
    return Image


@signature("FromPixels")
def _from_pixels_signature(pixels: Spec, /, *, num_channels: int = 3) -> Spec:
    require_rank("FromPixels", "pixels", pixels, 2)
    require_dtype("FromPixels", "pixels", pixels, "int32")
    if not 1 <= num_channels <= 4:
        raise ArgumentError(f"FromPixels: num_channels is {num_channels}; want 1 to 4.")
    return pixels.like(shape=(*pixels.shape, num_channels))


@cpu_kernel("FromPixels")
def _from_pixels_cpu(pixels: Array, *, num_channels: int) -> Array:
    words = np.ascontiguousarray(pixels, "<i4")
    return words.view(np.uint8).reshape(*pixels.shape, 4)[..., :num_channels].astype(np.int32)


@wgsl_kernel("FromPixels")
def _from_pixels_webgpu(gpu: Gpu, pixels: GpuArray, *, num_channels: int) -> GpuArray:
    dtype: DType = "int32"
    y = gpu.empty((*pixels.shape, num_channels), dtype)
    if y.size:
        gpu.dispatch(
            "images/pixels/from_pixels.wgsl",
            {"pixels": pixels, "y": y},
            params={"num_channels": num_channels},
        )
    return y


no_gradient("FromPixels", because="its pixels are whole numbers")
