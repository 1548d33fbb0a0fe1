"""Streams of random numbers: a seed and a counter in a variable, moved on by each draw.

What is drawn is a pure function of both, the same on every backend; the counter moves on by one for
every four elements, on the backend, so that a captured function draws anew at each replay.
"""

from __future__ import annotations

import contextlib
import operator
import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.values.attributes import integer
from wgsl_kernels.engine.values.dtypes import canonical, tensor_dtype
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.random.numpy_draws import NumpyDraws
from wgsl_kernels.ops.shapes import joining
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Spec
    from wgsl_kernels.ops.random.numpy_draws import Size

_BLOCK = 4
_lock = threading.RLock()
_default: list[Generator] = []


class Generator(NumpyDraws):
    """A stream of random numbers of its own, for ``generator=`` of whatever draws.

    Equal seeds give equal streams, on every backend. It is copied and pickled with its state, and
    has the methods that NumPy's generators have for the same distributions.

    Args:
        seed: An integer, of which the low 64 bits count, or a ``numpy.random.SeedSequence``; chosen
            by chance, if left out.

    Example:
        >>> first, second = wk.random.Generator(1), wk.random.Generator(1)
        >>> drawn = wk.random_uniform((2,), generator=first)
        >>> drawn.tolist() == wk.random_uniform((2,), generator=second).tolist()
        True
    """

    def __init__(self, seed: int | np.random.SeedSequence | None = None) -> None:
        if isinstance(seed, np.random.SeedSequence):
            seed = int(seed.generate_state(1, np.uint64)[0])
        start = int.from_bytes(os.urandom(8), "little") if seed is None else _whole(seed)
        self._key = _variable(_words(start))

    @property
    def key(self) -> Variable:
        """The bits of seed and counter, an int32[4] variable; save it to resume the stream."""
        return self._key

    def seed(self, number: int) -> None:
        """Begin the stream of ``number`` anew: its low 64 bits become the seed, the counter 0."""
        self._key.assign(_words(_whole(number)))

    def split(self, count: int = 2) -> tuple[Generator, ...]:
        """Return ``count`` generators of separate streams, whose seeds are drawn from this one.

        Also in a captured function, which splits off others at each replay.

        Raises:
            ArgumentError: ``count`` is below 1.

        Example:
            >>> left, right = wk.random.Generator(3).split()
            >>> left.key.tolist() != right.key.tolist()
            True
        """
        number = integer("split", "count", count)
        if number < 1:
            raise ArgumentError(f"split: count is {number}; want at least 1.")
        ends = {"minval": -(2**31), "maxval": 2**31 - 1}
        seeds = draw("RandomUniform", (number, 2), "int32", self, **ends)
        return tuple(_of(joining.concat([seeds[place], [0, 0]])) for place in range(number))

    def _drawn(self, kernel: str, size: Size, dtype: Any, **attrs: float) -> Tensor:
        """Run a random kernel on the backend where the key is."""
        with use_backend(self.key.backend):
            return draw(kernel, () if size is None else size, tensor_dtype(dtype), self, **attrs)

    def __copy__(self) -> Generator:
        return _of(self._key)

    def __repr__(self) -> str:
        return f"<generator {self._key.name!r}>"


def default_rng(seed: Any = None) -> Generator:
    """Return a generator, as NumPy's function of this name does.

    Args:
        seed: As for `Generator`; or one of NumPy's bit generators, whose seed is taken; or a
            `Generator`, which is returned.

    Example:
        >>> wk.random.default_rng(7).normal(size=3).shape
        (3,)
    """
    return seed if isinstance(seed, Generator) else Generator(getattr(seed, "seed_seq", seed))


def _of(key: Tensor) -> Generator:
    """Return a generator that goes on from ``key``, which stays on its device."""
    made = Generator(0)
    made.key.assign(key)
    return made


def _variable(key: Any) -> Variable:
    return variable(key, trainable=False, name="random.key", dtype="int32")


def default() -> Generator:
    """Return the generator of all that is drawn without one; its first seed is chosen by chance."""
    with _lock:
        if not _default:
            _default.append(Generator())
        return _default[0]


@contextlib.contextmanager
def drawing_from(generator: Generator) -> Iterator[None]:
    """Draw from ``generator`` what is drawn without one, in the whole process."""
    with _lock:
        before = _default[:]
        _default[:] = [generator]
    try:
        yield
    finally:
        with _lock:
            _default[:] = before


def seed(number: int) -> None:
    """Begin the stream of ``number`` anew: its low 64 bits become the seed, the counter 0.

    Example:
        >>> wk.random.seed(0)
        >>> first = wk.random_uniform(3).tolist()
        >>> wk.random.seed(0)
        >>> wk.random_uniform(3).tolist() == first
        True
    """
    with _lock:
        default().seed(number)


def draw(
    kernel: str,
    shape: int | Sequence[int],
    dtype: Any,
    generator: Generator | None,
    **attrs: float,
) -> Tensor:
    """Run a random kernel of a shape and dtype whose only input is the key of a generator."""
    double = context.current().double
    name = ("float64" if double else "float32") if dtype is None else canonical(dtype)
    return drawn(kernel, generator=generator, shape=shape, dtype=name, **attrs)


def drawn(kernel: str, *inputs: Tensor, generator: Generator | None, **attrs: Any) -> Tensor:
    """Return what a kernel draws, whose last input is the key, and move that on by what it used."""
    if not (generator is None or isinstance(generator, Generator)):
        raise ArgumentError(f"{kernel}: generator is {shown(generator)}; want a Generator.")
    with _lock:
        now = (default() if generator is None else generator).key
        found = run(kernel, *inputs, now, **attrs)
        now.assign(run("AdvanceKey", now, blocks=-(-found.size // _BLOCK)))
    return found


def check_key(kernel: str, key: Spec) -> None:
    """Refuse a key that is none.

    Raises:
        ShapeError, DTypeError: It is none.
    """
    if key.shape != (4,):
        raise ShapeError(f"{kernel}: key has shape {show(key.shape)}; want [4].")
    if key.dtype != "int32":
        raise DTypeError(f"{kernel}: key has dtype {key.dtype}; want int32.")


def _whole(number: Any) -> int:
    try:
        return operator.index(number) % 2**64
    except TypeError:
        raise ArgumentError(f"seed: number is {shown(number)}; want an integer.") from None


def _words(number: int) -> Array:
    words = np.array([number & 0xFFFFFFFF, number >> 32, 0, 0], np.uint64)
    return words.astype(np.uint32).view(np.int32)
