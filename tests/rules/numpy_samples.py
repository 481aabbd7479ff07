"""One call of each NumPy function that Numba knows, as an expression over the arguments below."""

import numpy as np

ARGUMENTS = {
    "V": np.array([0.3, -1.2, 0.7, 1.9]),
    "W": np.array([-0.8, 0.4, 1.5, -0.25]),
    "P": np.array([0.55, 1.1, 2.3, 0.9]),
    "U": np.array([0.15, 0.35, 0.6, 0.85]),
    "X": np.array([0.1, 0.9, 1.7, 3.1]),  # increasing
    "M": np.sin(np.arange(12.0)).reshape(3, 4) + 0.1,
    "N": np.cos(np.arange(12.0)).reshape(3, 4),
    "S": np.array([[4.0, 0.3, -0.2], [0.5, 3.0, 0.7], [-0.1, 0.2, 5.0]]),
    "H": np.array([[4.0, 0.5, -0.1], [0.5, 3.0, 0.7], [-0.1, 0.7, 5.0]]),
    "Z": np.array([0.3 + 0.4j, -1.2 + 0.1j, 0.7 - 0.9j, 1.9 + 0.2j]),
    "I": np.array([2, 0, 2, 3]),
    "J": np.array([5, 3, 7, 1]),
    "B": np.array([True, False, True, True]),
}
UNARY_DOMAIN = {
    **dict.fromkeys("arccosh".split(), "(P + 1.0)"),
    **dict.fromkeys("arcsin arccos arctanh arctan".split(), "U"),
    **dict.fromkeys("log log2 log10 log1p sqrt reciprocal cbrt".split(), "P"),
    **dict.fromkeys("invert bitwise_not bitwise_count".split(), "J"),
    **dict.fromkeys("logical_not".split(), "B"),
}
BINARY_DOMAIN = {
    **dict.fromkeys(
        "bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm".split(), "J, I"
    ),
    **dict.fromkeys("power float_power".split(), "P, V"),
    **dict.fromkeys("floor_divide remainder mod fmod divmod divide true_divide".split(), "V, P"),
    "ldexp": "V, I",
}
NAN_FUNCTIONS = (
    "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd "
    "nansum nanvar"
)
CALLS = {
    "all": "np.all(V > 0)", "allclose": "np.allclose(V, W)", "amax": "np.amax(M)",
    "amin": "np.amin(M)", "angle": "np.angle(Z)", "any": "np.any(V > 0)",
    "append": "np.append(V, W)",
    "arange": "np.arange(V[0], 4.0)", "argmax": "np.argmax(V)", "argmin": "np.argmin(V)",
    "argpartition": "np.argpartition(V, 1)", "argsort": "np.argsort(V)",
    "argwhere": "np.argwhere(V > 0)", "around": "np.around(V, 1)",
    "array": "np.array([V[0], W[1]])",
    "array_equal": "np.array_equal(V, W)", "array_split": "np.array_split(V, 3)",
    "asarray": "np.asarray(V)", "asarray_chkfinite": "np.asarray_chkfinite(V)",
    "ascontiguousarray": "np.ascontiguousarray(M.T)", "asfortranarray": "np.asfortranarray(M)",
    "atleast_1d": "np.atleast_1d(V)", "atleast_2d": "np.atleast_2d(V)",
    "atleast_3d": "np.atleast_3d(V)", "average": "np.average(V, weights=P)",
    "bartlett": "np.bartlett(5) * V[0]", "bincount": "np.bincount(I)",
    "blackman": "np.blackman(5) * V[0]", "broadcast_arrays": "np.broadcast_arrays(V, M)",
    "broadcast_shapes": "np.broadcast_shapes((3, 1), (1, 4))[0] * V[0]",
    "broadcast_to": "np.broadcast_to(V, (3, 4))", "clip": "np.clip(V, -0.5, 0.5)",
    "column_stack": "np.column_stack((V, W))", "concatenate": "np.concatenate((V, W))",
    "convolve": "np.convolve(V, W)", "copy": "np.copy(V)", "corrcoef": "np.corrcoef(M)",
    "correlate": "np.correlate(V, W[:2])", "count_nonzero": "np.count_nonzero(V)",
    "cov": "np.cov(M)", "cross": "np.cross(V[:3], W[:3])", "cumprod": "np.cumprod(V)",
    "cumsum": "np.cumsum(V)", "delete": "np.delete(V, 1)", "diag": "np.diag(S)",
    "diag_indices": "np.diag_indices(3)", "diagflat": "np.diagflat(V)", "diff": "np.diff(V)",
    "digitize": "np.digitize(V, X)", "divmod": "np.divmod(V, P)", "dot": "np.dot(M, V)",
    "dsplit": "np.dsplit(M.reshape(1, 3, 4), 2)", "dstack": "np.dstack((V, W))",
    "dtype": "np.zeros(2, np.dtype(np.float32)) * V[0]", "ediff1d": "np.ediff1d(V)",
    "empty": "np.empty(0) * V[0]", "empty_like": "np.empty_like(V[:0])",
    "expand_dims": "np.expand_dims(V, 0)",
    "extract": "np.extract(B, V)", "eye": "np.eye(3) * V[0]",
    "fill_diagonal": "_fill_diagonal(S.copy())",
    "finfo": "np.finfo(np.float64).eps * V[0]", "fix": "np.fix(V)",
    "flatnonzero": "np.flatnonzero(V > 0)",
    "flip": "np.flip(M)", "fliplr": "np.fliplr(M)", "flipud": "np.flipud(M)",
    "frexp": "np.frexp(V)", "frombuffer": None, "isnat": None,
    "full": "np.full(3, V[0])", "full_like": "np.full_like(V, V[0])",
    "geomspace": "np.geomspace(P[0], P[1], 4)",
    "hamming": "np.hamming(5) * V[0]", "hanning": "np.hanning(5) * V[0]",
    "histogram": "np.histogram(V, 3)[0]",
    "hsplit": "np.hsplit(M, 2)", "hstack": "np.hstack((V, W))", "identity": "np.identity(3) * V[0]",
    "iinfo": "np.iinfo(np.int64).bits * V[0]", "imag": "np.imag(Z)", "in1d": "np.in1d(I, J)",
    "indices": "np.indices((2, 3))", "inner": "np.inner(V, W)", "insert": "np.insert(V, 1, W[0])",
    "interp": "np.interp(U, X, V)", "intersect1d": "np.intersect1d(I, J)",
    "isclose": "np.isclose(V, W)",
    "iscomplex": "np.iscomplex(Z)", "iscomplexobj": "np.iscomplexobj(Z)", "isin": "np.isin(I, J)",
    "isneginf": "np.isneginf(V)", "isposinf": "np.isposinf(V)", "isreal": "np.isreal(Z)",
    "isrealobj": "np.isrealobj(Z)", "isscalar": "np.isscalar(2.0)",
    "kaiser": "np.kaiser(5, 1.5) * V[0]",
    "kron": "np.kron(S, S)", "linspace": "np.linspace(V[0], V[1], 5)",
    "logspace": "np.logspace(V[0], V[1], 4)",
    "max": "np.max(M)", "mean": "np.mean(M)", "median": "np.median(V)",
    "meshgrid": "np.meshgrid(V, W)",
    "moveaxis": "np.moveaxis(M, 0, 1)", "min": "np.min(M)", "modf": "np.modf(V)",
    "nan_to_num": "np.nan_to_num(V)",
    **{n: f"np.{n}(V)" for n in NAN_FUNCTIONS.split()},
    "nanpercentile": "np.nanpercentile(V, 40)", "nanquantile": "np.nanquantile(V, 0.4)",
    "ndenumerate": "_ndenumerate(V)", "ndim": "np.ndim(M)", "ndindex": "_ndindex(M)",
    "nditer": "_nditer(V)",
    "nonzero": "np.nonzero(V > 0)", "ones": "np.ones(3) * V[0]", "ones_like": "np.ones_like(V)",
    "outer": "np.outer(V, W)", "partition": "np.sort(np.partition(V, 1))",
    "percentile": "np.percentile(V, 40)",
    "prod": "np.prod(V)", "ptp": "np.ptp(V)", "put": "_put(V.copy(), W)",
    "quantile": "np.quantile(V, 0.4)",
    "ravel": "np.ravel(M)", "real": "np.real(Z)", "repeat": "np.repeat(V, 2)",
    "reshape": "np.reshape(M, (4, 3))",
    "resize": "np.resize(V, (2, 3))", "roll": "np.roll(V, 1)", "roots": "np.roots(V)",
    "rot90": "np.rot90(M)",
    "round": "np.round(V, 1)", "row_stack": "np.row_stack((V, W))",
    "searchsorted": "np.searchsorted(X, V)",
    "select": "np.select([V > 1, V > 0], [V, W], 0.5)", "setdiff1d": "np.setdiff1d(I, J)",
    "setxor1d": "np.setxor1d(I, J)", "shape": "np.shape(M)[0] * V[0]", "sinc": "np.sinc(V)",
    "size": "np.size(M)",
    "sort": "np.sort(V)", "split": "np.split(V, 2)", "stack": "np.stack((V, W))",
    "std": "np.std(V)",
    "sum": "np.sum(M)", "swapaxes": "np.swapaxes(M, 0, 1)", "take": "np.take(V, I)",
    "take_along_axis": "np.take_along_axis(V, I, 0)", "tile": "np.tile(V, 2)",
    "trace": "np.trace(S)",
    "transpose": "np.transpose(M)", "trapezoid": "np.trapezoid(V, X)", "tri": "np.tri(3) * V[0]",
    "tril": "np.tril(S)", "tril_indices": "np.tril_indices(3)",
    "tril_indices_from": "np.tril_indices_from(S)",
    "trim_zeros": "np.trim_zeros(V)", "triu": "np.triu(S)", "triu_indices": "np.triu_indices(3)",
    "triu_indices_from": "np.triu_indices_from(S)", "union1d": "np.union1d(V, W)",
    "unique": "np.unique(V)",
    "unwrap": "np.unwrap(np.cumsum(V))", "vander": "np.vander(V)", "var": "np.var(V)",
    "vdot": "np.vdot(Z, Z * Z)",
    "vsplit": "np.vsplit(M.T.copy(), 2)", "vstack": "np.vstack((V, W))",
    "where": "np.where(V > 0, V, W)",
    "zeros": "np.zeros(3) * V[0]", "zeros_like": "np.zeros_like(V)",
    "as_strided": "as_strided(V, (2, 2), (8, 8))",
    "sliding_window_view": "sliding_window_view(V, 2)",
}  # fmt: skip
LINALG = {
    "cholesky": "(H)", "cond": "(S)", "det": "(S)", "eig": "(S + 0j)[0].real", "eigh": "(H)",
    "eigvals": "(S + 0j).real", "eigvalsh": "(H)", "inv": "(S)", "lstsq": "(S, V[:3])",
    "matrix_power": "(S, 3)", "matrix_rank": "(S)", "norm": "(V)", "pinv": "(S)", "qr": "(S)",
    "slogdet": "(S)", "solve": "(S, V[:3])", "svd": "(S)", "matmul": "(S, S)",
    "cross": "(V[:3], W[:3])",
    "outer": "(V, W)", "trace": "(S)", "tensordot": "(S, S)", "vector_norm": "(V)",
    "multi_dot": "((S, S))",
}  # fmt: skip
POLYNOMIAL = {
    "Polynomial": "polynomial.Polynomial(V)(0.3)", "polyadd": "polynomial.polyadd(V, W)",
    "polydiv": "polynomial.polydiv(V, W[:2])", "polyint": "polynomial.polyint(V)",
    "polymul": "polynomial.polymul(V, W)", "polysub": "polynomial.polysub(V, W)",
    "polyval": "polynomial.polyval(U, V)", "as_series": "polyutils.as_series((V, W))",
    "trimseq": "polyutils.trimseq(V)",
}  # fmt: skip
RANDOM = {
    "beta": "(2.0, 3.0)", "binomial": "(5, 0.5)", "chisquare": "(2.0)", "choice": "(5)",
    "dirichlet": "(np.ones(3))", "exponential": "(2.0)", "f": "(2.0, 3.0)", "gamma": "(2.0)",
    "geometric": "(0.5)", "gumbel": "()", "hypergeometric": "(5, 5, 3)", "laplace": "()",
    "logistic": "()",
    "lognormal": "()", "logseries": "(0.5)", "multinomial": "(5, np.ones(2) / 2)",
    "negative_binomial": "(5, 0.5)", "noncentral_chisquare": "(2.0, 1.0)", "normal": "()",
    "pareto": "(2.0)",
    "permutation": "(5)", "poisson": "(2.0)", "power": "(2.0)", "rand": "(3)", "randint": "(5)",
    "randn": "(3)",
    "random": "(3)", "random_sample": "(3)", "ranf": "(3)", "rayleigh": "(2.0)", "sample": "(3)",
    "seed": "(1)",
    "shuffle": "(np.arange(3))", "standard_cauchy": "()", "standard_exponential": "()",
    "standard_gamma": "(2.0)", "standard_normal": "()", "standard_t": "(2.0)",
    "triangular": "(0.0, 1.0, 2.0)",
    "uniform": "()", "vonmises": "(0.0, 1.0)", "wald": "(1.0, 2.0)", "weibull": "(2.0)",
    "zipf": "(2.0)",
    "random_integers": "(5)",
}  # fmt: skip


def expression(f):
    """The call to try of a NumPy callable, ``None`` if there is none for it."""
    name, module = f.__name__, getattr(f, "__module__", None) or "numpy"
    if "linalg" in module:
        return f"np.linalg.{name}{LINALG[name]}" if name in LINALG else None
    if "polynomial" in module:
        return POLYNOMIAL.get(name)
    if "random" in module:
        return f"np.random.{name}{RANDOM[name]}" if name in RANDOM else None
    if name in CALLS:
        return CALLS[name]
    if isinstance(f, np.ufunc) and f.signature is None:
        if f.nin == 1:
            return f"np.{name}({UNARY_DOMAIN.get(name, 'V')})"
        return f"np.{name}({BINARY_DOMAIN.get(name, 'V, W')})"
    return "np.matmul(M, V)" if name == "matmul" else None
