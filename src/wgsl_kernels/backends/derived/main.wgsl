// The entry point of a pass: an item for each invocation, and its statements in place of wk_pass.

@compute @workgroup_size(wk_group)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let item = id.x + id.y * groups.x * wk_group;
  wk_pass();
}
