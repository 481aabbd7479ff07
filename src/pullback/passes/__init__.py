"""Passes: each a function ``name(ir) -> bool`` that works in place and says whether it changed
anything.

One idea a file; `manager` orders them.
"""
