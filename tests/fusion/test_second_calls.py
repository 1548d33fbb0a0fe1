"""What a program needs is compiled in its first call; one-off expressions compile few shaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.fusion.user_programs import PROGRAMS

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.runtime import evaluator as evaluating
from wgsl_kernels.backends.webgpu.runtime.fusible_kernels import COST_WITH_KERNEL
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fusion.user_programs import Call

pytestmark = pytest.mark.gpu

LATE = 2
"""Pipelines that a second call may use and the first has not: of numbers that were on the host."""


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, Any]]:
    """Give the pipelines that run, by identity, in a process as good as new."""
    driver: Any = find_driver("webgpu")
    found: dict[int, Any] = {}
    with wk.use_backend("webgpu"), wk.config.using(fusion="auto", small_ops="host"):
        device = driver.open()
        run, replay = device.run, device.replay

        def running(ready: Any, storages: Any) -> None:
            found[id(ready.pipeline)] = ready.pipeline
            run(ready, storages)

        def replaying(records: Any, *rest: Any) -> None:
            found.update((id(one[0]), one[0]) for one in records)
            replay(records, *rest)

        monkeypatch.setattr(device, "run", running)
        monkeypatch.setattr(device, "replay", replaying)
        monkeypatch.setattr(driver.evaluator, "seen", evaluating.SeenStructures())
        monkeypatch.setattr(evaluating, "EARNED_BY", 1 << 60)
        yield found


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_the_second_call_needs_hardly_a_new_pipeline(
    program: Callable[[], Call], used: dict[int, Any]
) -> None:
    call = program()
    numbers: list[int] = []
    for _ in range(3):
        before = len(used)
        call()
        numbers.append(len(used) - before)
    assert numbers[0] > 0
    assert numbers[1] <= LATE, numbers
    assert numbers[2] == 0, numbers


OPS = (wk.exp, wk.sin, wk.tanh, wk.abs, wk.square, wk.cos)


def test_one_off_expressions_share_the_pipelines_of_their_ops(
    used: dict[int, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "FUSED_EARLY", 8)
    x = wk.tensor(np.linspace(0.1, 1.0, 300, dtype=np.float32))
    for first in OPS:
        for second in OPS:
            (second(first(x)) + 1.0).numpy()
    assert len(used) == 8 + len(OPS) + 1  # of 36 structures, six ops and the sum


def test_one_off_expressions_of_products_compile_few_of_them(
    used: dict[int, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "FUSED_EARLY", 8)
    a, b = (wk.tensor(np.eye(24, dtype=np.float32)) for _ in range(2))
    for first in OPS:
        (first(a @ b) + 1.0).numpy()
    products = [one for one in used.values() if "BatchMatMul" in one.label]
    assert len(products) == 8 // COST_WITH_KERNEL + 1


def test_work_that_was_done_earns_structures_that_are_fused_on_first_use() -> None:
    known = evaluating.SeenStructures()
    assert all(known.may_be_early(0, 1) for _ in range(evaluating.FUSED_EARLY))
    assert not known.may_be_early(evaluating.EARNED_BY - 1, 1)
    assert known.may_be_early(evaluating.EARNED_BY, 1)
    assert not known.may_be_early(4 * evaluating.EARNED_BY, COST_WITH_KERNEL)
