// Sums of products in f32, whatever float type the tensors have.

alias Sum = f32;

fn multiply_add(a: Sum, b: vec4<Sum>, c: vec4<Sum>) -> vec4<Sum> {
  return fma(vec4<Sum>(a), b, c);
}
