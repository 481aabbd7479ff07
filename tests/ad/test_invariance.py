"""Plans that must agree, and rewritings of a program that must not change its gradient."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from pullback.ad.compile import PLANS
from pullback.ad.planning import cheapest
from pullback.typing_ import Flat

from .harness import Derived, flatten
from .programs import complex_step, program
from .test_programs import close, usable
from .test_traps import siblings

Tree = list[Any]


def everywhere(tree: Tree, random: Random, at: Callable[[Any], Tree]) -> Tree:
    """Some of the simple statements, at any depth, replaced."""
    out: Tree = []
    for s in tree:
        if isinstance(s, str):
            out += at(s) if random.random() < 0.4 and s not in ("break", "continue") else [s]
        else:
            parts = [everywhere(p, random, at) if isinstance(p, list) else p for p in s]
            out.append(tuple(parts))
    return out


def dead_store(s: str) -> Tree:
    return [s, "dead = zeros(n)", "dead[k % n] = s * u", "dead[0] = dead[n - 1]"]


def identity_swap(s: str) -> Tree:
    return ["u, v = v, u", "y, z = z, y", "v, u = u, v", "z, y = y, z", s]


def there_and_back(s: str) -> Tree:
    return ["kept = x.copy()", "x[:] = kept", s]


def trivial_loop(s: str) -> Tree:
    return [("for", "once", "1", [s])]


def always(s: str) -> Tree:
    return [("if", "n > 0", [s], ["s = s * 2.0"])]


def outlined(s: str) -> Tree:
    left, equals, right = s.partition(" = ")
    if not equals or "," in left or not left.strip() in ("s", "u", "v"):
        return [s]
    return [f"{left} = same({right})"]


REWRITINGS = [dead_store, identity_swap, there_and_back, trivial_loop, always, outlined]


def gradient(f: Any, args: Any, plan: str = "full", flat: Flat | None = None) -> Any:
    return Derived(f, args, plan=plan, flat=flat)(*args).grads


@pytest.mark.parametrize("seed", range(3000, 3006))
def test_plans_agree_on_random_programs(seed: int) -> None:
    p = program(seed)
    args = p.arguments()
    if usable(p, args) is None:
        return
    flat = flatten(p.function, args)
    wanted = gradient(p.function, args, "naive", flat)
    for plan in PLANS:
        close(gradient(p.function, args, plan, flat), wanted, 1e-12)


@pytest.mark.parametrize("seed", range(3200, 3206))
def test_any_choice_of_saves_and_values_to_tape_is_sound(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, random = program(seed), Random(seed)
    args = p.arguments()
    if usable(p, args) is None:
        return
    flat = flatten(p.function, args)
    wanted = gradient(p.function, args, "naive", flat)
    solved = cheapest.Cut.solved

    def anything(cut: Any) -> Any:
        _, saves = solved(cut)
        tape = {v for v in cut.into if random.random() < share}
        on_demand = [op for op in cut.on_demand if random.random() < share]
        return tape, list(dict.fromkeys([*saves, *on_demand]))

    monkeypatch.setattr(cheapest.Cut, "solved", anything)
    for share in (0.2, 0.5, 0.8):
        close(gradient(p.function, args, "full", flat), wanted, 1e-12)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("f", siblings(), ids=lambda f: f.__name__)
def test_plans_agree_on_shifted_updates(f: Any, plan: str) -> None:
    x = np.array([0.9, 1.4, -0.7, 1.2, 0.8, 1.1])
    close(gradient(f, (x,), plan), gradient(f, (x,), "naive"), 1e-13)


@pytest.mark.parametrize("rewriting", REWRITINGS, ids=lambda r: r.__name__)
@pytest.mark.parametrize("seed", range(3100, 3102))
def test_rewriting_changes_nothing(seed: int, rewriting: Callable[[str], Tree]) -> None:
    p = program(seed)
    q = program(seed, change=lambda tree, random: everywhere(tree, random, rewriting))
    args = p.arguments()
    oracle = usable(p, args)
    if oracle is None or usable(q, args) is None:
        return
    close(complex_step(q, args)[1], oracle[1], 1e-12)
    close(gradient(q.function, args), oracle[1])
