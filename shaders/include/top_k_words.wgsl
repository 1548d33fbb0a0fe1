// Elements for include/top_k.wgsl, as their words
#include "include/ordering.wgsl"

fn zero_is_free() -> bool {
  return !ordering_is_whole();
}

fn ordered(x: vec4<T>, i: u32) -> Four {
  let words = vec4<u32>(order_of(x.x), order_of(x.y), order_of(x.z), order_of(x.w));
  return Four(words, vec4<u32>(0u, 1u, 2u, 3u) + i);
}

fn four_at(row: u32, i: u32) -> Four {
  let x = vec4<T>(
    load_x(row + i), load_x(row + i + 1u), load_x(row + i + 2u), load_x(row + i + 3u),
  );
  return ordered(x, i);
}
