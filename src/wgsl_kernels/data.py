"""Arrays in batches, shuffled anew in each epoch, the next ones read while others compute."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import at_least, flag
from wgsl_kernels.ops.indexing import gather
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    Array = np.ndarray[Any, Any]


class Batches:
    """An iterable of batches: each time that it is gone through is an epoch.

    Attributes:
        epoch: How many were begun. It decides the order: set it to go on where a run has ended.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        size: int,
        *,
        shuffle: bool,
        seed: int,
        drop_last: bool,
        pad_last: bool,
        prefetch: int,
    ) -> None:
        """Check the arguments; users call `batches`."""
        self._sources = [_rows("x", x)] if y is None else [_rows("x", x), _rows("y", y)]
        self._count, *others = map(len, self._sources)
        if others and others[0] != self._count:
            raise ShapeError(f"batches: x has {self._count} rows, y has {others[0]}; want as many.")
        self._size = at_least("batches", "size", size, 1)
        self._shuffle = flag("batches", "shuffle", shuffle)
        self._seed = at_least("batches", "seed", seed, 0)
        self._drops = flag("batches", "drop_last", drop_last)
        self._pads = flag("batches", "pad_last", pad_last)
        if self._drops and self._pads:
            raise ArgumentError("batches: drop_last and pad_last are True; want one of them.")
        self._prefetch = at_least("batches", "prefetch", prefetch, 0)
        self.epoch = 0

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        whole, rest = divmod(self._count, self._size)
        return whole + (1 if rest and not self._drops else 0)

    def __iter__(self) -> Iterator[Any]:
        """Yield the batches of the next epoch."""
        epoch, self.epoch = self.epoch, self.epoch + 1
        order = np.arange(self._count)
        if self._shuffle:
            order = np.random.default_rng((self._seed, epoch)).permutation(self._count)
        return self._batches(order)

    def steps(self, count: int) -> Iterator[Any]:
        """Yield that many batches, over as many epochs as they take, the last one in part.

        Args:
            count: How many; 0 or more.

        Raises:
            ArgumentError: ``count`` is below 0, or an epoch has no batch.

        Example:
            >>> data = wk.data.batches(np.arange(4), None, 2)
            >>> [x.tolist() for x in data.steps(3)]
            [[0, 1], [2, 3], [0, 1]]
        """
        wanted = at_least("steps", "count", count, 0)
        if wanted and not len(self):
            raise ArgumentError(
                f"steps: {self._count} rows make no batch of {self._size} with drop_last; want at "
                "least as many rows."
            )
        return itertools.islice(itertools.chain.from_iterable(itertools.repeat(self)), wanted)

    def _batches(self, order: Array) -> Iterator[Any]:
        parts = [order[at * self._size : (at + 1) * self._size] for at in range(len(self))]
        counts = [len(part) for part in parts]
        if self._pads and counts and counts[-1] < self._size:
            last = parts[-1]
            parts[-1] = np.concatenate([last, np.repeat(last[-1:], self._size - len(last))])
        if not self._prefetch:
            for count, part in zip(counts, parts, strict=True):
                yield self._tensors(count, part, self._read(part))
            return
        with ThreadPoolExecutor(1, "wgsl-kernels-batches") as reader:
            read: deque[Any] = deque()
            for at, (count, part) in enumerate(zip(counts, parts, strict=True)):
                while len(read) <= self._prefetch and at + len(read) < len(parts):
                    read.append(reader.submit(self._read, parts[at + len(read)]))
                yield self._tensors(count, part, read.popleft().result())

    def _read(self, part: Array) -> list[Any]:
        """Return the rows of a batch; those of tensors are taken on their device later."""
        return [None if isinstance(one, Tensor) else np.asarray(one[part]) for one in self._sources]

    def _tensors(self, count: int, part: Array, read: list[Any]) -> Any:
        """Return a batch; the first ``count`` of its rows are not filled in."""
        found = [
            gather.take(one, part, axis=0) if isinstance(one, Tensor) else tensor(rows)
            for one, rows in zip(self._sources, read, strict=True)
        ]
        if self._pads:
            found.append(tensor((np.arange(len(part)) < count).astype(np.float32)))
        return found[0] if len(found) == 1 else tuple(found)

    def __repr__(self) -> str:
        """Return what it gives."""
        return (
            f"Batches({self._count} rows, {len(self)} batches of {self._size}, epoch {self.epoch})"
        )


def batches(
    x: Any,
    y: Any,
    size: int,
    *,
    shuffle: bool = False,
    seed: int = 0,
    drop_last: bool = False,
    pad_last: bool = False,
    prefetch: int = 1,
) -> Batches:
    """Return the rows of arrays in batches, as tensors.

    It can be gone through again and again; with ``shuffle`` in another order each time. Its
    ``steps(count)`` are that many batches, over as many epochs as they take. Batches have the
    dtypes that `tensor` gives: float32 of float64, int32 of int64.

    Args:
        x: [rows, ...]: a NumPy array, a memory map, a tensor, or what has a length and gives rows
            for an array of indices. Tensors stay on their device. For more than two arrays give
            ``np.arange(rows)`` and index them with each batch.
        y: Likewise, with as many rows; None for batches of ``x`` alone.
        size: Rows of a batch.
        shuffle: Whether rows come in random order.
        seed: What the orders follow from, together with the number of the epoch.
        drop_last: Whether a last batch with fewer rows is left out.
        pad_last: Whether it is filled up with its last row, so that all have one shape; each batch
            then has one tensor more, weights [size]: 1, and 0 where a row was filled in.
        prefetch: Batches that are read in a thread before they are asked for.

    Returns:
        An iterable of ``(x, y)``, of ``x``, or of these with weights; ``len`` is the number of
        batches.

    Raises:
        ShapeError: The arrays have different numbers of rows, or none.
        ArgumentError: An argument is none of these.

    Example:
        >>> data = wk.data.batches(np.arange(5.0), np.arange(5), 2, pad_last=True)
        >>> for x, y, weights in data:
        ...     print(x.tolist(), weights.tolist())
        [0.0, 1.0] [1.0, 1.0]
        [2.0, 3.0] [1.0, 1.0]
        [4.0, 4.0] [1.0, 0.0]
    """
    return Batches(
        x,
        y,
        size,
        shuffle=shuffle,
        seed=seed,
        drop_last=drop_last,
        pad_last=pad_last,
        prefetch=prefetch,
    )


def _rows(name: str, value: Any) -> Any:
    """Return what has rows.

    Raises:
        ShapeError: It has none.
        ArgumentError: It is nothing with rows.
    """
    several = isinstance(value, Mapping) or (
        isinstance(value, tuple) and any(getattr(one, "ndim", 0) for one in value)
    )
    if several:
        raise ArgumentError(
            f"batches: {name} is a {type(value).__name__} of arrays; want one. For more than two "
            "give batches(np.arange(rows), None, size), and index each array with the batch."
        )
    given = value
    if isinstance(value, (list, tuple)):
        try:
            given = np.asarray(value)
        except ValueError:
            raise ShapeError(
                f"batches: {name} is {shown(value)}, which makes no array; want rows of one shape."
            ) from None
    if not hasattr(given, "__len__") or not hasattr(given, "__getitem__"):
        raise ArgumentError(
            f"batches: {name} is {shown(value)}; want an array, a tensor, or what has a length and "
            "rows."
        )
    if getattr(given, "ndim", 1) == 0 or not len(given):
        raise ShapeError(f"batches: {name} has no rows; want at least one.")
    return given


_publish(__name__)
