"""Arrays: views of buffers, and the host values that fill them."""
