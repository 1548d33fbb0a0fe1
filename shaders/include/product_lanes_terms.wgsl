// The part of product_lanes.wgsl that shares a where its channels lie in fours: of eight rows each lane
// loads one, 4 channels of it.

fn row_of(first: u32, lane: u32) -> u32 {
  return min(first + lane, params.rows - 1u);
}

fn channel_of(first: u32, lane: u32) -> u32 {
  return first;
}

fn add_stack(stack: ptr<function, Stack>, a: vec4<Sum>, b: Fours) {
  (*stack).sum0 = add_four(subgroupBroadcast(a, 0u), b, (*stack).sum0);
  (*stack).sum1 = add_four(subgroupBroadcast(a, 1u), b, (*stack).sum1);
  (*stack).sum2 = add_four(subgroupBroadcast(a, 2u), b, (*stack).sum2);
  (*stack).sum3 = add_four(subgroupBroadcast(a, 3u), b, (*stack).sum3);
  (*stack).sum4 = add_four(subgroupBroadcast(a, 4u), b, (*stack).sum4);
  (*stack).sum5 = add_four(subgroupBroadcast(a, 5u), b, (*stack).sum5);
  (*stack).sum6 = add_four(subgroupBroadcast(a, 6u), b, (*stack).sum6);
  (*stack).sum7 = add_four(subgroupBroadcast(a, 7u), b, (*stack).sum7);
}
