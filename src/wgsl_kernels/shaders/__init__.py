"""Every WGSL shader of the package."""
