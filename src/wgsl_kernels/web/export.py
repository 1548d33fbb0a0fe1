"""Writing a function as a folder for a browser."""

from __future__ import annotations

import json
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.adapter.facts import DEFAULT_LIMITS
from wgsl_kernels.backends.webgpu.devices.pipeline import CompileFailure
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError
from wgsl_kernels.engine.values.attributes import examples
from wgsl_kernels.formats.tensor_header import STORED, packed
from wgsl_kernels.web.portable import portable_backend, stage_of
from wgsl_kernels.web.program import WebProgram, kebab, program_of
from wgsl_kernels.web.tracing import traced

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Mapping

    from wgsl_kernels.engine.tensors.tensor import TensorLike
    from wgsl_kernels.engine.values.host import Array

PROGRAM, WEIGHTS = "program.json", "weights.safetensors"
PAGE = ("index.html", "wgsl-kernels.js", "wgsl-kernels.d.ts")
FEATURES = ("shader-f16",)


def export(
    f: Callable[..., Any],
    folder: str | os.PathLike[str],
    inputs: Mapping[str, TensorLike],
    *,
    features: Collection[str] = (),
    limits: str | Mapping[str, int] = "default",
) -> Path:
    """Write a function as a program for a browser: JSON, WGSL, weights, a module and a page.

    ``f`` runs once, for an adapter of which only WebGPU's promises are known; nothing of it is
    computed here, and variables stay as they are. Those that it reads are weights in the folder.
    Those that it assigns are state, which the page keeps from one run to the next. All texts are
    compiled here before anything is written. An earlier export in ``folder`` is replaced.

    Args:
        f: A function of tensors, called with ``inputs`` by name; it returns tensors, in
            dictionaries, lists and tuples. It may be captured, or a layer of ``wk.nn``.
        folder: Where. It is made; what is there must be empty, or an earlier export.
        inputs: An example of each input, by name, of which shape and dtype count.
        features: What the page may ask of its adapter: ``"shader-f16"`` for float16.
        limits: What it may ask beyond WebGPU's defaults, by WebGPU's names, such as
            ``{"maxStorageBufferBindingSize": 1 << 30}``.

    Returns:
        The folder.

    Raises:
        ArgumentError: ``f`` does not take ``inputs``, reads values on the host, runs an op without
            a WGSL kernel, makes a variable of computed values, or returns something else than
            tensors; or ``folder`` is something else, or ``features`` or ``limits`` are unknown, or
            no adapter here can compile the texts.
        DTypeError: An input, a variable or a result is string, float64 or complex128, or float16
            without ``"shader-f16"``.
        ShaderError: A text does not compile, or needs more than ``limits``.
        OSError: The folder cannot be written.
    """
    examples("export", f, inputs)
    place = _checked_place(folder)
    wanted = _checked_features(features)
    most = _checked_limits(limits)
    shader_features = frozenset(wanted)
    with portable_backend(most, shader_features) as driver:
        program = program_of(traced(f, inputs, driver), most, wanted)
    _compile(program)
    _write(place, program)
    return place


def _checked_place(folder: str | os.PathLike[str]) -> Path:
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise ArgumentError(f"export: {place} is a file; want a folder.")
    if place.is_dir() and any(place.iterdir()) and not (place / PROGRAM).is_file():
        raise ArgumentError(
            f"export: {place} holds other files; want a new folder, an empty one, or one of an "
            "earlier export."
        )
    return place


def _checked_features(features: Collection[str]) -> list[str]:
    several = [features] if isinstance(features, str) else list(features)
    for one in several:
        if one not in FEATURES:
            raise ArgumentError(f"export: features has {one!r}; want {', '.join(FEATURES)}.")
    return sorted(set(several))


def _checked_limits(limits: str | Mapping[str, int]) -> dict[str, int]:
    if limits == "default":
        return dict(DEFAULT_LIMITS)
    if isinstance(limits, str):
        raise ArgumentError(f"export: limits is {limits!r}; want 'default', or limits by name.")
    found = dict(DEFAULT_LIMITS)
    for name, most in limits.items():
        own = kebab(name)
        is_better = most <= found[own] if own.startswith("min-") else most >= found[own]
        if not is_better:
            raise ArgumentError(
                f"export: {name} is {most}, where every adapter has {found[own]}; leave it out."
            )
        found[own] = most
    return found


def _compile(program: WebProgram) -> None:
    """Have the compiler of this machine's WebGPU read every text."""
    device: Any = find_driver("webgpu").open()  # type: ignore[attr-defined]  # it is that backend
    for one in program.pipelines:
        stage, layout = stage_of(one), one.layout
        bindings = [(each.number, each.kind) for each in layout.storages]
        if layout.uniform is not None:
            bindings.append((layout.uniform, "uniform"))
        try:
            device.pipeline(
                stage.text, bindings, one.label, constants=stage.constants, entry=stage.entry
            )
        except CompileFailure as error:
            raise ShaderError(
                f"export: {one.label} does not compile on {device.info.name}: {error}"
            ) from None


def _write(place: Path, program: WebProgram) -> None:
    """Write a folder beside its place, and put it there when it is whole."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".wgsl-kernels-", dir=place.parent) as aside:
        made = Path(aside) / "made"
        made.mkdir()
        for name, text in program.texts.items():
            (made / name).write_text(text, encoding="utf-8")
        for name in PAGE:
            (made / name).write_bytes((files("wgsl_kernels.web") / "page" / name).read_bytes())
        stored = {name: _stored(values) for name, values in program.tensors.items()}
        (made / WEIGHTS).write_bytes(b"".join(packed(stored, {})))
        text = json.dumps(program.content, indent=1, ensure_ascii=False)
        (made / PROGRAM).write_text(text, encoding="utf-8")
        if place.exists():
            place.rename(Path(aside) / "before")
        shutil.move(made, place)


_NAMES = {kind: name for name, kind in STORED.items() if name != "BF16"}


def _stored(values: Array) -> tuple[str, Array]:
    if values.dtype == np.complex64:
        values = values.view(np.float32).reshape(*values.shape, 2)
    return _NAMES[values.dtype], values
