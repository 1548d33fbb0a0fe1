"""Every row of the sample tables captured, and gradients: the replay gives the same bits.

Every third row of a kernel runs, chosen by a hash; with WGSL_KERNELS_TEST_MODES=all every one. In
the captured mode all run, from every layout of the inputs.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from tests.modes import ALL_MODES, ENGINE, bits, some

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.bench.comparison.checks import has_gradient
from wgsl_kernels.engine.tensors.scopes import tensors_in
from wgsl_kernels.ops.linear_algebra.host_kernels import ON_HOST
from wgsl_kernels.testing import Sample, all_samples
from wgsl_kernels.testing.inputs import LAYOUTS, arrays_for, call_of, tensors_for

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


def _can_run(sample: Sample) -> bool:
    if "string" in sample.input_dtypes:
        return False
    if "float16" not in sample.input_dtypes:
        return True
    choice = choose_adapter()
    return choice is None or "shader-f16" in choice.info.features


SAMPLES = [one for one in all_samples() if _can_run(one)]
IS_WHOLE = ALL_MODES or ENGINE == "captured"
SHARE = 1 if IS_WHOLE else 6
SMOOTH = some([one for one in SAMPLES if has_gradient(one)], SHARE, "smooth")
CAPTURED = some(SAMPLES, SHARE, "captured")
LAYOUT_NAMES = tuple(LAYOUTS) if ENGINE == "captured" else ("default",)


def check(f: Any, sample: Sample, layout: str) -> None:
    """Compare a function with its capture, on the sample's values and on others of their domain."""
    arrays = arrays_for(sample)
    turned = [one.reshape(-1)[::-1].reshape(one.shape).copy() for one in arrays]
    fast = wk.capture(f)
    with wk.use_backend("webgpu"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for values in (arrays, turned, arrays):
            expected = bits(f(*tensors_for(values, layout)))
            assert bits(fast(*tensors_for(values, layout))) == expected
    assert fast.why is None or sample.kernel in READS, fast.why


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUT_NAMES)
@pytest.mark.parametrize("sample", CAPTURED, ids=lambda sample: sample.id)
def test_a_replay_gives_the_same_bits(sample: Sample, layout: str) -> None:
    check(call_of(sample), sample, layout)


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUT_NAMES)
@pytest.mark.parametrize("sample", SMOOTH, ids=lambda sample: sample.id)
def test_a_replayed_gradient_has_the_same_bits(sample: Sample, layout: str) -> None:
    dtypes = sample.input_dtypes
    wanted = [n for n, dtype in enumerate(dtypes) if dtype.startswith(("float", "complex"))]

    def gradients(*inputs: wk.Tensor) -> list[Any]:
        with wk.GradientTape() as tape:
            for n in wanted:
                tape.watch(inputs[n])
            outputs = list(tensors_in(sample.f(*inputs, **sample.attrs)))
        flowing = [one for one in outputs if one.dtype.startswith(("float", "complex"))]
        return [tape.gradient(flowing, [inputs[n] for n in wanted])]

    check(gradients, sample, layout)
