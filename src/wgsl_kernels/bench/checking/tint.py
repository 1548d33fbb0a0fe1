"""What Tint says of a shader, the compiler of browsers, where the package ``dawn-python`` is.

It runs on Dawn's null backend: no driver is asked, and nothing runs.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.wgsl.lint.lint import lint
from wgsl_kernels.wgsl.syntax.places import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.bench.checking.subject import Subject
    from wgsl_kernels.wgsl.errors.findings import Finding

PACKAGE = "pydawn"
_ENABLE = "enable subgroups;\n"
"""What Tint wants before subgroup functions, and naga refuses."""


class Message(NamedTuple):
    """An error of Tint's, with its place in the text: characters from its beginning."""

    words: str
    span: Span


def is_installed() -> bool:
    """Say whether Tint can be asked here."""
    return importlib.util.find_spec(PACKAGE) is not None


def tint_findings(subject: Subject, dispatch: Dispatch) -> Iterator[Finding]:
    """Yield what Tint refuses of a dispatch's shader; nothing where it is not installed.

    What the lint says of the same line is left to it: its words tell what to write.
    """
    if not is_installed():
        return
    module = dispatch.module
    composed = module.source_map.composed
    errors = compiled(composed.text)
    known = {composed.place(one.span.begin).line for one in lint(composed)} if errors else set()
    for one in errors:
        first = one.words.split("\n", 1)[0]
        if composed.place(one.span.begin).line in known:
            continue
        words = f"browsers refuse this: {first}."
        if first.startswith("atomic<"):
            words += " Read it by atomicLoad(&…), and write it by atomicStore(&…, value)."
        said = (("Tint", one.words),)
        yield subject.placed("does-not-compile", words, module, one.span, evidence=said)


@functools.lru_cache(maxsize=256)
def compiled(text: str) -> tuple[Message, ...]:
    """Return the errors of a text, none where Tint takes it."""
    before = _ENABLE if "subgroup" in text else ""
    data = (before + text).encode()
    found: list[Message] = []
    for offset, length, words in _messages(data):
        begin = len(data[:offset].decode()) - len(before)
        end = len(data[: offset + length].decode()) - len(before)
        found.append(Message(words, Span(max(begin, 0), max(end, begin + 1, 1))))
    return tuple(found)


def _messages(data: bytes) -> list[tuple[int, int, str]]:
    """Return offset, length and words of the errors of a text, in bytes."""
    gpu, utils = _package()
    device = _device()
    buffer = ctypes.create_string_buffer(data)
    source = gpu.WGPUShaderModuleWGSLDescriptor()
    source.code.data = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_char))
    source.code.length = len(data)
    source.chain.sType = gpu.WGPUSType_ShaderSourceWGSL
    described = gpu.WGPUShaderModuleDescriptor()
    chained = ctypes.POINTER(gpu.struct_WGPUChainedStruct)
    described.nextInChain = ctypes.cast(ctypes.pointer(source), chained)
    gpu.wgpuDevicePushErrorScope(device, gpu.WGPUErrorFilter_Validation)
    module = gpu.wgpuDeviceCreateShaderModule(device, described)
    utils.pop_error(device)
    found: list[tuple[int, int, str]] = []

    def note(status: int, info: Any, *_: Any) -> None:
        del status
        for number in range(info.contents.messageCount):
            one = info.contents.messages[number]
            if one.type == gpu.WGPUCompilationMessageType_Error:
                found.append((one.offset, one.length, utils.from_wgpu_str(one.message)))

    asked = gpu.WGPUCompilationInfoCallbackInfo2()
    asked.mode = gpu.WGPUCallbackMode_WaitAnyOnly
    asked.callback = dict(asked._fields_)["callback"](note)
    utils.wait(gpu.wgpuShaderModuleGetCompilationInfo2(module, asked))
    gpu.wgpuShaderModuleRelease(module)
    return found


def _package() -> tuple[Any, Any]:
    return importlib.import_module(f"{PACKAGE}.webgpu"), importlib.import_module(f"{PACKAGE}.utils")


@functools.cache
def _device() -> Any:
    """Return a device of the backend that runs nothing."""
    gpu, utils = _package()
    found: list[Any] = []

    def note(status: int, adapter: Any, *_: Any) -> None:
        del status
        found.append(adapter)

    asked = gpu.WGPURequestAdapterCallbackInfo()
    asked.mode = gpu.WGPUCallbackMode_WaitAnyOnly
    asked.callback = gpu.WGPURequestAdapterCallback(note)
    options = gpu.WGPURequestAdapterOptions()
    options.backendType = gpu.WGPUBackendType_Null
    utils.wait(gpu.wgpuInstanceRequestAdapterF(utils.instance, options, asked))
    features = [gpu.WGPUFeatureName_ShaderF16, gpu.WGPUFeatureName_Subgroups]
    return utils.request_device_sync(found[0], features)
