"""The author's bench: checks of kernels in sections, and how what they found is printed."""
