"""Ctrl-C, as the system sends it: it arrives, and nothing that was computed is lost.

Four moments of a call are tried, from its beginning to its end; with WGSL_KERNELS_TEST_MODES=all
ten.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.modes import ALL_MODES

MOMENTS = list(range(0, 10, 1 if ALL_MODES else 3))
"""When an interrupt is sent: after 5 hundredths of a call, and 9 more for each number."""

PROGRAM = """
import json, os, signal, sys, threading, time
import numpy as np
import wgsl_kernels as wk

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
wk.set_backend("webgpu")
matrix = wk.tensor(np.eye(128, dtype=np.float32))
weights = wk.variable(np.ones((64, 64), np.float32))
weights.assign(weights * 3.0)
vector = wk.variable(np.ones((128, 128), np.float32))


def work():
    value = vector
    for _ in range(8):
        value = wk.matmul(value, matrix)
    vector.assign(value)


def seconds_of_a_read(work):
    start = time.perf_counter()
    work()
    vector.numpy()
    return time.perf_counter() - start


arrived, same = [], []
for way in (work, wk.capture(work)):
    seconds_of_a_read(way)
    spent = min(seconds_of_a_read(way) for _ in range(2))
    arrived.append(0)
    for number in json.loads(sys.argv[1]):
        timer = threading.Timer(
            spent * (0.05 + 0.09 * number), os.kill, (os.getpid(), signal.SIGINT)
        )
        try:
            timer.start()
            while True:
                way()
                vector.numpy()
        except KeyboardInterrupt:
            arrived[-1] += 1
        timer.join()
    same.append((weights.numpy() == 3.0).all() and (vector.numpy() == 1.0).all())
    way()
    same.append((vector.numpy() == 1.0).all())
print(json.dumps([arrived, bool(all(same))]))
"""


@pytest.mark.gpu
def test_every_interrupt_arrives_and_everything_stays_readable() -> None:
    command = [sys.executable, "-c", PROGRAM, json.dumps(MOMENTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[len(MOMENTS)] * 2, True]
    assert "Exception ignored" not in done.stderr
