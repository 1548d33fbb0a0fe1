// The elements begin..end of a row, combined by a team: WK_LANES neighbours in a subgroup, whatever
// size that has. Its lanes take every WK_LANESth four of the elements, so that neighbouring lanes
// load neighbouring fours, and of a ragged end one element each; what they find is joined in a tree
// by exchange between lanes, without a barrier. A part of a row begins at a multiple of four.
//
// Each of four accumulators of a lane goes through blocks of 128 steps, whose results are combined
// one after the other; of 16,384 elements that is a chain of 128 + 4 + 2, one at a ragged end, and
// the tree's 3 and 1.
//
// A subgroup of 4 has each lane do the work of two, with the same bits. One of fewer, or one whose
// lanes are not all there, of which no device is known, joins what it finds in another order.

const WK_LANES = 8u;
const WK_SHARE = 128u * 4u * WK_LANES;

struct wk_Place {
  group: u32, // of the grid
  index: u32, // in the group
  size: u32, // of a subgroup
  subgroups: u32,
  subgroup: u32, // in the group
  lane: u32, // in the subgroup
}

struct wk_Team {
  size: u32, // WK_LANES, or a smaller power of two
  member: u32,
  row: u32,
}

fn wk_team(place: wk_Place, group_size: u32) -> wk_Team {
  let is_whole = place.subgroups * min(place.size, group_size) == group_size;
  let size = select(1u, min(place.size, WK_LANES), is_whole);
  let lane = select(place.index, place.subgroup * place.size + place.lane, is_whole);
  let team = lane / size;
  return wk_Team(size, lane - team * size, place.group * (group_size / size) + team);
}

// The same bits for each member
fn wk_by_team(team: wk_Team, base: u32, begin: u32, end: u32) -> wk_Total {
  var total = init();
  for (var first = 0u; first < WK_LANES; first += team.size) {
    var share = wk_share(base, begin, end, first + team.member);
    for (var apart = 1u; apart < team.size; apart *= 2u) {
      let other = wk_exchanged(share, apart);
      if ((team.member & apart) == 0u) {
        share = combine(share, other);
      } else {
        share = combine(other, share);
      }
    }
    total = combine(total, share);
  }
  return total;
}

fn wk_share(base: u32, begin: u32, end: u32, lane: u32) -> wk_Total {
  var totals = array<wk_Total, 4>(init(), init(), init(), init());
  for (var first = begin + 4u * lane; first + 4u <= end; first += WK_SHARE) {
    let stop = min(first + WK_SHARE, end);
    var block = array<wk_Total, 4>(init(), init(), init(), init());
    for (var i = first; i + 4u <= stop; i += 4u * WK_LANES) {
      let quad = wk_quad(base, i);
      block[0] = wk_join(block[0], quad[0], i);
      block[1] = wk_join(block[1], quad[1], i + 1u);
      block[2] = wk_join(block[2], quad[2], i + 2u);
      block[3] = wk_join(block[3], quad[3], i + 3u);
    }
    totals[0] = combine(totals[0], block[0]);
    totals[1] = combine(totals[1], block[1]);
    totals[2] = combine(totals[2], block[2]);
    totals[3] = combine(totals[3], block[3]);
  }
  var total = combine(combine(totals[0], totals[1]), combine(totals[2], totals[3]));
  let ragged = (end - min(begin, end)) % 4u;
  if (lane < ragged) {
    let i = end - ragged + lane;
    total = combine(total, wk_lift(wk_load(wk_place(base, i)), i));
  }
  return total;
}
