// A workgroup takes a part of a row in tiles through its memory: a lane combines RUN neighbours,
// the lanes' totals are scanned, the tiles follow one another. A result is at most
// RUN + 7 + part_size / TILE + parts / GROUP + 7 combinations from its elements.
#include "include/scan.wgsl"

const GROUP = 128u;
const RUN = 8u;
const TILE = GROUP * RUN;

var<workgroup> tile: array<Total, TILE>;
var<workgroup> ends: array<Total, GROUP>;

fn scan(group: u32, lane: u32) {
  let part = part_of(group / params.parts, group % params.parts);
  if (part.row >= params.rows) { // the same for the whole group
    return;
  }
  if (params.writes_totals != 0u) {
    combine_tiles(part, lane);
  } else {
    scan_tiles(part, lane);
  }
}

fn combine_tiles(part: Part, lane: u32) {
  var own = init();
  for (var first = part.begin; first < part.end; first += TILE) {
    var run = init();
    for (var k = first + lane; k < min(first + TILE, part.end); k += GROUP) {
      run = combine(run, lift(load_x(index_of(part, k))));
    }
    own = combine(own, run);
  }
  let total = combined(own, lane);
  if (lane == 0u) {
    store_total(part, 0u, total);
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

fn scan_tiles(part: Part, lane: u32) {
  var own = init();
  for (var number = lane; number < part.number; number += GROUP) {
    own = combine(own, totals[number * params.rows + part.row]);
  }
  var carry = combined(own, lane);
  for (var first = part.begin; first < part.end; first += TILE) {
    for (var k = lane; k < TILE; k += GROUP) { // neighbouring lanes read neighbours
      if (first + k < part.end) {
        tile[k] = lift(load_x(index_of(part, first + k)));
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
        store_y(index_of(part, first + k), finish(tile[k]));
      }
    }
    workgroupBarrier();
  }
}
