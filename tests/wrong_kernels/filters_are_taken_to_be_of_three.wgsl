// The filter is of three elements, whatever it has; it may not be longer than what it is moved over.
// finds: wrong-at-size out-of-bounds-read
// cpu: np.convolve(x, w[::-1], "valid")
// sig: lambda x, w, /: x.like(shape=(x.shape[0] - w.shape[0] + 1,)) if x.shape[0] >= w.shape[0] > 2 else 1 / 0
// shapes: ((8,), (3,))
// rtol: 1e-4
// atol: 1e-4

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read> w: array<T>;
@group(0) @binding(2) var<storage, read_write> y: array<T>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < arrayLength(&y)) {
    y[i] = x[i] * w[0] + x[i + 1u] * w[1] + x[i + 2u] * w[2];
  }
}
