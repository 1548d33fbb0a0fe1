"""Each row gives the bits that were recorded on this adapter, in each layout, mode and variant.

A row or an adapter without a recording is held to itself: two rounds must agree. One row in 32
runs, chosen by a hash of its id; with WGSL_KERNELS_TEST_MODES=all every one. A change of bits that
is meant is recorded by `python -m tests.recorded_bits`.
"""

from __future__ import annotations

import zlib

from tests.modes import ALL_MODES
from tests.recorded_bits import hashes, recorded
from tests.samples.check import Case, check, on_device

RECORDED = recorded()


@check([Case(one) for one in on_device() if ALL_MODES or zlib.crc32(one.id.encode()) % 32 == 0])
def the_bits_are_those_that_were_recorded(case: Case) -> None:
    expected = RECORDED.get(case.sample.id) or hashes(case.sample)
    found = hashes(case.sample)

    # of few lanes llvmpipe has fewer configurations, to the same bits
    assert found == {
        name: bits
        for name, bits in expected.items()
        if name in found or not name.startswith("configuration ")
    }
