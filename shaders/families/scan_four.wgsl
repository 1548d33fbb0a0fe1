// Four neighbouring elements of a row, in the order of the scan; those past the end change nothing.
// The parts of a row are cut in the order of memory, at multiples of four.

struct wk_Four {
  i: u32, // where the first in memory stands
  number: u32, // of the first in the order of the scan; wraps where it lies past the row's end
  a: wk_Total,
  b: wk_Total,
  c: wk_Total,
  d: wk_Total,
}

struct wk_Stretch {
  first: u32,
  end: u32,
}

fn wk_steps(stretch: wk_Stretch) -> u32 {
  return (stretch.end - stretch.first + 3u) / 4u;
}

fn wk_stretch(part: wk_Part) -> wk_Stretch {
  let block = select(part.number, wk_params.wk_parts - 1u - part.number, wk_backward);
  let begin = block * wk_params.wk_part_size;
  let end = min(begin + wk_params.wk_part_size, wk_params.wk_length);
  return wk_Stretch(part.start + begin, part.start + end);
}

fn wk_four(part: wk_Part, stretch: wk_Stretch, step: u32, steps: u32) -> wk_Four {
  let i = stretch.first + select(step, steps - 1u - step, wk_backward) * 4u;
  let four = wk_load4(i);
  let values = select(four, four.wzyx, wk_backward);
  let lanes = select(vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(3u, 2u, 1u, 0u), wk_backward);
  let inside = vec4<bool>(wk_even) | (lanes + i < vec4<u32>(stretch.end));
  let along = lanes + (i - part.start);
  let number = select(along.x, wk_params.wk_length - 1u - along.x, wk_backward);
  return wk_Four(
    i,
    number,
    wk_lift_inside(values.x, along.x, inside.x),
    wk_lift_inside(values.y, along.y, inside.y),
    wk_lift_inside(values.z, along.z, inside.z),
    wk_lift_inside(values.w, along.w, inside.w),
  );
}

fn wk_lift_inside(value: T, along: u32, inside: bool) -> wk_Total {
  if (inside) {
    return wk_lift(value, along);
  }
  return init();
}
