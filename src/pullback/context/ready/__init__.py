"""Contexts that are ready to use, each an example of what contexts can do."""
