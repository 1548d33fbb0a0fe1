// What `pairs.py` puts behind a text that moves numbers in pairs; T is f32, i32 or u32.

fn wk_four_T(pairs: vec2<u64>) -> vec4<T> {
  let low = vec2<u32>(pairs);
  let high = vec2<u32>(pairs >> vec2<u32>(32u));
  return bitcast<vec4<T>>(vec4<u32>(low.x, high.x, low.y, high.y));
}

fn wk_one_T(pair: u64, lane: u32) -> T {
  return bitcast<T>(u32(pair >> (lane % 2u * 32u)));
}

fn wk_pairs_T(four: vec4<T>) -> vec2<u64> {
  let words = bitcast<vec4<u32>>(four);
  return vec2<u64>(words.xz) | (vec2<u64>(words.yw) << vec2<u32>(32u));
}
