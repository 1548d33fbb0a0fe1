// A bool is stored as 0 or 1, and what reads this array by its name counts on that.
// finds: odd-bool
// cpu: x[:, ::-1].copy()
// shapes: (4, 9)
// dtype: bool

struct Params { x_shape: vec2<u32>, y_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T_y>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.y_size) {
    let col = i % params.x_shape[1];
    y[i] = 2u * x[i - col + params.x_shape[1] - 1u - col];
  }
}
