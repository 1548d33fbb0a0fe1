"""Gradients from differences of float64, which analytic ones are held against."""
