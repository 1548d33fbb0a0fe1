// Window: an invocation takes four neighbouring channels of a place; else as window_one.

override WK_DILATED: bool;

const WK_GROUP = 64u;

@compute @workgroup_size(WK_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * WK_GROUP;
  let units = wk_params.wk_size / 4u;
  if (number >= units * wk_params.wk_bands) {
    return;
  }
  let band = wk_band(number, units);
  let unit = number - band * units;
  let window = wk_window_at(unit, 4u);
  let begin = wk_band_begin(window, band);
  let end = wk_band_end(window, band);
  var a = init();
  var b = init();
  var c = init();
  var d = init();
  for (var row = begin.x; row < end.x; row++) {
    var line_a = init();
    var line_b = init();
    var line_c = init();
    var line_d = init();
    for (var col = begin.y; col < end.y; col++) {
      let x = wk_load4(wk_place(window, row, col));
      let i = row * wk_params.wk_window.y + col;
      line_a = wk_join(line_a, x.x, i);
      line_b = wk_join(line_b, x.y, i);
      line_c = wk_join(line_c, x.z, i);
      line_d = wk_join(line_d, x.w, i);
    }
    a = combine(a, line_a);
    b = combine(b, line_b);
    c = combine(c, line_c);
    d = combine(d, line_d);
  }
  wk_emit4(unit * 4u, band, array<wk_Total, 4>(a, b, c, d), wk_count(window));
}
