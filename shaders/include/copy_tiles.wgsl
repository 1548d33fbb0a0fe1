// A tile of 16 by 4 elements per invocation, turned in registers: it reads whole lines of memory of
// x, and eight neighbours together write whole lines of y. Without workgroup memory, for software
// adapters. A workgroup takes 2^along_bits tiles along y's last axis, 2^across_bits along that of
// x, and where these are short, several corners.
#include "include/copy.wgsl"

const GROUP_BITS = 8u;
const GROUP = 1u << GROUP_BITS;

struct Tile {
  start: Corner,
  across: u32, // the first place on the axis along which x lies side by side
  along: u32, // the first on y's last axis
}

fn tile_of(group: u32, lane: u32) -> Tile {
  let along = axis_at(x_rank - 1u);
  let across = axis_at(x_rank - 2u);
  let bits = vec2<u32>(params.along_bits, params.across_bits);
  let lanes = vec2<u32>(1u) << bits;
  let wide = (along.size + 4u * lanes.x - 1u) / (4u * lanes.x);
  let high = (across.size + 16u * lanes.y - 1u) / (16u * lanes.y);
  let number = group / wide;
  let block = number / high;
  let corner = (block << (GROUP_BITS - bits.x - bits.y)) + (lane >> (bits.x + bits.y));
  var tile = Tile(
    corner_of(corner, 2u),
    (((number - block * high) << bits.y) + ((lane >> bits.x) & (lanes.y - 1u))) * 16u,
    (((group - number * wide) << bits.x) + (lane & (lanes.x - 1u))) * 4u,
  );
  if (corner >= params.corners) {
    tile.along = along.size; // nothing to do
  }
  return tile;
}
