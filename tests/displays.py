"""A display for tests that open a window."""

import os
import subprocess
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """Start an X server without a screen, and give its name."""
    read, write = os.pipe()
    server = subprocess.Popen(
        [
            "Xvfb",
            "-displayfd",
            str(write),
            "-screen",
            "0",
            "320x320x24",
            "-nolisten",
            "tcp",
            "-noreset",  # else it refuses whoever comes while it starts anew after its last client
        ],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as told:
        number = told.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait()
