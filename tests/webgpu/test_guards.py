"""Zones behind buffers, which tell of what was written there."""

from __future__ import annotations

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.backends.webgpu.runtime.watching import poisoned
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.config import config

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("behind", [0, 4, 200])
def test_a_word_behind_a_buffer_is_seen_and_right_kernels_write_none(behind: int) -> None:
    driver = find_driver("webgpu")
    assert isinstance(driver, WebGpuBackend)
    device = driver.open()
    with wk.use_backend("webgpu"), config.using(small_ops="device"):
        x = wk.tensor(np.arange(33, dtype=np.float32))
        with poisoned(device, 0x7FC0DEAD) as guards:
            y = wk.exp(x) + wk.sum(x)
            assert np.isfinite(y.numpy()).all()
            assert guards.storages
            assert guards.broken() == []
            storage = guards.storages[-1]
            place = -(-storage.nbytes // 16) * 16 + behind
            device.upload(storage, place, np.array([1], np.uint32))
            assert guards.broken() == [(storage.nbytes, place)]
