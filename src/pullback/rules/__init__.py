"""The rules: what functions mean to differentiation. See ``registry``."""

from . import registry
from .registry import array_rule, body, inactive, method, scalar_rule

__all__ = ["array_rule", "body", "inactive", "method", "registry", "scalar_rule"]
