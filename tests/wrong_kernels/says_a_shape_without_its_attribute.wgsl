// The signature says the shape for k = 2 alone.
// finds: wrong-shape
// attrs: k=2
// y: x.like(shape=(x.shape[0] - 1,))
// cpu: np.lib.stride_tricks.sliding_window_view(x, k).sum(-1)
// shapes: (20,)
// rtol: 1e-5
// atol: 1e-5

struct Params { y_size: u32, k: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.y_size) {
    var sum = 0.0;
    for (var j = 0u; j < params.k; j++) {
      sum += x[i + j];
    }
    y[i] = sum;
  }
}
