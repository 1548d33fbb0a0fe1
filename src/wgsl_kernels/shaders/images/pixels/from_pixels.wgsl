// y[i, j, c] = byte c of pixel (i, j): red, green, blue, opacity

const GROUP = 64u;

struct Params {
  y_size: u32,
  num_channels: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.y_size) {
    return;
  }
  let pixel = i / params.num_channels;
  let channel = i - pixel * params.num_channels;
  let bytes = bitcast<u32>(load_pixels(pixel));
  store_y(i, i32((bytes >> (8u * channel)) & 0xffu));
}
