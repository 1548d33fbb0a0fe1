"""The modes in which the whole suite runs; an environment variable of each run says which.

WGSL_KERNELS_TEST_ENGINE is how kernels run where a test does not say so itself: "auto", "unfused",
"fused" (from the first time on), "captured": what rows of the sample tables compute outside a tape
is a replay, compared with the eager run bit for bit; or "portable": texts are those that an export
has for any browser, see tests/portable_device.py.

WGSL_KERNELS_TEST_MODES=all has every row of the tables run in each layout of its inputs and in
every test, where otherwise tests that take long run some rows of each kernel.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
import zlib
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.tensors.scopes import tensors_in
from wgsl_kernels.testing import Sample, all_samples

if TYPE_CHECKING:
    from collections.abc import Iterable

ALL_MODES = os.environ.get("WGSL_KERNELS_TEST_MODES") == "all"
ENGINE = os.environ.get("WGSL_KERNELS_TEST_ENGINE", "auto")
FUSION = {"unfused": "never", "fused": "always"}.get(ENGINE, "auto")


def rows() -> tuple[Sample, ...]:
    """Return the sample tables' rows; their functions replay themselves in the captured mode."""
    samples = all_samples()
    if ENGINE != "captured":
        return samples
    return tuple(dataclasses.replace(one, f=_Replayed(one.f)) for one in samples)


class _Row(Protocol):
    """What tells of a kernel how it is tried: a sample, or a record."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        ...

    @property
    def id(self) -> str:
        """The row's own."""
        ...


R = TypeVar("R", bound=_Row)


def some(samples: Iterable[R], one_in: int, test: str) -> list[R]:
    """Return one of ``one_in`` rows of each kernel, at least one, by a hash of row and test.

    So every kernel is in each such test, and the tests together have more of its rows.
    """
    by_kernel: dict[str, list[R]] = {}
    for one in samples:
        by_kernel.setdefault(one.kernel, []).append(one)
    if ALL_MODES:
        one_in = 1

    def place(sample: R) -> int:
        return zlib.crc32(f"{test} {sample.id}".encode())

    kept = [sorted(group, key=place)[: -(-len(group) // one_in)] for group in by_kernel.values()]
    return [one for group in kept for one in group]


def drawn(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Return all tests but those cases of ``sampled(one_in=n)`` functions that a hash leaves out.

    Of each such function one case of n runs, at least one; with WGSL_KERNELS_TEST_MODES=all every
    one.
    """
    kept, groups = set[pytest.Item](), dict[tuple[str, int], list[pytest.Item]]()
    for item in items:
        mark = None if ALL_MODES else item.get_closest_marker("sampled")
        if mark is None:
            kept.add(item)
        else:
            groups.setdefault((item.nodeid.split("[")[0], mark.kwargs["one_in"]), []).append(item)
    for (_, one_in), group in groups.items():
        group.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        kept.update(group[: -(-len(group) // one_in)])
    return kept


def bits(result: Any) -> list[tuple[tuple[int, ...], str, Any]]:
    """Return shape, dtype and bytes of every tensor in a result; of strings the words."""
    return [
        (one.shape, one.dtype, one.tolist() if one.dtype == "string" else one.numpy().tobytes())
        for one in tensors_in(result)
    ]


@dataclasses.dataclass(frozen=True)
class _Replayed:
    """A row's function, which returns what a replay gives, where one is possible."""

    f: Any

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        fast = wk.capture(lambda *given: self.f(*given, **attrs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = fast(*inputs)
        if fast.why is not None:
            return first
        again = fast(*inputs)
        assert bits(again) == bits(first)
        fast.dispose()
        return again
