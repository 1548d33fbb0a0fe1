"""Products, factorizations and solutions of matrices."""
