"""Colors of images: gray from red, green and blue and back, and black and white by a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import flag, number, text
from wgsl_kernels.engine.values.dtypes import INTEGERS
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.ops.elementwise import cast, logical, unary
from wgsl_kernels.ops.indexing import counting
from wgsl_kernels.ops.reductions import extremes, scan
from wgsl_kernels.ops.reductions import reduce as reductions
from wgsl_kernels.ops.shapes import creation, ranges
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

_LUMA = (0.2989, 0.587, 0.114)
"""What red, green and blue add to gray. Source: ITU-R, Recommendation BT.601."""
_LEVELS = 256


@public(tfjs="image.grayscaleToRGB")
def grayscale_to_rgb(image: TensorLike) -> Tensor:
    """Return a gray image with the same number for red, green and blue.

    Args:
        image: [..., 1], two axes at least.

    Returns:
        [..., 3].

    Raises:
        ShapeError: The last axis is of another length.

    Example:
        >>> grayscale_to_rgb([[5], [7]]).tolist()
        [[5, 5, 5], [7, 7, 7]]
    """
    x = as_tensor(image)
    _check_channels("grayscale_to_rgb", x, 1)
    return shapes.broadcast_to(x, (*x.shape[:-1], 3))


@public(tfjs="image.rgbToGrayscale")
def rgb_to_grayscale(image: TensorLike) -> Tensor:
    """Return how bright the colors of an image are: 0.2989 red + 0.587 green + 0.114 blue.

    Args:
        image: [..., 3], two axes at least, real.

    Returns:
        [..., 1], of the dtype of ``image``; integers are cut toward zero.

    Raises:
        ShapeError: The last axis is of another length.

    Example:
        >>> rgb_to_grayscale([[100, 0, 0]]).tolist()
        [[29]]
    """
    x = as_tensor(image)
    require_dtype("rgb_to_grayscale", "image", x.spec, "float32", "int32")
    _check_channels("rgb_to_grayscale", x, 3)
    return cast.astype(_gray(x), x.dtype)


def _check_channels(name: str, image: Tensor, channels: int) -> None:
    if image.ndim < 2 or image.shape[-1] != channels:
        raise ShapeError(
            f"{name}: image has shape {show(image.shape)}; want two axes at least, the last of "
            f"length {channels}."
        )


def _gray(image: Tensor) -> Tensor:
    """Return the weighted sum of three channels, as floats."""
    whole = cast.astype(image, "float32") if image.dtype in INTEGERS else image
    return reductions.sum(whole * _LUMA, axis=-1, keepdims=True)


@public(tfjs="image.threshold")
def threshold(
    image: TensorLike, *, method: str = "binary", inverted: bool = False, thresh_value: float = 0.5
) -> Tensor:
    """Return an image in black and white: 255 where it is brighter than a threshold, else 0.

    Args:
        image: [height, width, 1 or 3], float32, int32 or uint8, from 0 to 255.
        method: ``"binary"``: the threshold is ``255 * thresh_value``; ``"otsu"``: the one that
            parts the levels of the image, 0 to 255, into two classes that differ most.
        inverted: Whether black and white change places.
        thresh_value: For ``"binary"``.

    Returns:
        int32, [height, width, 1].

    Raises:
        ShapeError: ``image`` has another shape.
        ArgumentError: There is no such method.

    Example:
        >>> threshold([[[200], [90]]]).tolist()
        [[[255], [0]]]

    Source: Otsu, A Threshold Selection Method from Gray-Level Histograms, 1979.
    """
    x = as_tensor(image)
    require_rank("threshold", "image", x.spec, 3)
    require_dtype("threshold", "image", x.spec, "float32", "int32")
    if x.shape[2] not in (1, 3):
        raise ShapeError(f"threshold: image has shape {show(x.shape)}; want one channel, or three.")
    share = number("threshold", "thresh_value", thresh_value)
    is_inverted = flag("threshold", "inverted", inverted)
    if text("threshold", "method", method) not in ("binary", "otsu"):
        raise ArgumentError(f"threshold: method is {method!r}; want 'binary' or 'otsu'.")
    gray = _gray(x) if x.shape[2] == 3 else cast.astype(x, "float32")
    level = _otsu(gray) if method == "otsu" else as_tensor(255.0 * share, "float32")
    bright = gray <= level if is_inverted else gray > level
    return cast.astype(bright, "int32") * 255


def _otsu(gray: Tensor) -> Tensor:
    """Return the last level of the darker class, or -1 where there is but one class."""
    levels = shapes.reshape(cast.astype(unary.round(gray), "int32"), (-1,))
    counts = counting.bincount(levels, creation.zeros((0,)), _LEVELS)
    numbers = ranges.arange(_LEVELS, dtype="float32")
    dark, dark_sum = (scan.cumulative_sum(one) for one in (counts, counts * numbers))
    bright, bright_sum = dark[-1] - dark, dark_sum[-1] - dark_sum
    both = logical.logical_and(dark > 0, bright > 0)
    apart = dark_sum / logical.where(both, dark, 1.0) - bright_sum / logical.where(
        both, bright, 1.0
    )
    between = logical.where(both, dark * bright * apart * apart, 0.0)
    best = cast.astype(extremes.argmax(between), "float32")
    return logical.where(reductions.any(both), best, creation.full((), -1.0, dtype="float32"))
