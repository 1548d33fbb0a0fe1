// The window is of three elements, whatever the attribute says, which the signature wants odd.
// finds: wrong-for-attribute
// cpu: np.lib.stride_tricks.sliding_window_view(x, size[0]).max(-1)
// sig: lambda x, /, *, size: x.like(shape=(x.shape[0] - size[0] + 1,)) if x.shape[0] >= size[0] and size[0] % 2 else 1 / 0
// attrs: size=(3,)
// shapes: (40,)

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < arrayLength(&y)) {
    y[i] = max(x[i], max(x[i + 1u], x[i + 2u]));
  }
}
