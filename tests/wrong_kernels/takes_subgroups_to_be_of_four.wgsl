// The largest of a subgroup is that of four neighbours where it has four invocations.
// finds: wrong-configuration wrong-values
// cpu: np.repeat(x.reshape(-1, 4).max(-1), 4)
// sig: lambda x, /: x.like() if x.shape[0] % 4 == 0 else 1 / 0
// shapes: (64,)

enable subgroups;

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(subgroup_size) size: u32) {
  let i = id.x;
  let largest = subgroupMax(x[min(i, arrayLength(&x) - 1u)]);
  if (i < arrayLength(&y)) {
    y[i] = largest;
  }
}
