// E[x²] - m² has no digits left where the mean is large, and every element of a row is scaled by it.
// finds: lost-digits
// cpu: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-3)
// shapes: (3, 24)
// rtol: 1e-4
// atol: 1e-4
// groups: lambda x_shape: (-(-x_shape[0] // 64), 1)

struct Params { x_shape: vec2<u32> }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let row = id.x + id.y * groups.x * 64u;
  let cols = params.x_shape.y;
  if (row < params.x_shape.x) {
    var sum = 0.0;
    var squares = 0.0;
    for (var k = 0u; k < cols; k++) {
      sum += x[row * cols + k];
      squares += x[row * cols + k] * x[row * cols + k];
    }
    let mean = sum / f32(cols);
    let scale = inverseSqrt(squares / f32(cols) - mean * mean + 1e-3);
    for (var k = 0u; k < cols; k++) {
      y[row * cols + k] = (x[row * cols + k] - mean) * scale;
    }
  }
}
