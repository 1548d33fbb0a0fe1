"""Which arrays a shader that watches itself has shadows of: what it calls tells, no comment."""

import pytest

from wgsl_kernels.wgsl.instrument.rewrite import watch
from wgsl_kernels.wgsl.syntax.places import Text

SHADER = """// {comment}
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
var<workgroup> tile: array<u32, 8>;
@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) lane: u32) {{
  tile[lane] = lane;
  {call}
  y[lane] = tile[7u - lane];
}}
"""


@pytest.mark.parametrize("comment", ["", "no storageBarrier, no workgroupUniformLoad"])
def test_what_no_barrier_of_storage_orders_has_a_shadow(comment: str) -> None:
    text = Text("y.wgsl", SHADER.format(comment=comment, call="workgroupBarrier();"))
    found = watch(text, "main", 1, (8, 1, 1), 32)

    assert found.shadowed == ("y",)
    assert found.workgroup_bytes == 64


def test_a_barrier_of_storage_orders_more_than_a_shadow_sees() -> None:
    text = Text("y.wgsl", SHADER.format(comment="", call="storageBarrier();"))

    assert watch(text, "main", 1, (8, 1, 1), 32).shadowed == ()
