"""A small convolutional network: two convolutions with a maximum pool between, two dense layers."""

import wgsl_kernels as wk
from activation import squareplus
from data import CLASSES


def halved(images: wk.Tensor) -> wk.Tensor:
    """Return the largest of each square of four pixels: [count, 8, 8, n] to [count, 4, 4, n]."""
    return wk.max_pool(images, 2)


def flat(images: wk.Tensor) -> wk.Tensor:
    """Return [count, 4, 4, n] as [count, 16 n]."""
    return wk.reshape(images, (images.shape[0], -1))


def new_network(seed: int) -> wk.nn.Sequential:
    """Return the network: [count, 8, 8, 1] to logits [count, 10]; He's weights, drawn by seed."""
    he, draw = wk.nn.he_normal, wk.random.Generator(seed)
    return wk.nn.sequential(
        wk.nn.conv(1, 16, 3, pad="same", initializer=he, generator=draw),
        halved,
        squareplus,
        wk.nn.conv(16, 32, 3, pad="same", initializer=he, generator=draw),
        squareplus,
        flat,
        wk.nn.dense(4 * 4 * 32, 64, initializer=he, generator=draw),
        squareplus,
        wk.nn.dense(64, CLASSES, initializer=he, generator=draw),
    )


def loss(network: wk.nn.Sequential, images: wk.Tensor, labels: wk.Tensor) -> wk.Tensor:
    """Return the mean cross entropy of images with labels from 0 to 9, a scalar."""
    return wk.sparse_softmax_cross_entropy(labels, network(images))
