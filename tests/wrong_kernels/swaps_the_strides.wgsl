// Rows and columns are swapped where the matrix is not square.
// finds: wrong-values out-of-bounds-read
// cpu: x.T.copy()
// shapes: (4, 6)
// y: x.like(shape=x.shape[::-1])

struct Params { x_shape: vec2<u32>, x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size) {
    let row = i / params.x_shape[0];
    let col = i % params.x_shape[0];
    y[i] = x[row * params.x_shape[1] + col];
  }
}
