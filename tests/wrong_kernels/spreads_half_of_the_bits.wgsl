// Bits from the ninth on are lost, where the domain has 16 and the sample draws fewer.
// finds: wrong-in-domain
// cpu: sum(((x >> k) & 1) << (2 * k) for k in range(16)).astype(x.dtype)
// shapes: (4, 5)
// dtype: int32
// low: 0
// high: 200
// domain: (0, 65535)

fn op(x: i32) -> i32 {
  var u = u32(x) & 0xffu;
  u = (u | (u << 4u)) & 0x0f0f0f0fu;
  u = (u | (u << 2u)) & 0x33333333u;
  u = (u | (u << 1u)) & 0x55555555u;
  return bitcast<i32>(u);
}
