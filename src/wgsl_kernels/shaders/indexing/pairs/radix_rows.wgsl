// Radix sort of pairs: larger words first, pairs of equal words as they come. An invocation sorts a
// row, a byte in a pass, back and forth between `pairs` and `spare`.
//
// All passes' counts are made in one turn: they do not depend on the order. A row takes
// 1280 + 5 * length loop turns. Source: Knuth, The Art of Computer Programming 3, section 5.2.5.

const GROUP = 16u;
const DIGITS = 256u;

struct Params {
  rows: u32,
  length: u32, // of a row
}

@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> spare: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> counts: array<u32>; // [rows, 4, DIGITS]
@group(0) @binding(3) var<uniform> params: Params;

fn count_of(row: u32, pass_number: u32, word: u32) -> u32 {
  return (row * 4u + pass_number) * DIGITS + ((~word >> (8u * pass_number)) & 0xffu);
}

// The place of a pair with this word in its row; the next one gets the place after it
fn take_place(row: u32, pass_number: u32, word: u32) -> u32 {
  let count = count_of(row, pass_number, word);
  let place = counts[count];
  counts[count] = place + 1u;
  return place;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let row = id.x + id.y * groups.x * GROUP;
  if (row >= params.rows) {
    return;
  }
  let begin = row * params.length;
  for (var digit = 0u; digit < 4u * DIGITS; digit++) {
    counts[row * 4u * DIGITS + digit] = 0u;
  }
  for (var i = begin; i < begin + params.length; i++) {
    let word = pairs[i].x;
    counts[count_of(row, 0u, word)] += 1u;
    counts[count_of(row, 1u, word)] += 1u;
    counts[count_of(row, 2u, word)] += 1u;
    counts[count_of(row, 3u, word)] += 1u;
  }
  var before = vec4<u32>();
  for (var digit = 0u; digit < DIGITS; digit++) {
    for (var pass_number = 0u; pass_number < 4u; pass_number++) {
      let count = (row * 4u + pass_number) * DIGITS + digit;
      let found = counts[count];
      counts[count] = before[pass_number];
      before[pass_number] += found;
    }
  }
  for (var pass_number = 0u; pass_number < 4u; pass_number += 2u) {
    for (var i = begin; i < begin + params.length; i++) {
      let pair = pairs[i];
      spare[begin + take_place(row, pass_number, pair.x)] = pair;
    }
    for (var i = begin; i < begin + params.length; i++) {
      let pair = spare[i];
      pairs[begin + take_place(row, pass_number + 1u, pair.x)] = pair;
    }
  }
}
