"""Checks of kernels and gradients: what our own suites call, for users' kernels as well."""

from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.testing.bench import Bench as Bench
from wgsl_kernels.testing.bench import BenchRow as BenchRow
from wgsl_kernels.testing.bench import bench as bench
from wgsl_kernels.testing.closeness import assert_close as assert_close
from wgsl_kernels.testing.gradients.differences import check_gradient as check_gradient
from wgsl_kernels.testing.gradients.differences import (
    compute_gradient_error as compute_gradient_error,
)
from wgsl_kernels.testing.kernel import check_kernel as check_kernel
from wgsl_kernels.testing.registered import add_samples as add_samples
from wgsl_kernels.testing.registered import all_samples as all_samples
from wgsl_kernels.testing.registered import samples_of as samples_of
from wgsl_kernels.testing.report import Report as Report
from wgsl_kernels.testing.report import Row as Row
from wgsl_kernels.testing.sample import Sample as Sample
from wgsl_kernels.wgsl.errors.findings import Finding as Finding

_publish(__name__)
