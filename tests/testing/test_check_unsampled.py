"""``wgsl-kernels check`` on kernels that nothing tries: they compile and pass the lint, or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.testing.commands import run, written

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("as_before")]

MAIN = """@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> shared_sum: array<f32, {size}>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{
  let i = group.x * 64u + lane;
  shared_sum[lane] = 0.0;
  if (i < params.x_shape[0] * params.x_shape[1]) {{
    shared_sum[lane] = x[i] * params.alpha;{inside}
  }}
  workgroupBarrier();
  y[i] = shared_sum[63u - lane];
}}
"""
PARAMS = "struct Params { x_shape: vec2<u32>, alpha: f32 }\n"
RIGHT = PARAMS + MAIN.format(size=64, inside="")
WRONG = {
    "non-uniform-barrier": PARAMS + MAIN.format(size=64, inside="\n    workgroupBarrier();"),
    "over-default-limits": PARAMS + MAIN.format(size=5000, inside=""),
    "wrong-type": RIGHT.replace("* params.alpha", "* lane"),
    "unknown-name": RIGHT.replace("= 0.0", "= zero"),
    "unknown-field": RIGHT.replace("params.alpha", "params.alfa"),
}
HEAD = """import wgsl_kernels as wk


@wk.signature("Bare")
def _signature(x, /, *, alpha: float):
    if len(x.shape) != 2:
        raise ValueError("no matrix")
    return x


"""


def codes(*arguments: object) -> list[tuple[str, int]]:
    found = json.loads(run("check", *arguments, "--json").output)["findings"]
    return [(one["code"], one["line"]) for one in found if one["severity"] == "error"]


def in_python(shader: str) -> str:
    return f'{HEAD}wk.wgsl_kernel("Bare", """\n{shader}""", groups=lambda x_size: (1,))\n'


@pytest.mark.parametrize("code", WRONG)
def test_a_wrong_kernel_without_samples_is_found_in_text_and_in_a_file(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file is below the working directory, too: its name is shorter there."""
    monkeypatch.chdir(tmp_path)
    shader = WRONG[code]
    changed = [a != b for a, b in zip(shader.split("\n"), RIGHT.split("\n"), strict=False)]
    line = changed.index(True) + 1
    if code == "over-default-limits":
        line = 1 + shader[: shader.index("fn main")].count("\n")
    (tmp_path / "bare.wgsl").write_text(shader)
    program = written(tmp_path, in_python(shader))

    in_text = codes(program)

    assert in_text == [(code, line + in_python("").split('"""')[0].count("\n") + 1)]
    if code != "unknown-field":  # what a field means is for the Python beside it to say
        assert codes("bare.wgsl") == [(code, line)]
    program.write_text(f'{HEAD}wk.wgsl_kernel("Bare", "bare.wgsl")\n')
    assert codes(program) == [(code, line)]


def test_a_right_kernel_without_samples_is_told_so_once(tmp_path: Path) -> None:
    file = tmp_path / "bare.wgsl"
    file.write_text(RIGHT)

    done = run("check", written(tmp_path, in_python(RIGHT)))

    assert done.exit_code == 0, done.output
    assert "compiles  ok" in done.output
    assert done.output.count("warning[") == 1
    assert run("check", file, "--strict").exit_code == 0


@pytest.mark.parametrize(
    "shader",
    [
        "fn op(a: f32, b: f32) -> f32 { return a + b * foo; }\n",
        "fn init() -> f32 { return 0.0; }\nfn lift(x: f32) -> f32 { return foo; }\n"
        "fn combine(a: f32, b: f32) -> f32 { return a + b; }\n",
    ],
)
def test_files_of_every_form_are_compiled(shader: str, tmp_path: Path) -> None:
    file = tmp_path / "own.wgsl"
    file.write_text(shader)

    assert [code for code, _ in codes(file)] == ["unknown-name"]


def test_a_kernel_that_no_made_up_call_fits_is_looked_through_as_text(tmp_path: Path) -> None:
    text = in_python(WRONG["non-uniform-barrier"]).replace("len(x.shape) != 2", "True")

    assert [code for code, _ in codes(written(tmp_path, text))] == ["non-uniform-barrier"]


def test_a_template_alone_is_not_told_that_nothing_chooses_its_constants(tmp_path: Path) -> None:
    """The Python beside it does; of a map nothing can."""
    text = RIGHT.replace("\n@compute", "\nconst GROUP = 64u; // @tune 32 64\n\n@compute")
    file = tmp_path / "template.wesl"
    file.write_text(text.replace("@workgroup_size(64)", "@workgroup_size(GROUP)"))
    op = tmp_path / "map.wesl"
    op.write_text("const TWO = 2; // @tune 2 4\n\nfn op(x: T) -> T {\n  return x * T(TWO);\n}\n")

    assert run("check", file, "--strict").exit_code == 0
    assert "[unread-mark]" in run("check", op, "--strict").output
