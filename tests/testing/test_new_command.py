"""``wgsl-kernels new``: its files pass as they are, and what makes no kernel is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.testing.commands import run

from wgsl_kernels.cli.new import FORMS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_before")


@pytest.mark.gpu
@pytest.mark.parametrize("form", FORMS)
def test_a_new_file_of_every_form_passes_as_it_is(form: str, tmp_path: Path) -> None:
    made = run(
        "new", f"Own{form.title()}", "--form", form, "--attr", "alpha=0.5", "--folder", tmp_path
    )
    assert made.exit_code == 0, made.output
    (file,) = tmp_path.glob("own_*.py")

    done = run("check", file, "--strict", "--section", "compiles", "--section", "portable",
               "--section", "right", "--section", "gradient", "--section", "safe")  # fmt: skip

    assert done.exit_code == 0, done.output
    assert "1 kernel, 0 failed, 0 errors, 0 warnings" in done.output


@pytest.mark.gpu
def test_a_new_file_takes_several_inputs_and_one_that_is_called_y(tmp_path: Path) -> None:
    for form in ("map", "free"):
        run("new", f"Two{form.title()}", "--form", form, "--inputs", "x,y", "--folder", tmp_path)
        done = run("check", tmp_path / f"two_{form}.py", "--section", "right")

        assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("swish",), "want letters and digits"),
        (("Swish", "--form", "round"), "want one of map, reduce"),
        (("Swish", "--inputs", "filter"), "input is 'filter'"),
        (("Swish", "--attr", "alpha"), "as alpha=0.1"),
        (("Swish", "--form", "scan", "--inputs", "x,z"), "a scan has 1 inputs"),
        (("Swish", "--attr", "lambda=1.0"), "attribute is 'lambda'"),
        (("Swish", "--attr", "np=1"), "attribute is 'np'"),
        (("Swish", "--attr", "x=1.0"), "x is an input already"),
        (("Swish", "--attr", "beta=nan"), "a finite number"),
        (("Relu",), "Relu is a kernel already"),
    ],
)
def test_new_refuses_what_makes_no_kernel(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = run("new", *arguments, "--folder", tmp_path)

    assert done.exit_code == 2
    assert message in done.output
    assert list(tmp_path.glob("*.py")) == []


def test_new_and_kernels_refuse_folders_and_backends_that_are_not_there(tmp_path: Path) -> None:
    for arguments, message in [
        (("new", "Swish", "--folder", tmp_path / "none"), "is no folder"),
        (("kernels", "--backend", "bogus"), "want one of cpu, webgpu"),
    ]:
        done = run(*arguments)

        assert done.exit_code == 2
        assert message in done.output.replace("\n", " ")
