"""Bodies of NumPy's functions, a family a file."""

from . import (  # noqa: F401  (they register)
    assign,
    calculus,
    create,
    extrema,
    indexing,
    join,
    linalg,
    products,
    reduce,
    scan,
    shape,
    sorting,
    ufuncs,
)
