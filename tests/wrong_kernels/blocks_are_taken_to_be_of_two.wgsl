// The attribute is 2 whatever it is; of another no length of the sample is a multiple.
// finds: wrong-for-attribute
// cpu: x.reshape(len(x), -1, block * block).sum(2)
// sig: lambda x, /, *, block: x.like(shape=(x.shape[0], x.shape[1] // block**2)) if block > 0 and x.shape[1] and x.shape[1] % block**2 == 0 else 1 / 0
// shapes: (3, 8)
// attrs: block=2
// rtol: 1e-5
// atol: 1e-5

struct Params { x_shape: vec2<u32>, y_shape: vec2<u32>, y_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i >= params.y_size) {
    return;
  }
  let begin = i / params.y_shape.y * params.x_shape.y + i % params.y_shape.y * 4u;
  y[i] = x[begin] + x[begin + 1u] + x[begin + 2u] + x[begin + 3u];
}
