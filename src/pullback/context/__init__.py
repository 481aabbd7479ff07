"""Contexts: run functions under other rules for what a call means."""

from ..ir import intrinsics
from . import (
    attributes,
    builtin_sites,
    callbacks,
    frames,
    hooks,
    making,
    protocols,
    room,
    run,
    shortcuts,
    sites,
)
from .context import Context
from .markers import CONTEXT, leave
from .tags import metadata, tag, untag

__all__ = ["CONTEXT", "Context", "leave", "metadata", "tag", "untag"]

_ours = (
    attributes, builtin_sites, callbacks, hooks, intrinsics, making, protocols, room, run,
    shortcuts, sites,
)  # fmt: skip
for _module in _ours:
    frames.leave_out(vars(_module))
