// y = index of the first largest x along the axis; the first NaN wins; 0 of no elements

#include "include/best.wgsl"

fn lift(x: T, i: u32) -> Best {
  return place_of(x, i, 0);
}
