// The elements begin..end of eight neighbouring rows, combined by one invocation: what it loads
// at a time is one element of each. A chain is a block of 128 steps, then one step per block.
// One step to a turn: where the elements of a row lie pages apart, loads of several that a
// compiler moves together drive each other out of a CPU's cache.

const WK_BLOCK = 128u;

fn wk_across_eight(base: u32, begin: u32, end: u32) -> array<wk_Total, 8> {
  let step = wk_step();
  var place = wk_place(base, begin);
  var totals = wk_eight();
  for (var first = begin; first < end; first += WK_BLOCK) {
    let stop = min(first + WK_BLOCK, end);
    var block = wk_eight();
    for (var i = first; i < stop; i++) {
      let near = wk_beside(place);
      let far = wk_beside(place + 4u);
      block[0] = wk_join(block[0], near[0], i);
      block[1] = wk_join(block[1], near[1], i);
      block[2] = wk_join(block[2], near[2], i);
      block[3] = wk_join(block[3], near[3], i);
      block[4] = wk_join(block[4], far[0], i);
      block[5] = wk_join(block[5], far[1], i);
      block[6] = wk_join(block[6], far[2], i);
      block[7] = wk_join(block[7], far[3], i);
      place = wk_next(place, step, base, i + 1u);
    }
    totals[0] = combine(totals[0], block[0]);
    totals[1] = combine(totals[1], block[1]);
    totals[2] = combine(totals[2], block[2]);
    totals[3] = combine(totals[3], block[3]);
    totals[4] = combine(totals[4], block[4]);
    totals[5] = combine(totals[5], block[5]);
    totals[6] = combine(totals[6], block[6]);
    totals[7] = combine(totals[7], block[7]);
  }
  return totals;
}

fn wk_eight() -> array<wk_Total, 8> {
  return array<wk_Total, 8>(init(), init(), init(), init(), init(), init(), init(), init());
}
