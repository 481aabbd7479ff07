"""Differentiate and transform ordinary Python: loops, branches, in-place NumPy, compiled."""
