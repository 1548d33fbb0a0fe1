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
        (("Swish", "--attr", "x=1.0"), "which is an input already"),
        (("Swish", "--attr", "beta=nan"), "a number, as alpha=0.1, of at most 65504"),
        (("Swish", "--attr", "beta=1e5"), "of at most 65504"),
        (("Swish", "--attr", "n=2147483648"), "of at most 65504"),
        (("Swish", "--attr", "a=1", "--attr", "a=2"), "which is given twice"),
        (("Swish", "--attr", "dtype=1.0"), "what the form map has for something else"),
        (("Swish", "--attr", "x_shape=1"), "what kernels call a fact of a tensor"),
        (("Swish", "--attr", "__a=1"), "a name that WGSL keeps for itself"),
        (("Swish", "--inputs", "__a"), "a name that WGSL keeps for itself"),
        (("Swish", "--inputs", "a_shape,a"), "what kernels call a fact of a tensor"),
        (("Swish", "--inputs", "x,x"), "which is given twice"),
        (("Swish", "--inputs", "sin"), "a name that WGSL has for something of its own"),
        (("Swish", "--inputs", "class"), "a word that Python keeps for itself"),
        (("Swish", "--form", "free", "--inputs", "params"), "what the form free has"),
        (("Swish", "--form", "free", "--inputs", "main"), "what the form free has"),
        (("Swish", "--form", "free", "--inputs", "GROUP"), "what the form free has"),
        (("Swish", "--form", "free", "--inputs", "id"), "what the form free has"),
        (("Swish", "--form", "free", "--inputs", "y,out"), "what the form free has"),
        (("Swish", "--form", "free", "--attr", "x_size=1"), "a fact of a tensor"),
        (("Swish", "--form", "window", "--attr", "pad=1"), "what the form window has"),
        (("Swish", "--form", "window", "--attr", "dilations=1"), "what the form window has"),
        (("Swish", "--form", "scan", "--attr", "reverse=1"), "what the form scan has"),
        (("Swish", "--form", "reduce", "--attr", "axis=0"), "what the form reduce has"),
        (("Swish", "--form", "reduce", "--inputs", "list"), "what the form reduce has"),
        (("Swish", "--form", "product", "--attr", "depth=2"), "what the form product has"),
        (("Swish", "--form", "product", "--attr", "rows=2.0"), "what the form product has"),
        (("Swish", "--form", "product", "--inputs", "k,w"), "what the form product has"),
        (("Np",), "would be called 'np'"),
        (("Random",), "would be called 'random'"),
        (("Été",), "want letters and digits"),
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
