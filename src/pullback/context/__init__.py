"""Contexts: run functions under other rules for what a call means."""

from .context import Context
from .markers import CONTEXT, leave

__all__ = ["CONTEXT", "Context", "leave"]
