"""Any program gives the same bits however its maps are fused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fusion.programs import Program

import wgsl_kernels as wk

pytestmark = pytest.mark.gpu


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("seed", range(40))
def test_a_program_gives_the_same_bits_in_every_mode(seed: int) -> None:
    program = Program(seed)
    with wk.use_backend("webgpu"):
        with wk.config.using(fusion="never"):
            expected = program.run()
        for mode, small_ops in (
            ("always", "device"),
            ("auto", "device"),
            ("auto", "host"),
            ("auto", "host"),
            ("always", "host"),
        ):
            with wk.config.using(fusion=mode, small_ops=small_ops):
                found = program.run()
            for number, (one, two) in enumerate(zip(expected, found, strict=True)):
                np.testing.assert_array_equal(
                    one.view(np.int32), two.view(np.int32), f"{mode}, {small_ops}: value {number}"
                )
