"""Contexts: run functions under other rules for what a call means."""

from .context import Context
from .markers import CONTEXT, leave
from .tags import metadata, tag, untag

__all__ = ["CONTEXT", "Context", "leave", "metadata", "tag", "untag"]
