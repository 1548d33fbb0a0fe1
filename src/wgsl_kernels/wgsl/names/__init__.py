"""Names: which declaration each refers to, and giving others."""
