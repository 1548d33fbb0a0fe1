// The elements begin..end of four neighbouring rows, combined by one invocation: what it loads
// at a time is one element of each. A chain is a block of 128 steps, then one step per block.
// Four steps to a turn is what a CPU wants.

const WK_BLOCK = 128u;

fn wk_across(base: u32, begin: u32, end: u32) -> array<wk_Total, 4> {
  let step = wk_step();
  var place = wk_place(base, begin);
  var totals = array<wk_Total, 4>(init(), init(), init(), init());
  for (var first = begin; first < end; first += WK_BLOCK) {
    let stop = min(first + WK_BLOCK, end);
    var block = array<wk_Total, 4>(init(), init(), init(), init());
    var i = first;
    for (; i + 4u <= stop; i += 4u) {
      let second = wk_next(place, step, base, i + 1u);
      let third = wk_next(second, step, base, i + 2u);
      let fourth = wk_next(third, step, base, i + 3u);
      wk_four_across(&block, place, i);
      wk_four_across(&block, second, i + 1u);
      wk_four_across(&block, third, i + 2u);
      wk_four_across(&block, fourth, i + 3u);
      place = wk_next(fourth, step, base, i + 4u);
    }
    for (; i < stop; i++) {
      wk_four_across(&block, place, i);
      place = wk_next(place, step, base, i + 1u);
    }
    totals[0] = combine(totals[0], block[0]);
    totals[1] = combine(totals[1], block[1]);
    totals[2] = combine(totals[2], block[2]);
    totals[3] = combine(totals[3], block[3]);
  }
  return totals;
}

fn wk_four_across(block: ptr<function, array<wk_Total, 4>>, place: u32, i: u32) {
  let quad = wk_beside(place);
  (*block)[0] = wk_join((*block)[0], quad[0], i);
  (*block)[1] = wk_join((*block)[1], quad[1], i);
  (*block)[2] = wk_join((*block)[2], quad[2], i);
  (*block)[3] = wk_join((*block)[3], quad[3], i);
}
