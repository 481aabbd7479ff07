"""Bodies of NumPy's functions, a family a file."""

from . import assign, ufuncs  # noqa: F401  (they register)
