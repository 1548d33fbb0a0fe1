// Four at a time, and nobody takes what is left over.
// finds: never-written
// cpu: x * 2
// shapes: (70,)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x * 4u;
  if (i + 3u < params.x_size) {
    for (var k = 0u; k < 4u; k++) {
      y[i + k] = x[i + k] * T(2);
    }
  }
}
