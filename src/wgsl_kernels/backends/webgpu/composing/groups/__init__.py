"""Maps that share a shader, with one another or with another kernel."""
