// An invocation takes a part of a row, element by element; neighbours take neighbouring rows. A
// result is at most part_size + parts combinations from its elements.
#include "include/scan.wgsl"

const GROUP = 64u;

fn scan(invocation: u32) {
  let part = part_of(invocation % params.rows, invocation / params.rows);
  if (part.number >= params.parts) {
    return;
  }
  var total = total_before(part, 0u);
  for (var k = 0u; k < params.part_size; k++) { // as often for all, which costs less
    if (part.begin + k < part.end) {
      let i = index_of(part, part.begin + k);
      let next = combine(total, lift(load_x(i)));
      if (params.writes_totals == 0u) {
        store_y(i, result(total, next));
      }
      total = next;
    }
  }
  if (params.writes_totals != 0u) {
    store_total(part, 0u, total);
  }
}
