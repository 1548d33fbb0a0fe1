"""The driver of the sample tables: every check of ``tests/samples`` on its rows.

A test is called ``test_a_sample[<row>-<check>-<backend>-<layout>]``, so ``-k`` selects a kernel, a
check, or both. What the suite's modes change is said in tests/modes.py.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest
from tests.recorded_bits import recorded
from tests.samples.check import CHECKS, Case, Check, on_device

FOLDER = Path(__file__).parent / "samples"
for _module in pkgutil.iter_modules([str(FOLDER)]):
    importlib.import_module(f"tests.samples.{_module.name}")


def _cases() -> list[Any]:
    found = []
    for one in CHECKS:
        for case in one.cases:
            marks = [pytest.mark.gpu] if case.backend == "webgpu" else []
            marks += [pytest.mark.plain] if one.is_plain else []
            words = (case.sample.id, one.name, case.backend, case.layout)
            found.append(pytest.param(one, case, id="-".join(words), marks=marks))
    return found


@pytest.mark.parametrize(("check", "case"), _cases())
def test_a_sample(check: Check, case: Case) -> None:
    check.run(case)


def test_each_check_has_a_name_of_its_own_and_cases() -> None:
    names = [one.name for one in CHECKS]
    assert len(set(names)) == len(names) > 10
    assert [one.name for one in CHECKS if not one.cases] == []


@pytest.mark.gpu
def test_what_is_recorded_are_samples_that_there_are() -> None:
    assert recorded().keys() <= {one.id for one in on_device()}


def test_no_two_samples_share_a_recording() -> None:
    names = [one.id for one in on_device()]
    assert sorted(set(names)) == sorted(names)
