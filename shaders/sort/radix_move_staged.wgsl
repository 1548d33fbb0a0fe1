// moved[row, place] = pair, by a workgroup: the place is what `counts` has for the pair's digit and
// part, and how many pairs of that digit the part has before.
//
// The lanes take neighbouring pairs, turn by turn. Each marks its digit's bit for itself; the bits
// before its own are the pairs before it, whatever order the lanes came in.

#include "include/radix.wgsl"

const GROUP = 256u; // as many lanes as digits
const WORDS = GROUP / 32u;

@group(0) @binding(3) var<storage, read_write> moved: array<vec2<u32>>;

var<workgroup> marks: array<atomic<u32>, DIGITS * WORDS>; // [word, digit], a bit for each lane
var<workgroup> places: array<u32, DIGITS>; // where the next pair of a digit goes

// How many of the lanes up to the 32 of `word` have the digit, of these those that `mask` has
fn marked(digit: u32, word: u32, mask: u32) -> u32 {
  var total = countOneBits(atomicLoad(&marks[word * DIGITS + digit]) & mask);
  for (var before = 0u; before < word; before++) {
    total += countOneBits(atomicLoad(&marks[before * DIGITS + digit]));
  }
  return total;
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let part = part_of(group.x + group.y * groups.x);
  if (part.row >= params.rows) { // the same for the whole group
    return;
  }
  let word = lane / 32u;
  let bit = 1u << (lane % 32u);
  places[lane] = counts[part.counts + lane * params.parts];
  for (var first = 0u; first < params.part_size; first += GROUP) {
    for (var i = 0u; i < WORDS; i++) {
      atomicStore(&marks[i * DIGITS + lane], 0u);
    }
    workgroupBarrier();
    let is_there = first + lane < part.size;
    var pair = vec2<u32>();
    if (is_there) {
      pair = pairs[part.begin + first + lane];
      atomicOr(&marks[word * DIGITS + digit_of(pair.x)], bit);
    }
    workgroupBarrier();
    if (is_there) {
      let digit = digit_of(pair.x);
      moved[part.row * params.length + places[digit] + marked(digit, word, bit - 1u)] = pair;
    }
    workgroupBarrier();
    places[lane] += marked(lane, WORDS - 1u, 0xffffffffu);
    workgroupBarrier();
  }
}
