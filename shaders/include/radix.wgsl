// A pass of a radix sort of pairs, larger words first, by one byte of the words. A row is cut into
// parts, each with an invocation or a workgroup. `counts`, [rows, DIGITS, parts], are first how many pairs of a
// part have each digit; their running sums are where the part's pairs of that digit go.
// Source: Zagha and Blelloch, Radix Sort for Vector Multiprocessors, 1991.

const DIGITS = 256u;

struct Params {
  rows: u32,
  length: u32, // of a row
  parts: u32, // of a row
  part_size: u32,
  shift: u32, // of the byte
}

@group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
@group(0) @binding(2) var<uniform> params: Params;

struct Part {
  row: u32,
  begin: u32, // among the pairs of all rows
  size: u32,
  counts: u32, // where its counts begin; they are `parts` apart
}

fn part_of(number: u32) -> Part {
  let row = number / params.parts;
  let part = number % params.parts;
  let first = min(part * params.part_size, params.length);
  let size = min(params.part_size, params.length - first);
  return Part(row, row * params.length + first, size, row * DIGITS * params.parts + part);
}

fn digit_of(word: u32) -> u32 {
  return (~word >> params.shift) & 0xffu;
}

fn count_of(part: Part, word: u32) -> u32 {
  return part.counts + digit_of(word) * params.parts;
}
