// A pass by radix 16, as four transforms of four and four more of what they give: with s = j + 4 m
// and q = p + 4 r, w^(s q) = w^(j p) * w4^(m p) * w4^(j r)
#include "include/butterfly.wgsl"

const RADIX = 16u;

// The j-th transform over m, times w^(j p)
fn column(from_x: From, j: u32) -> Four {
  let x = Four(
    turned(from_x, j), turned(from_x, j + 4u), turned(from_x, j + 8u), turned(from_x, j + 12u),
  );
  let found = transform_four(x);
  let w = j * (params.length / RADIX);
  return Four(
    found.a,
    complex_mul(found.b, roots[w]),
    complex_mul(found.c, roots[2u * w]),
    complex_mul(found.d, roots[3u * w]),
  );
}

fn store_row(to: To, p: u32, x: Four) {
  let found = transform_four(x);
  store_turned(to, p, found.a);
  store_turned(to, p + 4u, found.b);
  store_turned(to, p + 8u, found.c);
  store_turned(to, p + 12u, found.d);
}

fn turn_all(from_x: From, to: To) {
  let zero = column(from_x, 0u);
  let one = column(from_x, 1u);
  let two = column(from_x, 2u);
  let three = column(from_x, 3u);
  store_row(to, 0u, Four(zero.a, one.a, two.a, three.a));
  store_row(to, 1u, Four(zero.b, one.b, two.b, three.b));
  store_row(to, 2u, Four(zero.c, one.c, two.c, three.c));
  store_row(to, 3u, Four(zero.d, one.d, two.d, three.d));
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  butterfly(id.x + id.y * groups.x * GROUP);
}
