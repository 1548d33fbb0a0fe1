// An invocation takes a part of a row, four elements at a time. The elements of a row lie side by
// side and begin at a multiple of 4, as do the parts, which are cut in the order of memory. A
// result is at most part_size / 4 + 3 + parts combinations from its elements.
#include "include/scan.wgsl"

const GROUP = 16u;

fn scan(invocation: u32) {
  let part = part_of(invocation % params.rows, invocation / params.rows);
  if (part.number >= params.parts) {
    return;
  }
  let block = select(part.number, params.parts - 1u - part.number, params.reverse != 0u);
  let first = part.start + block * params.part_size;
  let end = part.start + min((block + 1u) * params.part_size, params.length);
  if (params.writes_totals != 0u) {
    store_total(part, 0u, total_of(first, end));
  } else {
    scan_part(first, end, total_before(part, 0u));
  }
}

fn total_of(first: u32, end: u32) -> Total {
  var a = init();
  var b = init();
  var c = init();
  var d = init();
  for (var k = 0u; k < params.part_size; k += 4u) { // as often for all, which costs less
    let values = load4_x(first + k);
    let left = end - min(first + k, end);
    a = combine(a, lift_inside(values.x, left > 0u));
    b = combine(b, lift_inside(values.y, left > 1u));
    c = combine(c, lift_inside(values.z, left > 2u));
    d = combine(d, lift_inside(values.w, left > 3u));
  }
  return combine(combine(a, b), combine(c, d));
}

fn scan_part(first: u32, end: u32, before: Total) {
  let backward = params.reverse != 0u;
  let steps = params.part_size / 4u; // as many for all, which costs less
  let lanes = select(vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(3u, 2u, 1u, 0u), backward);
  var total = before;
  for (var step = 0u; step < steps; step++) {
    let i = first + select(step, steps - 1u - step, backward) * 4u;
    let four = load4_x(i);
    let values = select(four, four.wzyx, backward);
    let inside = lanes + i < vec4<u32>(end);
    let a = lift_inside(values.x, inside.x);
    let b = lift_inside(values.y, inside.y);
    let c = lift_inside(values.z, inside.z);
    let d = lift_inside(values.w, inside.w);
    let pair = combine(a, b);
    let one = combine(total, a);
    let two = combine(total, pair);
    let three = combine(total, combine(pair, c));
    let next = combine(total, combine(pair, combine(c, d)));
    let found = vec4<T_y>(
      result(total, one), result(one, two), result(two, three), result(three, next),
    );
    if (i < end) {
      store4_y(i, select(found, found.wzyx, backward));
    }
    total = next;
  }
}

fn lift_inside(value: T_x, inside: bool) -> Total {
  if (inside) {
    return lift(value);
  }
  return init();
}
