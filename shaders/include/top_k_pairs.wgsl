// include/top_k.wgsl leaves pairs of a word and an index
#include "include/top_k.wgsl"

@group(0) @binding(1) var<storage, read_write> pairs: array<vec2<u32>>; // [rows, parts, k]

fn put(row: u32, to: u32, word: u32, index: u32) {
  pairs[to] = vec2<u32>(word, index);
}
