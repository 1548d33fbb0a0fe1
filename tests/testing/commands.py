"""The command line as tests call it, a kernel's file, and what a call leaves as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from wgsl_kernels.cli.app import app
from wgsl_kernels.cli.new import text_of, wanted
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.testing.registered import drop_samples, sampled_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result


RIGHT = text_of(wanted("Tinted", "map", "x,z", ["alpha=0.5"]))
WRONG = RIGHT.replace("x * attrs.alpha + z", "x * attrs.alfa + z")


@pytest.fixture
def as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WGSL_KERNELS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    before = take_snapshot()
    known = set(sampled_kernels())
    yield
    before.restore()
    for name in set(sampled_kernels()) - known:
        drop_samples(name)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def written(folder: Path, text: str) -> Path:
    file = folder / "tinted.py"
    file.write_text(text)
    return file
