"""The language server, ``wgsl-kernels lsp``: what editors show of WGSL while it is written."""
