// An invocation takes a part of four neighbouring rows: `inner` is a multiple of 4. A result is at
// most part_size + parts combinations from its elements.
#include "include/scan.wgsl"

const GROUP = 64u;

fn scan(invocation: u32) {
  let fours = params.rows / 4u;
  let part = part_of(invocation % fours * 4u, invocation / fours);
  if (part.number >= params.parts) {
    return;
  }
  var a = total_before(part, 0u);
  var b = total_before(part, 1u);
  var c = total_before(part, 2u);
  var d = total_before(part, 3u);
  for (var k = 0u; k < params.part_size; k++) { // as often for all, which costs less
    if (part.begin + k < part.end) {
      let i = index_of(part, part.begin + k);
      let values = load4_x(i);
      let next_a = combine(a, lift(values.x));
      let next_b = combine(b, lift(values.y));
      let next_c = combine(c, lift(values.z));
      let next_d = combine(d, lift(values.w));
      if (params.writes_totals == 0u) {
        store4_y(i, vec4<T_y>(
          result(a, next_a), result(b, next_b), result(c, next_c), result(d, next_d),
        ));
      }
      a = next_a;
      b = next_b;
      c = next_c;
      d = next_d;
    }
  }
  if (params.writes_totals != 0u) {
    store_total(part, 0u, a);
    store_total(part, 1u, b);
    store_total(part, 2u, c);
    store_total(part, 3u, d);
  }
}
