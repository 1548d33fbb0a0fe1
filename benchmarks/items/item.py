"""What one item of the benchmark is: sizes, arrays, and a program over the vocabulary."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Program = Callable[..., Any]
"""``program(o, **arrays)``: the work in the words of ``benchmarks/peers/vocabulary.py``."""
Kind = Literal["program", "own", "read", "training", "upload", "download", "graph"]
PEERS = ("numpy", "torch", "ours-cpu", "limit", "ours", "captured", "tfjs", "tinygrad")
"""Who runs programs, in the order in which they are prepared: the first one is the reference."""


class Draw:
    """Random arrays, the same ones for every peer."""

    def __init__(self, name: str) -> None:
        self._random = np.random.default_rng(crc32(name.encode()))

    def normal(self, *shape: int, scale: float = 1.0) -> Array:
        """Return float32 numbers around 0."""
        drawn: Array = self._random.standard_normal(shape, np.float32)
        return drawn * np.float32(scale)

    def positive(self, *shape: int) -> Array:
        """Return float32 numbers between 0.5 and 1.5."""
        return self._random.random(shape, np.float32) + np.float32(0.5)

    def integers(self, high: int, *shape: int) -> Array:
        """Return int32 numbers from 0 below ``high``."""
        return self._random.integers(0, high, shape, np.int32)

    def complex(self, *shape: int) -> Array:
        """Return complex64 numbers around 0."""
        return (self.normal(*shape) + 1j * self.normal(*shape)).astype(np.complex64)

    def labels(self, count: int, classes: int) -> Array:
        """Return [count, classes], float32: a one in each row."""
        return np.eye(classes, dtype=np.float32)[self.integers(classes, count)]


@dataclass(frozen=True)
class Work:
    """An item made for one size.

    Attributes:
        inputs: Arrays that lie on the device before anything is timed.
        program: What is run; the loss where the kind is ``"training"``.
        kind: ``"program"``: results stay on the device; ``"own"``: likewise, and the program's
            words are this library's public names; ``"read"``: they are read each time;
            ``"training"``: one step of Adam on ``variables``; ``"upload"`` and ``"download"``:
            the input ``x`` goes to the device or comes from it; ``"graph"``: ``program()`` returns
            the path of a model of ONNX, which is given the inputs from NumPy each time, and read.
        variables: What a training step trains.
        by_hand: For peers without gradients: ``by_hand(variables, inputs)`` gives the loss and
            the gradients by name, in NumPy.
    """

    inputs: dict[str, Array]
    program: Program
    kind: Kind = "program"
    variables: dict[str, Array] = field(default_factory=dict)
    by_hand: Callable[[dict[str, Array], dict[str, Array]], tuple[Any, dict[str, Array]]] | None = (
        None
    )


@dataclass(frozen=True)
class Item:
    """One row of the table.

    Attributes:
        name: What ``--items`` matches.
        family: The part of the table that it stands in.
        build: Makes the work from random arrays and sizes.
        full: The sizes that are timed.
        tiny: Sizes for which a test runs the program on every backend.
        calls: How often the program runs between two waits: the same for every peer.
        fusion: What ``wk.config.fusion`` is while ours runs.
        without: Peers that are left out, by name, with the reason.
        peers: Who takes part at all, the reference first.
        rounds: How often each peer takes its turn at least, however slow it is.
        large: Whether it is for real GPUs only.
    """

    name: str
    family: str
    build: Callable[..., Work]
    full: Mapping[str, Any]
    tiny: Mapping[str, Any]
    calls: int = 8
    fusion: str = "auto"
    without: Mapping[str, str] = field(default_factory=dict)
    peers: Sequence[str] = PEERS
    rounds: int = 2
    large: bool = False

    def work(self, *, tiny: bool = False) -> Work:
        """Return the work at the size that is timed, or at the tests' size."""
        return self.build(Draw(self.name), **(self.tiny if tiny else self.full))
