"""Errors of a kernel name the op that was called, where that has another name."""

from collections.abc import Callable

import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.public import public_functions


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: wk.where(x, x, x), "where (kernel Select): condition has dtype float32"),
        (lambda x: x @ wk.ones((5, 2)), "matmul (kernel BatchMatMul): inner sizes differ"),
        (lambda x: wk.std(x, 7), "std (kernel Variance): axis is 7"),
        (lambda x: wk.linalg.solve(x, x), "linalg.solve (kernel MatrixSolve): a has"),
        # ops with their kernel's name, and aliases of such
        (lambda x: wk.sum(x, 5), "Sum: axis is 5"),
        (lambda x: wk.transpose(x, (0, 0)), "Transpose: perm is (0, 0)"),
        (lambda x: wk.gather(x, wk.tensor([0]), 7), "GatherV2: axis is 7"),
        # no op was called
        (lambda x: wk.run("Select", x, x, x), "Select: condition has dtype float32"),
        (lambda x: wk.engine().run_kernel("Select", {"condition": x, "t": x, "e": x}), "Select: "),
        # the op that the user called, in a function of theirs too
        (lambda x: wk.grad(lambda y: wk.sum(wk.where(y, y, y)))(x), "where (kernel Select): "),
    ],
)
def test_an_error_begins_with_the_op_that_was_called(
    call: Callable[[wk.Tensor], object], message: str
) -> None:
    with pytest.raises(wk.WgslKernelsError) as caught:
        call(wk.ones((2, 3)))

    assert str(caught.value).startswith(message)


def test_an_ops_own_name_comes_before_its_aliases() -> None:
    names = public_functions()[wk.tfjs.transpose.__code__]

    assert names == ["permute_dims", "tfjs.transpose"]
