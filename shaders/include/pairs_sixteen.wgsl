// Two neighbours' transforms by radix 16, as four of four and four more of what they give; see
// fft/pass_16.wgsl. The kernel gives pair_of.

const COS = 0.923879533f; // of an eighth of pi
const SIN = 0.382683432f;
const HALF_ROOT = 0.707106781f;

struct Sixteens { // q = p + 4 r is the r-th of p's four
  p0: Fours,
  p1: Fours,
  p2: Fours,
  p3: Fours,
}

fn turned(x: vec4<f32>, cos_of: f32, sin_of: f32) -> vec4<f32> {
  let root = vec2<f32>(cos_of, params.turn * sin_of);
  return times(x, root.xyxy);
}

fn column(row: u32, place: u32, j: u32) -> Fours {
  return transform_fours(Fours(
    pair_of(row, place, j),
    pair_of(row, place, j + 4u),
    pair_of(row, place, j + 8u),
    pair_of(row, place, j + 12u),
  ));
}

fn transform_sixteens(row: u32, place: u32) -> Sixteens {
  let zero = column(row, place, 0u);
  let one = column(row, place, 1u);
  let two = column(row, place, 2u);
  let three = column(row, place, 3u);
  return Sixteens(
    transform_fours(Fours(zero.a, one.a, two.a, three.a)),
    transform_fours(Fours(
      zero.b,
      turned(one.b, COS, SIN),
      turned(two.b, HALF_ROOT, HALF_ROOT),
      turned(three.b, SIN, COS),
    )),
    transform_fours(Fours(
      zero.c,
      turned(one.c, HALF_ROOT, HALF_ROOT),
      turned(two.c, 0.0, 1.0),
      turned(three.c, -HALF_ROOT, HALF_ROOT),
    )),
    transform_fours(Fours(
      zero.d,
      turned(one.d, SIN, COS),
      turned(two.d, -HALF_ROOT, HALF_ROOT),
      turned(three.d, -COS, -SIN),
    )),
  );
}
