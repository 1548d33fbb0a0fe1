"""Functions run step by step."""
