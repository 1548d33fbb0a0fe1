"""What a file registers: derived gradients are part of their op, names of no kernel are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.testing.commands import run, written

from wgsl_kernels.testing.program import KernelScript

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_before")

CUBE = """import wgsl_kernels as wk

wk.signature("Cube")(lambda x, /: x.like())
wk.wgsl_kernel("Cube", "fn op(x: T) -> T { return x * x * x; }", cpu="derive", gradient="derive")
wk.testing.add_samples("Cube", wk.testing.Sample("Cube", lambda x: wk.run("Cube", x), ((4,),)))
"""
STRAY = """

@wk.{kind}("Cuba")
def _stray({parameters}):
    return x
"""


@pytest.mark.gpu
def test_a_derived_gradient_is_judged_by_the_samples_of_its_op(tmp_path: Path) -> None:
    script = KernelScript.at(written(tmp_path, CUBE))
    script.run()

    assert script.kernels == ("Cube",)
    assert script.unused() == []
    script.drop()
    assert run("check", script.path, "--section", "gradient", "--strict").exit_code == 0


@pytest.mark.parametrize(("kind", "parameters"), [("signature", "x, /"), ("gradient", "dy, x")])
def test_what_is_registered_for_no_kernel_is_told(
    tmp_path: Path, kind: str, parameters: str
) -> None:
    stray = STRAY.format(kind=kind, parameters=parameters)
    script = KernelScript.at(written(tmp_path, CUBE + stray))
    script.run()

    (found,) = script.unused()
    assert (found.code, found.line) == ("no-such-kernel", 8)
    assert found.words.endswith(f"this is the {kind}. Did you mean 'Cube'?")
