// 16 bits of an index are enough below 65,536 elements.
// finds: wrong-at-size
// cpu: x * 2
// shapes: (4, 25)

struct Params {
  x_shape: vec2<u32>,
  x_size: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i >= params.x_size) {
    return;
  }
  y[i] = x[i & 0xffffu] * 2.0;
}
