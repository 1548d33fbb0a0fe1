"""What does not exist is refused, by every command and by the functions beside them."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.testing.commands import RIGHT, run, written

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.testing import Sample, add_samples, bench, check_kernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_before")

WRONG_CALLS = (
    "check NoSuchKernel",
    "check nowhere.py",
    "check nowhere.wgsl",
    "check .",
    "check Exp --section fun",
    "check Exp --backend tpu",
    "check Exp --only Nope",
    "check Exp --format fun",
    "check Exp --all",
    "check empty.py --only Nope",
    "check tinted.py --only Nope",
    "check . --watch",
    "kernels nope",
    "kernels nope --missing",
    "kernels --module empty",
    "kernels --module ends",
    "kernels --module fails",
    "kernels --backend tpu",
    "new Swish --folder nowhere",
    "prelude nowhere.wgsl",
    "explain Nope",
    "explain Exp 3y4",
    "explain Exp 3x4 --dtype float99",
    "explain ends.py:f",
    "show fails.py:f",
    "show empty.py:f",
    "show tinted.py:tinted",
    "explain tinted.py:Toned",
    "bench Nope",
    "bench Exp --most 0",
    "parity --only Nope",
    "parity --all --only Nope",
    "parity --verify nowhere.json",
    "parity --verify tinted.py",
    "parity --merge",
    "parity --merge nowhere.json",
    "parity --merge empty.py --all",
    "parity empty.py",
    "parity --all --cluster tcp://127.0.0.1:1",
    "tune matmul",
)
"""Each has one thing wrong, and nothing is done before that is told."""


ENDING = """import os, sys
import wgsl_kernels as wk
from wgsl_kernels.testing import Sample, add_samples
@wk.op("Ending")
def ending(x):
    pass
@wk.cpu_kernel("Ending")
def _(x):
    END
add_samples("Ending", Sample("Ending", ending, ((3,),)))
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, RIGHT)
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "ends.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "fails.py").write_text("\n1 / 0\n")
    (tmp_path / "leaves.py").write_text("import os\nos._exit(0)\n")
    for name, end in (("ends", "sys.exit(0)"), ("leaves", "os._exit(0)")):
        (tmp_path / f"{name}_later.py").write_text(ENDING.replace("END", end))
    return tmp_path


@pytest.mark.parametrize("call", WRONG_CALLS)
@pytest.mark.usefixtures("here")
def test_what_does_not_exist_ends_with_2(call: str) -> None:
    done = run(*call.split())

    assert (done.exit_code, done.exception.__class__) == (2, SystemExit), done.output


@pytest.mark.gpu
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "call", ["tune --only nope", "parity --only Square --out nowhere/record.json"]
)
def test_what_needs_an_adapter_to_be_refused_ends_with_2(call: str) -> None:
    assert run(*call.split()).exit_code == 2


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("ends", 1, "SystemExit: 0. The file ends the process"),
        ("ends_later", 9, "SystemExit: 0. The file ends the process"),
        ("leaves", 2, "SystemExit: 0. The file ends the process"),
        ("leaves_later", 9, "SystemExit: 0. The file ends the process"),
        ("fails", 2, "ZeroDivisionError"),
    ],
)
def test_a_file_that_does_not_run_to_its_end_is_a_finding(
    name: str, line: int, words: str, here: Path
) -> None:
    done = run("check", here / f"{name}.py", "--json")

    (found,) = json.loads(done.output)["findings"]
    assert done.exit_code == 1
    assert (found["code"], found["line"]) == ("file-failed", line)
    assert words in found["words"]


def test_a_file_without_kernels_is_a_finding(here: Path) -> None:
    done = run("check", here / "empty.py")

    assert done.exit_code == 1
    assert "error[no-kernel]" in done.output


def sample(**facts: Any) -> Sample:
    return Sample(**{"kernel": "Exp", "f": wk.exp, "shapes": ((2, 3),), **facts})


