"""The WebGPU backend without a GPU: the same programs, run by the simulator."""
