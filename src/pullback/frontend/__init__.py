"""Code object -> IR: one table of instructions per CPython version over one abstract machine."""

from .lift import lift, lift_code

__all__ = ["lift", "lift_code"]
