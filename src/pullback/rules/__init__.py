"""The rules: what functions mean to differentiation. See ``registry``."""

from . import arithmetic, choice, elementary, linalg, numpy, sequences, special  # noqa: F401
from . import registry as registry
from .registry import array_rule, body, inactive, method, scalar_rule

__all__ = ["array_rule", "body", "inactive", "method", "registry", "scalar_rule"]
