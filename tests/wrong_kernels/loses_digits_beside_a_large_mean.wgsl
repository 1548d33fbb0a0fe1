// E[x^2] - m^2, which has no digits left where the mean is large.
// finds: lost-digits
// cpu: x.var(1)
// y: x.like(shape=(x.shape[0],))
// shapes: (4, 30)
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
  let n = f32(params.x_shape.y);
  var sum = 0.0;
  var squares = 0.0;
  for (var k = 0u; k < params.x_shape.y; k++) {
    let value = x[row * params.x_shape.y + k];
    sum += value;
    squares += value * value;
  }
  y[row] = squares / n - sum / n * (sum / n);
}
