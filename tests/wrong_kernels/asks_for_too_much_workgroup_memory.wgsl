// More workgroup memory than every device has.
// finds: over-default-limits
// cpu: x * 1
// shapes: (70,)
// groups: lambda: (1,)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> tile: array<T, 6000>;

@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) lane: u32) {
  tile[lane] = x[min(lane, params.x_size - 1u)];
  workgroupBarrier();
  if (lane < params.x_size) {
    y[lane] = tile[lane];
  }
}
