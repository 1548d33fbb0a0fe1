"""Which adapter is chosen, and what is asked of it. No device needed."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest

from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo, described
from wgsl_kernels.backends.webgpu.adapter.policy import immediate_bytes, policy_of
from wgsl_kernels.backends.webgpu.devices import adapters as adapter_module
from wgsl_kernels.backends.webgpu.devices.adapters import (
    choose_adapter,
    limits_to_request,
    list_adapters,
)
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.engine.environment.errors import ArgumentError


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


@pytest.mark.gpu
def test_adapters_are_looked_for_once_since_opengls_context_may_be_in_use() -> None:
    assert all(one is other for one, other in zip(list_adapters(), list_adapters(), strict=True))
    first, second = choose_adapter(), choose_adapter()
    assert first is not None
    assert second is not None
    assert first.adapter is second.adapter


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
    assert policy_of(found).column_strip(1 << 20) == (32 if expected else None)
    assert policy_of(found).column_strip(1 << 19) is None


def test_mesas_software_vulkan_alone_is_told_to_compile_ahead() -> None:
    lavapipe = replace(info(0, "llvmpipe", "CPU", "Vulkan"), driver="Mesa 25.0.7-2 (LLVM 15.0.6)")
    assert [policy_of(lavapipe).compiling_threads(n) for n in (1, 2, 16)] == [1, 2, 4]
    others = [replace(lavapipe, backend="OpenGL"), replace(lavapipe, driver=""), FOUND[4][0]]
    assert [policy_of(one).compiling_threads(16) for one in others] == [0, 0, 0]


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
    software, gpu = (policy_of(FOUND[n][0]).memory_limit for n in (0, 4))
    assert software == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    assert gpu is None


def test_adapters_of_one_kind_have_one_policy_and_others_another() -> None:
    software, gpu, other = (policy_of(FOUND[n][0]) for n in (0, 2, 4))
    assert gpu is other
    assert software is not gpu
    assert {software: 1}.get(gpu) is None


@pytest.mark.parametrize(
    ("name", "features", "expected"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", {"subgroup"}, True),
        ("llvmpipe (LLVM 15.0.6, 128 bits)", {"subgroup"}, False),
        ("llvmpipe (LLVM 15.0.6, 256 bits)", set[str](), False),
        ("SwiftShader Device", {"subgroup"}, False),
    ],
)
def test_lanes_share_where_registers_are_known_to_hold_eight(
    name: str, features: set[str], expected: bool
) -> None:
    facts = {"device": name, "adapter_type": "CPU", "vendor": "", "description": ""}
    adapter = SimpleNamespace(
        info={**facts, "backend_type": "Vulkan"}, limits={}, features=features
    )
    assert policy_of(described(0, adapter)).shares_lanes == expected


def test_parameters_travel_with_a_dispatch_but_on_opengl() -> None:
    limits = {"max-immediate-size": 4096}
    vulkan, opengl = FOUND[4][0], FOUND[3][0]
    assert immediate_bytes(vulkan, limits, {"immediates"}) == 256
    assert immediate_bytes(vulkan, {"max-immediate-size": 128}, {"immediates"}) == 128
    assert immediate_bytes(vulkan, limits, set()) == 0
    assert immediate_bytes(opengl, limits, {"immediates"}) == 0
