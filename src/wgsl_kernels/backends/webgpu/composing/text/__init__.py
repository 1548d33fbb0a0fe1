"""Names, types, bindings and parameters of a composed text."""
