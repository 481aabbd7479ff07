"""Bodies of NumPy's functions, a family a file."""

from . import ufuncs  # noqa: F401  (it registers)
