// The largest of a row is 0 where all are less: far below it all exponentials are 0.
// finds: wrong-in-domain
// cpu: np.max(x, axis=-1) + np.log(np.sum(np.exp(x - np.max(x, axis=-1, keepdims=True)), axis=-1))
// y: x.like(shape=x.shape[:1]) if x.shape[1] else 1 / 0
// shapes: (7, 5)
// domain: (-500, 500)
// rtol: 1e-5
// atol: 1e-5

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
  var top = 0.0;
  for (var j = 0u; j < params.x_shape.y; j++) {
    top = max(top, x[row * params.x_shape.y + j]);
  }
  var sum = 0.0;
  for (var j = 0u; j < params.x_shape.y; j++) {
    sum += exp(x[row * params.x_shape.y + j] - top);
  }
  y[row] = log(sum) + top;
}
