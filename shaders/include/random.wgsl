// Random numbers by counter: Philox4x32-10. Needs include/integer.wgsl; random_normal also
// include/safe_math.wgsl and include/trigonometry.wgsl. The same bits as
// wgsl_kernels.backends.cpu.random.
//
// The key holds the bits of (seed low, seed high, counter low, counter high). Element i is lane
// i % 4 of the block at counter + i / 4, so elements are independent of grid and of order.
// Source: Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011.

fn philox(start: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
  var block = start;
  var key = seed;
  for (var round_number = 0u; round_number < 10u; round_number++) {
    let first = mul_wide(0xd2511f53u, block.x);
    let second = mul_wide(0xcd9e8d57u, block.z);
    block = vec4<u32>(second.x ^ block.y ^ key.x, second.y, first.x ^ block.w ^ key.y, first.y);
    key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return block;
}

// The four words of elements 4 * block .. 4 * block + 3
fn random_block(key: vec4<i32>, block: u32) -> vec4<u32> {
  let words = bitcast<vec4<u32>>(key);
  let low = words.z + block;
  return philox(vec4<u32>(low, words.w + select(0u, 1u, low < block), 0u, 0u), words.xy);
}

// 32 random bits for element i
fn random_bits(key: vec4<i32>, i: u32) -> u32 {
  let block = random_block(key, i >> 2u);
  return block[i & 3u];
}

// [0, 1) in steps of 2^-24
fn unit_float(bits: u32) -> f32 {
  return f32(bits >> 8u) * 0x1p-24f;
}

// Uniform in [low, high): u * (high - low) + low, each step rounded; a result that rounds up to
// high is the float below it. Equal bit for bit on both backends wherever the steps stay normal and
// round to nearest.
fn random_uniform(key: vec4<i32>, i: u32, low: f32, high: f32) -> f32 {
  let y = hold(hold(unit_float(random_bits(key, i)) * hold(high - low)) + low);
  if (y < high || !(low < high)) {
    return y;
  }
  return next_below(high);
}

fn next_below(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if ((bits & 0x7fffffffu) == 0u) {
    return bitcast<f32>(0x80800000u); // the largest normal number below 0
  }
  return bitcast<f32>(select(bits - 1u, bits + 1u, (bits >> 31u) == 1u));
}

// Uniform integer in [low, high): the high word of bits * (high - low), off uniform by at most
// (high - low) / 2^32
fn random_integer(key: vec4<i32>, i: u32, low: i32, high: i32) -> i32 {
  let span = bitcast<u32>(high) - bitcast<u32>(low);
  return low + bitcast<i32>(mul_wide(random_bits(key, i), span).x);
}

// Standard normal by Box and Muller, A Note on the Generation of Random Normal Deviates, 1958:
// elements 2j and 2j + 1 share a radius; u in (0, 1], so |result| < 5.8. Both backends lie within
// 10 ULP of the exact formula on the same rounded angle.
fn random_normal(key: vec4<i32>, i: u32) -> f32 {
  let block = random_block(key, i >> 2u);
  let pair = i & 2u;
  let u = f32((block[pair] >> 8u) + 1u) * 0x1p-24f;
  let angle = hold(unit_float(block[pair + 1u]) * 6.28318548f);
  let radius = refined_sqrt(-2.0 * safe_log(u));
  if ((i & 1u) == 0u) {
    return radius * safe_cos(angle);
  }
  return radius * safe_sin(angle);
}
