// The output is added to, and nobody says what it begins with.
// finds: never-written
// cpu: np.bincount(x, minlength=4)[:4].astype(np.int32)
// shapes: (50,)
// dtype: int32
// low: 0
// high: 4
// y: x.like(shape=(4,))
// groups: lambda x_size: (max(1, -(-x_size // 64)), 1)
// warns: atomic

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<atomic<i32>>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size && x[i] >= 0 && x[i] < 4) {
    atomicAdd(&y[x[i]], 1);
  }
}
