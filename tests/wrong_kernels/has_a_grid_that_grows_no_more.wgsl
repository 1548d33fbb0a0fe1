// The grid grows no more from 1,000 rows on, and no workgroup takes a second one.
// finds: wrong-where-folded
// cpu: x.sum(1)
// y: x.like(shape=(x.shape[0],))
// shapes: (6, 10)
// rtol: 1e-4
// atol: 1e-4
// groups: lambda x_shape: (min(x_shape[0], 1000),)

struct Params { x_shape: vec2<u32> }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let row = group.x + group.y * groups.x;
  if (row >= params.x_shape.x) {
    return;
  }
  var sum = 0.0;
  for (var k = 0u; k < params.x_shape.y; k++) {
    sum += x[row * params.x_shape.y + k];
  }
  y[row] = sum;
}
