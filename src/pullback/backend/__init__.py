"""IR -> code that runs: Python code objects (`lower`), machine code (`native`)."""

from .lower import lower, lower_code

__all__ = ["lower", "lower_code"]
