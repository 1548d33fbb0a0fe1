"""How WGSL kernels are declared, and where their shaders are."""
