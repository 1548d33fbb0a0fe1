"""Whether accumulators keep the laws by which templates join them."""
