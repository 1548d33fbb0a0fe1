"""wk.shadow: the first kernel that differs between two backends is named, whichever it is."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.snapshot import take_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.gpu
LAYERS = 12
MODULE = """import wgsl_kernels as wk
wk.register_kernel("Alone", "cpu", lambda x: x + 1, signature=lambda x, /: x.like())
wk.wgsl_kernel("Alone", "fn op(x: T) -> T { return x + 1.5; }\\n")
"""


@pytest.fixture(autouse=True)
def _faulty() -> Iterator[None]:
    before = take_snapshot()
    wk.register_kernel("Faulty", "cpu", lambda x: x + 1, signature=lambda x, /: x.like())
    wk.wgsl_kernel("Faulty", "fn op(x: T) -> T { return x + 1.5; }\n")
    yield
    before.restore()


def network(x: wk.Tensor, fault: int) -> wk.Tensor:
    """Return a chain of kernels of which number ``fault``, from 1 on, is wrong on webgpu."""
    y = x
    for number in range(1, LAYERS + 1):
        if number == fault:
            found = wk.engine().run_kernel("Faulty", {"x": y})
            assert isinstance(found, wk.Tensor)
            y = found
        else:
            y = wk.tanh(y) if number % 2 else wk.matmul(y, wk.permute_dims(y))
    return y


def test_a_fault_is_named_wherever_it_is() -> None:
    x = wk.tensor(np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32))
    for fault in range(1, LAYERS + 1):
        with (
            wk.use_backend("webgpu"),
            pytest.raises(wk.ShadowMismatch, match=r"^Faulty: kernel run \d+ .* on \[4, 4\]"),
            wk.shadow("cpu"),
        ):
            network(x, fault)


def faulty(x: wk.Tensor) -> wk.Tensor:
    return wk.run("Faulty", x)


def test_the_message_shows_plain_numbers_and_who_called_the_op() -> None:
    with wk.use_backend("webgpu"), pytest.raises(wk.ShadowMismatch) as caught, wk.shadow("cpu"):
        faulty(wk.tensor([1.0]))

    here = faulty.__code__
    message = str(caught.value)
    assert "at [0] is 2.5, on 'cpu' 2.0. " in message
    called, through = message.rsplit("Called at ", 1)[1].split(", through ")
    assert through == f"{here.co_filename}:{here.co_firstlineno + 1}."
    assert called.startswith(f"{here.co_filename}:")
    assert int(called.rsplit(":", 1)[1]) > here.co_firstlineno + 1


def test_a_right_network_is_compared_whole_and_passes() -> None:
    x = wk.tensor(np.full((4, 4), 0.5, np.float32))
    with wk.use_backend("webgpu"), wk.shadow("cpu") as seen:
        network(x, 0)
    assert seen.compared == seen.runs >= LAYERS


def test_differences_may_be_collected_and_thinned_out() -> None:
    x = wk.tensor([1.0])
    with wk.use_backend("webgpu"), wk.shadow("cpu", keep_going=True, every=2) as seen:
        for _ in range(4):
            wk.engine().run_kernel("Faulty", {"x": x})
    assert (seen.runs, seen.compared, len(seen.mismatches)) == (4, 2, 2)


def test_the_script_repeats_the_kernel_alone(tmp_path: Path) -> None:
    (tmp_path / "faulty_kernels_of_this_test.py").write_text(MODULE)
    sys.path.insert(0, str(tmp_path))
    try:
        importlib.import_module("faulty_kernels_of_this_test")
    finally:
        sys.path.remove(str(tmp_path))
    with (
        wk.use_backend("webgpu"),
        pytest.raises(wk.ShadowMismatch) as caught,
        wk.shadow("cpu", folder=tmp_path / "found"),
    ):
        wk.engine().run_kernel("Alone", {"x": wk.tensor([1.0, 2.0])})

    script = caught.value.script
    assert script is not None
    assert f"Alone: python {script}" in str(caught.value)
    assert "Mismatched elements: 2 / 2" in _failure(script, tmp_path)


def test_the_script_repeats_a_kernel_of_a_program_that_is_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    call = 'wk.run("Alone", wk.tensor([1.0, 2.0]))'
    block = f'with wk.use_backend("webgpu"), wk.shadow("cpu", folder="found"):\n    {call}\n'
    program.write_text(MODULE + block)

    assert "Alone: python found/Alone.py" in _failure(str(program), tmp_path)
    assert "Mismatched elements: 2 / 2" in _failure("found/Alone.py", tmp_path)


def _failure(script: str, folder: Path) -> str:
    """Run a script that fails, and return what it says."""
    command = [sys.executable, "-W", "error", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 1
    return done.stderr
