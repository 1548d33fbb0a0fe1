"""Every variant of a kernel keeps the bound of the row.

One in six rows of a kernel runs; with WGSL_KERNELS_TEST_MODES=all every one.
"""

from __future__ import annotations

import zlib

from tests.modes import some
from tests.samples.check import Case, check

from wgsl_kernels.backends.webgpu.declare.variants import declared
from wgsl_kernels.backends.webgpu.tuning.tuner import forced, watching
from wgsl_kernels.bench.comparison.checks import check_forward
from wgsl_kernels.testing import all_samples
from wgsl_kernels.testing.inputs import LAYOUTS

VARIED = declared()
SAMPLES = [
    sample
    for sample in all_samples()
    if sample.kernel in VARIED and "float16" not in sample.input_dtypes
]


@check([Case(one) for one in some(SAMPLES, 6, "variants")])
def every_variant_keeps_the_bound(case: Case) -> None:
    layouts = list(LAYOUTS)
    with watching() as seen:
        check_forward(case.sample, case.backend)
    for name in sorted(seen.get(case.sample.kernel, ())):
        place = zlib.crc32(f"{case.sample.id} {name}".encode())
        with forced(case.sample.kernel, name):
            row = check_forward(case.sample, case.backend, layouts[place % len(layouts)])
        assert row.passed, f"{name}: {row}"
