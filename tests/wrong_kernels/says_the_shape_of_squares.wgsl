// The signature gives a transposed matrix the shape of its input, which is right for squares alone.
// finds: wrong-shape
// cpu: np.ascontiguousarray(x.T)
// shapes: (4, 4)

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
  let row = i / params.x_shape.x;
  let col = i % params.x_shape.x;
  y[i] = x[col * params.x_shape.y + row];
}
