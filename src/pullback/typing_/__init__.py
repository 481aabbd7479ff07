"""Types: an abstract interpreter over the IR, and flattening to leaf operations."""

from .access import Hidden, Static
from .api import flat, infer, reflat
from .lattice import NOCONST, ATuple, AVal, abstract_of
from .specialised import Flat, Semantics, Specialised

__all__ = [
    "NOCONST",
    "ATuple",
    "AVal",
    "Flat",
    "Hidden",
    "Semantics",
    "Specialised",
    "Static",
    "abstract_of",
    "flat",
    "infer",
    "reflat",
]
