"""The stepper: what one invocation of a kernel does, line by line."""
