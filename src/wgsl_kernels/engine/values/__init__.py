"""What is known of tensors before there are any: dtypes, shapes, specs, values of the host."""
