"""Handwritten digits, a fifth of them held out, and the batches that both backends see."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

CLASSES = 10


@dataclass(frozen=True)
class Digits:
    """Images [count, 8, 8, 1] of mean 0 and spread 1, and labels [count] from 0 to 9.

    ``center`` and ``spread`` are those of the counts from 0 to 16 that they were made of.

    Source: Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998.
    """

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    center: float
    spread: float


@dataclass(frozen=True)
class Batch:
    """Images [size, 8, 8, 1], and labels [size] from 0 to 9."""

    images: np.ndarray
    labels: np.ndarray


def load(seed: int) -> Digits:
    """Return scikit-learn's 1,797 digits, a fifth of each class held out at random."""
    found: Any = load_digits()
    labels = found.target.astype(np.int32)
    parts: Any = train_test_split(
        found.images, labels, test_size=0.2, random_state=seed, stratify=labels
    )
    center, spread = float(parts[0].mean()), float(parts[0].std())
    train, test = (
        ((images - center) / spread).astype(np.float32)[..., np.newaxis] for images in parts[:2]
    )
    return Digits(train, parts[2], test, parts[3], center, spread)


def batches(digits: Digits, size: int, seed: int, epoch: int) -> Iterator[Batch]:
    """Yield one epoch in random order, half of the images moved by a pixel.

    The few that would not fill a batch wait for the next epoch, so every step has one shape.
    """
    draw = np.random.default_rng([seed, epoch])
    order = draw.permutation(len(digits.labels))
    for start in range(0, len(order) - size + 1, size):
        chosen = order[start : start + size]
        yield Batch(_jittered(digits.images[chosen], draw), digits.labels[chosen])


def _jittered(images: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Return the images, half of them moved by up to a pixel along each side."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    moves = draw.integers(0, 3, (len(images), 2))
    moves[draw.random(len(images)) < 0.5] = 1
    rows, columns = images.shape[1:3]
    return np.stack(
        [
            image[row : row + rows, column : column + columns]
            for image, (row, column) in zip(padded, moves, strict=True)
        ]
    )
