"""Numbers of few bits: what codes stand for, what reads them, products with matrices of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.refusal import refusal

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.ops.quantization.kinds import KINDS

Array = np.ndarray[Any, Any]
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
SMALLEST = float(np.finfo(np.float32).tiny)
BYTES = np.arange(256, dtype=np.uint8)


def _codes(kind: str) -> tuple[Array, Array]:
    """Return bytes with every code of a kind, and what ``ml_dtypes`` or NumPy say it stands for."""
    bits = KINDS[kind].bits
    known = np.dtype(getattr(ml_dtypes, kind, None) or kind)
    if bits == 16:
        words = np.arange(1 << 16, dtype=np.uint16)
        return words.view(np.uint8), words.view(known).astype(np.float32)
    shifts = np.arange(8 // bits) * bits
    codes = (BYTES[:, None] >> shifts & (1 << bits) - 1).reshape(-1).astype(np.uint8)
    if bits < 8 and KINDS[kind].has_sign and KINDS[kind].is_integer:
        return BYTES, ((codes ^ 1 << bits - 1).astype(np.int32) - (1 << bits - 1)).astype(float)
    return BYTES, codes.view(known).astype(np.float32)


@BACKENDS
@pytest.mark.parametrize("kind", KINDS)
def test_every_code_stands_for_what_ml_dtypes_has(kind: str, backend: str) -> None:
    packed, want = _codes(kind)
    with wk.use_backend(backend):
        found = wk.widen(packed, kind=kind)
        values = found.numpy().astype(np.float32)

    assert found.dtype == KINDS[kind].wide
    normal = ~(np.abs(want) < SMALLEST) | (want == 0)  # others may be flushed
    assert (normal | (np.abs(values) < SMALLEST)).all()
    np.testing.assert_array_equal(values[normal], want[normal])
    numbers = normal & ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(values[numbers]), np.signbit(want[numbers]))


def test_what_reads_codes_widens_them_in_its_own_dispatch(auto_fusion: None) -> None:
    packed = np.random.default_rng(0).integers(0, 256, (6, 16), np.uint8)
    scales = wk.tensor(np.arange(1.0, 13.0, dtype=np.float32).reshape(6, 2, 1))

    def f() -> wk.Tensor:
        codes = wk.reshape(wk.widen(wk.tensor(packed), kind="int4"), (6, 2, 16))
        return (wk.astype(codes, "float32") - 1.0) * scales

    with wk.use_backend("webgpu"):
        first = f().numpy()
        assert len(wk.explain(f).dispatches) == 1
        again = f().numpy()
    codes = np.stack([packed & 15, packed >> 4], -1).reshape(6, 2, 16).astype(np.int32)
    want = ((codes ^ 8) - 8.0 - 1) * np.arange(1.0, 13.0).reshape(6, 2, 1)
    np.testing.assert_array_equal(first, want)
    np.testing.assert_array_equal(again, want)


@BACKENDS
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("symmetric", [False, True])
def test_numbers_come_back_within_half_a_scale(bits: int, symmetric: bool, backend: str) -> None:
    x = np.random.default_rng(bits).normal(size=(5, 70)).astype(np.float32)
    x[2] = 0
    with wk.use_backend(backend):
        codes, scales, zeros = wk.quantize_nbits(x, bits=bits, block_size=16, symmetric=symmetric)
        kind = f"uint{bits}"
        back = wk.matmul_nbits(np.eye(70), codes, scales, zeros, kind=kind, block_size=16)
        assert codes.shape == (5, -(-70 * bits // 8))
        most = np.repeat(scales.numpy(), 16, -1)[:, :70]
        np.testing.assert_array_less(np.abs(back.numpy().T - x), most * (0.5 + 1e-5) + 1e-30)
        if symmetric:
            plain = wk.matmul_nbits(np.eye(70), codes, scales, kind=kind, block_size=16)
            np.testing.assert_array_equal(plain.numpy(), back.numpy())


@BACKENDS
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("symmetric", [False, True])
def test_blocks_of_any_range_come_back_or_are_nan(bits: int, symmetric: bool, backend: str) -> None:
    draw = np.random.default_rng(bits)
    widest = np.finfo(np.float32).max
    sizes = np.array([2.0**-149, 1e-40, 2.0**-126, 1e-37, 1e-20, 1e20, 2.0**126, widest])
    x = draw.uniform(-1, 1, (8, 16)) * sizes[:, None]
    x[:, 0], x[:, 1] = -sizes, sizes
    broken = np.ones((4, 16))
    broken[np.arange(3), [2, 5, 7]] = np.inf, -np.inf, np.nan
    given = np.concatenate([x, broken]).astype(np.float32)
    with wk.use_backend(backend):
        codes, scales, zeros = wk.quantize_nbits(
            np.concatenate([given, np.ones_like(given)], 1), bits=bits, block_size=16,
            symmetric=symmetric,
        )  # fmt: skip
        fields = [wk.widen(one, kind=f"uint{bits}").numpy() for one in (codes, zeros)]
        found = scales.numpy().astype(np.float64)

    values, places = fields[0][:, :32].reshape(12, 2, 16), fields[1][:, :2]
    back = (values - places[..., None]) * found[..., None]
    assert np.isnan(found[8:11, 0]).all()
    assert (values[8:11, 0] == 0).all()
    assert (places[8:11, 0] == 0).all()
    for off, scale in (
        (back[:, 1] - 1, found[:, 1]),
        (back[11:, 0] - 1, found[11:, 0]),
        (back[:8, 0] - given[:8], found[:8, 0]),
    ):
        assert (np.abs(off) <= scale[:, None] * (0.5 + 1e-4)).all()


def test_matrices_above_the_binding_limit_are_multiplied_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = np.random.default_rng(5)
    packed = draw.integers(0, 256, (200, 11), np.uint8)
    x, dy = (draw.normal(size=(3, n)).astype(np.float32) for n in (22, 200))
    scales = draw.normal(size=(200, 2)).astype(np.float32)
    codes = np.stack([packed & 15, packed >> 4], -1).reshape(200, 22).astype(np.float32)
    weights = (codes - 8) * np.repeat(scales, 16, 1)[:, :22]
    driver: Any = find_driver("webgpu")
    with wk.use_backend("webgpu"):
        given = [wk.tensor(one) for one in (packed, scales)]
        wk.memory()
        monkeypatch.setattr(driver.open(), "largest_binding", 2048)
        turned = wk.matmul_nbits(x, *given, block_size=16).numpy()
        plain = wk.matmul_nbits(dy, *given, block_size=(1, 16), transpose_b=False).numpy()
    np.testing.assert_allclose(turned, x @ weights.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(plain, dy @ weights, rtol=1e-4, atol=1e-3)


@BACKENDS
def test_a_product_takes_the_memory_of_its_codes(backend: str) -> None:
    with wk.use_backend(backend):
        codes, scales, _ = wk.quantize_nbits(np.ones((64, 128), np.float32))
        x = wk.ones((1, 128))
        wk.matmul_nbits(x, codes, scales).numpy()
        before = wk.memory().num_bytes
        y = wk.matmul_nbits(x, codes, scales)
        y.numpy()
        assert wk.memory().num_bytes - before == y.nbytes
        assert codes.nbytes + scales.nbytes < 64 * 128 * 4 / 6


@BACKENDS
def test_examples_of_a_batch_are_one_product(backend: str) -> None:
    draw = np.random.default_rng(1)
    x = draw.normal(size=(4, 3, 32)).astype(np.float32)
    with wk.use_backend(backend):
        codes, scales, zeros = wk.quantize_nbits(draw.normal(size=(5, 32)))
        each = wk.vmap(lambda one: wk.matmul_nbits(one, codes, scales, zeros))(x)
        whole = wk.matmul_nbits(x, codes, scales, zeros)
        np.testing.assert_allclose(each.numpy(), whole.numpy(), rtol=1e-6)


B = np.zeros((4, 16), np.uint8)
X, SCALES = np.ones((2, 32), np.float32), np.ones((4, 1), np.float32)
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "kind": (lambda: wk.widen(B, kind="int5"), wk.ArgumentError, r"Widen: kind is 'int5'; want"),
    "size": (lambda: wk.widen(B, kind="int4", size=30), wk.ArgumentError, r"size is 30; want what"),
    "words": (lambda: wk.widen(B.astype(np.int32), kind="int4"), wk.DTypeError, r"x has dtype int"),
    "scalar": (lambda: wk.widen(B[0, 0], kind="int4"), wk.ShapeError, r"x is a scalar; want"),
    "terms": (
        lambda: wk.matmul_nbits(X[:, :30], B, SCALES, size=32),
        wk.ShapeError,
        r"MatMulNBits: inner sizes differ: a is \[2, 30\], b holds \[4, 32\]; want a\[-1\] == 32",
    ),
    "few": (lambda: wk.matmul_nbits(np.ones((2, 40)), B, SCALES), wk.ShapeError, r"rows of 32 num"),
    "scales": (
        lambda: wk.matmul_nbits(X, B, SCALES, block_size=16),
        wk.ShapeError,
        r"scales has shape \[4, 1\]; want \[4, 2\], one for each block of \[1, 16\] in \[4, 32\]",
    ),
    "zeros": (
        lambda: wk.matmul_nbits(X, B, SCALES, B),
        wk.ShapeError,
        r"zero_points has shape \[4, 16\]; want \[4, 1\] of uint8 for \[4, 1\] blocks",
    ),
    "floats": (
        lambda: wk.matmul_nbits(X[:, :16], B, None, B, kind="float8_e5m2", block_size=0),
        wk.DTypeError,
        r"zero_points has dtype uint8, but b holds floats; want floats",
    ),
    "integers": (lambda: wk.matmul_nbits(X, X), wk.DTypeError, r"b has dtype float32; want uint8"),
    "block": (lambda: wk.matmul_nbits(X, B, block_size=-1), wk.ArgumentError, r"block_size is -1"),
    "blocks": (
        lambda: wk.matmul_nbits(X, B, block_size=(1, 2, 3)),  # type: ignore[arg-type]  # is refused
        wk.ArgumentError,
        r"block_size is \(1, 2, 3\); want one length, or two",
    ),
    "bits": (lambda: wk.quantize_nbits(X, bits=3), wk.ArgumentError, r"bits is 3; want 2, 4 or 8"),
    "matrix": (lambda: wk.quantize_nbits(X[0]), wk.ShapeError, r"x has shape \[32\]; want"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_refused_alike_on_both_backends(case: str) -> None:
    f, error, words = WRONG[case]
    messages = {refusal(backend, f, error) for backend in ("cpu", "webgpu")}

    assert len(messages) == 1
    with pytest.raises(error, match=words):
        f()
