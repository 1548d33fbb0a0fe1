// A constant of a map, which no function with full control configures.
// finds: unread-mark
// warns: True
// cpu: x * 2
// shapes: (3, 5)
// y: x

const TIMES = 2; // @tunes 2 4

fn op(x: T) -> T {
  return x * T(TIMES);
}
