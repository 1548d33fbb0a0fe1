// An index below 0 or beyond the last element is read all the same.
// finds: out-of-bounds-read wrong-at-edge
// sig: lambda x, at, /: x.like(shape=at.shape)
// cpu: x[at]
// shapes: ((9,), (20,))
// dtype: float32 int32
// low: (-1.0, 0)
// high: (1.0, 9)

struct Params { y_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> at: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.y_size) {
    y[i] = x[at[i]];
  }
}
