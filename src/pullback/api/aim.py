"""What is differentiated: the arguments that ``argnums`` names, and the real result."""

from __future__ import annotations

from typing import Any

from numba import types

from ..errors import NonScalarOutput
from ..ir.core import Return
from ..typing_ import ATuple, AVal
from .arguments import Argnums, Call, Selection, check_differentiable, select, subtree
from .flats import Prepared
from .tree import Tree, build, carries, is_array, kind_of, nothing, paths


class Aim:
    """The arguments to differentiate by: their ``trees``, the ``positions`` of their leaves among
    the entry parameters, and for each entry parameter whether it is ``active``."""

    def __init__(self, prepared: Prepared, selection: Selection) -> None:
        self.single = selection.single
        self.arguments = selection.arguments
        self.trees: list[Tree] = []
        self.positions: list[list[int]] = []
        index = _entry_positions(prepared)
        for a in selection.arguments:
            tree = subtree(prepared.trees, a.path)
            self.trees.append(tree)
            self.positions.append([index[(*a.path, *p)] for p, _ in paths(tree)])
        self.active = [False] * len(prepared.types)
        for p in self.leaves:
            self.active[p] = carries(prepared.types[p])

    @classmethod
    def at(cls, prepared: Prepared, call: Call, argnums: Argnums) -> Aim:
        """The arguments that ``argnums`` names. NotDifferentiable if one has no derivative."""
        aim = cls(prepared, select(call.target, argnums, call.values, call.given))
        for a, tree in zip(aim.arguments, aim.trees):
            check_differentiable(a, tree, a.of(call.values), prepared.loc)
        return aim

    @classmethod
    def all(cls, prepared: Prepared, call: Call) -> Aim:
        """All arguments of the call that were given by position."""
        found = call.target.arguments(call.values, call.given)
        return cls(prepared, Selection(found[: call.positional], False))

    @property
    def leaves(self) -> list[int]:
        """Entry positions of all leaves of the arguments."""
        return [p for ps in self.positions for p in ps]

    def tree(self) -> Tree:
        """The structure of the gradient: the arguments', None where there is no derivative."""
        made = [_differentiable_part(t) for t in self.trees]
        return made[0] if self.single else ATuple(tuple(made))

    def structure(self, parts: list[Any]) -> Any:
        """What belongs to each leaf, in the structure of the arguments."""
        found = iter(parts)
        made = [build(tree, found, nothing) for tree in self.trees]
        return made[0] if self.single else tuple(made)


def _differentiable_part(tree: Tree) -> Tree:
    if isinstance(tree, ATuple):
        return ATuple(tuple(map(_differentiable_part, tree.elements)), tree.cls)
    return tree if not tree.known and carries(tree.type) else AVal(types.none, None)


def _entry_positions(prepared: Prepared) -> dict[Any, int]:
    found = [(i, *p) for i, tree in enumerate(prepared.trees) for p, _ in paths(tree)]
    return {path: k for k, path in enumerate(found)}


def scalar_output(prepared: Prepared, result: Tree, has_aux: bool) -> list[bool]:
    """Which leaves of the result are differentiated. NonScalarOutput if that is not one real
    number; a function that always raises has none to differentiate."""
    if not any(isinstance(b.term, Return) for b in prepared.flat.ir):
        return [False for _ in paths(result)]
    tree, rest = result, 0
    if has_aux:
        if not isinstance(result, ATuple) or len(result.elements) != 2:
            raise NonScalarOutput(
                f"has_aux=True, but {prepared.name}() returns {_what(result)}",
                loc=prepared.loc,
                hint="Return (y, aux).",
            )
        tree = result.elements[0]
        rest = sum(1 for _ in paths(result.elements[1]))
    if not _is_real_number(tree):
        raise NonScalarOutput(
            f"{prepared.name}() returns {_what(tree)}, and a gradient is that of one real number",
            loc=prepared.loc,
            hint=_cure(tree, has_aux),
        )
    return [True] + [False] * rest


def _is_real_number(tree: Tree) -> bool:
    t = tree.type
    if isinstance(tree, ATuple) or tree.known:
        return False
    if is_array(t):
        return t.ndim == 0 and isinstance(t.dtype, types.Float)
    return isinstance(t, types.Float)


def _what(tree: Tree) -> str:
    if isinstance(tree, ATuple):
        return f"a tuple of {len(tree.elements)}"
    if tree.known and tree.type in (None, types.none):
        return repr(tree.const)
    kind = kind_of(tree.type)
    return f"a{'n' * (kind[0] in 'aeiou')} {kind}"


def _cure(tree: Tree, has_aux: bool) -> str:
    if isinstance(tree, ATuple):
        if len(tree.elements) == 2 and not has_aux and _is_real_number(tree.elements[0]):
            return "If the second part is not to be differentiated, say has_aux=True."
        return "Return one number; for all derivatives of a tuple use pb.jacobian or pb.vjp."
    t = tree.type
    if isinstance(getattr(t, "dtype", t), types.Complex):
        return "Take its real part, .real, or its modulus, abs(y)."
    if is_array(t):
        return "Reduce it to a number, such as y.sum(); for all derivatives use pb.jacobian."
    if isinstance(t, (types.Integer, types.Boolean)):
        return "Return a float: derivatives of integers are zero everywhere."
    return "Return a float."
