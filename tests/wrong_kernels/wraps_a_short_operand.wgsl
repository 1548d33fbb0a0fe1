// A shorter operand is read by the long one's index.
// finds: out-of-bounds-read wrong-values
// cpu: x + z
// shapes: (4, 3), (3,)
// sig: lambda x, z, /: x.like()
// cpuargs: x, z

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read> z: array<T>;
@group(0) @binding(2) var<storage, read_write> y: array<T>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size) {
    y[i] = x[i] + z[i];
  }
}
