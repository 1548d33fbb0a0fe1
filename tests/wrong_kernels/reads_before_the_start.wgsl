// The first element's neighbour wraps around to a huge index.
// finds: out-of-bounds-read
// cpu: x - np.append(x[:1] * 0, x[:-1])
// shapes: (70,)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size) {
    y[i] = x[i] - x[i - 1u];
  }
}
