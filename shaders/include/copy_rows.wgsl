// y = x, row-major, in fours of elements of a row: an invocation copies `turns` of them, one after
// the other, because finding the first is what costs. The kernel gives
//
//   fn copy_four(to: u32, from_x: u32, step: u32, count: u32)    count elements, at most four
#include "include/copy.wgsl"

const GROUP = 64u;

fn copy_rows(invocation: u32) {
  let row = axis_at(x_rank - 1u);
  let fours = (row.size + 3u) / 4u;
  let number = invocation * params.turns;
  var corner = number / fours;
  var i = (number - corner * fours) * 4u;
  var start = corner_of(corner, 1u).x;
  for (var turn = 0u; turn < params.turns; turn++) {
    if (i >= row.size) {
      i = 0u;
      corner++;
      start = corner_of(corner, 1u).x;
    }
    if (corner < params.corners) {
      copy_four(corner * row.size + i, start + i * row.step_x, row.step_x, row.size - i);
    }
    i += 4u;
  }
}
