"""Which adapter is chosen, and what is asked of it. No device needed."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from wgsl_kernels.backends.webgpu.devices import adapter as adapter_module
from wgsl_kernels.backends.webgpu.devices.adapter import (
    AdapterInfo,
    choose_adapter,
    default_memory_limit,
    limits_to_request,
)
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.engine.errors import ArgumentError


def info(index: int, name: str, kind: str, backend: str) -> AdapterInfo:
    return AdapterInfo(index, name, "", "", backend, kind, {}, frozenset(), kind == "CPU")


FOUND = [
    (info(0, "llvmpipe", "CPU", "Vulkan"), "a"),
    (info(1, "Arc", "IntegratedGPU", "OpenGL"), "b"),
    (info(2, "Arc", "IntegratedGPU", "Vulkan"), "c"),
    (info(3, "RTX", "DiscreteGPU", "OpenGL"), "d"),
    (info(4, "RTX", "DiscreteGPU", "Vulkan"), "e"),
]


@pytest.mark.parametrize(
    ("wanted", "expected"), [("", "e"), ("1", "b"), ("arc", "c"), ("OpenGL", "d"), ("llvm", "a")]
)
def test_the_adapter_is_chosen_by_name_or_the_best(
    wanted: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter_module, "_enumerate", lambda: FOUND)
    monkeypatch.setenv("WGSL_KERNELS_ADAPTER", wanted)
    choice = choose_adapter()
    assert choice is not None
    assert choice.adapter == expected
    assert (f"WGSL_KERNELS_ADAPTER={wanted}" if wanted else "the best of 5") in choice.why


@pytest.mark.parametrize(
    ("name", "driver", "kind", "expected"),
    [
        ("llvmpipe", "Mesa 22.3.6 (LLVM 15.0.6)", "CPU", True),
        ("llvmpipe", "4.5 (Core Profile) Mesa 22.3.6", "CPU", True),
        ("llvmpipe", "Mesa 25.0.7-2 (LLVM 15.0.6)", "CPU", False),
        ("RADV", "Mesa 22.3.6", "DiscreteGPU", False),
        ("SwiftShader", "", "CPU", False),
    ],
)
def test_mesas_software_adapters_had_small_pages_before_25(
    name: str, driver: str, kind: str, expected: bool
) -> None:
    found = replace(info(0, name, kind, "Vulkan"), driver=driver)
    assert found.has_small_pages == expected


def test_an_adapter_that_is_not_there_lists_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adapter_module, "_enumerate", lambda: FOUND)
    monkeypatch.setenv("WGSL_KERNELS_ADAPTER", "radeon")
    with pytest.raises(ArgumentError, match=r"'radeon' is no index(.|\n)*4: RTX \(DiscreteGPU"):
        choose_adapter()


def test_no_adapter_at_all_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter_module, "_enumerate", list)
    assert choose_adapter() is None
    with pytest.raises(ArgumentError, match="no WebGPU adapter"):
        Device()


def test_unknown_limits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WGSL_KERNELS_LIMITS", "low")
    with pytest.raises(ArgumentError, match="WGSL_KERNELS_LIMITS: 'low' is unknown"):
        limits_to_request(FOUND[0][0])


def test_software_adapters_may_take_half_of_the_memory_and_gpus_all() -> None:
    software, gpu = default_memory_limit(FOUND[0][0]), default_memory_limit(FOUND[4][0])
    assert software == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    assert gpu is None
