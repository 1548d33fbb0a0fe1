// The guard lets one number in that is no bin, and an atomic function writes there.
// finds: out-of-bounds-write
// cpu: np.bincount(x[x < 8], minlength=8).astype(np.int32)
// y: x.like(shape=(8,))
// shapes: (50,)
// dtype: int32
// low: 0
// high: 9
// domain: (0, 9)
// init: {"y": 0}
// groups: lambda x_size: (-(-x_size // 64),)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<atomic<i32>>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.x_size && x[id.x] <= 8) {
    atomicAdd(&y[x[id.x]], 1);
  }
}
