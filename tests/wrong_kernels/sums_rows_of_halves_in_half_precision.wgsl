// A running sum in float16, which is all that the sample has.
// finds: wrong-dtype
// cpu: (x * x).sum(1)
// y: x.like(shape=x.shape[:1])
// shapes: (4, 9)
// dtype: float16
// rtol: 2e-2
// atol: 2e-2

struct Params {
  x_shape: vec2<u32>,
}

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i >= params.x_shape.x) {
    return;
  }
  var s = T();
  for (var j = 0u; j < params.x_shape.y; j++) {
    let v = x[i * params.x_shape.y + j];
    s += v * v;
  }
  y[i] = s;
}
