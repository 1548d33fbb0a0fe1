"""Correct kernels of ours are not flagged where grids fold, however large their outputs are."""

import pytest

from wgsl_kernels.backends.webgpu.programs.building import FOLD, fold
from wgsl_kernels.bench.checking import right
from wgsl_kernels.bench.checking.subject import Subject
from wgsl_kernels.testing import all_samples


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["CropAndResize", "Diag"])
def test_a_right_kernel_has_no_finding_where_its_grid_folds(kernel: str) -> None:
    """One reads places of an image that is 1,030 wide, one writes the square of what it reads."""
    sample = next(one for one in all_samples() if one.kernel == kernel)
    subject = Subject(kernel, (sample,), ("webgpu",))

    assert list(right.folded(subject, sample)) == [[]]


@pytest.mark.parametrize("total", [1, 2, 3, 2 * FOLD, 2 * FOLD + 1, 1 << 20, 1 << 31])
def test_a_folded_grid_is_one_that_devices_allow(total: int) -> None:
    x, y, z = fold(total, 2)

    assert max(x, y) <= FOLD
    assert (z, x * y >= total) == (1, True)
