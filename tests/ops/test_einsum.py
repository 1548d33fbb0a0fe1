"""Sums of products by subscripts, against NumPy's, and how they are refused."""

from __future__ import annotations

import numpy as np
import pytest

import wgsl_kernels as wk

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
CASES: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("i->", ((3,),)),
    ("ij->ji", ((2, 3),)),
    ("ii->i", ((3, 3),)),
    ("iij->ji", ((3, 3, 2),)),
    (",->", ((), ())),
    ("i,i->", ((70,), (70,))),
    ("ij,ij->ij", ((2, 3), (2, 3))),
    ("ij,jk", ((2, 3), (3, 4))),
    ("ba,cb", ((2, 3), (4, 2))),
    ("abcd,cdef->abef", ((2, 3, 4, 2), (4, 2, 3, 2))),
    ("acbd,ecfd->eabf", ((2, 3, 2, 4), (3, 3, 2, 4))),
    ("a,b,c->cab", ((2,), (3,), (4,))),
    ("abc,cd,d,ae->be", ((2, 3, 4), (4, 5), (5,), (2, 3))),
    ("ij,kl->", ((2, 3), (4, 5))),
    ("...->...", ((2, 3),)),
    ("i...->...", ((2, 3, 4),)),
    ("...ij,...jk->...ik", ((5, 2, 3), (1, 3, 4))),
    ("ij,jk->ik", ((2, 1), (3, 4))),
    ("ij,jk->ik", ((2, 0), (0, 3))),
    ("ij,jk->ik", ((0, 2), (2, 3))),
    ("iji,j->i", ((3, 2, 3), (2,))),
]


@BACKENDS
@pytest.mark.parametrize(("equation", "shapes"), CASES)
def test_an_equation_gives_what_it_gives_in_numpy(
    equation: str, shapes: tuple[tuple[int, ...], ...], backend: str
) -> None:
    draw = np.random.default_rng(len(equation))
    whole = [draw.integers(-9, 9, shape).astype(np.int32) for shape in shapes]
    with wk.use_backend(backend):
        for dtype in (np.int32, np.float32):  # whole numbers: exact in either
            found = wk.einsum(equation, *[one.astype(dtype) for one in whole]).numpy()
            expected = np.einsum(equation, *whole)
            assert found.dtype == dtype
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found, expected)


@BACKENDS
@pytest.mark.parametrize(
    ("equation", "shapes"),
    [case for case in CASES if case[0] in ("i->", "iij->ji", "ij,jk", "abc,cd,d,ae->be", "ij,kl->")]
    + [("...ij,...jk->...ik", ((5, 2, 3), (1, 3, 4))), ("ij,jk->ik", ((2, 0), (0, 3)))],
)
def test_complex_operands_are_multiplied_as_numpy_does(
    equation: str, shapes: tuple[tuple[int, ...], ...], backend: str
) -> None:
    draw = np.random.default_rng(len(equation))
    whole = [draw.integers(-9, 9, (2, *shape)).astype(np.float32) for shape in shapes]
    given: list[np.ndarray] = [(one[0] + 1j * one[1]).astype(np.complex64) for one in whole]
    with wk.use_backend(backend):
        for operands in (given, [given[0], *[one[0] for one in whole[1:]]]):
            found = wk.einsum(equation, *operands)
            assert found.dtype == "complex64"
            np.testing.assert_array_equal(found.numpy(), np.einsum(equation, *operands))


@BACKENDS
def test_a_complex_product_has_its_gradient(backend: str) -> None:
    a, b = (np.array(one, np.complex64) for one in ([[1 + 2j, 3j]], [[2 - 1j], [1j]]))
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.real(wk.einsum("ij,jk->", x, b)))(wk.tensor(a))

    np.testing.assert_array_equal(found.numpy(), b.conj().T)


@BACKENDS
def test_many_operands_are_contracted_in_a_good_order(backend: str) -> None:
    """From the left a chain would take 10^9 products; the result of one pair is small."""
    shapes = ((1000, 2), (2, 1000), (1000, 2))
    matrices = [np.ones(shape, np.float32) for shape in shapes]
    with wk.use_backend(backend):
        profile = wk.profile(lambda: wk.einsum("ij,jk,kl->il", *matrices))

    assert isinstance(profile.result, wk.Tensor)
    assert profile.peak_bytes < 400_000
    assert profile.result.numpy()[0].tolist() == [2000, 2000]


@BACKENDS
def test_a_trace_of_a_product_has_gradients_of_any_order(backend: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)
    with wk.use_backend(backend):
        first = wk.grad(lambda a: wk.einsum("ij,jk,ki->", a, a, a))
        second = wk.grad(lambda a: wk.sum(first(a) * x))
        found, again = first(wk.tensor(x)).numpy(), second(wk.tensor(x)).numpy()

    np.testing.assert_allclose(found, 3 * (x @ x).T, rtol=1e-5, atol=1e-5)
    # the gradient of the trace of x.T (3 a a).T is 3 (a x + x a).T
    np.testing.assert_allclose(again, 6 * (x @ x).T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "shapes", "words"),
    [
        ("ij,jk->ik->i", ((2, 3), (3, 2)), "Subscripts can only contain one '->'"),
        ("ij->ji", ((2, 2), (2, 2)), "equal to the number of operands"),
        ("ij->ii", ((2, 2),), "more than once in the output"),
        ("ij,jk->in", ((2, 3), (3, 2)), "'n' did not appear in the input"),
        ("i1->i", ((2, 3),), "want letters"),
        ("ij->j", ((2,),), r"inputs\[0\] has shape \[2\]; want 2 axes"),
        ("ij,jk", ((2, 3), (4, 4)), "axis 'j'"),
    ],
)
def test_what_is_no_equation_is_refused(
    equation: str, shapes: tuple[tuple[int, ...], ...], words: str
) -> None:
    with pytest.raises(wk.WgslKernelsError, match=words):
        wk.einsum(equation, *[np.ones(shape, np.float32) for shape in shapes])
