"""Templates: modules with configuration constants, whose slots a kernel's module fills."""
