"""Each row captured, and its gradients: the replay gives the same bits.

Every sixth row of a kernel runs, chosen by a hash; with WGSL_KERNELS_TEST_MODES=all every one. In
the captured mode all run, from every layout of the inputs.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from tests.modes import ENGINE, bits, some
from tests.samples.check import Case, check, on_device
from tests.samples.fused import ONE_IN, SMOOTH, gradients_of

import wgsl_kernels as wk
from wgsl_kernels.ops.rules.host_kernels import ON_HOST
from wgsl_kernels.testing.inputs import LAYOUTS, arrays_for, call_of, tensors_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.testing import Sample

READS = {
    "NonMaxSuppressionV3",
    "NonMaxSuppressionV4",
    "NonMaxSuppressionV5",
    "BroadcastArgs",
    "NonZero",
    "RaggedGather",
    "RaggedRange",
    "SparseFillEmptyRows",
    "SparseReshape",
    "SparseSegmentMean",
    "SparseSegmentSum",
    "Unique",
    *ON_HOST,
}
"""Kernels that look at values on the host, so that no replay can stand for them."""
LAYOUT_NAMES = tuple(LAYOUTS) if ENGINE == "captured" else ("default",)


def _in_layouts(samples: Iterable[Sample]) -> list[Case]:
    return [Case(one, layout=layout) for layout in LAYOUT_NAMES for one in samples]


def _compare(f: Any, case: Case) -> None:
    """Compare a function with its capture, on the sample's values and on others of their domain."""
    arrays = arrays_for(case.sample)
    turned = [one.reshape(-1)[::-1].reshape(one.shape).copy() for one in arrays]
    fast = wk.capture(f)
    with wk.use_backend(case.backend), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for values in (arrays, turned, arrays):
            expected = bits(f(*tensors_for(values, case.layout)))
            assert bits(fast(*tensors_for(values, case.layout))) == expected
    assert fast.why is None or case.sample.kernel in READS, fast.why


@check(_in_layouts(some(on_device(), ONE_IN, "captured")))
def a_replay_gives_the_same_bits(case: Case) -> None:
    _compare(call_of(case.sample), case)


@check(_in_layouts(SMOOTH))
def a_replayed_gradient_has_the_same_bits(case: Case) -> None:
    _compare(gradients_of(case.sample, lambda y: y), case)
