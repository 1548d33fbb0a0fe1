"""Causal attention: the scores are a product whose results are scaled and masked as they come."""

import numpy as np

import wgsl_kernels as wk


def attention(q, k, v):
    """Return softmax(q kᵀ / √depth) v, where no row sees a later one; all [heads, rows, depth]."""
    return wk.matmul(wk.softmax(wk.run("CausalScores", q, k)), v)


@wk.signature("CausalScores")
def _signature(q, k, /):
    if len(q.shape) != 3 or q.shape[::2] != k.shape[::2]:
        raise wk.ShapeError(f"CausalScores: q is {q.shape}, k {k.shape}; want equal heads, depth.")
    return q.like(shape=(*q.shape[:2], k.shape[1]))


@wk.cpu_kernel("CausalScores")
def _cpu(q, k):
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
    return np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -6e4).astype(q.dtype)


SHADER = """
fn a_at(head: u32, i: u32, d: u32) -> T { return q[(head * params.rows + i) * params.depth + d]; }
fn b_at(head: u32, d: u32, j: u32) -> T { return k[(head * params.cols + j) * params.depth + d]; }
fn finish(sum: f32, head: u32, i: u32, j: u32) -> f32 {
  return select(sum / sqrt(f32(params.depth)), -6e4, j > i);
}
"""
wk.wgsl_kernel("CausalScores", SHADER, form="product", params=lambda q_shape: {"depth": q_shape[2]})


@wk.gradient("CausalScores")
def _gradient(dy, q, k):
    dy *= wk.tensor(np.tri(*dy.shape[1:]) / np.sqrt(q.shape[2]), dtype=dy.dtype)
    return wk.matmul(dy, k), wk.matmul(dy, q, transpose_a=True)


SHAPES = ((2, 6, 4),) * 3
S = wk.testing.Sample("CausalScores", attention, SHAPES, rtol=1e-4, atol=1e-5, domain=(-9, 9))
wk.testing.add_samples("CausalScores", S)
