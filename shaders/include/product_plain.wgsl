// What a product (product.wgsl) does to each sum where nothing follows.

fn finish(sum: Sum, i: u32) -> Sum {
  return sum;
}

fn finish4(sums: vec4<Sum>, i: u32) -> vec4<Sum> {
  return sums;
}
