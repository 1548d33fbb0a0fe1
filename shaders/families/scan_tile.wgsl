// A tile of a row in workgroup memory, in the order of the scan, and its lanes' totals combined in
// that order. All lanes of the workgroup, WK_GROUP of them, must come here.

const WK_TILE = WK_GROUP * wk_run;

var<workgroup> wk_tile: array<wk_Total, WK_TILE>;
var<workgroup> wk_ends: array<wk_Total, WK_GROUP>;

fn wk_load_tile(part: wk_Part, first: u32, lane: u32) {
  for (var k = lane; k < WK_TILE; k += WK_GROUP) { // neighbouring lanes read neighbours
    let number = first + k;
    if (number < part.end) {
      wk_tile[k] = wk_lift(wk_load(wk_index(part, number)), wk_along_axis(number));
    } else {
      wk_tile[k] = init();
    }
  }
  workgroupBarrier();
}

// The elements of the tile that a lane takes, combined
fn wk_run_total(lane: u32) -> wk_Total {
  var total = init();
  for (var k = lane * wk_run; k < lane * wk_run + wk_run; k++) {
    total = combine(total, wk_tile[k]);
  }
  return total;
}

// The lanes' values combined in a tree
fn wk_combined(value: wk_Total, lane: u32) -> wk_Total {
  wk_ends[lane] = value;
  for (var apart = 1u; apart < WK_GROUP; apart *= 2u) {
    workgroupBarrier();
    if (lane % (2u * apart) == 0u) {
      wk_ends[lane] = combine(wk_ends[lane], wk_ends[lane + apart]);
    }
  }
  workgroupBarrier();
  let total = wk_ends[0];
  workgroupBarrier();
  return total;
}
