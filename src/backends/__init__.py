"""The backends that ship with the package."""
