// What one of GROUP lanes combines of the elements begin..end of a row: every GROUPth four of
// them, so that neighbouring lanes load neighbouring fours; of a ragged end one element each. Of
// 16,384 elements a lane takes 64 steps in each of four chains.

fn wk_strided(base: u32, begin: u32, end: u32, lane: u32) -> wk_Total {
  var totals = array<wk_Total, 4>(init(), init(), init(), init());
  for (var i = begin + 4u * lane; i + 4u <= end; i += 4u * GROUP) {
    let quad = wk_quad(base, i);
    totals[0] = wk_join(totals[0], quad[0], i);
    totals[1] = wk_join(totals[1], quad[1], i + 1u);
    totals[2] = wk_join(totals[2], quad[2], i + 2u);
    totals[3] = wk_join(totals[3], quad[3], i + 3u);
  }
  var total = combine(combine(totals[0], totals[1]), combine(totals[2], totals[3]));
  let ragged = (end - min(begin, end)) % 4u;
  if (lane < ragged) {
    let i = end - ragged + lane;
    total = combine(total, wk_lift(wk_load(wk_place(base, i)), i));
  }
  return total;
}
