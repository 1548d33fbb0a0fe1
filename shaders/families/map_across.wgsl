// The map of map.wgsl where what is read lies side by side along another axis than what is written:
// items in y's order would touch a line of memory of x for each element that they read. Here an
// invocation goes along that axis, through 16 items one above the other, so that it uses whole lines
// of x. Eight neighbours share a tile: 2^bits runs of 16 along that axis, and as many items side by
// side as are left, for software adapters.
//
// The composer gives wk_across, the length of that axis, wk_inner, the items of what follows it in
// y, wk_items as there, and wk_item, which is told the coordinates too: a CPU divides slowly.

const GROUP = 64u;
const WK_RUN = 16u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * GROUP; // grids past 65,535 groups fold into two dimensions
  let bits = wk_run_bits();
  let beside = 8u >> bits;
  let lane = number & 7u;
  let wide = (wk_inner() + beside - 1u) / beside;
  let high = (wk_across() + (WK_RUN << bits) - 1u) / (WK_RUN << bits);
  let block = (number >> 3u) / wide;
  let outer = block / high;
  let begin = (((block - outer * high) << bits) + lane / beside) * WK_RUN;
  let end = min(begin + WK_RUN, wk_across());
  let place = ((number >> 3u) - block * wide) * beside + lane % beside;
  if (place >= wk_inner()) {
    return;
  }
  var i = (outer * wk_across() + begin) * wk_inner() + place;
  for (var row = begin; row < end && i < wk_items(); row++) {
    wk_item(i, outer, row, place);
    i += wk_inner();
  }
}
