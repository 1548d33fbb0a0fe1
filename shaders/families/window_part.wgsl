// What windows share: where one stands, and which of its elements lie on the image. An element of a
// window is counted by its steps down and right; they are WK_DILATED where two neighbours are more
// than one element of the image apart.

struct wk_Window {
  start: u32, // of the channel of the image
  corner: vec2<u32>, // counted from the padding's first element
  begin: vec2<u32>, // the elements that lie on the image
  end: vec2<u32>,
}

// The window of the unit of y, which is `channels` neighbouring channels of a place
fn wk_window_at(unit: u32, channels: u32) -> wk_Window {
  let depth = wk_params.wk_channels / channels;
  let cell = unit / depth; // a remainder would divide again
  let line = cell / wk_params.wk_places.y;
  let image = line / wk_params.wk_places.x;
  let channel = (unit - cell * depth) * channels;
  let place = vec2<u32>(line - image * wk_params.wk_places.x, cell - line * wk_params.wk_places.y);
  let strides = wk_params.wk_x_strides;
  let start = wk_params.wk_x_offset + image * strides.x + channel * strides.w;
  let corner = place * wk_params.wk_step;
  let first = wk_params.wk_before;
  let last = first + wk_params.wk_image;
  return wk_Window(
    start,
    corner,
    min(wk_steps(max(first, corner) - corner), wk_params.wk_window),
    min(wk_steps(max(last, corner) - corner), wk_params.wk_window),
  );
}

// How many steps reach that far
fn wk_steps(distance: vec2<u32>) -> vec2<u32> {
  if (WK_DILATED) {
    return (distance + wk_params.wk_dilation - 1u) / wk_params.wk_dilation;
  }
  return distance;
}

fn wk_count(window: wk_Window) -> u32 {
  let seen = window.end - window.begin;
  return seen.x * seen.y;
}

fn wk_place(window: wk_Window, row: u32, col: u32) -> u32 {
  let at = window.corner + vec2<u32>(row, col) * wk_params.wk_dilation - wk_params.wk_before;
  return window.start + at.x * wk_params.wk_x_strides.y + at.y * wk_params.wk_x_strides.z;
}
