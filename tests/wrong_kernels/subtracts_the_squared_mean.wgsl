// E[x²] - m² cancels all digits where the mean is large, so that the bound of it allows anything.
// finds: bound-wider-than-result
// cpu: np.var(x, axis=-1)
// shapes: (3, 24)
// y: x.like(shape=x.shape[:-1])
// low: 1000
// high: 1001
// groups: lambda x_shape: (-(-x_shape[0] // 64), 1)

struct Params { x_shape: vec2<u32> }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let row = id.x + id.y * groups.x * 64u;
  if (row < params.x_shape[0]) {
    var sum = 0.0;
    var squares = 0.0;
    for (var k = 0u; k < params.x_shape[1]; k++) {
      let value = x[row * params.x_shape[1] + k];
      sum += value;
      squares += value * value;
    }
    let count = f32(params.x_shape[1]);
    let mean = sum / count;
    y[row] = squares / count - mean * mean;
  }
}
