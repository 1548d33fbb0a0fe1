// Sums of products in i32; they wrap.

alias Sum = i32;

fn multiply_add(a: Sum, b: vec4<Sum>, c: vec4<Sum>) -> vec4<Sum> {
  return a * b + c;
}
