"""A bitonic sort: a kernel of many dispatches, written in Python over a ``gpu``."""

import wgsl_kernels as wk


def bitonic_sort(x):
    """Return the elements of x [length], of int32, in ascending order."""
    return wk.engine().run_kernel("BitonicSort", {"x": x})


wk.signature("BitonicSort")(lambda x, /: x.like())
wk.cpu_kernel("BitonicSort")(lambda x: x[x.argsort()])

STEP = """
struct Params { x_size: u32, mask: u32 }
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  let other = select(i, i ^ params.mask, (i ^ params.mask) < params.x_size);
  if (i < params.x_size) { y[i] = select(max(x[i], x[other]), min(x[i], x[other]), i <= other); }
}
"""


@wk.wgsl_kernel("BitonicSort", dtypes=("int32",))
def _webgpu(gpu, x):
    for steps in range(1, max(x.size - 1, 0).bit_length() + 1):
        for mask in (2**steps - 1, *(2**n for n in reversed(range(steps - 1)))):
            y = gpu.empty(x.shape, x.dtype)
            gpu.dispatch(STEP, {"x": x, "y": y}, params={"mask": mask})
            x = y
    return x


S = wk.testing.Sample("BitonicSort", bitonic_sort, ((100,),), "int32", low=-50, high=50)
wk.testing.add_samples("BitonicSort", S)
