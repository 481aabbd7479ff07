"""Writing a flat function: operations, casts, and values as forms.

A form is an operand, or for a product a tuple of forms: products exist here only.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import types

from ..errors import TypingError
from ..ir.core import (
    CALL,
    IR,
    SLOTGET,
    SLOTSET,
    Const,
    Info,
    Loc,
    Op,
    Operand,
    Slot,
    Undef,
    Value,
)
from ..ir.dominators import reverse_postorder
from ..runtime import prims
from .access import Hidden
from .actions import Form
from .lattice import Abstract, ATuple, is_scalar, leaves
from .scalars import convert_constant, typed_constant
from .specialised import MAX_FUNCTION, MAX_INLINE, MAX_LATE, Cell, CellSlots, Spec, Specialised


class Unreachable(Exception):
    """What follows in this block is never reached."""


def _operand(form: Form) -> Operand:
    """A form as one operand: a product of constants is a constant."""
    if isinstance(form, tuple) and all(isinstance(x, (Const, tuple)) for x in form):
        parts: list[Any] = [_operand(x) for x in form]
        return Const(tuple(p.value for p in parts))
    return form


class Emitter:
    """Writes one flat function. ``block`` is where operations go."""

    def __init__(self, name: str, shared: Shared | None = None) -> None:
        self.ir = IR(Info(name=name, qualname=name))
        self.block = self.ir.block()
        self.loc = Loc()
        self.hidden: dict[Hidden, Value] = {}
        self.shared = shared or Shared()
        self.calls: list[tuple[Op, Specialised]] = []
        self.inlining: list[Spec] = []
        self.written = 0
        self.cells: dict[Cell, CellSlots | None] = {}  # None: several are alive

    # -- operations ----------------------------------------------------------------------------
    def call(self, callee: Any, operands: Any, type: Any, name: str | None = None) -> Value:
        args = (Const(callee), *map(_operand, operands))
        op = Op(CALL, self.ir.value(name, type), args, None, self.loc)
        self.block.ops.append(op)
        self.written += 1
        return op.result

    def cast(self, form: Form, a: Abstract, to: Abstract) -> Form:
        """A form of ``a`` as a form of the wider ``to``."""
        if a is to:
            return form
        if isinstance(to, ATuple):
            assert isinstance(a, ATuple)
            return tuple(map(self.cast, form, a.elements, to.elements))
        if isinstance(form, Const):
            if is_scalar(to.type) and is_scalar(a.type):
                return Const(convert_constant(form.value, to.type))
            return form
        if a.type == to.type or not is_scalar(to.type):
            return form
        return self.call(prims.cast, (Const(to.type), form), to.type)

    def get(self, slot: Slot) -> Value:
        op = Op(SLOTGET, self.ir.value(slot.name, slot.type), (), slot, self.loc)
        self.block.ops.append(op)
        return op.result

    def set(self, slot: Slot, content: Operand) -> None:
        self.block.ops.append(Op(SLOTSET, self.ir.value(), (content,), slot, self.loc))

    def unpack(self, value: Value, result: ATuple) -> Form:
        """The items of a tuple value, as a form."""
        return tuple(
            self.call(operator.getitem, (value, Const(i)), e.type)
            for i, e in enumerate(result.elements)
        )

    def captured(self, a: Abstract) -> Form:
        """The form of a constant or captured value."""
        if isinstance(a, ATuple):
            return tuple(map(self.captured, a.elements))
        if isinstance(a.const, Cell):
            return self.cell(a.const)
        if a.known:
            return Const(typed_constant(a)) if is_scalar(a.type) else Const(a.const)
        if a.src is None:
            return Undef(None, a.type)
        hidden = Hidden(a.src, a.type)
        if hidden not in self.hidden:
            self.hidden[hidden] = self.ir.value(str(hidden.name), a.type)
        return self.hidden[hidden]

    def cell(self, cell: Cell) -> CellSlots:
        """The slots of a cell that is known by identity alone."""
        found = self.cells.get(cell)
        if found is None:
            raise TypingError(
                "which of several closures of one function is called is not known at typing",
                variable=cell.name,
            )
        return found

    def visible(self, form: Form, a: Abstract) -> list[Operand]:
        """What a message or a print shows of a value: strings and leaves, in order."""
        if isinstance(a, ATuple):
            return [x for f, e in zip(form, a.elements) for x in self.visible(f, e)]
        return [form]

    # -- forms of whole products ---------------------------------------------------------------
    def params(self, a: Abstract, into: list[Value], name: str | None = None) -> Form:
        """New parameters for the leaves of ``a``, appended to ``into``."""
        if isinstance(a, ATuple):
            return tuple(self.params(e, into, name) for e in a.elements)
        if a.known:
            return self.captured(a)
        p = self.ir.value(name, a.type)
        into.append(p)
        return p

    def flat_leaves(self, form: Form, a: Abstract, out: list[Operand]) -> None:
        """The operands of the leaves of ``a``, appended to ``out``."""
        if isinstance(a, ATuple):
            for e, f in zip(a.elements, form):
                self.flat_leaves(f, e, out)
        elif not a.known:
            out.append(form)

    def passed(self, form: Form, a: Abstract, to: Abstract) -> list[Operand]:
        """The operands that carry a value of ``a`` to a parameter of ``to``."""
        out: list[Operand] = []
        self.flat_leaves(self.cast(form, a, to), to, out)
        return out

    def undefined(self, a: Abstract) -> list[Operand]:
        return [Undef(None, x.type) for x in leaves(a)]

    # -- entering ------------------------------------------------------------------------------
    def enter(
        self, spec: Spec, forms: tuple[Form, ...], cells: dict[str, Any] | None = None
    ) -> Form:
        """The result of a specialised function on these arguments: inlined, or called."""
        limit = MAX_LATE if self.written > MAX_FUNCTION else MAX_INLINE
        stays = spec.recursive or (spec.size > limit and not spec.trusted)
        if stays and not cells and (spec.recursive or spec.result is not None):
            return self.call_specialised(spec, forms)
        if spec in self.inlining:
            raise TypingError(f"{spec.name} is recursive and uses variables of the function around")
        from .inlining import Inlining

        loc = self.loc
        self.inlining.append(spec)
        form = Inlining(self, spec, forms, cells or {}, loc).run()
        self.inlining.pop()
        self.loc = loc
        if spec.result is None:
            raise Unreachable
        return form

    def call_specialised(self, spec: Spec, forms: tuple[Form, ...]) -> Form:
        if spec.result is None:
            raise TypingError(f"{spec.name}() calls itself, and returns on no path", loc=self.loc)
        target = self.shared.specialised(spec)
        operands: list[Operand] = []
        for f, a in zip(forms, spec.args):
            self.flat_leaves(f, a, operands)
        result = [a.type for a in leaves(spec.result)]
        value = self.call(target, operands, types.Tuple(result))
        self.calls.append((self.block.ops[-1], target))
        items = iter(
            [self.call(operator.getitem, (value, Const(i)), t) for i, t in enumerate(result)]
        )
        return self.rebuild(spec.result, items)

    def rebuild(self, a: Abstract, items: Any) -> Form:
        if isinstance(a, ATuple):
            return tuple(self.rebuild(e, items) for e in a.elements)
        return self.captured(a) if a.known else next(items)

    # -- whole functions -----------------------------------------------------------------------
    def function(self, spec: Spec, names: list[str | None]) -> None:
        """Write ``spec`` as the whole function."""
        from .inlining import Inlining

        params: list[Value] = []
        forms = tuple(self.params(a, params, n) for a, n in zip(spec.args, names))
        entry = self.block
        entry.params = params
        self.inlining.append(spec)
        body = Inlining(self, spec, forms, {}, Loc())
        body.outermost = True
        body.run()
        entry.params += self.hidden.values()

    def finish(self) -> None:
        """Name the arguments, and put the blocks into reverse postorder, dropping dead ones."""
        ir = self.ir
        ir.info.argnames = _names(ir.entry.params)
        ir.blocks = {b: ir.blocks[b] for b in reverse_postorder(ir)}


def _names(params: list[Value]) -> tuple[str, ...]:
    used: dict[str, int] = {}
    names = []
    for p in params:
        base = p.name or "x"
        n = used[base] = used.get(base, 0) + 1
        names.append(base if n == 1 else f"{base}_{n}")
    return tuple(names)


class Shared:
    """The specialised callees of one flattening, each written once."""

    def __init__(self) -> None:
        self.made: dict[Spec, Specialised] = {}
        self.emitters: dict[Specialised, Emitter] = {}
        self.todo: list[Spec] = []

    def specialised(self, spec: Spec) -> Specialised:
        if spec not in self.made:
            params = tuple(x.type for a in spec.args for x in leaves(a))
            result = tuple(x.type for x in leaves(spec.result))
            self.made[spec] = Specialised(spec.name.split(".")[-1], params, result)
            self.todo.append(spec)
        return self.made[spec]

    def write_all(self) -> None:
        while self.todo:
            spec = self.todo.pop()
            em = Emitter(spec.name.split(".")[-1], self)
            em.function(spec, [p.name for p in spec.ir.args])
            self.emitters[self.made[spec]] = em
