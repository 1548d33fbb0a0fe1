"""Which files shaders are read from, and what is said of those that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.modules import packages
from wgsl_kernels.backends.webgpu.modules.files import find_file, note_unsaved, shaders_folder
from wgsl_kernels.backends.webgpu.modules.source import load_file, load_text

if TYPE_CHECKING:
    from collections.abc import Iterator

OP = "fn op(x: T) -> T {\n  return x + T(1);\n}\n"
HALF = "const HALF = 0.5;\n"
SECRET = "root:x:0:0:secret\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a folder of shaders beside which a file lies that is none of them."""
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "half.wgsl").write_text(HALF)
    folder = tmp_path / "kernels"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "half.wgsl").write_text(HALF)
    return folder


@pytest.fixture
def _shaky() -> Iterator[None]:
    yield
    if wk.get_kernel("Shaky", "webgpu") is not None:
        wk.unregister_kernel("Shaky", "webgpu")


def _run() -> Any:
    with wk.use_backend("webgpu"):
        y = wk.engine().run_kernel("Shaky", {"x": wk.tensor([1.0, 2.0])})
        assert isinstance(y, wk.Tensor)
        return y.tolist()


def _refusal(path: Path) -> str:
    with pytest.raises(wk.ShaderError) as caught:
        load_file(path)
    assert "secret\n" not in str(caught.value)
    assert "root:x" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_that_is_not_utf8_is_named(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "k.wgsl"
    path.write_bytes(f"{OP}// größer\n".encode(encoding))

    message = _refusal(path)

    assert message.startswith(f"{path}:")
    assert "is not UTF-8; save the file as UTF-8." in message


@pytest.mark.gpu
@pytest.mark.usefixtures("_shaky")
def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "k.wgsl"
    path.write_bytes(b"\xef\xbb\xbf" + OP.replace("\n", "\r\n").encode())
    wk.wgsl_kernel("Shaky", str(path), override=True)
    assert _run() == [2.0, 3.0]
    assert load_text("\ufeff" + OP, "<inline>", tmp_path).own.text.text == OP


@pytest.mark.gpu
@pytest.mark.usefixtures("_shaky")
def test_a_path_may_be_a_path(tmp_path: Path) -> None:
    path = tmp_path / "k.wgsl"
    path.write_text(OP)
    wk.wgsl_kernel("Shaky", path, override=True)
    assert _run() == [2.0, 3.0]


@pytest.mark.gpu
@pytest.mark.usefixtures("_shaky")
def test_wgsl_of_one_line_is_no_path() -> None:
    wk.wgsl_kernel("Shaky", "fn op(x: T) -> T { return x + 1; }", override=True)
    assert _run() == [2.0, 3.0]


@pytest.mark.parametrize("given", [3, b"k.wgsl", 0.5, ["k.wgsl"], os])
def test_a_source_that_is_neither_a_path_nor_text_is_refused(given: Any) -> None:
    with pytest.raises(wk.ArgumentError, match=r"Shaky: source is .*; want a path, or WGSL text"):
        wk.wgsl_kernel("Shaky", given)


@pytest.mark.gpu
@pytest.mark.usefixtures("_shaky")
@pytest.mark.parametrize(
    "given", ["k" * 5000, "a\0b.wgsl", "\ud800.wgsl", "", ".", "/", "a/" * 2500 + "k.wgsl"]
)
def test_a_path_that_no_file_can_have_is_missing(given: str) -> None:
    wk.wgsl_kernel("Shaky", given, override=True)
    with pytest.raises(wk.ShaderError, match=r"^shader file .* is missing; tried ") as caught:
        _run()
    assert len(str(caught.value)) < 1000
    str(caught.value).encode()


@pytest.mark.gpu
@pytest.mark.usefixtures("_shaky")
@pytest.mark.parametrize("given", [3, b"op", None])
def test_a_dispatch_of_what_is_no_shader_is_refused(given: Any) -> None:
    @wk.wgsl_kernel("Shaky", override=True)
    def _shaky_kernel(gpu: Any, x: Any) -> Any:
        gpu.dispatch(given, {"x": x}, groups=(1,))
        return x

    with pytest.raises(wk.ArgumentError, match="Shaky: shader is "):
        _run()


def test_half_of_a_surrogate_pair_is_refused_at_its_line() -> None:
    with pytest.raises(wk.ShaderError, match=r"^a\.wgsl:2: character '\\ud800' is half of a"):
        load_text("// one\n// \ud800\n", "a.wgsl", Path())


@pytest.mark.parametrize("name", ["secret", "half.wgsl"])
def test_no_link_leads_an_import_out_of_its_folder(name: str, outside: Path) -> None:
    (outside / "link.wgsl").symlink_to(outside.parent / name)
    (outside / "up").symlink_to(outside.parent)
    for path in ("link", f"up::{name.partition('.')[0]}"):
        kernel = outside / "k.wesl"
        kernel.write_text(f"import package::{path}::HALF;\nfn op(x: T) -> T {{ return HALF; }}\n")
        assert f": there is no module package::{path}." in _refusal(kernel)


def test_an_import_leads_nowhere_above_its_package(outside: Path) -> None:
    refused = {
        "super::super": "super::super::half leaves the package",
        "shared": "there is no package",
    }
    for path, said in refused.items():
        kernel = outside / "k.wesl"
        kernel.write_text(f"import {path}::half::HALF;\nfn op(x: T) -> T {{ return HALF; }}\n")
        assert said in _refusal(kernel)


@pytest.mark.gpu
@pytest.mark.usefixtures("_shaky")
def test_a_kernels_file_is_no_link_to_what_is_no_shader(outside: Path) -> None:
    (outside / "link.wgsl").symlink_to(outside.parent / "secret")
    for given in (outside / "link.wgsl", outside.parent / "secret", "/etc/passwd"):
        wk.wgsl_kernel("Shaky", given, override=True)
        with pytest.raises(wk.ShaderError, match=r"does not end in \.wgsl or \.wesl") as caught:
            _run()
        assert "root:" not in str(caught.value)


def test_a_file_outside_of_the_folder_of_its_package_is_told_where_that_is(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "wesl.toml").write_text('[package]\nroot = "shaders"\n')
    for folder in ("shaders", "other"):
        (tmp_path / folder).mkdir()
    (tmp_path / "other" / "m.wesl").write_text("fn f(x: f32) -> f32 { return x; }\n")
    kernel = tmp_path / "other" / "k.wesl"
    root = tmp_path / "shaders"

    kernel.write_text('#include "m.wesl"\nfn op(x: f32) -> f32 { return f(x); }\n')
    said = _refusal(kernel)
    assert "write 'import package::m::f;' in its place." in said
    assert f"m.wesl is not in the package's folder {root}; move it there." in said

    kernel.write_text("import package::m::f;\nfn op(x: f32) -> f32 { return f(x); }\n")
    assert f"no module package::m. Its package is the folder {root}." in _refusal(kernel)


def test_a_module_that_no_file_can_have_is_missing(outside: Path) -> None:
    kernel = outside / "k.wesl"
    kernel.write_text(f"import package::{'k' * 500}::f;\nfn op(x: T) -> T {{ return f(x); }}\n")
    assert "there is no module package::kkk" in _refusal(kernel)


def test_a_folder_that_the_program_names_is_imported_from(
    outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "_named", {})
    kernel = outside / "parts" / "k.wesl"
    kernel.write_text("import shared::half::HALF;\nfn op(x: T) -> T { return HALF; }\n")
    assert "Name its folder with wgsl_kernels.shader_package." in _refusal(kernel)

    wk.shader_package("shared", outside.parent)
    assert "HALF" in load_file(kernel).constants
    wk.shader_package("shared", outside)
    assert "there is no module shared::half." in _refusal(kernel)


def test_a_folder_is_named_by_a_word_and_is_there(tmp_path: Path) -> None:
    with pytest.raises(wk.ArgumentError, match="shader_package: name is 'a/b'; want"):
        wk.shader_package("a/b", tmp_path)
    with pytest.raises(wk.ArgumentError, match=r"shader_package: path is '.*none'; want a folder"):
        wk.shader_package("shared", tmp_path / "none")
    bad: Any = 3
    with pytest.raises(wk.ArgumentError, match="shader_package: path is 3; want a path"):
        wk.shader_package("shared", bad)


FORMER = {
    "activation": ("elementwise/activation",),
    "binary": (
        "elementwise/binary",
        "elementwise/bitwise",
        "elementwise/differences",
        "elementwise/float_pairs",
        "elementwise/trigonometry",
    ),
    "cast": ("elementwise/cast",),
    "compare": ("elementwise/compare",),
    "complex": ("elementwise/complex",),
    "conv": ("convolution/depthwise_launch",),
    "copy": ("lowering",),
    "count": ("indexing/counting",),
    "creation": ("lowering", "shapes/creation", "shapes/ranges"),
    "fft": ("signal/spectral",),
    "gather": ("indexing/gather", "indexing/places"),
    "image": ("images/box_choice", "images/pixels", "images/resampling", "images/sampling"),
    "joining": ("lowering", "shapes/joining", "shapes/moving"),
    "logical": ("elementwise/logical",),
    "matrix": ("linear_algebra/diagonals", "lowering"),
    "normalization": (
        "normalization/local_response",
        "normalization/normalization",
        "reductions/statistics",
    ),
    "pool": (
        "convolution/dilation",
        "pooling/pool_dispatch",
        "pooling/pool_places",
        "pooling/poolings",
    ),
    "random": ("random/multinomial", "random/random"),
    "reduce": ("reductions/extremes", "reductions/reduce"),
    "scan": ("reductions/scan",),
    "scatter": ("indexing/updates",),
    "segment": ("indexing/segment",),
    "softmax": ("reductions/softmax",),
    "sort": ("indexing/ordered", "indexing/pairs", "indexing/sort"),
    "sparse": (
        "indexing/ragged_dense",
        "indexing/ragged_range",
        "indexing/sparse",
        "indexing/sparse_segments",
    ),
    "unary": (
        "elementwise/bitwise",
        "elementwise/classify",
        "elementwise/exponential",
        "elementwise/hyperbolic",
        "elementwise/logarithms",
        "elementwise/trigonometry",
        "elementwise/unary",
    ),
}
"""Former folders of the shaders, and the present ones of their files."""


def test_former_paths_of_shaders_are_found_and_warn() -> None:
    listed = sorted(shaders_folder().rglob("*.w[eg]sl"))
    names = {one.name for one in listed}
    for former, folders in FORMER.items():
        for folder in folders:
            files = sorted((shaders_folder() / folder).iterdir())
            assert files
            with pytest.warns(
                DeprecationWarning, match=rf"is '{folder}/{files[0].name}' now"
            ) as told:
                found = find_file(f"{former}/{files[0].name}", Path("nowhere"))
            assert found.name in names
            assert [one.filename for one in told] == [__file__]
    with pytest.raises(wk.ShaderError, match=r"shader file 'unary/softmax\.wesl' is missing"):
        find_file("unary/softmax.wesl", Path("nowhere"))
    for odd in ("unary/" + "k" * 500 + ".wesl", "unary/\0.wesl"):
        with pytest.raises(wk.ShaderError, match="is missing"):
            find_file(odd, Path("nowhere"))


def test_a_module_is_imported_by_its_former_path_with_a_warning(tmp_path: Path) -> None:
    kernel = tmp_path / "k.wesl"
    kernel.write_text(
        "import wgsl_kernels::complex::real::op_complex as real;\n"
        "fn op_complex(x: vec2<f32>) -> f32 { return real(x); }\n"
    )
    with pytest.warns(DeprecationWarning, match=r"'elementwise/complex/real\.w[eg]sl' now"):
        assert load_file(kernel).imported


@pytest.mark.gpu
@pytest.mark.usefixtures("_shaky")
@pytest.mark.parametrize("form", ["window", "scan"])
@pytest.mark.parametrize("lost", ["init", "combine"])
def test_a_file_that_loses_a_function_says_so_once_it_is_read_again(
    form: Any, lost: str, tmp_path: Path
) -> None:
    path = tmp_path / "k.wgsl"
    text = "fn init() -> T { return T(0); }\nfn combine(a: T, b: T) -> T { return a + b; }\n"
    path.write_text(text)
    wk.wgsl_kernel("Shaky", path, form=form, override=True)
    attrs = {"axis": 1} if form == "scan" else {"filter_size": 2}

    def run(size: int) -> Any:
        with wk.use_backend("webgpu"):
            y = wk.engine().run_kernel("Shaky", {"x": wk.ones((1, size, size, 4))}, attrs)
            assert isinstance(y, wk.Tensor)
            return y.numpy()

    run(4)
    path.write_text(text.replace(lost, "other"))
    run(6)
    assert wk.reload_kernels() == ["Shaky"]
    with pytest.raises(wk.ShaderError, match=lost):
        run(6)
    path.write_text(text)
    assert wk.reload_kernels() == ["Shaky"]
    run(8)


def test_a_skeleton_without_main_is_named() -> None:
    source = load_text("fn start() { }\n", "maps/map.wgsl", Path())
    with pytest.raises(wk.ShaderError, match=r"maps/map\.wgsl: fn main is missing; found fn start"):
        _ = source.functions["main"]
    assert source.functions.get("main") is None


def test_a_file_is_read_as_an_editor_has_it(outside: Path) -> None:
    whole = "import package::parts::half::HALF;\n\nfn op(x: T) -> T { return x * T(HALF); }\n"
    (outside / "own.wesl").write_text(whole)
    part = outside / "parts" / "half.wgsl"
    note_unsaved(part, "const THIRD = 0.3;\n")
    try:
        with pytest.raises(wk.ShaderError, match="declares no 'HALF'"):
            load_file(outside / "own.wesl")
    finally:
        note_unsaved(part, None)

    assert "HALF" in load_file(outside / "own.wesl").declared
