"""The community's WESL test suite, where ``WESL_TESTSUITE`` names a checkout of it.

https://github.com/webgpu-tools/wesl-testsuite at the commit that ``docs/linking.md`` pins. It is
not part of this repository; the other tests in this folder cover the same behaviour.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.wesl.linked import parts

import wgsl_kernels as wk
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.syntax.places import Text

FOLDER = os.environ.get("WESL_TESTSUITE")


def _cases(file: str) -> list[Any]:
    assert FOLDER is not None
    text = Path(FOLDER, "src/test-cases-json", file).read_text(encoding="utf-8")
    cases = json.loads(text)
    assert isinstance(cases, list)
    return cases


def _texts() -> list[Path]:
    assert FOLDER is not None
    folders = [(Path(FOLDER, one["baseDir"]), one) for one in _cases("bulkTests.json")]
    return [folder / name for folder, one in folders for name in one["include"] if folder.is_dir()]


if FOLDER:

    @pytest.mark.parametrize(
        "case",
        _cases("importCases.json") + _cases("conditionalTranslationCases.json"),
        ids=lambda case: case["name"],
    )
    def test_a_project_links_to_what_is_expected(case: dict[str, Any]) -> None:
        expected = {"clash": case.get("expectedWgsl"), "path": case.get("underscoreWgsl")}
        for mangle, text in expected.items():
            if text is not None:
                linked = wk.link(case["weslSrc"], mangle=mangle)  # type: ignore[arg-type]  # a key
                assert parts(linked.text) == parts(text), linked.text

    @pytest.mark.parametrize("case", _cases("importSyntaxCases.json"), ids=lambda c: c["src"])
    def test_an_import_is_read_or_refused(case: dict[str, Any]) -> None:
        if case.get("fails"):
            with pytest.raises(wk.ShaderError):
                parse_source(Text("main.wesl", case["src"]))
        else:
            assert parse_source(Text("main.wesl", case["src"])).imports

    @pytest.mark.parametrize("path", _texts(), ids=lambda path: path.name)
    def test_a_text_of_wgsl_is_read_and_linked(path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        linked = wk.link({"main.wgsl": text})
        assert parts(linked.text) == parts(text.removeprefix("\ufeff"))
