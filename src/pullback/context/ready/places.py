"""Where in the user's code a hook or primitive was called from."""

from __future__ import annotations

import sys
from pathlib import Path

from ...ir.core import Loc

_HERE = str(Path(__file__).parents[1]) + "/"


def here() -> Loc:
    """The innermost line that is not in this package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_HERE):
        if frame.f_back is None:
            break
        frame = frame.f_back
    code = frame.f_code
    return Loc(code.co_filename, frame.f_lineno, code.co_qualname)
