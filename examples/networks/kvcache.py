"""A transformer reads a sequence at once, and position by position with a cache: equal scores."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import wgsl_kernels as wk

ROWS, FEATURES, HEADS, LAYERS = 50, 64, 4, 2
Cache = wk.nn.KeyValueCache | None


@dataclass
class Block:
    """Attention to the positions before, then two dense layers."""

    norm: wk.nn.LayerNorm
    attention: wk.nn.MultiHeadAttention
    dense: wk.nn.Sequential

    def __call__(self, x: wk.Tensor, cache: Cache) -> tuple[wk.Tensor, Cache]:
        """Return [batch, steps, features], and the cache of the positions after."""
        h = self.norm(x)
        if cache is None:
            x = x + self.attention(h, causal=True)
        else:
            h, cache = self.attention(h, cache=cache)
            x = x + h
        return x + self.dense(x), cache


@dataclass
class Decoder:
    """A transformer whose last layer is its first, transposed."""

    letters: wk.nn.Embedding
    places: wk.nn.Embedding
    blocks: Sequence[Block]

    def __call__(
        self, ids: wk.Tensor, positions: wk.Tensor, caches: Sequence[Cache]
    ) -> tuple[wk.Tensor, list[Cache]]:
        """Return a score for each row of the table, [batch, steps, rows], and the next caches."""
        x, after = self.letters(ids) + self.places(positions), []
        for block, cache in zip(self.blocks, caches, strict=True):
            x, cache = block(x, cache)
            after.append(cache)
        return x @ self.letters.weight.T, after


def new_block() -> Block:
    """Return a block whose weights are drawn."""
    attention = wk.nn.multi_head_attention(FEATURES, HEADS, bias=False)
    wide, narrow = wk.nn.dense(FEATURES, 4 * FEATURES), wk.nn.dense(4 * FEATURES, FEATURES)
    dense = wk.nn.sequential(wk.nn.layer_norm(FEATURES), wide, wk.gelu, narrow)
    return Block(wk.nn.layer_norm(FEATURES), attention, dense)


def main(steps: int = 48) -> None:
    """Print how far the scores with a cache are from those without."""
    tables = wk.nn.embedding(ROWS, FEATURES), wk.nn.embedding(steps, FEATURES)
    decoder = Decoder(*tables, [new_block() for _ in range(LAYERS)])
    ids = wk.tensor(np.random.default_rng(0).integers(0, ROWS, (1, steps)))
    whole = decoder(ids, wk.arange(steps), [None] * LAYERS)[0]
    for name, decode in (("eager", decoder), ("captured", wk.capture(decoder))):
        caches: list[Cache] = [one.attention.make_cache(1, steps) for one in decoder.blocks]
        scores = []
        for t in range(steps):
            row, caches = decode(ids[:, t : t + 1], wk.tensor([t]), caches)
            scores.append(row)
        error = abs(wk.concat(scores, 1) - whole).max() / abs(whole).max()
        print(f"{name}  relative error {error:.1e}")
