// Squares are taken in float16, and summed in float32: numbers above 255 overflow.
// finds: wrong-at-extreme
// cpu: (x.astype(np.float32) ** 2).mean(1).astype(x.dtype)
// y: x.like(shape=x.shape[:1]) if x.shape[1] else 1 / 0
// shapes: (4, 9)
// dtype: float16
// rtol: 2e-3
// atol: 1e-3

struct Params { x_shape: vec2<u32> }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let row = id.x + id.y * groups.x * 64u;
  if (row >= params.x_shape.x) {
    return;
  }
  var sum = 0.0;
  for (var j = 0u; j < params.x_shape.y; j++) {
    let v = x[row * params.x_shape.y + j];
    sum += f32(v * v);
  }
  y[row] = T(sum / f32(params.x_shape.y));
}
