"""Where the package's shaders were before they went beside their ops: those paths are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.modules.packages import is_there
from wgsl_kernels.engine.environment.origin import warn_user

if TYPE_CHECKING:
    from pathlib import Path

_FOLDERS = {
    "activation": ("elementwise/activation",),
    "binary": (
        "elementwise/binary",
        "elementwise/bitwise",
        "elementwise/differences",
        "elementwise/float_pairs",
        "elementwise/trigonometry",
    ),
    "cast": ("elementwise/cast",),
    "compare": ("elementwise/compare",),
    "complex": ("elementwise/complex",),
    "conv": ("convolution/depthwise_launch",),
    "copy": ("lowering",),
    "count": ("indexing/counting",),
    "creation": ("lowering", "shapes/creation", "shapes/ranges"),
    "fft": ("signal/spectral",),
    "gather": ("indexing/gather", "indexing/places"),
    "image": ("images/box_choice", "images/pixels", "images/resampling", "images/sampling"),
    "joining": ("lowering", "shapes/joining", "shapes/moving"),
    "logical": ("elementwise/logical",),
    "matrix": ("linear_algebra/diagonals", "lowering"),
    "normalization": (
        "normalization/local_response",
        "normalization/normalization",
        "reductions/statistics",
    ),
    "pool": (
        "convolution/dilation",
        "pooling/pool_dispatch",
        "pooling/pool_places",
        "pooling/poolings",
    ),
    "random": ("random/multinomial", "random/random"),
    "reduce": ("reductions/extremes", "reductions/reduce"),
    "scan": ("reductions/scan",),
    "scatter": ("indexing/updates",),
    "segment": ("indexing/segment",),
    "softmax": ("reductions/softmax",),
    "sort": ("indexing/ordered", "indexing/pairs", "indexing/sort"),
    "sparse": (
        "indexing/ragged_dense",
        "indexing/ragged_range",
        "indexing/sparse",
        "indexing/sparse_segments",
    ),
    "unary": (
        "elementwise/bitwise",
        "elementwise/classify",
        "elementwise/exponential",
        "elementwise/hyperbolic",
        "elementwise/logarithms",
        "elementwise/trigonometry",
        "elementwise/unary",
    ),
}
"""Each former folder, and the present ones of its files, which kept their names."""


def present_path(folder: Path, given: str) -> Path | None:
    """Return where in the package's ``folder`` a shader is now that was at the path ``given``.

    It warns that the path is an old one. None: no shader was there.
    """
    former, _, name = given.partition("/")
    for one in _FOLDERS.get(former, ()):
        found = folder / one / name
        if name and is_there(found):
            warn_user(
                f"shader {given!r} of wgsl_kernels is {f'{one}/{name}'!r} now; write that.",
                DeprecationWarning,
            )
            return found
    return None
