// the second axis of the grid counts workgroups, not invocations
// finds: wrong-where-folded
// cpu: x * 2
// shapes: (4, 5)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x;
  if (i < params.x_size) {
    y[i] = x[i] * T(2);
  }
}
