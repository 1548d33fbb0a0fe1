"""Attention with several heads, and the keys and values that a decoder keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.environment.origin import called_for
from wgsl_kernels.engine.execution.creation import as_floats, tensor
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.nn.fields import count, made_by, shown_by_fields
from wgsl_kernels.nn.projection import Dense, dense
from wgsl_kernels.ops.indexing.rotary import rotary_embedding
from wgsl_kernels.ops.linear_algebra import attention
from wgsl_kernels.ops.shapes import creation, ranges

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.nn.initializers import Initializer
    from wgsl_kernels.ops.random.streams import Generator


@dataclass(eq=False, repr=False)
class KeyValueCache:
    """The keys and values of the positions that a decoder has gone through.

    Attributes:
        keys: [batch, heads, length, size].
        values: [batch, heads, length, size].
        position: An int32 scalar: how many of the length are set.
    """

    keys: Tensor
    values: Tensor
    position: Tensor

    __repr__ = shown_by_fields

    def extended(self, keys: Tensor, values: Tensor) -> KeyValueCache:
        """Return the cache with the keys and values of the next positions.

        Raises:
            ShapeError: They are of another batch, or more than the cache is long.
            IndexOutOfRange: There is no room left for them; on a GPU it is raised by the next read.
        """
        batch, heads, length, size = self.keys.shape
        steps = keys.shape[-2]
        if keys.shape != (batch, heads, steps, size) or steps > length:
            raise ShapeError(
                f"KeyValueCache: keys has shape {show(keys.shape)}; want "
                f"[{batch}, {heads}, at most {length}, {size}], as the cache was made for. "
                "Make one for another batch or length with make_cache(batch, length)."
            )
        places = self.position + ranges.arange(steps, dtype="int32")
        full = f"for a KeyValueCache of {length} positions, which has no room for {steps} more"
        with called_for(full):
            return KeyValueCache(
                self.keys.at[:, :, places].set(keys),
                self.values.at[:, :, places].set(values),
                self.position + steps,
            )

    def mask(self, steps: int) -> Tensor:
        """Return which positions the last ``steps`` of them may attend to, [steps, length]."""
        places = self.position - steps + ranges.arange(steps, dtype="int32")
        length = ranges.arange(self.keys.shape[-2], dtype="int32")
        return length <= places.reshape((steps, 1))


@made_by("multi_head_attention")
@dataclass(eq=False, repr=False)
class MultiHeadAttention:
    """Attention whose queries, keys and values are made by dense layers.

    Attributes:
        query: Dense, [features, heads * size].
        key: Dense, [context, key heads * size].
        value: Dense, [context, key heads * size].
        out: Dense, [heads * size, features].
        heads: How many queries each element makes.
        key_heads: How many keys and values: it divides ``heads``.
    """

    query: Dense
    key: Dense
    value: Dense
    out: Dense
    heads: int
    key_heads: int

    __repr__ = shown_by_fields

    @overload
    def __call__(
        self,
        x: TensorLike,
        context: TensorLike | None = None,
        *,
        mask: TensorLike | None = None,
        causal: bool = False,
        cache: None = None,
        rotary: tuple[TensorLike, TensorLike] | None = None,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        x: TensorLike,
        *,
        mask: TensorLike | None = None,
        cache: KeyValueCache,
        rotary: tuple[TensorLike, TensorLike] | None = None,
    ) -> tuple[Tensor, KeyValueCache]: ...
    def __call__(
        self,
        x: TensorLike,
        context: TensorLike | None = None,
        *,
        mask: TensorLike | None = None,
        causal: bool = False,
        cache: KeyValueCache | None = None,
        rotary: tuple[TensorLike, TensorLike] | None = None,
    ) -> Tensor | tuple[Tensor, KeyValueCache]:
        """Return what each element of ``x`` draws from the elements of ``context``.

        Args:
            x: [batch, steps, features].
            context: [batch, length, context features]; ``x`` itself, if left out.
            mask: What broadcasts to [batch, heads, steps, length]: bools, True where an element may
                attend, or floats that are added to the scores.
            causal: Whether each element attends only to itself and those before it.
            cache: The keys and values of the positions before ``x``, of `make_cache`: then ``x`` is
                the next positions, each attends to itself and those before, and the cache of the
                positions after is returned, too.
            rotary: Cosines and sines by which queries and keys are turned at their positions, each
                [positions, half], as `rotary_angles` gives them.

        Returns:
            [batch, steps, features]; with a cache also the next one.

        Raises:
            ShapeError: The shapes do not fit.
            ArgumentError: A cache, or ``rotary``, is given with ``context``.
        """
        given = as_floats(x)
        if given.ndim != 3:
            raise ShapeError(
                f"MultiHeadAttention: x has shape {show(given.shape)}; want [batch, steps, "
                "features]."
            )
        if cache is not None and context is not None:
            raise ArgumentError(
                "MultiHeadAttention: a cache keeps positions of x; want it without context."
            )
        pair: Any = rotary
        if pair is not None and not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise ArgumentError(
                f"MultiHeadAttention: rotary is {type(pair).__name__}; want cosines and sines, a "
                "pair, as rotary_angles gives them."
            )
        if rotary is not None and context is not None:
            raise ArgumentError(
                "MultiHeadAttention: rotary turns positions of x; want it without context."
            )
        source = given if context is None else as_floats(context)
        queries = _split(self.query(given), self.heads)
        keys = _split(self.key(source), self.key_heads)
        values = _split(self.value(source), self.key_heads)
        if rotary is not None:
            places = ranges.arange(given.shape[1], dtype="int32")
            places = places if cache is None else places + cache.position
            cos, sin = rotary
            queries, keys = (
                rotary_embedding(one, cos, sin, positions=places) for one in (queries, keys)
            )
        if cache is None:
            found = attention.scaled_dot_product_attention(
                queries, keys, values, mask=mask, causal=causal
            )
            return self.out(_joined(found))
        cache = cache.extended(keys, values)
        allowed = cache.mask(given.shape[1])
        if mask is not None:
            allowed = attention.both(allowed, mask)
        found = attention.scaled_dot_product_attention(
            queries, cache.keys, cache.values, mask=allowed
        )
        return self.out(_joined(found)), cache

    def make_cache(self, batch: int, length: int) -> KeyValueCache:
        """Return an empty cache.

        Args:
            batch: Sequences.
            length: Positions that it has room for.

        Raises:
            ArgumentError: One is below 1.
        """
        rows, places = count("make_cache", "batch", batch), count("make_cache", "length", length)
        size = self.key.weight.shape[1] // self.key_heads
        shape = (rows, self.key_heads, places, size)
        none = creation.zeros(shape, dtype=self.key.weight.dtype)
        return KeyValueCache(none, none, tensor(0, dtype="int32"))


def multi_head_attention(
    features: int,
    heads: int,
    *,
    size: int | None = None,
    key_heads: int | None = None,
    context: int | None = None,
    bias: bool = True,
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> MultiHeadAttention:
    """Return a layer of attention with several heads.

    Args:
        features: Features of what it takes and gives.
        heads: How many queries each element makes.
        size: Features of each query, key and value; ``features / heads``, if left out.
        key_heads: How many keys and values each element has: it divides ``heads``, each serves as
            many queries. As many as queries, if left out.
        context: Features of what keys and values are made of; ``features``, if left out.
        bias: Whether its dense layers have one.
        initializer: Gives the weights' first values.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: An argument is below 1, or does not divide what it should.

    Example:
        >>> layer = wk.nn.multi_head_attention(16, 4)
        >>> layer(wk.ones((2, 7, 16)), causal=True).shape
        (2, 7, 16)
        >>> y, cache = layer(wk.ones((2, 1, 16)), cache=layer.make_cache(2, 32))
        >>> y.shape, cache.position.item()
        ((2, 1, 16), 1)

    Source: Vaswani et al., Attention Is All You Need, 2017; Ainslie et al., GQA: Training
    Generalized Multi-Query Transformer Models from Multi-Head Checkpoints, 2023.
    """
    op = "multi_head_attention"
    width, queries = count(op, "features", features), count(op, "heads", heads)
    keys = queries if key_heads is None else count(op, "key_heads", key_heads)
    if size is None and width % queries:
        raise ArgumentError(f"{op}: heads is {queries}; want a number that divides {width}.")
    if queries % keys:
        raise ArgumentError(f"{op}: key_heads is {keys}; want a number that divides {queries}.")
    each = width // queries if size is None else count(op, "size", size)
    source = width if context is None else count(op, "context", context)

    def layer(inputs: int, outputs: int) -> Dense:
        return dense(inputs, outputs, bias=bias, initializer=initializer, generator=generator)

    return MultiHeadAttention(
        layer(width, queries * each),
        layer(source, keys * each),
        layer(source, keys * each),
        layer(queries * each, width),
        queries,
        keys,
    )


def _split(x: Tensor, heads: int) -> Tensor:
    """Return [batch, heads, steps, size] of [batch, steps, heads * size]."""
    batch, steps, features = x.shape
    return x.reshape((batch, steps, heads, features // heads)).transpose((0, 2, 1, 3))


def _joined(x: Tensor) -> Tensor:
    """Return [batch, steps, heads * size] of [batch, heads, steps, size]."""
    batch, heads, steps, size = x.shape
    return x.transpose((0, 2, 1, 3)).reshape((batch, steps, heads * size))
