// 16 bits of a row's number are enough below 65,536 rows.
// finds: wrong-at-size
// cpu: x.sum(1)
// y: x.like(shape=(x.shape[0],))
// shapes: (6, 10)
// rtol: 1e-4
// atol: 1e-4

struct Params { x_shape: vec2<u32> }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let row = id.x + id.y * groups.x * 64u;
  if (row >= params.x_shape.x) {
    return;
  }
  var sum = 0.0;
  for (var k = 0u; k < params.x_shape.y; k++) {
    sum += x[(row & 0xffffu) * params.x_shape.y + k];
  }
  y[row] = sum;
}