ODD_CALLS: dict[str, Callable[[], object]] = {
    "watch: a folder is 5; want a path": lambda: wk.dev.watch(5),  # type: ignore[arg-type]  # on purpose
    "watch: there is no folder nowhere": lambda: wk.dev.watch("nowhere"),
    "watch: say is 5": lambda: wk.dev.watch(say=5),  # type: ignore[arg-type]  # on purpose
    "check_kernel: sections is ()": lambda: check_kernel("Exp", sections=()),
    "check_kernel: sections is 5": lambda: check_kernel("Exp", sections=5),  # type: ignore[arg-type]  # on purpose
    "check_kernel: backends is 'cpu'": lambda: check_kernel("Exp", backends="cpu"),
    "check_kernel: samples is a Sample": lambda: check_kernel("Exp", sample()),  # type: ignore[arg-type]  # on purpose
    "check_kernel: samples has a sample of 'Exp'": lambda: check_kernel("Log", [sample()]),
    "add_samples: 'Exp' got 5": lambda: add_samples("Exp", 5),  # type: ignore[arg-type]  # on purpose
    "Sample: kernel is 5": lambda: sample(kernel=5),
    "Sample: Exp: f is 5; want a function": lambda: sample(f=5),
    "Sample: Exp: bound is 5; want a function": lambda: sample(bound=5),
    "Sample: Exp: shapes is (2, 3); want a shape per tensor": lambda: sample(shapes=(2, 3)),
    "Sample: Exp: dtypes is 'float99'": lambda: sample(dtypes="float99"),
    "Sample: Exp: dtypes is ('float32', 'float32'); want one dtype, or 1": lambda: sample(
        dtypes=("float32", "float32")
    ),
    "Sample: Exp: attrs is 5": lambda: sample(attrs=5),
    "Sample: Exp: tries['a'] is 5": lambda: sample(tries={"a": 5}),
    "Sample: Exp: low is 'a'": lambda: sample(low="a"),
    "Sample: Exp: low is 3; want at most high": lambda: sample(low=3, high=1),
    "Sample: Exp: rtol is -1": lambda: sample(rtol=-1),
    "Sample: Exp: values is 5": lambda: sample(values=5),
    "bench: op is 5": lambda: bench(5, [(2,)]),  # type: ignore[arg-type]  # on purpose
    "bench: shapes is a int": lambda: bench(wk.exp, 5),  # type: ignore[arg-type]  # on purpose
    "bench: shapes has ('a',)": lambda: bench(wk.exp, [("a",)]),  # type: ignore[list-item]  # on purpose
    "bench: shapes is empty": lambda: bench(wk.exp, []),
}


@pytest.mark.parametrize("words", ODD_CALLS)
def test_odd_arguments_are_refused_where_they_are_given(words: str) -> None:
    with pytest.raises(wk.ArgumentError, match=re.escape(words)):
        ODD_CALLS[words]()


@pytest.mark.gpu
@pytest.mark.usefixtures("here")
def test_show_and_explain_take_a_kernel_of_a_file() -> None:
    before = take_snapshot()
    (one,) = json.loads(run("explain", "tinted.py:Tinted", "--json").output)["dispatches"]

    assert one["kernels"] == ["Tinted"]
    before.restore()  # each command is a process of its own
    assert "x * attrs.alpha + z" in run("show", "tinted.py:Tinted", "3x4", "3x4").output
    wanted = run("show", "tinted.py:tinted")
    assert "tinted wants arguments (missing a required argument: 'x')" in wanted.output


@pytest.mark.gpu
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("of_that_name", ["Tinted = 'the text'", "def Tinted(x):\n    return x"])
@pytest.mark.parametrize("command", ["explain", "show", "tune"])
def test_a_kernel_is_found_beside_what_its_file_calls_like_it(
    here: Path, command: str, of_that_name: str
) -> None:
    written(here, f"{RIGHT}\n\n{of_that_name}\n")
    done = run(command, "tinted.py:Tinted")
    assert done.exit_code == 0, done.output


def test_a_file_of_a_package_imports_others_of_it_by_dots(tmp_path: Path) -> None:
    folder = tmp_path / "tinted_project"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import tinted\n")
    (folder / "factors.py").write_text("ALPHA = 0.5\n")
    file = written(folder, RIGHT + "\nfrom .factors import ALPHA\n\nassert ALPHA == 0.5\n")
    for _ in range(2):  # the second time the package is there
        result = run("check", file, "--quick")
        assert result.exit_code == 0, result.output
    assert run("show", f"{file}:Tinted").exit_code == 0
    file.write_text(f"{RIGHT}\nfrom .factors import BETA\n")
    assert (
        f"tinted.py:{RIGHT.count(chr(10)) + 2} raised ImportError"
        in run("show", f"{file}:f").output
    )
    for name in [one for one in sys.modules if one.partition(".")[0] == "tinted_project"]:
        del sys.modules[name]
