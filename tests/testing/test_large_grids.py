"""Where grids fold: right kernels are not flagged, however large, and wrong accesses are seen."""

import pytest
from tests.testing.test_cases import codes

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.programs.building import FOLD, fold
from wgsl_kernels.bench.checking import right
from wgsl_kernels.bench.checking.subject import Subject
from wgsl_kernels.testing import all_samples


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["CropAndResize", "Diag"])
def test_a_right_kernel_has_no_finding_where_its_grid_folds(kernel: str) -> None:
    """One reads places of an image that is 1,030 wide, one writes the square of what it reads."""
    sample = next(one for one in all_samples() if one.kernel == kernel)
    subject = Subject(kernel, (sample,), ("webgpu",))

    assert list(right.folded(subject, sample)) == [[]]


@pytest.mark.parametrize("total", [1, 2, 3, 2 * FOLD, 2 * FOLD + 1, 1 << 20, 1 << 31])
def test_a_folded_grid_is_one_that_devices_allow(total: int) -> None:
    x, y, z = fold(total, 2)

    assert max(x, y) <= FOLD
    assert (z, x * y >= total) == (1, True)


ROWS = """
struct Params { x_shape: vec2<u32> }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let row = group.x + group.y * groups.x;
  if (GUARD) { y[row] = x[row * params.x_shape[1]]; }
}
"""


@pytest.mark.gpu
@pytest.mark.usefixtures("own_kernels")
@pytest.mark.parametrize(
    ("guard", "found"),
    [
        ("row < params.x_shape[0]", {}),
        ("true", {"out-of-bounds-read": "error", "out-of-bounds-write": "error"}),
    ],
)
def test_workgroups_to_spare_of_an_authors_grid_must_know_it(
    guard: str, found: dict[str, str]
) -> None:
    def rule(x: wk.Spec, /) -> wk.Spec:
        if len(x.shape) != 2 or not x.shape[1]:
            raise wk.ShapeError("Tried: want rows")
        return x.like(shape=x.shape[:1])

    def groups(x_shape: tuple[int, ...]) -> tuple[int, int]:
        return (min(x_shape[0], 65535), -(-x_shape[0] // 65535))

    shader = ROWS.replace("GUARD", guard)
    assert (
        codes(lambda x: x[:, 0], shader, {"shapes": ((4, 3),)}, rule=rule, groups=groups) == found
    )


@pytest.mark.gpu
@pytest.mark.usefixtures("own_kernels")
def test_accesses_are_watched_where_the_default_grid_folds() -> None:
    shader = """
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  if (id.x < params.x_size) { y[id.x + id.y * groups.x * 64u] = x[id.x + id.y * groups.x * 64u]; }
}
"""
    found = codes(lambda x: x * 1, shader, {"shapes": ((70,),)})

    assert found == {"out-of-bounds-read": "error", "out-of-bounds-write": "error"}
