// Workgroup memory is taken for zero where nobody wrote.
// finds: unset-workgroup-read
// cpu: np.full_like(x, np.sum(x))
// shapes: (70,)
// groups: lambda: (1,)
// rtol: 1e-5
// atol: 1e-5

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> tile: array<T, 128>;

@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) lane: u32) {
  if (lane < params.x_size) {
    tile[lane] = x[lane];
  }
  workgroupBarrier();
  var sum = T(0);
  for (var k = 0u; k < 128u; k++) {
    sum += tile[k];
  }
  if (lane < params.x_size) {
    y[lane] = sum;
  }
}
