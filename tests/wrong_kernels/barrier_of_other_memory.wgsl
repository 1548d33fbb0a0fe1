// A storageBarrier orders storage; the workgroup's memory is read without order.
// finds: read-race
// cpu: x[::-1].copy()
// shapes: (70,)
// groups: lambda: (1,)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> tile: array<T, 128>;

@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) lane: u32) {
  if (lane < params.x_size) {
    tile[lane] = x[lane];
  }
  storageBarrier();
  if (lane < params.x_size) {
    y[lane] = tile[params.x_size - 1u - lane];
  }
}
