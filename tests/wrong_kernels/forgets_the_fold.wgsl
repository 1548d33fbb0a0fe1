// The index leaves out the second axis of a grid that folds.
// finds: unfolded-grid
// cpu: x * 2
// shapes: (70,)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.x_size) {
    y[id.x] = x[id.x] * T(2);
  }
}
