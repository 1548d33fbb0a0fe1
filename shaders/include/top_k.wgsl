// The k largest of a part of a row, at most 16, kept in registers by the invocation that reads it;
// equal ones in the order in which they come.
//
// The words are kept in falling order in the last k of 16 places; a new one moves all that are
// smaller down by one. The places before hold the largest word from the beginning, which nothing
// moves. The kernel gives
//
//   fn four_at(row: u32, i: u32) -> Four    elements i to i + 3, a multiple of 4, of the row that
//                                           begins at `row`
//   fn zero_is_free() -> bool               whether no element has word 0, but free places have
//   fn put(row: u32, to: u32, word: u32, index: u32)    stores what is kept, as the `to`th of all;
//                                                       the row begins at `row`

const GROUP = 16u;
const NOBODY = 0xffffffffu; // the index of a place that nobody has taken

struct Params {
  rows: u32,
  length: u32, // of a row
  parts: u32, // of a row
  part_size: u32, // a multiple of 4
  k: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

struct Four {
  words: vec4<u32>,
  indices: vec4<u32>,
}

var<private> a: Four;
var<private> b: Four;
var<private> c: Four;
var<private> d: Four;

fn keep_largest(number: u32) {
  let row = number / params.parts;
  if (row >= params.rows) {
    return;
  }
  a = empty_from(0u);
  b = empty_from(4u);
  c = empty_from(8u);
  d = empty_from(12u);
  let begin = number % params.parts * params.part_size;
  let end = min(begin + params.part_size, params.length);
  for (var step = 0u; step < params.part_size; step += 4u) { // as often for all, which costs less
    let i = begin + step;
    let four = four_at(row * params.length, i);
    if (is_untaken(d.words.w, d.indices.w) || any(four.words > vec4<u32>(d.words.w))) {
      meet(four.words.x, four.indices.x, i < end);
      meet(four.words.y, four.indices.y, i + 1u < end);
      meet(four.words.z, four.indices.z, i + 2u < end);
      meet(four.words.w, four.indices.w, i + 3u < end);
    }
  }
  store_from(0u, number, a);
  store_from(4u, number, b);
  store_from(8u, number, c);
  store_from(12u, number, d);
}

fn is_untaken(word: u32, index: u32) -> bool {
  return select(index == NOBODY, word == 0u, zero_is_free());
}

fn empty_from(place: u32) -> Four {
  let is_free = vec4<u32>(0u, 1u, 2u, 3u) + place + params.k >= vec4<u32>(16u);
  return Four(
    select(vec4<u32>(0xffffffffu), vec4<u32>(0u), is_free),
    select(vec4<u32>(0u), vec4<u32>(NOBODY), is_free),
  );
}

// The places that the word leaves where they are: a free one goes even for the word 0
fn stays(four: Four, word: u32) -> vec4<bool> {
  let is_more = four.words >= vec4<u32>(word);
  return is_more & (vec4<bool>(zero_is_free()) | (four.indices != vec4<u32>(NOBODY)));
}

fn meet(word: u32, index: u32, is_inside: bool) {
  if (!is_inside || index == NOBODY || stays(d, word).w) {
    return;
  }
  let a_stays = stays(a, word);
  let b_stays = stays(b, word);
  let c_stays = stays(c, word);
  let d_stays = stays(d, word);
  d = joined(d, d_stays, c, c_stays.w, word, index);
  c = joined(c, c_stays, b, b_stays.w, word, index);
  b = joined(b, b_stays, a, a_stays.w, word, index);
  a = joined(a, a_stays, a, true, word, index);
}

// `four` with the word in it, or moved by one, or as it is; what was before it is before.w
fn joined(
  four: Four, own: vec4<bool>, before: Four, before_stays: bool, word: u32, index: u32,
) -> Four {
  let is_place = vec4<bool>(before_stays, own.xyz);
  let words = vec4<u32>(before.words.w, four.words.xyz);
  let indices = vec4<u32>(before.indices.w, four.indices.xyz);
  return Four(
    select(select(words, vec4<u32>(word), is_place), four.words, own),
    select(select(indices, vec4<u32>(index), is_place), four.indices, own),
  );
}

fn store_from(place: u32, number: u32, four: Four) {
  let row = number / params.parts * params.length;
  for (var lane = 0u; lane < 4u; lane++) {
    if (place + lane + params.k >= 16u) {
      let to = (number + 1u) * params.k + place + lane - 16u;
      put(row, to, four.words[lane], four.indices[lane]);
    }
  }
}
