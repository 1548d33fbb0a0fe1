// The elements begin..end of one row, combined by one invocation, four at a time. A part of a
// row begins at a multiple of four.
//
// Each of four accumulators goes through blocks of 128 steps, whose results are combined one
// after the other; of 16,384 elements that is a chain of 128 + 32 + 2, and 3 at a ragged end.
// An invocation takes fewer loop turns than the 65,535 after which some drivers stop silently.
// Four fours to a turn is what a CPU wants.

const WK_BLOCK = 512u;

fn wk_along(base: u32, begin: u32, end: u32) -> wk_Total {
  var totals = array<wk_Total, 4>(init(), init(), init(), init());
  for (var first = begin; first < end; first += WK_BLOCK) {
    let stop = min(first + WK_BLOCK, end);
    var block = array<wk_Total, 4>(init(), init(), init(), init());
    var i = first;
    for (; i + 16u <= stop; i += 16u) {
      let quads = wk_quads(base, i);
      wk_four_along(&block, quads[0], i);
      wk_four_along(&block, quads[1], i + 4u);
      wk_four_along(&block, quads[2], i + 8u);
      wk_four_along(&block, quads[3], i + 12u);
    }
    for (; i + 4u <= stop; i += 4u) {
      wk_four_along(&block, wk_quad(base, i), i);
    }
    totals[0] = combine(totals[0], block[0]);
    totals[1] = combine(totals[1], block[1]);
    totals[2] = combine(totals[2], block[2]);
    totals[3] = combine(totals[3], block[3]);
  }
  var total = combine(combine(totals[0], totals[1]), combine(totals[2], totals[3]));
  for (var i = end - (end - begin) % 4u; i < end; i++) {
    total = combine(total, wk_lift(wk_load(wk_place(base, i)), i));
  }
  return total;
}

fn wk_four_along(block: ptr<function, array<wk_Total, 4>>, quad: wk_Quad, i: u32) {
  (*block)[0] = wk_join((*block)[0], quad[0], i);
  (*block)[1] = wk_join((*block)[1], quad[1], i + 1u);
  (*block)[2] = wk_join((*block)[2], quad[2], i + 2u);
  (*block)[3] = wk_join((*block)[3], quad[3], i + 3u);
}
