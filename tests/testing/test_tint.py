"""Tint, the compiler of browsers: what it refuses and naga takes is a finding at its place."""

from __future__ import annotations

import pytest

import wgsl_kernels as wk
from wgsl_kernels.bench.checking import tint
from wgsl_kernels.bench.checking.unsampled import check_unsampled

pytestmark = pytest.mark.usefixtures("own_kernels")

QUIET = "fn op(x: f32) -> f32 {\n  return x + bitcast<f32>(0x7fc00000u);\n}\n"
"""WGSL has no constant that is NaN; naga takes it."""


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("// é ✓\nfn op(x: f32) -> f32 {\n  return x * 2u;\n}\n", "x * 2u"),
        ("fn op(x: f32) -> f32 {\n  return subgroupAdd(nowhere);\n}\n", "nowhere"),
    ],
)
def test_a_message_has_its_place_in_characters(text: str, marked: str) -> None:
    (one,) = tint.compiled(text)

    assert text[one.span.begin : one.span.end] == marked


def test_what_browsers_take_has_no_message() -> None:
    text = "enable f16;\nfn op(x: f16) -> f16 {\n  return x;\n}\n"
    entry = "@compute @workgroup_size(1)\nfn main() {\n  _ = subgroupAdd(1.0);\n}\n"

    assert tint.compiled(text) == tint.compiled(entry) == ()


@pytest.mark.gpu
def test_what_browsers_alone_refuse_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wk.signature("Quiet")(lambda x, /: x.like())
    wk.wgsl_kernel("Quiet", QUIET)

    (found,) = check_unsampled("Quiet").findings

    assert (found.code, found.source.strip()) == ("does-not-compile", QUIET.split("\n")[1].strip())
    assert found.words.startswith("browsers refuse this: ")
    assert "Tint" in dict(found.evidence)

    monkeypatch.setattr(tint, "is_installed", lambda: False)
    assert check_unsampled("Quiet").findings == ()
