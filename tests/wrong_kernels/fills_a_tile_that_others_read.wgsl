// The second tile is filled while some still read the first: a barrier is missing behind it.
// finds: read-race
// cpu: x.sum(1)
// y: x.like(shape=(x.shape[0],))
// shapes: (3, 40)
// groups: lambda x_shape: (x_shape[0],)
// rtol: 1e-4
// atol: 1e-4

struct Params { x_shape: vec2<u32> }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

var<workgroup> tile: array<f32, 128>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let cols = params.x_shape.y;
  let row = group.x;
  var sum = 0.0;
  for (var t = 0u; t < cols; t += 128u) {
    tile[lane] = select(0.0, x[row * cols + min(t + lane, cols - 1u)], t + lane < cols);
    workgroupBarrier();
    for (var k = 0u; k < 128u; k++) {
      sum += tile[k];
    }
  }
  if (lane == 0u) {
    y[row] = sum;
  }
}
