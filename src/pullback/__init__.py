"""Differentiate and transform ordinary Python: loops, branches, in-place NumPy, compiled.

The public names are imported when they are first used, so that ``import pullback`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import PullbackError
from .runtime.collector import keep, paused

if TYPE_CHECKING:
    from .api.check import check
    from .api.explain import explain
    from .api.gradient import grad, value_and_grad
    from .api.hessian import hessian, hvp
    from .api.jacobian import jacobian
    from .api.jvp import jvp
    from .api.show import show
    from .api.stop_gradient import stop_gradient
    from .api.transform import transform
    from .api.vjp import Pullback, vjp
    from .api.vmap import vmap
    from .backend import lower
    from .context import Context, metadata, tag, untag
    from .frontend import lift
    from .passes.manager import PassManager, optimize
    from .rules.registry import inactive, scalar_rule
    from .runtime.memory import clear_buffers
    from .typing_ import infer

__version__ = "0.1.0"

_HOMES = {
    ".api.check": ("check",),
    ".api.explain": ("explain",),
    ".api.gradient": ("grad", "value_and_grad"),
    ".api.hessian": ("hessian", "hvp"),
    ".api.jacobian": ("jacobian",),
    ".api.jvp": ("jvp",),
    ".api.show": ("show",),
    ".api.stop_gradient": ("stop_gradient",),
    ".api.transform": ("transform",),
    ".api.vjp": ("Pullback", "vjp"),
    ".api.vmap": ("vmap",),
    ".backend": ("lower",),
    ".context": ("Context", "metadata", "tag", "untag"),
    ".frontend": ("lift",),
    ".passes.manager": ("PassManager", "optimize"),
    ".rules.registry": ("inactive", "scalar_rule"),
    ".runtime.memory": ("clear_buffers",),
    ".typing_": ("infer",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Context",
    "PassManager",
    "Pullback",
    "PullbackError",
    "check",
    "clear_buffers",
    "explain",
    "grad",
    "hessian",
    "hvp",
    "inactive",
    "infer",
    "jacobian",
    "jvp",
    "lift",
    "lower",
    "metadata",
    "optimize",
    "scalar_rule",
    "show",
    "stop_gradient",
    "tag",
    "transform",
    "untag",
    "value_and_grad",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with paused():  # modules are many objects that stay
        value = getattr(import_module(home, __name__), name)
        keep()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
