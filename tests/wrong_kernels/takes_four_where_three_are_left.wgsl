// The guard of a group of four lets one of three in.
// finds: out-of-bounds-write
// cpu: x * 2
// shapes: (300,)
// groups: lambda x_size: (-(-x_size // 256),)

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let first = 4u * id.x;
  if (first + 3u <= params.x_size) {
    for (var k = 0u; k < 4u; k++) {
      y[first + k] = x[first + k] * 2.0;
    }
  } else {
    for (var k = first; k < params.x_size; k++) {
      y[k] = x[k] * 2.0;
    }
  }
}
