// Pairs (word, index) in sorted order: larger words first, equal ones by index, so that a sort is
// stable and every pair has one place.

fn comes_first(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.x > b.x || (a.x == b.x && a.y < b.y);
}
