// What fused kernels do last: ACTIVATION says what, by the numbers of ACTIVATIONS in ops/epilogue.py.
// Needs params.leakyrelu_alpha and alias Sum; for PRELU the kernel gives fn slope_at(i: u32) -> Sum.
#include "include/safe_math.wgsl"

// Overrides, so that what is not done costs nothing: some adapters run every branch.
override ACTIVATION: u32 = 0u;

const RELU = 1u;
const RELU6 = 2u;
const ELU = 3u;
const SIGMOID = 4u;
const LEAKY_RELU = 5u;
const PRELU = 6u;

fn activated(value: Sum, i: u32) -> Sum {
  switch ACTIVATION {
    case RELU: {
      return select(value, 0.0, value < 0.0);
    }
    case RELU6: {
      return safe_clamp(value, 0.0, 6.0);
    }
    case ELU: {
      return select(value, safe_expm1(value), value < 0.0);
    }
    case SIGMOID: {
      return safe_sigmoid(value);
    }
    case LEAKY_RELU: {
      return select(value, params.leakyrelu_alpha * value, value < 0.0);
    }
    case PRELU: {
      return select(value, slope_at(i) * value, value < 0.0);
    }
    default: {
      return value;
    }
  }
}
