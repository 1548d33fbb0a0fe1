"""Prints by how many MiB a process grows while a kernel is edited, or shapes are new, without end.

``python growing.py edits|shapes FOLDER FIRST LAST`` counts from step FIRST on. Tests run it with
few steps and with smaller caches, so that these are full by then. With caches as they are, ``full``
as a last argument, they are full after 1,200 shapes; the gate is 40 MiB for steps 200 to 1,200 of
edits, and 1,200 to 5,000 of shapes.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.engine.environment.recent import caches

if TYPE_CHECKING:
    from collections.abc import Callable

SMALLER = 32
"""By how much caches are smaller than in use."""


def resident() -> float:
    """Return the MiB of memory that the process has now, without what its allocator keeps free."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * mmap.PAGESIZE / 2**20


def edits(folder: Path) -> Callable[[int], None]:
    """Return what edits a kernel, registers it and runs it, alone and with others."""
    wk.signature("Grown")(lambda x, /, *, by=1.0: x.like())
    file = folder / "grown.wgsl"
    x = wk.tensor(np.arange(100, dtype=np.float32))

    def step(number: int) -> None:
        head = "struct Attrs { by: T }\n"
        file.write_text(f"{head}fn op(x: T) -> T {{ return x * attrs.by + T({number}.5); }}\n")
        wk.wgsl_kernel("Grown", file, override=True)
        y: Any = wk.engine().run_kernel("Grown", {"x": x}, {"by": 2.0})
        (wk.exp(y * 0.01) + wk.sin(y)).numpy()
        assert y.numpy()[3] == number + 6.5

    return step


def shapes(folder: Path) -> Callable[[int], None]:
    """Return what computes a layer's gradients for a batch of another size each time."""
    w, b = wk.variable(np.ones((16, 8), np.float32)), wk.variable(np.ones(8, np.float32))

    def step(number: int) -> None:
        x = wk.tensor(np.ones((number + 65, 16), np.float32))
        value, _ = wk.value_and_grads(lambda w, b: wk.mean(wk.relu(x @ w + b) * 0.5))(w, b)
        assert value.item() == 8.5

    return step


def main() -> None:
    """Print the growth."""
    what, folder, first, last, *full = sys.argv[1:]
    wk.set_backend("webgpu")
    step = {"edits": edits, "shapes": shapes}[what](Path(folder))
    if not full:
        caches.nbytes //= SMALLER
    start = 0.0
    for number in range(int(last)):
        if number == int(first):
            start = resident()
        step(number)
    print(resident() - start)


if __name__ == "__main__":
    main()
