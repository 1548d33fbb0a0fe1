"""Ctrl-C, as the system sends it: it arrives, and nothing that was computed is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import json, os, signal, threading, time
import numpy as np
import wgsl_kernels as wk

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
wk.set_backend("webgpu")
matrix = wk.tensor(np.eye(512, dtype=np.float32))
weights = wk.variable(np.ones((64, 64), np.float32))
weights.assign(weights * 3.0)
vector = wk.variable(np.ones((512, 512), np.float32))


def work():
    value = vector
    for _ in range(8):
        value = wk.matmul(value, matrix)
    vector.assign(value)


work = wk.capture(work) if {captured} else work


def seconds_of_a_read():
    start = time.perf_counter()
    work()
    vector.numpy()
    return time.perf_counter() - start


seconds_of_a_read()
spent = min(seconds_of_a_read() for _ in range(2))
arrived = 0
for number in range(20):
    timer = threading.Timer(
        spent * (0.05 + 0.045 * number), os.kill, (os.getpid(), signal.SIGINT)
    )
    try:
        timer.start()
        while True:
            work()
            vector.numpy()
    except KeyboardInterrupt:
        arrived += 1
    timer.join()
same = (weights.numpy() == 3.0).all() and (vector.numpy() == 1.0).all()
work()
same = same and (vector.numpy() == 1.0).all()
print(json.dumps([arrived, bool(same)]))
"""


@pytest.mark.gpu
@pytest.mark.parametrize("captured", [False, True])
def test_every_interrupt_arrives_and_everything_stays_readable(captured: bool) -> None:
    program = textwrap.dedent(PROGRAM).replace("{captured}", str(captured))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [20, True]
    assert "Exception ignored" not in done.stderr
