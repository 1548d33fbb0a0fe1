// What kernels may use without import, for tensors x and y of float32: editors read it, nothing runs it.
// `wgsl-kernels prelude FILE` writes the same for the tensors of a file.
alias T = f32;
alias T_x = f32;
alias T_y = f32;
alias T_wide = f32;
const x_rank = 2u;
const y_rank = 2u;
fn load_x(i: u32) -> f32 { return 0.0; }
fn load4_x(i: u32) -> vec4<f32> { return vec4(0.0); }
fn load_x_at(coords: Coords_x) -> f32 { return 0.0; }
fn coords_x(i: u32) -> Coords_x { return Coords_x(); }
fn store_y(i: u32, value: f32) { }
fn store4_y(i: u32, values: vec4<f32>) { }
fn coords_y(i: u32) -> Coords_y { return Coords_y(); }
fn report_index(bad: i32) { }
fn hold(x: f32) -> f32 { return x; }
fn wk_nan() -> f32 { return bitcast<f32>(0x7fc00000u); }
fn wk_inf() -> f32 { return bitcast<f32>(0x7f800000u); }
fn wk_print(value: f32) { }
fn wk_print_i32(value: i32) { }
fn wk_print_u32(value: u32) { }
fn wk_assert(condition: bool) { }
alias Coords_x = array<u32, 2>;
alias Coords_y = array<u32, 2>;
