// What a later pass reads: two neighbouring k, which lie together in x and in the roots, and how it
// writes what they give, which lies together in y.

@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>; // pairs
@group(0) @binding(3) var<storage, read> roots: array<vec4<f32>>; // likewise; the first table

fn pair_of(row: u32, place: u32, s: u32) -> vec4<f32> {
  let pair = x[(row * params.length + place + s * params.apart) / 2u];
  if (s == 0u) {
    return pair;
  }
  let k = place & ((1u << params.shift) - 1u);
  return times(pair, roots[((s << params.shift) + k) / 2u]);
}

fn store_pair(row: u32, place: u32, radix: u32, q: u32, pair: vec4<f32>) {
  let block = place >> params.shift;
  let k = place - (block << params.shift);
  y[(row * params.length + ((block * radix + q) << params.shift) + k) / 2u] = params.scale * pair;
}
