"""Normalization: of channels over a batch, and of the features of each element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.values.attributes import number
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.nn.fields import count, made_by, ones, shown_by_fields, zeros
from wgsl_kernels.ops.elementwise import unary
from wgsl_kernels.ops.normalization import normalization
from wgsl_kernels.ops.reductions import reduce, statistics

if TYPE_CHECKING:
    from wgsl_kernels.engine.execution.variables import Variable
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@made_by("batch_norm")
@dataclass(eq=False, repr=False)
class BatchNorm:
    """Normalizes each channel over the batch in training, by running means otherwise.

    Attributes:
        scale: [channels].
        offset: [channels].
        mean: [channels], the running mean; not trainable.
        variance: [channels], the running variance; not trainable.
        momentum: The part of the running numbers that stays at a step.
        epsilon: Added to the variance.
    """

    scale: Variable
    offset: Variable
    mean: Variable
    variance: Variable
    momentum: float = 0.9
    epsilon: float = 1e-5

    __repr__ = shown_by_fields

    def __call__(self, x: TensorLike, *, train: bool = False) -> Tensor:
        """Return ``x`` normalized; in training the running numbers are assigned.

        The variance that is kept is the unbiased one, as of PyTorch; the one that divides is not.

        Args:
            x: [batch, ..., channels].
            train: Whether the mean and variance are those of ``x``.

        Raises:
            ShapeError: ``x`` has other channels, or in training no more than one element of each.
        """
        given = as_floats(x)
        _check_channels("BatchNorm", given, self.scale)
        mean: Tensor = self.mean
        variance: Tensor = self.variance
        if train:
            elements = given.size // max(given.shape[-1], 1)
            if elements < 2:
                raise ShapeError(
                    f"BatchNorm: x has shape {show(given.shape)}, {elements} of each channel; want "
                    "two or more in training."
                )
            axes = tuple(range(given.ndim - 1))
            mean, variance = statistics.moments(given, axes)
            stays, comes = self.momentum, 1 - self.momentum
            unbiased = variance * (elements / (elements - 1))
            self.mean.assign(stays * self.mean + comes * stop_gradient(mean))
            self.variance.assign(stays * self.variance + comes * stop_gradient(unbiased))
        return normalization.batch_norm(
            given, mean, variance, self.offset, self.scale, variance_epsilon=self.epsilon
        )


def batch_norm(channels: int, *, momentum: float = 0.9, epsilon: float = 1e-5) -> BatchNorm:
    """Return a layer that normalizes each channel over the batch.

    Args:
        channels: The length of the last axis.
        momentum: The part of the running numbers that stays at a step, in [0, 1].
        epsilon: Added to the variance; above 0.

    Raises:
        ArgumentError: An argument is none of these.

    Example:
        >>> layer = wk.nn.batch_norm(2, epsilon=1e-9)
        >>> layer(wk.tensor([[1.0, 0.0], [3.0, 4.0]]), train=True).numpy().round(2).tolist()
        [[-1.0, -1.0], [1.0, 1.0]]
        >>> layer.mean.numpy().round(2)
        array([0.2, 0.2], dtype=float32)

    Source: Ioffe and Szegedy, Batch Normalization, 2015.
    """
    size = count("batch_norm", "channels", channels)
    if not 0 <= number("batch_norm", "momentum", momentum) <= 1:
        raise ArgumentError(f"batch_norm: momentum is {momentum}; want one in [0, 1].")
    _check_epsilon("batch_norm", epsilon)
    mean, variance = zeros(size), ones(size)
    mean.trainable = variance.trainable = False
    return BatchNorm(ones(size), zeros(size), mean, variance, momentum, epsilon)


@made_by("layer_norm")
@dataclass(eq=False, repr=False)
class LayerNorm:
    """Normalizes the features of each element.

    Attributes:
        scale: [features].
        offset: [features], or None.
        epsilon: Added to the variance.
    """

    scale: Variable
    offset: Variable | None = None
    epsilon: float = 1e-5

    __repr__ = shown_by_fields

    def __call__(self, x: TensorLike) -> Tensor:
        """Return [..., features] normalized along the last axis.

        Raises:
            ShapeError: ``x`` has other features.
        """
        given = as_floats(x)
        _check_channels("LayerNorm", given, self.scale)
        return normalization.layer_norm(given, self.scale, self.offset, epsilon=self.epsilon)


def layer_norm(features: int, *, offset: bool = True, epsilon: float = 1e-5) -> LayerNorm:
    """Return a layer that normalizes the features of each element.

    Args:
        features: The length of the last axis.
        offset: Whether it adds one, which is 0 at first.
        epsilon: Added to the variance; above 0.

    Raises:
        ArgumentError: An argument is none of these.

    Example:
        >>> wk.nn.layer_norm(2)(wk.tensor([[1.0, 3.0]])).numpy().round(2).tolist()
        [[-1.0, 1.0]]

    Source: Ba, Kiros and Hinton, Layer Normalization, 2016.
    """
    size = count("layer_norm", "features", features)
    _check_epsilon("layer_norm", epsilon)
    return LayerNorm(ones(size), zeros(size) if offset else None, epsilon)


@made_by("group_norm")
@dataclass(eq=False, repr=False)
class GroupNorm:
    """Normalizes groups of channels of each element of a batch.

    Attributes:
        scale: [channels].
        offset: [channels].
        groups: How many there are.
        epsilon: Added to the variance.
    """

    scale: Variable
    offset: Variable
    groups: int
    epsilon: float = 1e-5

    __repr__ = shown_by_fields

    def __call__(self, x: TensorLike) -> Tensor:
        """Return [batch, ..., channels] normalized.

        Raises:
            ShapeError: ``x`` has other channels, or fewer than two axes.
        """
        given = as_floats(x)
        _check_channels("GroupNorm", given, self.scale)
        if given.ndim < 2:
            raise ShapeError(
                f"GroupNorm: x has shape {show(given.shape)}; want [batch, ..., channels]."
            )
        batch, *places, channels = given.shape
        parts = given.reshape((batch, -1, self.groups, channels // self.groups))
        mean, variance = statistics.moments(parts, (1, 3), keepdims=True)
        whole = normalization.batch_norm(parts, mean, variance, variance_epsilon=self.epsilon)
        return whole.reshape((batch, *places, channels)) * self.scale + self.offset


def group_norm(channels: int, groups: int, *, epsilon: float = 1e-5) -> GroupNorm:
    """Return a layer that normalizes groups of channels of each element of a batch.

    Args:
        channels: The length of the last axis.
        groups: How many groups; it divides ``channels``. 1 normalizes over all of an element,
            ``channels`` each channel by itself.
        epsilon: Added to the variance; above 0.

    Raises:
        ArgumentError: An argument is none of these.

    Example:
        >>> wk.nn.group_norm(6, 3)(wk.ones((2, 4, 4, 6))).shape
        (2, 4, 4, 6)

    Source: Wu and He, Group Normalization, 2018.
    """
    size, parts = count("group_norm", "channels", channels), count("group_norm", "groups", groups)
    if size % parts:
        raise ArgumentError(f"group_norm: groups is {parts}; want a number that divides {size}.")
    _check_epsilon("group_norm", epsilon)
    return GroupNorm(ones(size), zeros(size), parts, epsilon)


@made_by("rms_norm")
@dataclass(eq=False, repr=False)
class RMSNorm:
    """Divides the features of each element by the root of their mean square.

    Attributes:
        scale: [features].
        epsilon: Added to the mean square.
    """

    scale: Variable
    epsilon: float = 1e-6

    __repr__ = shown_by_fields

    def __call__(self, x: TensorLike) -> Tensor:
        """Return [..., features] normalized along the last axis.

        Raises:
            ShapeError: ``x`` has other features.
        """
        given = as_floats(x)
        _check_channels("RMSNorm", given, self.scale)
        mean_square = reduce.mean(given * given, axis=-1, keepdims=True)
        return given * unary.rsqrt(mean_square + self.epsilon) * self.scale


def rms_norm(features: int, *, epsilon: float = 1e-6) -> RMSNorm:
    """Return a layer that divides the features of each element by the root of their mean square.

    Args:
        features: The length of the last axis.
        epsilon: Added to the mean square; above 0.

    Raises:
        ArgumentError: An argument is none of these.

    Example:
        >>> wk.nn.rms_norm(2)(wk.tensor([[3.0, 4.0]])).numpy().round(3)
        array([[0.849, 1.131]], dtype=float32)

    Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
    """
    _check_epsilon("rms_norm", epsilon)
    return RMSNorm(ones(count("rms_norm", "features", features)), epsilon)


def _check_epsilon(layer: str, epsilon: float) -> None:
    if not number(layer, "epsilon", epsilon) > 0:
        raise ArgumentError(f"{layer}: epsilon is {epsilon}; want a number above 0.")


def _check_channels(layer: str, x: Tensor, scale: Variable) -> None:
    """Refuse what has not the channels of a layer: one channel would be broadcast.

    Raises:
        ShapeError: It has others.
    """
    if not x.ndim or x.shape[-1] != scale.size:
        raise ShapeError(
            f"{layer}: x has shape {show(x.shape)}; want [..., {scale.size}], as the layer was "
            "made for."
        )
