"""Bodies of NumPy's functions, a family a file."""

from . import (  # noqa: F401  (they register)
    assign,
    calculus,
    create,
    decompositions,
    elementwise,
    extrema,
    indexing,
    join,
    linalg,
    matrices,
    polynomials,
    products,
    reduce,
    reshape,
    scan,
    shape,
    sorting,
    statistics,
    ufuncs,
)
