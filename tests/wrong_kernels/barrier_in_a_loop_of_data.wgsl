// How often a lane meets the barrier depends on what it read.
// finds: non-uniform-barrier
// cpu: x * 1
// shapes: (70,)
// groups: lambda: (1,)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> tile: array<T, 128>;

@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) lane: u32) {
  let own = x[min(lane, params.x_size - 1u)];
  for (var k = 0; k < i32(own); k++) {
    tile[lane] = own;
    workgroupBarrier();
  }
  if (lane < params.x_size) {
    y[lane] = own;
  }
}
