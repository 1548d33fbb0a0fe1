// The tree of a reduction has no barrier between its steps.
// finds: read-race
// cpu: np.full(1, np.sum(x), x.dtype)
// shapes: (64,)
// y: x.like(shape=(1,))
// groups: lambda: (1,)
// rtol: 1e-4
// atol: 1e-4

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> tile: array<T, 64>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
  tile[lane] = select(T(0), x[min(lane, params.x_size - 1u)], lane < params.x_size);
  workgroupBarrier();
  for (var step = 32u; step > 0u; step /= 2u) {
    if (lane < step) {
      tile[lane] += tile[lane + step];
    }
  }
  if (lane == 0u) {
    y[0] = tile[0];
  }
}
