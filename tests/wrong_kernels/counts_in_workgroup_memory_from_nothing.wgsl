// A counter in workgroup memory is added to and never set.
// finds: unset-workgroup-memory
// cpu: np.full(1, np.sum(x > 0), np.int32)
// shapes: (50,)
// dtype: int32
// low: -3
// high: 4
// y: x.like(shape=(1,))
// groups: lambda: (1,)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> count: atomic<i32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
  if (lane < params.x_size && x[min(lane, params.x_size - 1u)] > 0) {
    atomicAdd(&count, 1);
  }
  workgroupBarrier();
  if (lane == 0u) {
    y[0] = atomicLoad(&count);
  }
}
