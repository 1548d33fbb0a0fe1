"""Every sample gives the bits that were recorded on this adapter, in each layout, mode and variant.

A row or an adapter without a recording is held to itself: two rounds must agree. One row in 32
runs, chosen by a hash of its id; with WGSL_KERNELS_TEST_MODES=all every one. A change of bits that
is meant is recorded by `python -m tests.recorded_bits`.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import pytest
from tests.modes import ALL_MODES
from tests.recorded_bits import hashes, recorded
from tests.test_captured_samples import SAMPLES

if TYPE_CHECKING:
    from wgsl_kernels.testing import Sample

pytestmark = pytest.mark.gpu

RECORDED = recorded()
CHOSEN = [one for one in SAMPLES if ALL_MODES or zlib.crc32(one.id.encode()) % 32 == 0]


@pytest.mark.parametrize("sample", CHOSEN, ids=lambda one: one.id)
def test_a_sample_gives_the_bits_that_were_recorded(sample: Sample) -> None:
    expected = RECORDED.get(sample.id) or hashes(sample)
    found = hashes(sample)

    # of few lanes llvmpipe has fewer configurations, to the same bits
    assert found == {
        name: bits
        for name, bits in expected.items()
        if name in found or not name.startswith("configuration ")
    }


def test_what_is_recorded_are_samples_that_there_are() -> None:
    assert RECORDED.keys() <= {one.id for one in SAMPLES}


def test_no_two_samples_share_a_recording() -> None:
    names = [one.id for one in SAMPLES]
    assert sorted(set(names)) == sorted(names)
