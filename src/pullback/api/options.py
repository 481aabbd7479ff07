"""Engines and compiler options, as users spell them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..ad.compile import PLANS, Options
from ..errors import UnknownOption

ENGINES = ("auto", "native")


def resolve(engine: str, options: Mapping[str, Any]) -> Options:
    """The options of the low-level layer. UnknownOption, listing what there is, for others."""
    if engine == "python":
        raise UnknownOption(
            "engine='python' does not exist yet", hint="Use engine='native', which is the default."
        )
    if engine not in ENGINES:
        raise UnknownOption(f"there is no engine {engine!r}", hint=f"There are {_list(ENGINES)}.")
    known = [f.name for f in fields(Options)]
    for name in options:
        if name not in known:
            raise UnknownOption(f"there is no option {name!r}", hint=f"There are {_list(known)}.")
    for name, allowed in CHOICES.items():
        if name in options and options[name] not in allowed:
            raise UnknownOption(
                f"option {name!r} cannot be {options[name]!r}",
                hint=f"Choose from {_list(allowed)}.",
            )
    return Options(**options)


CHOICES: dict[str, tuple[Any, ...]] = {"plan": PLANS, "run": ("native", "python")}


def _list(names: Any) -> str:
    return ", ".join(map(repr, names))
