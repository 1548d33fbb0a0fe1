// A whole number is cut off, which is made of floats and far larger in the domain.
// finds: wrong-in-domain
// cpu: np.floor(x * 16).astype(np.int32)
// y: x.like(dtype="int32")
// shapes: (4, 9)
// domain: (-1000, 1000)

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < arrayLength(&y)) {
    y[i] = min(i32(floor(x[i] * 16.0)), 10000);
  }
}
