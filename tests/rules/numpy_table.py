"""Which NumPy functions can be differentiated: each that Numba knows is called in a small program,
whose gradient is compared with differences.

``python -m tests.rules.numpy_table docs/numpy.md`` writes the table.
"""

from __future__ import annotations

import copy
import re
import sys
from collections import Counter
from types import FunctionType

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.polynomial import polynomial, polyutils

from pullback.errors import PullbackError
from tests.ad.harness import Derived

from .numpy_samples import ARGUMENTS, expression

RIGHT, CONSTANT, REFUSED, WRONG = "right", "no derivative by nature", "refused", "WRONG"


def numba_callables():
    """The NumPy callables with a type in Numba, sorted by module and name."""
    import numba.cpython.randomimpl
    import numba.np.arraymath
    import numba.np.arrayobj
    import numba.np.linalg
    import numba.np.npyimpl
    import numba.np.polynomial  # noqa: F401
    from numba.core.registry import cpu_target
    from numba.core.typing.templates import builtin_registry

    context = cpu_target.typing_context
    context.refresh()
    found = {}
    for f in [*context._globals, *(k for k, _ in builtin_registry.globals)]:
        module = str(getattr(f, "__module__", "") or "")
        if (isinstance(f, np.ufunc) or module.startswith("numpy")) and hasattr(f, "__name__"):
            if not (isinstance(f, type) and issubclass(f, np.generic)):
                found[label(f)] = f
    return dict(sorted(found.items()))


def label(f):
    module = str(getattr(f, "__module__", "") or "numpy")
    module = "numpy" if isinstance(f, np.ufunc) else module
    return f"{module}.{f.__name__}"


# -- helpers that the programs call ----------------------------------------------------------------
def weighted(y):
    w = np.linspace(0.5, 1.5, y.size).reshape(y.shape)
    return np.sum(y * w)


def _fill_diagonal(a):
    np.fill_diagonal(a, a[0, 1])
    return a


def _put(a, b):
    np.put(a, np.array([1, 3]), b[:2])
    return a


def _ndenumerate(x):
    s = 0.0
    for i, v in np.ndenumerate(x):
        s += v * i[0]
    return s


def _ndindex(x):
    s = 0.0
    for i in np.ndindex(x.shape):
        s += x[i]
    return s


def _nditer(x):
    s = 0.0
    for v in np.nditer(x):
        s += v.item()
    return s


SCOPE = {
    **{f.__name__: f for f in (weighted, _fill_diagonal, _put, _ndenumerate, _ndindex, _nditer)},
    **{"np": np, "polynomial": polynomial, "polyutils": polyutils},
    **{"as_strided": as_strided, "sliding_window_view": sliding_window_view},
}


def number(value, text):
    """An expression for a real number made of everything in ``value``, which ``text`` evaluates to;
    ``None`` if a part of it is neither a number nor an array."""
    if isinstance(value, (tuple, list)):
        parts = [number(v, f"{text}[{k}]") for k, v in enumerate(value)]
        return None if None in parts else " + ".join(parts) or "0.0"
    if value is None:
        return "0.0"
    if not isinstance(value, (np.ndarray, np.generic, int, float, complex)):
        return None
    if np.iscomplexobj(value):
        parts = np.real(value), np.imag(value)
        return " + ".join(number(p, f"np.{n}({text})") for p, n in zip(parts, ("real", "imag")))
    return f"weighted({text})" if np.ndim(value) else f"{text} * 1.0"


def program(text):
    """The program around one call, and its arguments; it always adds something active."""
    names = [n for n in ARGUMENTS if re.search(rf"(?<![\w.]){n}(?![\w(])", text)]
    if not any(ARGUMENTS[n].dtype.kind in "fc" for n in names):
        names.append("V")
    names = list(dict.fromkeys(names)) or ["V"]
    args = [ARGUMENTS[n] for n in names]
    with np.errstate(all="ignore"):
        value = eval(text, SCOPE, dict(zip(names, copy.deepcopy(args))))
    total = number(value, "r")
    if total is None:
        return None
    first = next(n for n in names if ARGUMENTS[n].dtype.kind in "fc")
    source = f"def program({', '.join(names)}):\n    r = {text}\n"
    source += f"    return np.sum(np.real({first})) + {total}\n"
    scope = dict(SCOPE)
    exec(compile(source, "<program>", "exec"), scope)
    f: FunctionType = scope["program"]
    return f, args, value


def discrete(value):
    if isinstance(value, (tuple, list)):
        return all(map(discrete, value))
    return value is None or np.asarray(value).dtype.kind in "biu"


