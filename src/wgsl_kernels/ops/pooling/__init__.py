"""The mean or the maximum of windows."""
