"""The operations of the Python language and its builtins on abstract values: one table, filled by
the modules imported here.
"""

from __future__ import annotations

from . import attributes, classes, displays, indexing, iterables, numbers  # noqa: F401
from .attributes import method
from .classes import special_callable
from .displays import call_partial
from .handlers import LANGUAGE

__all__ = ["LANGUAGE", "call_partial", "method", "special_callable"]
