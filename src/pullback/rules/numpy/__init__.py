"""Bodies of NumPy's functions, a family a file."""

from . import assign, create, extrema, reduce, scan, ufuncs  # noqa: F401  (they register)
