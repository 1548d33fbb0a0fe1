// What the composer adds to any kernel that names it: functions that no optimiser sees through, a fast
// quotient, and reports of bad indices.

struct wk_Params {
  wk_zero: u32, // 0, which compilers do not know
  wk_status_slot: u32,
}

@group(0) @binding(0) var<uniform> wk_params: wk_Params;
@group(0) @binding(1) var<storage, read_write> wk_status: array<atomic<u32>>;

// Added, since x ^ zero ^ zero is x to a compiler: what is held twice would not be held at all.
fn hold(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) + wk_params.wk_zero);
}

fn wk_hold_f16(x: f16) -> f16 {
  return f16(hold(f32(x)));
}

fn wk_hold_vec2(x: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(hold(x.x), hold(x.y));
}

// Element i of an array of bytes, of which a word holds four.
fn wk_uint8(word: u32, i: u32) -> i32 {
  return i32(extractBits(word, 8u * (i % 4u), 8u));
}

fn wk_int8(word: u32, i: u32) -> i32 {
  return extractBits(bitcast<i32>(word), 8u * (i % 4u), 8u);
}

fn wk_nan() -> f32 {
  return bitcast<f32>(0x7fc00000u + wk_params.wk_zero);
}

fn wk_inf() -> f32 {
  return bitcast<f32>(0x7f800000u + wk_params.wk_zero);
}

// What a kernel says and asserts; a shader that watches itself (config.debug) gives them a meaning.
fn wk_print(value: f32) {
}

fn wk_print_i32(value: i32) {
}

fn wk_print_u32(value: u32) {
}

fn wk_assert(condition: bool) {
}

// i / n for i up to 2^20. The product is off by less than half where the reciprocal is within 2.5 ULP,
// so a whole number next to it, nearest or towards zero, by no more than 1. A CPU has no vectors of
// quotients.
fn wk_quotient(i: u32, n: u32) -> u32 {
  let guess = bitcast<u32>(f32(bitcast<i32>(i)) * (1.0 / f32(n)) + 0x1p23f) - 0x4b000000u;
  let rest = bitcast<i32>(i - guess * n);
  return select(select(guess, guess + 1u, rest >= bitcast<i32>(n)), guess - 1u, rest < 0);
}

// The worst of what a dispatch reports: which input, and one of its bad values.
fn wk_report(code: u32, bad: i32) {
  let slot = wk_params.wk_status_slot * 2u;
  if (atomicMax(&wk_status[slot], code) < code) {
    atomicStore(&wk_status[slot + 1u], bitcast<u32>(bad));
  }
}

// Where an adapter has ended loops, this one of two rounds, whose number no compiler knows, has but one.
// 255 is the code of that.
fn wk_check_loops() {
  var rounds = 0u;
  let most = 2u + wk_params.wk_status_slot / 65536u; // 2: there are fewer slots
  while (rounds < most) {
    rounds += 1u;
  }
  if (rounds < most) {
    wk_report(255u, 0);
  }
}
