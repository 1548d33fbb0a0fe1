// The bands of windows joined: an invocation takes one channel of a place.

override WK_DILATED: bool;

const WK_GROUP = 64u;

@compute @workgroup_size(WK_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * WK_GROUP;
  if (i >= wk_params.wk_size) {
    return;
  }
  var total = init();
  for (var band = 0u; band < wk_params.wk_bands; band++) {
    total = combine(total, wk_partial(i, band));
  }
  wk_store(i, wk_finished(total, wk_count(wk_window_at(i, 1u))));
}
