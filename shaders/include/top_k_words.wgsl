// The words of elements for include/top_k.wgsl
#include "include/ordering.wgsl"

fn zero_is_free() -> bool {
  return !ordering_is_whole();
}

fn ordered(x: vec4<T>, i: u32) -> Four {
  let words = vec4<u32>(order_of(x.x), order_of(x.y), order_of(x.z), order_of(x.w));
  return Four(words, vec4<u32>(0u, 1u, 2u, 3u) + i);
}
