"""The WebGPU backend: WGSL kernels through wgpu."""
