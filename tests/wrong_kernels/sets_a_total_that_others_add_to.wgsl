// Nothing orders the first invocation, which sets the total, before those that add to it.
// finds: atomic-race
// cpu: x.sum(keepdims=True).astype(np.int32)
// shapes: (50,)
// dtype: int32
// y: x.like(shape=(1,))
// groups: lambda x_size: (1,)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> total: atomic<i32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
  if (lane == 0u) {
    atomicStore(&total, 0);
  }
  for (var i = lane; i < params.x_size; i += 64u) {
    atomicAdd(&total, x[i]);
  }
  workgroupBarrier();
  if (lane == 0u) {
    y[0] = atomicLoad(&total);
  }
}
