"""``python -m wgsl_kernels`` is the command line."""

from wgsl_kernels.cli import main

main()
