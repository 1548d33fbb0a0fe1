"""The coordinates of a fused map's items, which are found without a division where they are few."""

from __future__ import annotations

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.composing.forms.expressions import FEW

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("length", [2, 3, 5, 7, 1021, 1023, 1025, 65537, FEW // 2 - 1, FEW // 2])
def test_the_last_items_of_rows_and_the_first_find_their_columns(length: int) -> None:
    rows = FEW // length
    row = np.arange(length, dtype=np.int32)

    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        found = (wk.zeros((rows, length), dtype="int32") + wk.tensor(row)).numpy()

    np.testing.assert_array_equal(found, np.broadcast_to(row, (rows, length)))


def test_more_items_than_that_are_divided() -> None:
    row = np.arange(3, dtype=np.int32)

    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        found = (wk.zeros((FEW, 3), dtype="int32") + wk.tensor(row)).numpy()

    np.testing.assert_array_equal(found, np.broadcast_to(row, (FEW, 3)))
