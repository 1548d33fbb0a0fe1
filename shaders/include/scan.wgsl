// Scan along an axis: y[k] = combine of the elements up to k, without k where exclusive.
//
// The kernel gives
//
//   alias Total                                      what is combined
//   fn init() -> Total
//   fn combine(a: Total, b: Total) -> Total          commutative
//   fn lift(value: T_x) -> Total
//   fn finish(total: Total) -> T_y
//
// and a main that calls scan of one of include/scan_<method>.wgsl. A row is cut into parts. Where
// there are several, a first dispatch (params.writes_totals) writes the total of each, and in a
// second each part begins with the combined totals before it. A row is what is scanned: the
// elements along the axis, `inner` apart; neighbouring rows begin side by side.

struct Params {
  rows: u32,
  length: u32, // elements of a row
  inner: u32, // the distance between two of them
  parts: u32, // of a row
  part_size: u32,
  writes_totals: u32,
  exclusive: u32,
  reverse: u32,
}

@group(0) @binding(0) var<storage, read_write> totals: array<Total>; // [parts, rows]
@group(0) @binding(1) var<uniform> params: Params;

struct Part {
  row: u32,
  number: u32, // in the order of the scan
  start: u32, // where the row begins
  begin: u32, // in the order of the scan
  end: u32,
}

fn part_of(row: u32, number: u32) -> Part {
  let start = row / params.inner * params.inner * params.length + row % params.inner;
  let begin = number * params.part_size;
  return Part(row, number, start, begin, min(begin + params.part_size, params.length));
}

// Where the k-th element of the scan stands
fn index_of(part: Part, k: u32) -> u32 {
  return part.start + select(k, params.length - 1u - k, params.reverse != 0u) * params.inner;
}

// The combined totals before a part of the row `next` rows further
fn total_before(part: Part, next: u32) -> Total {
  var total = init();
  if (params.writes_totals == 0u) {
    for (var number = 0u; number < part.number; number++) {
      total = combine(total, totals[number * params.rows + part.row + next]);
    }
  }
  return total;
}

fn store_total(part: Part, next: u32, total: Total) {
  totals[part.number * params.rows + part.row + next] = total;
}

// What the element gives for which the total was `before`, and is `with_it` from there on
fn result(before: Total, with_it: Total) -> T_y {
  if (params.exclusive != 0u) {
    return finish(before);
  }
  return finish(with_it);
}
