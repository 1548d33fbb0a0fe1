// Conversion truncates, where the largest number of a row is rounded down: wrong below 0.
// finds: wrong-values
// cpu: np.floor(x.max(1) * 16).astype(np.int32)
// y: x.like(shape=x.shape[:1], dtype="int32") if x.shape[1] else 1 / 0
// shapes: (6, 40)

struct Params { x_shape: vec2<u32> }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let row = id.x + id.y * groups.x * 64u;
  if (row >= params.x_shape.x) {
    return;
  }
  var most = x[row * params.x_shape.y];
  for (var j = 1u; j < params.x_shape.y; j++) {
    most = max(most, x[row * params.x_shape.y + j]);
  }
  y[row] = i32(most * 16.0);
}
