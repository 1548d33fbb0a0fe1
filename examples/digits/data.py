"""Handwritten digits, a fifth of them held out, and the batches that both backends see."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

CLASSES = 10
BRIGHTEST = 16.0  # scikit-learn's pixels count from 0 to 16


@dataclass(frozen=True)
class Digits:
    """Images [count, 8, 8, 1] in [0, 1], and labels [count] from 0 to 9.

    Source: Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998.
    """

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load(seed: int) -> Digits:
    """Return scikit-learn's 1,797 digits, a fifth of each class held out at random."""
    found = load_digits()
    images = (found.images / BRIGHTEST).astype(np.float32)[..., np.newaxis]
    labels = found.target.astype(np.int32)
    parts = train_test_split(images, labels, test_size=0.2, random_state=seed, stratify=labels)
    return Digits(images=parts[0], labels=parts[2], test_images=parts[1], test_labels=parts[3])


def batches(digits: Digits, size: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield one epoch: images [size, 8, 8, 1] and one-hot labels [size, 10], in random order.

    The few that would not fill a batch wait for the next epoch, so every step has one shape.
    """
    order = np.random.default_rng(seed).permutation(len(digits.labels))
    for start in range(0, len(order) - size + 1, size):
        chosen = order[start : start + size]
        yield digits.images[chosen], np.eye(CLASSES, dtype=np.float32)[digits.labels[chosen]]
