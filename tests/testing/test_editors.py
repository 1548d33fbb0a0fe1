"""What editors are given makes the guide's snippets whole: a compiler of plain WGSL takes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from wgsl_kernels.cli.app import app
from wgsl_kernels.cli.prelude import prelude_of

ROOT = Path(__file__).resolve().parents[2]
GUIDE = re.findall(r"^```wgsl\n(.*?)^```", (ROOT / "docs" / "wgsl.md").read_text(), re.M | re.S)
RECIPES = [
    re.search(r'^(?:SHADER|STEP) = """(.*?)^"""', one.read_text(), re.M | re.S)
    for one in sorted((ROOT / "docs" / "cookbook").glob("*.py"))
]
SNIPPETS = [*GUIDE, *(one.group(1) for one in RECIPES if one is not None)]


@pytest.fixture(scope="module")
def device() -> Any:
    import wgpu

    return wgpu.gpu.request_adapter_sync().request_device_sync()


@pytest.mark.gpu
@pytest.mark.parametrize("snippet", range(len(SNIPPETS)))
def test_a_snippet_with_its_prelude_is_plain_wgsl(
    snippet: int, device: Any, tmp_path: Path
) -> None:
    file = tmp_path / "snippet.wesl"
    file.write_text(SNIPPETS[snippet])

    text = prelude_of(file, whole=True)

    device.create_shader_module(code=text)  # it raises where something is not declared
    assert "import" not in text.replace("without import", "")


@pytest.mark.gpu
def test_the_file_that_the_docs_offer_has_the_accessors(device: Any) -> None:
    """As it stands beside a kernel of ``x`` and ``y``; the command makes others."""
    text = (ROOT / "docs" / "editors" / "prelude.wgsl").read_text()

    device.create_shader_module(code=text)
    for name in ("T", "T_x", "T_y", "load_x", "store_y", "hold", "wk_print", "wk_inf"):
        assert re.search(rf"^(?:alias|fn) {name}\b", text, re.M), name


def test_the_command_prints_the_prelude_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.wgsl"
    file.write_text("fn op(x: T) -> T { return x + wk_inf(); }\n")

    done = CliRunner().invoke(app, ["prelude", str(file)])

    assert done.exit_code == 0
    assert "alias T = f32;\n" in done.output
    assert "fn op" not in done.output
    assert CliRunner().invoke(app, ["prelude", "nowhere.wgsl"]).exit_code == 2
