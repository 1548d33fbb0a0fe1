// y = a pair of words, over and over: any value of 2, 4 or 8 bytes, and what is bound behind the last

const GROUP = 64u;

struct Params {
  even: u32,
  odd: u32,
}

@group(0) @binding(0) var<storage, read_write> y: array<vec4<u32>>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP; // grids past 65,535 groups fold into two dimensions
  if (i < arrayLength(&y)) {
    y[i] = vec4<u32>(params.even, params.odd, params.even, params.odd);
  }
}
