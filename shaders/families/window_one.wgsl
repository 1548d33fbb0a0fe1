// Window: an invocation takes one channel of a place. A window of very many elements is cut into
// bands, of which an invocation takes one; window_totals joins them.

override WK_DILATED: bool;

const WK_GROUP = 64u;

@compute @workgroup_size(WK_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * WK_GROUP;
  if (number >= wk_params.wk_size * wk_params.wk_bands) {
    return;
  }
  let band = wk_band(number, wk_params.wk_size);
  let unit = number - band * wk_params.wk_size;
  let window = wk_window_at(unit, 1u);
  let begin = wk_band_begin(window, band);
  let end = wk_band_end(window, band);
  var total = init();
  for (var row = begin.x; row < end.x; row++) {
    var line = init();
    for (var col = begin.y; col < end.y; col++) {
      let x = wk_load(wk_place(window, row, col));
      line = wk_join(line, x, row * wk_params.wk_window.y + col);
    }
    total = combine(total, line);
  }
  wk_emit(unit, band, total, wk_count(window));
}
