"""Shader files: found, read, with the modules that they import."""
