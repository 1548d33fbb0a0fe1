// The part of product_lanes.wgsl that shares a where its rows lie in fours: of eight rows and 4 channels
// each lane loads one half of the rows of one channel.

fn row_of(first: u32, lane: u32) -> u32 {
  return min(first + lane / 4u * 4u, params.rows - 4u);
}

fn channel_of(first: u32, lane: u32) -> u32 {
  return first + lane % 4u;
}

fn add_stack(stack: ptr<function, Stack>, a: vec4<Sum>, b: Fours) {
  let a00 = subgroupBroadcast(a, 0u); // rows 0 to 3, channel 0
  let a01 = subgroupBroadcast(a, 1u); // rows 0 to 3, channel 1
  let a02 = subgroupBroadcast(a, 2u); // rows 0 to 3, channel 2
  let a03 = subgroupBroadcast(a, 3u); // rows 0 to 3, channel 3
  let a40 = subgroupBroadcast(a, 4u); // rows 4 to 7, channel 0
  let a41 = subgroupBroadcast(a, 5u); // rows 4 to 7, channel 1
  let a42 = subgroupBroadcast(a, 6u); // rows 4 to 7, channel 2
  let a43 = subgroupBroadcast(a, 7u); // rows 4 to 7, channel 3
  let row0 = vec4<Sum>(a00.x, a01.x, a02.x, a03.x);
  let row1 = vec4<Sum>(a00.y, a01.y, a02.y, a03.y);
  let row2 = vec4<Sum>(a00.z, a01.z, a02.z, a03.z);
  let row3 = vec4<Sum>(a00.w, a01.w, a02.w, a03.w);
  let row4 = vec4<Sum>(a40.x, a41.x, a42.x, a43.x);
  let row5 = vec4<Sum>(a40.y, a41.y, a42.y, a43.y);
  let row6 = vec4<Sum>(a40.z, a41.z, a42.z, a43.z);
  let row7 = vec4<Sum>(a40.w, a41.w, a42.w, a43.w);
  (*stack).sum0 = add_four(row0, b, (*stack).sum0);
  (*stack).sum1 = add_four(row1, b, (*stack).sum1);
  (*stack).sum2 = add_four(row2, b, (*stack).sum2);
  (*stack).sum3 = add_four(row3, b, (*stack).sum3);
  (*stack).sum4 = add_four(row4, b, (*stack).sum4);
  (*stack).sum5 = add_four(row5, b, (*stack).sum5);
  (*stack).sum6 = add_four(row6, b, (*stack).sum6);
  (*stack).sum7 = add_four(row7, b, (*stack).sum7);
}
