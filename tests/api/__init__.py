"""Operators as users call them. Most run the generated code on CPython: no machine code is made."""

PYTHON = {"run": "python"}
NATIVE = {"run": "native"}
