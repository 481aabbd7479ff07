"""Statistics of several variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import body
from ..types import is_array, is_none, ndim


def _sliced(k: int, part: str) -> str:
    return "[" + ":, " * k + part + "]"


@body.typed(np.cov)
def _(m: Any, y: Any = None, rowvar: Any = None, bias: Any = None, ddof: Any = None) -> Any:
    if not is_array(m) or not (is_none(y) or is_array(y)):
        return None
    return _variance if ndim(m) == 1 and is_none(y) else _covariance


def _variance(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None
              ) -> Any:  # fmt: skip
    return np.var(m, ddof=(0 if bias else 1) if ddof is None else ddof)


def _rows(m: Any, rowvar: bool) -> Any:
    if m.ndim == 1:
        return m[None, :]
    return m if rowvar else m.T


def _covariance(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None
                ) -> Any:  # fmt: skip
    x = _rows(m, rowvar) if y is None else np.concatenate((_rows(m, rowvar), _rows(y, rowvar)))
    d = x - np.mean(x, axis=1, keepdims=True)
    less = (0 if bias else 1) if ddof is None else ddof
    return d @ np.conjugate(d.T) / (x.shape[1] - less)


@body.typed(np.corrcoef)
def _(x: Any, y: Any = None, rowvar: Any = None) -> Any:
    if not is_array(x) or (ndim(x) == 1 and is_none(y)) or not (is_none(y) or is_array(y)):
        return None
    return _correlation


def _correlation(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    c = np.cov(x, y, rowvar)
    s = np.sqrt(np.diag(c).real)
    return c / s[:, None] / s
