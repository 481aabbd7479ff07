"""The rules: what functions mean to differentiation. See ``registry``."""

from . import (  # noqa: F401
    arithmetic,
    choice,
    elementary,
    least_squares,
    linalg,
    numpy,
    scipy,
    sequences,
    special,
    spectra,
)
from . import registry as registry
from .registry import array_rule, body, inactive, method, scalar_rule

__all__ = ["array_rule", "body", "inactive", "method", "registry", "scalar_rule"]
