"""Elements of the output that nobody writes are told where the author's loop writes."""

import pytest
from tests.testing.kernels import registered

from wgsl_kernels.testing import Sample, check_kernel

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("own_kernels")]

TEXT = """struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i + 1u < params.x_size) { y[i] = x[i]; }
}
"""


def test_an_element_that_nothing_writes_is_told_where_the_loop_writes() -> None:
    f = registered("Part", lambda x: x, TEXT, lambda x, /: x.like(), dtypes=("float32",))

    report = check_kernel("Part", [Sample("Part", f, ((20,),))], sections=("right", "safe"))

    errors = [one for one in report.findings if one.severity == "error"]
    assert {"wrong-values", "never-written"} <= {one.code for one in errors}
    for found in errors:
        assert "Write every element of the output, or pass init=." in found.words
        assert found.source[found.column - 1 :].startswith("y[i] = x[i]")
