// A view's strides are used, its offset is not.
// finds: wrong-view
// cpu: x + 1
// shapes: (5, 7)

struct Params { y_shape: vec2<u32>, x_strides: vec2<u32>, x_offset: u32, y_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.y_size) {
    let row = i / params.y_shape[1];
    let col = i % params.y_shape[1];
    y[i] = x[row * params.x_strides[0] + col * params.x_strides[1]] + T(1);
  }
}
