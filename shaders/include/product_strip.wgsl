// Sums that an invocation keeps in registers while it works on a product (product.wgsl): strips of
// four rows and eight columns, one above the other.

override HEIGHT: u32 = 4u; // rows that an invocation sums: 1, 4 or 8

struct Strip {
  sum00: vec4<Sum>, // row 0, columns 0 to 3
  sum01: vec4<Sum>, // row 0, columns 4 to 7
  sum10: vec4<Sum>,
  sum11: vec4<Sum>,
  sum20: vec4<Sum>,
  sum21: vec4<Sum>,
  sum30: vec4<Sum>,
  sum31: vec4<Sum>,
}

// Four channels of eight columns.
struct Fours {
  b00: vec4<Sum>, // channel 0, columns 0 to 3
  b01: vec4<Sum>, // channel 0, columns 4 to 7
  b10: vec4<Sum>,
  b11: vec4<Sum>,
  b20: vec4<Sum>,
  b21: vec4<Sum>,
  b30: vec4<Sum>,
  b31: vec4<Sum>,
}

// Adds the products of one channel: a has its four rows.
fn add_channel(strip: ptr<function, Strip>, a: vec4<Sum>, b0: vec4<Sum>, b1: vec4<Sum>) {
  (*strip).sum00 = multiply_add(a.x, b0, (*strip).sum00);
  (*strip).sum01 = multiply_add(a.x, b1, (*strip).sum01);
  if (HEIGHT > 1u) {
    (*strip).sum10 = multiply_add(a.y, b0, (*strip).sum10);
    (*strip).sum11 = multiply_add(a.y, b1, (*strip).sum11);
    (*strip).sum20 = multiply_add(a.z, b0, (*strip).sum20);
    (*strip).sum21 = multiply_add(a.z, b1, (*strip).sum21);
    (*strip).sum30 = multiply_add(a.w, b0, (*strip).sum30);
    (*strip).sum31 = multiply_add(a.w, b1, (*strip).sum31);
  }
}

// Adds the products of four channels: a0 to a3 have those of one row each.
fn add_fours(
  strip: ptr<function, Strip>,
  a0: vec4<Sum>,
  a1: vec4<Sum>,
  a2: vec4<Sum>,
  a3: vec4<Sum>,
  b: Fours,
) {
  add_channel(strip, vec4<Sum>(a0.x, a1.x, a2.x, a3.x), b.b00, b.b01);
  add_channel(strip, vec4<Sum>(a0.y, a1.y, a2.y, a3.y), b.b10, b.b11);
  add_channel(strip, vec4<Sum>(a0.z, a1.z, a2.z, a3.z), b.b20, b.b21);
  add_channel(strip, vec4<Sum>(a0.w, a1.w, a2.w, a3.w), b.b30, b.b31);
}

// Stores a strip whose first row is `row`; its halves begin at columns `left` and `right`. A loop,
// because what a kernel does to each sum may be long, and compilers write out all that is called.
fn store_strip(at: Block, row: u32, left: u32, right: u32, strip: Strip) {
  var sums = array<vec4<Sum>, 8>(
    strip.sum00,
    strip.sum01,
    strip.sum10,
    strip.sum11,
    strip.sum20,
    strip.sum21,
    strip.sum30,
    strip.sum31,
  );
  let count = select(8u, 2u, HEIGHT == 1u);
  for (var n = 0u; n < count; n++) {
    store4(at, row + n / 2u, select(left, right, n % 2u == 1u), sums[n]);
  }
}

// product_fours.wgsl has another, of one store, for columns that lie in fours.
fn store4(at: Block, row: u32, col: u32, values: vec4<Sum>) {
  for (var n = 0u; n < 4u; n++) {
    if (row < params.rows && col + n < params.cols) {
      store(at.part, at.batch, row, col + n, values[n]);
    }
  }
}