def classify(f):
    """(verdict, detail) of one callable."""
    text = expression(f)
    if text is None:
        return REFUSED, "not tried"
    made = program(text)
    if made is None:
        return REFUSED, "the result is no number or array"
    run, args, value = made
    random = "np.random" in text
    try:
        with np.errstate(all="ignore"):
            derived = Derived(run, tuple(args))(*args)
            if not random:
                expected = run(*copy.deepcopy(args))
                if not np.isclose(derived.value, expected, rtol=1e-9):
                    return WRONG, f"value {derived.value} instead of {expected}"
                if not agrees(run, args, derived.grads):
                    return WRONG, "gradient"
    except PullbackError as error:
        return REFUSED, error.code
    constant = random or discrete(value)
    return (CONSTANT if constant else RIGHT), ""


def agrees(run, args, grads):
    """The gradient against central differences along a few directions."""
    rng = np.random.default_rng(3)
    active = [k for k, a in enumerate(args) if a.dtype.kind in "fc"]
    real = [k for k in active if args[k].dtype.kind == "f"]
    for k, g in zip(active if len(grads) == len(active) else real, grads):
        t = rng.normal(size=args[k].shape)
        if args[k].dtype.kind == "c":
            t = t + 1j * rng.normal(size=args[k].shape)
        h = 1e-5
        plus, minus = copy.deepcopy(args), copy.deepcopy(args)
        plus[k], minus[k] = args[k] + h * t, args[k] - h * t
        slope = (run(*plus) - run(*minus)) / (2 * h)
        if not np.isclose(np.sum((np.conjugate(g) * t).real), slope, rtol=1e-5, atol=1e-7):
            return False
    return True


INTRO = """# NumPy

Each NumPy function that Numba knows, differentiated in a small program: the value is compared with
NumPy's and the gradient with differences. *{right}* functions are right, *{constant}* have no
derivative by nature (integers, tests, random draws), *{refused}* are refused with an error code,
*{wrong}* are wrong.

`python -m tests.rules.numpy_table docs/numpy.md` makes this page.

What differs from NumPy:

- `reshape` and `ravel` of an array that is not C-contiguous copy it, even where NumPy finds a
  view, and `broadcast_to`, `broadcast_arrays`, `diagonal`, `diag` of a matrix and
  `sliding_window_view` are copies. For all but `ravel`, a function that could see the difference,
  by a write to one and a read of the other, is refused (PB205).
- `split`, `meshgrid` and their like give tuples instead of lists.
- A full contraction by `tensordot`, and `where` of three numbers, is a number instead of an array
  without axes.
- `partition` sorts. Sums are added up in an order of their own (single precision in double
  precision), so that their last digits differ from those of NumPy's pairwise sums.
- Of `scipy.special` there are `erf`, `erfc`, `expit`, `gammaln` and `ndtr`, of numbers and arrays.
- `squeeze` needs `axis`.
- Only the lower triangle counts in the derivative of `cholesky`, `eigh` and `eigvalsh` (of the two
  latter, the one that `UPLO` names): only that is read.
- `eigh`, `eig`, `svd`, `qr`, `pinv`, `lstsq`, `cond` and norms by singular values take a matrix,
  not a stack of them. `eig` and `eigvals` have derivatives for complex matrices
  (`a.astype(complex)`): whether the eigenvalues of a real one are real is not known in advance.
- `qr` has the modes `"reduced"` and `"r"`; `svd` and `pinv` do not take `hermitian=True`.
- Equal eigenvalues and singular values, and ranks:
  [kinks and singular points](semantics.md#kinks-and-singular-points).

| function | verdict |
|---|---|
"""


def table():
    """The page, and how many functions have each verdict."""
    rows, counts = [], Counter()
    only = sys.argv[2:]
    for name, f in numba_callables().items():
        if only and f.__name__ not in only:
            continue
        try:
            verdict, detail = classify(f)
        except Exception as error:
            verdict, detail = WRONG, f"{type(error).__name__}: {error}"[:200]
        counts[verdict] += 1
        rows.append(f"| `{name}` | {verdict}{' (' + detail + ')' if detail else ''} |")
        print(rows[-1], file=sys.stderr, flush=True)
    keys = {"right": RIGHT, "constant": CONSTANT, "refused": REFUSED, "wrong": WRONG}
    intro = INTRO.format(**{k: counts[v] for k, v in keys.items()})
    return intro + "\n".join(rows) + "\n", counts


if __name__ == "__main__":
    page, counts = table()
    with open(sys.argv[1], "w") as out:
        out.write(page)
    print(dict(counts))
