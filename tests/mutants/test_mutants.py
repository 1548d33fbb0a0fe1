"""Mutants of our kernels by machine: a check finds each, or `survivors.txt` says why none can.

A line of that file is a mutant's name, and behind ` # ` the reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.modes import ALL_MODES
from tests.mutants.make import COUNT, Mutant, mutants
from tests.mutants.run import changed, found_by

import wgsl_kernels as wk
from wgsl_kernels.testing import all_samples, check_kernel

FEW = ("lrn.wesl", "sub.wgsl", "sparse_reshape.wesl")
"""Files whose mutants are tried in each run of the suite, one of each."""


def _survivors() -> dict[str, str]:
    lines = (Path(__file__).parent / "survivors.txt").read_text().splitlines()
    pairs = [one.partition(" # ") for one in lines if one and not one.startswith("#")]
    return {name: reason for name, _, reason in pairs}


def _tried() -> list[Mutant]:
    if ALL_MODES:
        return mutants()
    found = {one.path.name: one for one in mutants(FEW) if one.id not in _survivors()}
    return list(found.values())


@pytest.mark.gpu
@pytest.mark.parametrize("mutant", _tried(), ids=lambda one: one.id)
def test_a_mutant_is_found_or_its_survival_has_a_reason(mutant: Mutant) -> None:
    found = found_by(mutant)

    reason = _survivors().get(mutant.id)
    assert bool(found) == (reason is None), f"found by {found!r}, listed as {reason!r}"


@pytest.mark.gpu
def test_after_a_mutant_the_kernel_is_as_it_was() -> None:
    mutant = mutants(FEW)[0]
    samples = [one for one in all_samples() if one.kernel == mutant.kernel][:1]
    with changed(mutant):
        assert wk.reload_kernels() == []

    assert check_kernel(mutant.kernel, samples, sections=("right",), rows_only=True).passed


def test_survivors_have_reasons_and_are_mutants() -> None:
    survivors = _survivors()
    assert all(len(one) > 10 for one in survivors.values())
    if ALL_MODES:
        known = {one.id for one in mutants()}
        assert len(known) >= COUNT
        assert survivors.keys() <= known
