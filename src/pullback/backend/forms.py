"""How each operation is written as instructions: what it pushes, in which order, and then emits.

A `Form` has ``order``, the operands in the order in which they are pushed (`stacking` decides by it
which values never leave the stack), and ``write``, which pushes them and emits the instructions.
A call of a function that is in no table here is an ordinary call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..ir import intrinsics as i
from ..ir.core import CALL, CLOSURE, GETCELL, GLOBAL, SETCELL, Const, Op, Operand, Value
from ..ir.operators import BINARY_OP, COMPARE, UNARY

if TYPE_CHECKING:
    from .encoder import Encoder


class Form(NamedTuple):
    order: Callable[[Op], Sequence[Operand]]
    write: Callable[[Encoder, Op], None]
    result: bool = True
    """Whether the instructions leave a result; if not, it is None."""


Table = dict[Any, tuple[int | None, Form]]

TABLE: Table = {}
"""Callee -> number of arguments (None: any) and form."""


def positional(op: Op) -> Sequence[Operand]:
    return op.args[1:]


def simple(name: str, arg: int = 0, order: tuple[int, ...] | None = None, **kw: Any) -> Form:
    """Push the arguments (in another order if given), then one instruction."""

    def pushed(op: Op) -> Sequence[Operand]:
        return positional(op) if order is None else [op.args[1 + k] for k in order]

    def write(e: Encoder, op: Op) -> None:
        e.push(pushed(op))
        e.asm.emit(name, arg)

    return Form(pushed, write, **kw)


def counted(name: str, per: int = 1) -> Form:
    """The instruction's argument is the number of operands, or of groups of ``per``."""

    def write(e: Encoder, op: Op) -> None:
        e.push(positional(op))
        e.asm.emit(name, len(op.args[1:]) // per)

    return Form(positional, write)


def peeking(name: str, n: int) -> Form:
    """The instruction leaves its n operands on the stack, below the result."""

    def write(e: Encoder, op: Op) -> None:
        e.push(positional(op))
        e.asm.emit(name)
        e.drop_below(n)

    return Form(positional, write)


def mutating(name: str) -> Form:
    """The instruction consumes all operands but the first, a collection that is changed."""

    def write(e: Encoder, op: Op) -> None:
        e.push(positional(op))
        e.asm.emit(name, 1)
        e.asm.emit("POP_TOP")

    return Form(positional, write, result=False)


TABLE |= {fn: (2, simple("BINARY_OP", k)) for k, fn in enumerate(BINARY_OP)}
TABLE |= {fn: (1, simple(name)) for name, fn in UNARY.items()}
TABLE |= {
    operator.getitem: (2, simple("BINARY_SUBSCR")),
    operator.setitem: (3, simple("STORE_SUBSCR", order=(2, 0, 1), result=False)),
    operator.delitem: (2, simple("DELETE_SUBSCR", result=False)),
    operator.is_: (2, simple("IS_OP", 0)),
    operator.is_not: (2, simple("IS_OP", 1)),
    operator.contains: (2, simple("CONTAINS_OP", 0, order=(1, 0))),
    iter: (1, simple("GET_ITER")),
    i.build_tuple: (None, counted("BUILD_TUPLE")),
    i.build_set: (None, counted("BUILD_SET")),
    i.build_map: (None, counted("BUILD_MAP", 2)),
    i.build_string: (None, counted("BUILD_STRING")),
    i.list_append: (2, mutating("LIST_APPEND")),
    i.set_add: (2, mutating("SET_ADD")),
    i.map_add: (3, mutating("MAP_ADD")),
    i.list_extend: (2, simple("LIST_EXTEND", 1)),
    i.set_update: (2, simple("SET_UPDATE", 1)),
    i.dict_update: (2, simple("DICT_UPDATE", 1)),
    i.get_len: (1, peeking("GET_LEN", 1)),
    i.match_sequence: (1, peeking("MATCH_SEQUENCE", 1)),
    i.match_mapping: (1, peeking("MATCH_MAPPING", 1)),
    i.match_keys: (2, peeking("MATCH_KEYS", 2)),
}


def form(*callees: Any, n: int | None = None, result: bool = True, order: Any = positional) -> Any:
    """Enter the decorated ``write`` for the callees."""

    def enter(write: Callable[[Encoder, Op], None]) -> Callable[[Encoder, Op], None]:
        for fn in callees:
            TABLE[fn] = (n, Form(order, write, result))
        return write

    return enter


def first(op: Op) -> Sequence[Operand]:
    return op.args[1:2]


def constant(x: Operand) -> Any:
    assert isinstance(x, Const)
    return x.value


# -- operators -----------------------------------------------------------------------------------
def _compare(symbol: str) -> Form:
    def write(e: Encoder, op: Op) -> None:
        e.push(positional(op))
        e.target.compare(symbol, False)

    return Form(positional, write)


TABLE |= {fn: (2, _compare(symbol)) for symbol, fn in COMPARE.items()}
SYMBOLS: dict[Any, str] = {fn: symbol for symbol, fn in COMPARE.items()}
BOOLEAN = {operator.is_, operator.is_not, operator.not_, operator.contains}
"""Operators whose result is a bool whatever the operands."""


@form(operator.pos, n=1)
def _positive(e: Encoder, op: Op) -> None:
    e.push(positional(op))
    e.target.positive()


@form(operator.not_, n=1)
def _not(e: Encoder, op: Op) -> None:
    inner = e.on_stack(op.args[1])
    if inner is not None and inner.is_call(operator.contains) and len(inner.args) == 3:
        e.push([inner.args[2], inner.args[1]])
        e.asm.emit("CONTAINS_OP", 1)
        return
    e.condition(op.args[1])
    e.asm.emit("UNARY_NOT")


# -- displays, strings ---------------------------------------------------------------------------
@form(i.build_list)
def _build_list(e: Encoder, op: Op) -> None:
    items = positional(op)
    if len(items) > 2 and all(isinstance(x, Const) for x in items):
        e.asm.emit("BUILD_LIST", 0)
        e.constant(tuple(constant(x) for x in items))
        e.asm.emit("LIST_EXTEND", 1)
    else:
        e.push(items)
        e.asm.emit("BUILD_LIST", len(items))


@form(slice)
def _slice(e: Encoder, op: Op) -> None:
    e.push(positional(op))
    e.asm.emit("BUILD_SLICE", len(op.args) - 1)


@form(i.list_to_tuple, n=1)
def _list_to_tuple(e: Encoder, op: Op) -> None:
    e.push(positional(op))
    e.target.list_to_tuple()


def _formatted(op: Op) -> Sequence[Operand]:
    return [op.args[1], *op.args[3:]]


@form(i.format_value, order=_formatted)
def _format_value(e: Encoder, op: Op) -> None:
    e.push(_formatted(op))
    conversion = (None, "s", "r", "a").index(constant(op.args[2]))
    e.target.format(conversion, len(op.args) > 3)


@form(i.convert_value, n=2, order=first)
def _convert_value(e: Encoder, op: Op) -> None:
    e.push(first(op))
    e.target.convert((None, "s", "r", "a").index(constant(op.args[2])))


# -- attributes, globals, imports ----------------------------------------------------------------
@form(getattr, n=2, order=first)
def _getattr(e: Encoder, op: Op) -> None:
    e.push(first(op))
    e.target.load_attr(e.name(constant(op.args[2])))


def _set_order(op: Op) -> Sequence[Operand]:
    return [op.args[3], op.args[1]]


@form(setattr, n=3, result=False, order=_set_order)
def _setattr(e: Encoder, op: Op) -> None:
    e.push(_set_order(op))
    e.asm.emit("STORE_ATTR", e.name(constant(op.args[2])))


@form(delattr, n=2, result=False, order=first)
def _delattr(e: Encoder, op: Op) -> None:
    e.push(first(op))
    e.asm.emit("DELETE_ATTR", e.name(constant(op.args[2])))


def _import_order(op: Op) -> Sequence[Operand]:
    return [op.args[3], op.args[2]]


@form(i.import_name, n=3, order=_import_order)
def _import_name(e: Encoder, op: Op) -> None:
    e.push(_import_order(op))
    e.asm.emit("IMPORT_NAME", e.name(constant(op.args[1])))


@form(i.import_from, n=2, order=first)
def _import_from(e: Encoder, op: Op) -> None:
    e.push(first(op))
    e.asm.emit("IMPORT_FROM", e.name(constant(op.args[2])))
    e.drop_below(1)


def _last(op: Op) -> Sequence[Operand]:
    return op.args[2:]


@form(i.store_global, n=2, result=False, order=_last)
def _store_global(e: Encoder, op: Op) -> None:
    e.push(_last(op))
    e.asm.emit("STORE_GLOBAL", e.name(constant(op.args[1])))


@form(i.delete_global, n=1, result=False, order=_last)
def _delete_global(e: Encoder, op: Op) -> None:
    e.asm.emit("DELETE_GLOBAL", e.name(constant(op.args[1])))


# -- match, unbound locals -----------------------------------------------------------------------
def _class_order(op: Op) -> Sequence[Operand]:
    return op.args[1:4]


@form(i.match_class, n=4, order=_class_order)
def _match_class(e: Encoder, op: Op) -> None:
    e.push(_class_order(op))
    e.asm.emit("MATCH_CLASS", constant(op.args[4]))


@form(i.check_bound, n=2, order=lambda op: ())
def _check_bound(e: Encoder, op: Op) -> None:
    x = op.args[1]
    if isinstance(x, Value):
        e.target.load_checked(e.slots.of[x])
    else:
        e.operand(x)


@form(i.release, n=1, result=False, order=lambda op: ())
def _release(e: Encoder, op: Op) -> None:
    """It is known to be bound; Numba counts by itself."""
    slot = e.slots.of.get(op.args[1])  # type: ignore[arg-type]
    if slot is not None and not e.portable:
        e.asm.emit("DELETE_FAST", slot)
        e.stored.discard(slot)


# -- calls ---------------------------------------------------------------------------------------
def call_order(op: Op) -> Sequence[Operand]:
    """A method's object stands for the method, if that is not kept."""
    return op.args


def write_call(e: Encoder, op: Op) -> None:
    fn, n = op.args[0], len(op.args) - 1
    made = e.on_stack(fn)
    if made is not None and made.kind == GLOBAL and made.attr != "__build_class__":
        e.asm.loc = made.loc
        e.target.load_global(e.name(made.attr), True)
    elif made is not None and is_attribute(made):
        e.push(made.args[1:2])
        e.asm.loc = made.loc
        e.target.load_method(e.name(constant(made.args[2])))
    else:
        e.callable(fn)
    e.asm.loc = op.loc
    e.push(op.args[1:])
    e.asm.loc = op.loc
    e.target.call(n, e.const_index(op.kwnames) if op.kwnames else None)


def is_attribute(op: Op) -> bool:
    return op.is_call(getattr) and form_of(op) is TABLE[getattr][1]


CALL_FORM = Form(call_order, write_call)


@form(i.call_ex)
def _call_ex(e: Encoder, op: Op) -> None:
    e.callable(op.args[1])
    e.push(op.args[2:])
    e.asm.emit("CALL_FUNCTION_EX", len(op.args) - 3)


def _merge_order(op: Op) -> Sequence[Operand]:
    return [op.args[3], op.args[1], op.args[2]]


@form(i.dict_merge, n=3, order=_merge_order)
def _dict_merge(e: Encoder, op: Op) -> None:
    """The instruction looks for the callee below, as in a call, for its error message."""
    target, items, fn = op.args[1:4]
    e.operand(fn)
    if not e.target.null_first:
        e.constant(None)
    e.constant(None)
    e.push([target, items])
    e.asm.emit("DICT_MERGE", 1)
    e.drop_below(2 if e.target.null_first else 3)


def order_of(op: Op) -> Sequence[Operand]:
    """What the operation pushes, in order."""
    form = form_of(op)
    if form is not None:
        return form.order(op)
    if op.kind == CLOSURE:
        n = op.attr.ncells
        return (*op.args[n:], *op.args[:n])
    return op.args[1:] if op.kind in (GETCELL, SETCELL) else op.args


def form_of(op: Op) -> Form | None:
    """The form of a call; None for operations that are no calls."""
    if op.kind != CALL:
        return None
    fn = op.args[0]
    if isinstance(fn, Const) and op.attr is None:
        n, found = _lookup(fn.value)
        if found is not None and n in (None, len(op.args) - 1) and _fits(op):
            return found
    return CALL_FORM


def _lookup(fn: Any) -> tuple[int | None, Form | None]:
    try:
        return TABLE.get(fn, (None, None))
    except TypeError:
        return None, None


_NAMED = {getattr: 2, setattr: 2, delattr: 2, i.import_name: 1, i.import_from: 2}
"""Callees with an operand that must be a constant identifier, and which."""


def _fits(op: Op) -> bool:
    fn = constant(op.args[0])
    if fn in _NAMED:
        name = op.args[_NAMED[fn]]
        return isinstance(name, Const) and type(name.value) is str
    return fn is not slice or len(op.args) in (3, 4)
