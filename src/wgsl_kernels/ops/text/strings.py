"""Ops on strings, which live on the cpu backend only."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.engine.execution.run import run_many
from wgsl_kernels.engine.registry.gradients import no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public()
class SplitStrings(NamedTuple):
    """Pieces of strings as a sparse matrix: places [n, 2], pieces [n], and its shape [2]."""

    indices: Tensor
    values: Tensor
    shape: Tensor


@public(tfjs="string.stringSplit")
def string_split(
    input: TensorLike,
    delimiter: TensorLike = " ",
    *,
    skip_empty: bool = True,
) -> SplitStrings:
    """Return the pieces of each string, as a sparse matrix with a row per string.

    Args:
        input: Strings, [rows].
        delimiter: One string of which every byte (in UTF-8) separates; the empty one cuts a
            string into its bytes.
        skip_empty: Whether empty pieces are left out.

    Returns:
        The row and column of each piece, the pieces, and the numbers of rows and columns.

    Example:
        >>> [one.tolist() for one in wk.string_split(wk.tensor(["a b", "c"]))]
        [[[0, 0], [0, 1], [1, 0]], ['a', 'b', 'c'], [2, 2]]
    """
    return SplitStrings(*run_many("StringSplit", input, delimiter, skip_empty=skip_empty))


@signature("StringSplit")
def _string_split_signature(
    input: Spec, delimiter: Spec, /, *, skip_empty: bool = True
) -> dict[str, Spec]:
    require_dtype("StringSplit", "input", input, "string")
    require_rank("StringSplit", "input", input, 1)
    require_dtype("StringSplit", "delimiter", delimiter, "string")
    require_rank("StringSplit", "delimiter", delimiter, 0)
    return {
        "indices": Spec((None, 2), "int32"),
        "values": Spec((None,), "string"),
        "shape": Spec((2,), "int32"),
    }


@cpu_kernel("StringSplit")
def _string_split_cpu(
    input: Array, delimiter: Array, *, skip_empty: bool
) -> tuple[Array, Array, Array]:
    separators = _encoded(delimiter.item())
    rows = [_pieces(_encoded(text), separators, skip_empty) for text in input]
    indices = [(row, column) for row, pieces in enumerate(rows) for column in range(len(pieces))]
    values = np.empty(len(indices), dtype=object)
    values[:] = [_decoded(piece) for pieces in rows for piece in pieces]
    shape = np.array([len(rows), max(map(len, rows), default=0)], dtype=np.int32)
    return np.array(indices, dtype=np.int32).reshape(-1, 2), values, shape


no_gradient("StringSplit", because="its inputs are strings")


def _pieces(text: bytes, separators: bytes, skip_empty: bool) -> list[bytes]:
    if not separators:
        return [text[place : place + 1] for place in range(len(text))]
    one = separators[:1]
    table = bytes.maketrans(separators, one * len(separators))
    pieces = text.translate(table).split(one)
    return [piece for piece in pieces if piece] if skip_empty else pieces


def _encoded(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _decoded(piece: bytes) -> str | bytes:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return piece
