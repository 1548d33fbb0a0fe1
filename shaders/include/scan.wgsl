// Scan along an axis: y[k] = combine of the elements up to k, without k where exclusive.
//
// The kernel gives
//
//   alias Total                                      what is combined
//   fn init() -> Total
//   fn combine(a: Total, b: Total) -> Total          commutative
//   fn lift(i: u32) -> Total                         the element x[i]
//   fn finish(total: Total) -> T_y
//
// and a main that calls scan. A row is cut into parts. Where there are several, a first dispatch
// (params.writes_totals) writes the total of each, and in a second each part begins with the
// combined totals before it. With params.lanes = 1 an invocation takes a part of its own, element
// by element: neighbours have neighbouring rows. Else a workgroup takes a part in tiles through its
// memory: a lane combines RUN neighbours, the lanes' totals are scanned, the tiles follow one
// another. Any element is at most the following number of steps from its result:
//
//   of one invocation   part_size + parts
//   of a workgroup      RUN + 7 + part_size / TILE + (parts / GROUP + 6)

const GROUP = 64u;
const RUN = 8u;
const TILE = GROUP * RUN;

struct Params {
  rows: u32,
  length: u32, // elements of a row
  inner: u32, // the distance between two of them
  parts: u32, // of a row
  part_size: u32,
  lanes: u32, // 1 or GROUP
  writes_totals: u32,
  exclusive: u32,
  reverse: u32,
}

@group(0) @binding(0) var<storage, read_write> y: array<T_y>;
@group(0) @binding(1) var<storage, read_write> totals: array<Total>; // [rows, parts]
@group(0) @binding(2) var<uniform> params: Params;

var<workgroup> tile: array<Total, TILE>;
var<workgroup> ends: array<Total, GROUP>;

struct Part {
  row: u32,
  number: u32,
  start: u32, // where the row begins
  begin: u32,
  end: u32,
}

fn index_of(part: Part, k: u32) -> u32 {
  return part.start + select(k, params.length - 1u - k, params.reverse != 0u) * params.inner;
}

fn part_of(row: u32, number: u32) -> Part {
  let start = row / params.inner * params.inner * params.length + row % params.inner;
  let begin = number * params.part_size;
  return Part(row, number, start, begin, min(begin + params.part_size, params.length));
}

fn scan_alone(part: Part) {
  if (part.number >= params.parts) {
    return;
  }
  var total = init();
  if (params.writes_totals == 0u) {
    for (var before = 0u; before < part.number; before++) {
      total = combine(total, totals[part.row * params.parts + before]);
    }
  }
  for (var k = part.begin; k < part.end; k++) {
    let i = index_of(part, k);
    let next = combine(total, lift(i));
    if (params.writes_totals == 0u) {
      store_result(i, total, next);
    }
    total = next;
  }
  if (params.writes_totals != 0u) {
    totals[part.row * params.parts + part.number] = total;
  }
}

fn store_result(i: u32, before: Total, with_it: Total) {
  if (params.exclusive != 0u) {
    y[i] = finish(before);
  } else {
    y[i] = finish(with_it);
  }
}

// The lanes' values combined in a tree; all lanes of the workgroup must come here
fn combined(value: Total, lane: u32) -> Total {
  ends[lane] = value;
  for (var half = GROUP / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      ends[lane] = combine(ends[lane], ends[lane + half]);
    }
  }
  workgroupBarrier();
  let total = ends[0];
  workgroupBarrier();
  return total;
}

fn sum_together(part: Part, lane: u32) {
  var own = init();
  for (var first = part.begin; first < part.end; first += TILE) {
    var run = init();
    for (var k = first + lane; k < min(first + TILE, part.end); k += GROUP) {
      run = combine(run, lift(index_of(part, k)));
    }
    own = combine(own, run);
  }
  let total = combined(own, lane);
  if (lane == 0u) {
    totals[part.row * params.parts + part.number] = total;
  }
}

fn scan_together(part: Part, lane: u32) {
  var own = init();
  for (var before = lane; before < part.number; before += GROUP) {
    own = combine(own, totals[part.row * params.parts + before]);
  }
  var carry = combined(own, lane);
  for (var first = part.begin; first < part.end; first += TILE) {
    for (var k = lane; k < TILE; k += GROUP) { // neighbouring lanes read neighbours
      if (first + k < part.end) {
        tile[k] = lift(index_of(part, first + k));
      } else {
        tile[k] = init();
      }
    }
    workgroupBarrier();
    var total = init();
    for (var k = lane * RUN; k < lane * RUN + RUN; k++) {
      total = combine(total, tile[k]);
    }
    ends[lane] = total;
    workgroupBarrier();
    for (var step = 1u; step < GROUP; step *= 2u) { // Hillis and Steele
      var moved = ends[lane];
      if (lane >= step) {
        moved = combine(ends[lane - step], moved);
      }
      workgroupBarrier();
      ends[lane] = moved;
      workgroupBarrier();
    }
    var running = carry;
    if (lane > 0u) {
      running = combine(carry, ends[lane - 1u]);
    }
    carry = combine(carry, ends[GROUP - 1u]);
    for (var k = lane * RUN; k < lane * RUN + RUN; k++) {
      let next = combine(running, tile[k]);
      if (params.exclusive != 0u) {
        tile[k] = running;
      } else {
        tile[k] = next;
      }
      running = next;
    }
    workgroupBarrier();
    for (var k = lane; k < TILE; k += GROUP) {
      if (first + k < part.end) {
        y[index_of(part, first + k)] = finish(tile[k]);
      }
    }
    workgroupBarrier();
  }
}

fn scan(group: u32, lane: u32) {
  if (params.lanes == 1u) {
    let number = group * GROUP + lane;
    scan_alone(part_of(number % params.rows, number / params.rows));
    return;
  }
  let part = part_of(group / params.parts, group % params.parts);
  if (part.row >= params.rows) { // the same for the whole group
    return;
  }
  if (params.writes_totals != 0u) {
    sum_together(part, lane);
  } else {
    scan_together(part, lane);
  }
}
