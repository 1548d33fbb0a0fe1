"""The sizes of attention, and which inputs fit each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.values.shapes import broadcast_shapes, require_dtype, require_rank, show

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of attention.

    The heads that share keys and their queries are the rows of one group: there are
    ``sharing * steps`` rows, head by head.

    Attributes:
        batch: Elements of the batch.
        key_heads: Heads of keys and values.
        sharing: Heads of queries that share one of them.
        steps: Queries of a head.
        length: Keys of a head.
        size: Numbers of a query, and of a key.
        value_size: Numbers of a value.
    """

    batch: int
    key_heads: int
    sharing: int
    steps: int
    length: int
    size: int
    value_size: int

    @classmethod
    def of(cls, query: Shape, key: Shape, value: Shape) -> Sizes:
        """Return the sizes for inputs of these shapes, which fit each other."""
        batch, heads, steps, size = query
        key_heads, length = key[1:3]
        return cls(batch, key_heads, heads // key_heads, steps, length, size, value[3])

    @property
    def groups(self) -> int:
        return self.batch * self.key_heads

    @property
    def rows(self) -> int:
        """Queries that share keys."""
        return self.sharing * self.steps

    @property
    def scores(self) -> int:
        return self.groups * self.rows * self.length


def fit(query: Shape, key: Shape, value: Shape) -> bool:
    """Say whether inputs of these shapes, of at least three axes, fit each other."""
    return (
        query[:-3] == key[:-3] == value[:-3]
        and query[-1] == key[-1]
        and key[-3:-1] == value[-3:-1]
        and key[-3] > 0
        and query[-3] % key[-3] == 0
    )


def sums_dtype(query: Spec) -> DType:
    """Return the dtype of what is summed over keys."""
    return "float32" if query.dtype == "float16" else query.dtype


def check_inputs(kernel: str, query: Spec, key: Spec, value: Spec, mask: Spec | None) -> None:
    """Refuse inputs that do not fit each other.

    Raises:
        ShapeError: They do not, or one has not four axes.
        DTypeError: One is of another dtype.
    """
    for name, one in (("query", query), ("key", key), ("value", value)):
        require_rank(kernel, name, one, 4)
        require_dtype(kernel, name, one, "float32")
    if not fit(query.shape, key.shape, value.shape):
        raise ShapeError(
            f"{kernel}: query has shape {show(query.shape)}, key {show(key.shape)}, value "
            f"{show(value.shape)}; want [batch, heads, steps, size], [batch, key heads, length, "
            "size] and [batch, key heads, length, value size], with key heads that divide heads."
        )
    if mask is None:
        return
    if mask.dtype not in ("bool", query.dtype):
        raise DTypeError(f"{kernel}: mask has dtype {mask.dtype}; want bool or {query.dtype}.")
    want = (*query.shape[:3], key.shape[2])
    if mask.ndim != 4 or broadcast_shapes(mask.shape, want) != want:
        raise ShapeError(
            f"{kernel}: mask has shape {show(mask.shape)}; want four axes that broadcast to "
            f"{show(want)}, [batch, heads, steps, length]."
        )
