// All invocations add to one number.
// finds: write-race
// cpu: np.sum(x, keepdims=True)
// shapes: (70,)
// y: x.like(shape=(1,))
// init: {'y': 0}
// groups: lambda x_size: (-(-x_size // 64),)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size) {
    y[0] += x[i];
  }
}
