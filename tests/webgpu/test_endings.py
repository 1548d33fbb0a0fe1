"""A process ends when its software device has done what it was given."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import atexit, json

def last():
    device = find_driver("webgpu").open()
    print(json.dumps([device.info.is_software, len(device.recorder.records)]))

atexit.register(last)  # before the package's own, so it is called after that
import numpy as np
import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

wk.set_backend("webgpu")
wk.config.fusion = "never"
x = wk.tensor(np.ones(300, np.float32)) + 1.0
assert find_driver("webgpu").open().recorder.records
"""


@pytest.mark.gpu
def test_what_was_recorded_is_done_before_the_process_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    is_software, recorded = json.loads(done.stdout)
    assert recorded == (0 if is_software else 1)
