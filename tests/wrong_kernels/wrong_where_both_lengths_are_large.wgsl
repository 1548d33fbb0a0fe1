// Wrong where both lengths are large; either alone is right.
// finds: wrong-at-size
// cpu: x * 2
// shapes: (7, 9)

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
  let cols = params.x_shape.y;
  let is_far = i / cols > 100u && i % cols > 100u;
  y[i] = x[select(i, 0u, is_far)] * 2.0;
}
