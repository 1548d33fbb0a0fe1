// Window, of few elements: an invocation takes four channels of two neighbouring places. What would
// be outside of the image is read from beside it and left out, so that all loops are alike.
//
// A driver unrolls the loops, or does not where maps in front make them longer. So totals are held:
// else it would join what it multiplies in one turn with what it adds in another.

override WK_HIGH: u32; // the window
override WK_WIDE: u32;
override WK_DOWNWARD: u32; // elements of the image from one of the window to the next
override WK_RIGHTWARD: u32;
override WK_ACROSS: u32; // the workgroup: fours of channels, and pairs of places
override WK_DOWN: u32;
override WK_WHOLE: bool; // every window lies on the image

@compute @workgroup_size(WK_ACROSS, WK_DOWN)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let depth = wk_params.wk_channels / 4u;
  let col = id.y * 2u;
  if (id.x >= depth || col >= wk_params.wk_places.y) {
    return;
  }
  let image = id.z / wk_params.wk_places.x;
  let row = id.z - image * wk_params.wk_places.x;
  let start = wk_params.wk_x_offset + image * wk_params.wk_x_strides.x + id.x * 4u;
  let unit = (id.z * wk_params.wk_places.y + col) * depth + id.x;
  wk_pool(start, vec2<u32>(row, col), unit);
  if (col + 1u < wk_params.wk_places.y) {
    wk_pool(start, vec2<u32>(row, col + 1u), unit + depth);
  }
}

fn wk_pool(start: u32, place: vec2<u32>, unit: u32) {
  let corner = place * wk_params.wk_step; // counted from the padding's first element
  let first = wk_params.wk_before;
  var a = wk_held(init());
  var b = wk_held(init());
  var c = wk_held(init());
  var d = wk_held(init());
  var count = 0u;
  for (var down = 0u; down < WK_HIGH; down++) {
    var line_a = wk_held(init());
    var line_b = wk_held(init());
    var line_c = wk_held(init());
    var line_d = wk_held(init());
    for (var right = 0u; right < WK_WIDE; right++) {
      let tap = corner + vec2<u32>(down * WK_DOWNWARD, right * WK_RIGHTWARD);
      var at = tap;
      var is_inside = true;
      if (!WK_WHOLE) {
        at = min(max(tap, first) - first, wk_params.wk_image - 1u);
        is_inside = all(tap == at + first);
      }
      let strides = wk_params.wk_x_strides;
      let x = wk_load4(start + at.x * strides.y + at.y * strides.z);
      let i = down * WK_WIDE + right;
      if (is_inside) {
        line_a = wk_held(wk_join(line_a, x.x, i));
        line_b = wk_held(wk_join(line_b, x.y, i));
        line_c = wk_held(wk_join(line_c, x.z, i));
        line_d = wk_held(wk_join(line_d, x.w, i));
        count++;
      }
    }
    a = wk_held(combine(a, line_a));
    b = wk_held(combine(b, line_b));
    c = wk_held(combine(c, line_c));
    d = wk_held(combine(d, line_d));
  }
  wk_emit4(unit * 4u, 0u, array<wk_Total, 4>(a, b, c, d), count);
}
