// indices[i] = the index of the element at positions[i] of an image among those of the image, or of all
// images; 0 where there is none

const GROUP = 64u;

struct Params {
  indices_size: u32,
  channels: u32,
  places: u32, // of an image
  image_size: u32, // 0 where each image is counted by itself
}

@group(0) @binding(0) var<storage, read_write> indices: array<i32>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.indices_size) {
    return;
  }
  let channel = i % params.channels;
  let image = i / (params.channels * params.places);
  let position = load_positions(i);
  let index = u32(max(position, 0)) * params.channels + channel + image * params.image_size;
  indices[i] = select(i32(index), 0, position < 0);
}
