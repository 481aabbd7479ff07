"""``grad`` and ``value_and_grad`` called inside a function that is compiled.

There they are bodies, ordinary functions over the primitives of `ad.tags`: forward mode, once for
each element of the argument. Arrays are copied first, so the inner function writes to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..ad.tags import new_tag, perturb, primal, tangent
from ..errors import TypingError
from ..rules.registry import body
from ..rules.source import Writer, function
from ..typing_ import ATuple
from .tree import is_active_array, is_active_scalar, is_array

Config = tuple[tuple[int, ...], bool, bool, bool]  # argnums, single, has_aux, with_value


def register(operator: Callable[..., Any], with_value: bool) -> None:
    """Make an operator a body of itself."""

    def resolver(f: Any, argnums: Any = None, **how: Any) -> Callable[..., Any] | None:
        has_aux = how.get("has_aux")
        made = config(0 if argnums is None else _known(argnums), has_aux, with_value)
        return _makes_operator(made)

    body.typed(operator)(resolver)


def refuse(operator: Callable[..., Any]) -> None:
    """Say that an operator cannot be called there."""

    def resolver(*args: Any, **how: Any) -> Callable[..., Any]:
        raise TypingError(
            f"pb.{operator.__name__} is called inside a function that is compiled", hint=HINT
        )

    body.typed(operator)(resolver)


HINT = "There, use pb.grad or pb.value_and_grad; or nest the operators: pb.grad(pb.hessian(f))."


def config(argnums: Any, has_aux: Any, with_value: bool) -> Config:
    single = not isinstance(argnums, tuple)
    numbers = (argnums,) if single else argnums
    if not all(type(k) is int and k >= 0 for k in numbers):
        raise TypingError(
            f"argnums={argnums!r} inside a compiled function", hint="Say positions, from 0."
        )
    aux = bool(has_aux.const) if hasattr(has_aux, "const") else bool(has_aux)
    return numbers, single, aux, with_value


def _known(a: Any) -> Any:
    if isinstance(a, ATuple):
        return tuple(map(_known, a.elements))
    if not a.known:
        raise TypingError("argnums must be known when it is compiled")
    return a.const


@cache
def _makes_operator(made: Config) -> Callable[..., Any]:
    """``grad`` itself: returns the function of the arguments."""
    source = (
        "def operator(f, argnums=0, *, has_aux=False, engine='auto', options=None):\n"
        "    def derivative(*args):\n"
        "        return derive(f, *args)\n"
        "    return derivative\n"
    )
    return function("operator", source, derive=_derive(made))


def entered(f: Any, argnums: Any, has_aux: bool, with_value: bool) -> Callable[..., Any]:
    """The function that stands for the operator object of ``f``."""
    derive = _derive(config(argnums, has_aux, with_value))
    scope: dict[str, Any] = {"f": f, "derive": derive, "__name__": __name__}
    exec("def operator(*args):\n    return derive(f, *args)\n", scope)
    return scope["operator"]


@cache
def _derive(made: Config) -> Callable[..., Any]:
    """The function ``(f, *args) -> derivative``, which has a body for each tuple of types."""

    def derive(f: Any, *args: Any) -> Any:
        raise NotImplementedError

    @body.typed(derive)
    def _(f: Any, *args: Any) -> Callable[..., Any]:
        return _source(made, args)

    return derive


def _source(made: Config, args: Sequence[Any]) -> Callable[..., Any]:
    numbers, single, has_aux, with_value = made
    if any(k >= len(args) for k in numbers):
        raise TypingError(f"argnums={numbers} of a call with {len(args)} arguments")
    names = [f"a{k}" for k in range(len(args))]
    copied = [f"{n}.copy()" if is_array(a.type) else n for n, a in zip(names, args)]
    w = Writer()
    with w(f"def derive({', '.join(['f', *names])}):"):
        for k in numbers:
            _by_argument(w, k, args[k], copied, has_aux)
        gradient = ", ".join(f"g{k}" for k in numbers) + ("," if not single else "")
        gradient = gradient if single else f"({gradient})"
        y = "(y, aux)" if has_aux else "y"
        if with_value:
            w(f"return {y}, {gradient}")
        else:
            w(f"return {gradient}, aux" if has_aux else f"return {gradient}")
    scope = dict(new_tag=new_tag, perturb=perturb, tangent=tangent, primal=primal, np=np)
    return function("derive", str(w), **scope)


def _by_argument(w: Writer, k: int, a: Any, copied: list[str], has_aux: bool) -> None:
    """The lines that compute ``g{k}``, the derivative by argument k."""

    def call(direction: str) -> None:
        given = ", ".join(
            f"perturb(tag, a{k}, {direction})" if i == k else x for i, x in enumerate(copied)
        )
        w("tag = new_tag()")
        w(f"{'y, aux' if has_aux else 'y'} = f({given})")

    if is_active_scalar(a.type):
        call("1.0")
        w(f"g{k} = tangent(tag, y)")
        w("y = primal(tag, y)")
        return
    if not is_active_array(a.type):
        kind = "a tuple" if isinstance(a, ATuple) else str(a.type)
        raise TypingError(
            f"a gradient by {kind} inside a compiled function", hint="Pass a float or an array."
        )
    ndim = a.type.ndim
    at = ", ".join(f"i{j}" for j in range(ndim)) or "()"
    if has_aux:
        raise TypingError("has_aux inside a compiled function, by an array")
    w(f"g{k} = np.zeros_like(a{k})")
    w(f"e{k} = np.zeros_like(a{k})")
    w("y = 0.0")
    with w.nest([(f"i{j}", f"a{k}.shape[{j}]") for j in range(ndim)]):
        w(f"e{k}[{at}] = 1.0")
        call(f"e{k}")
        w(f"g{k}[{at}] = tangent(tag, y)")
        w("y = primal(tag, y)")
        w(f"e{k}[{at}] = 0.0")
