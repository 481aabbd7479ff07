"""How the versions of CPython spell what differs between them: calls, attributes, conditions."""

from __future__ import annotations

import dis
import sys

from .assembler import Assembler
from .exception_table import Guard

_PAIRED = [dis.opmap[name] for name in ("LOAD_FAST", "STORE_FAST", "LOAD_CONST")]
_COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")


class Target:
    """CPython 3.11."""

    null_first = True
    """Whether the NULL of a call lies below the callable."""

    return_const = False

    cleans_up_throw = False
    """Whether a delegation handles what is thrown into it with CLEANUP_THROW."""

    def __init__(self, asm: Assembler) -> None:
        self.asm = asm

    def load_global(self, name: int, null: bool) -> None:
        self.asm.emit("LOAD_GLOBAL", name << 1 | null)

    def load_attr(self, name: int) -> None:
        self.asm.emit("LOAD_ATTR", name)

    def load_method(self, name: int) -> None:
        """The attribute, ready to be called."""
        self.asm.emit("LOAD_METHOD", name)

    def load_cell(self, slot: int) -> None:
        self.asm.emit("LOAD_CLOSURE", slot)

    def load_checked(self, slot: int) -> None:
        """CPython 3.11 runs a load together with a load or store before it, and where it raises
        shows the line of that."""
        before = self.asm.items[-1]
        if before.op in _PAIRED and before.loc.line != self.asm.loc.line:
            self.asm.emit("NOP")
        self.asm.emit("LOAD_FAST", slot)

    def call(self, n: int, kwnames: int | None) -> None:
        """``kwnames``: index of the constant tuple of keyword names."""
        if kwnames is not None:
            self.asm.emit("KW_NAMES", kwnames)
        self.asm.emit("PRECALL", n)
        self.asm.emit("CALL", n)

    def compare(self, symbol: str, for_jump: bool) -> bool:
        """Returns whether the result can be jumped on as it is."""
        self.asm.emit("COMPARE_OP", dis.cmp_op.index(symbol))
        return True

    def to_bool(self) -> None:
        """Before a conditional jump or UNARY_NOT."""

    def positive(self) -> None:
        self.asm.emit("UNARY_POSITIVE")

    def list_to_tuple(self) -> None:
        self.asm.emit("LIST_TO_TUPLE")

    def convert(self, conversion: int) -> None:
        raise NotImplementedError("conversions are part of FORMAT_VALUE")

    def format(self, conversion: int, spec: bool) -> None:
        self.asm.emit("FORMAT_VALUE", conversion | 4 * spec)

    def make_function(self, flags: int) -> None:
        """Below the code on the stack: the parts, in order of their flags."""
        self.asm.emit("MAKE_FUNCTION", flags)

    def loop_end(self) -> None:
        """Where a FOR_ITER leads when it is exhausted."""

    def intrinsic(self, name: str, n: int) -> None:
        """An operation of n operands that later versions have as an intrinsic function."""
        self.asm.emit(name.upper())

    def yield_value(self, kind: int, resume: int, after: Guard | None = None) -> None:
        """Suspend, then go on; ``kind``: 1 in a delegation. What is thrown in leads to the guard of
        the assembler, which is ``after`` from then on (if this is a delegation)."""
        self.asm.emit("YIELD_VALUE", self._yield_arg(kind))
        if kind:
            self.asm.guard = after
        self.asm.emit("RESUME", resume)

    def _yield_arg(self, kind: int) -> int:
        return 0

    def end_send(self) -> None:
        """Where a SEND leads in the end."""


class Target312(Target):
    return_const = True
    cleans_up_throw = True

    def intrinsic(self, name: str, n: int) -> None:
        self.asm.emit(f"CALL_INTRINSIC_{n}", INTRINSICS[n].index(name))

    def _yield_arg(self, kind: int) -> int:
        """The depth of handlers: from 2 on, closing the generator resumes it."""
        return 2

    def end_send(self) -> None:
        self.asm.emit("END_SEND")

    def load_attr(self, name: int) -> None:
        self.asm.emit("LOAD_ATTR", name << 1)

    def load_method(self, name: int) -> None:
        self.asm.emit("LOAD_ATTR", name << 1 | 1)

    def load_checked(self, slot: int) -> None:
        self.asm.emit("LOAD_FAST_CHECK", slot)

    def call(self, n: int, kwnames: int | None) -> None:
        if kwnames is not None:
            self.asm.emit("KW_NAMES", kwnames)
        self.asm.emit("CALL", n)

    def compare(self, symbol: str, for_jump: bool) -> bool:
        self.asm.emit("COMPARE_OP", _COMPARISONS.index(symbol) << 4 | _MASKS[symbol])
        return True

    def positive(self) -> None:
        self.asm.emit("CALL_INTRINSIC_1", 5)

    def list_to_tuple(self) -> None:
        self.asm.emit("CALL_INTRINSIC_1", 6)

    def loop_end(self) -> None:
        self.asm.emit("END_FOR")


class Target313(Target312):
    null_first = False

    def _yield_arg(self, kind: int) -> int:
        return kind

    def load_cell(self, slot: int) -> None:
        self.asm.emit("LOAD_FAST", slot)

    def call(self, n: int, kwnames: int | None) -> None:
        if kwnames is None:
            self.asm.emit("CALL", n)
        else:
            self.asm.emit("LOAD_CONST", kwnames)
            self.asm.emit("CALL_KW", n)

    def compare(self, symbol: str, for_jump: bool) -> bool:
        index = _COMPARISONS.index(symbol)
        self.asm.emit("COMPARE_OP", index << 5 | for_jump << 4 | _MASKS[symbol])
        return for_jump

    def to_bool(self) -> None:
        self.asm.emit("TO_BOOL")

    def convert(self, conversion: int) -> None:
        self.asm.emit("CONVERT_VALUE", conversion)

    def format(self, conversion: int, spec: bool) -> None:
        if conversion and not spec:
            self.convert(conversion)
        self.asm.emit("FORMAT_WITH_SPEC" if spec else "FORMAT_SIMPLE")

    def make_function(self, flags: int) -> None:
        self.asm.emit("MAKE_FUNCTION")
        for flag in (8, 4, 2, 1):
            if flags & flag:
                self.asm.emit("SET_FUNCTION_ATTRIBUTE", flag)

    def loop_end(self) -> None:
        self.asm.emit("END_FOR")
        self.asm.emit("POP_TOP")


INTRINSICS = {
    1: (
        "invalid", "print", "import_star", "stopiteration_error", "async_gen_wrap",
        "unary_positive", "list_to_tuple", "make_typevar", "make_paramspec", "make_typevartuple",
        "subscript_generic", "make_typealias",
    ),
    2: (
        "invalid", "prep_reraise_star", "typevar_with_bound", "typevar_with_constraints",
        "set_function_type_params", "set_typeparam_default",
    ),
}  # fmt: skip
"""The functions of CALL_INTRINSIC_1 and _2, in the order of their arguments."""

_MASKS = {"<": 2, "<=": 2 | 8, "==": 8, "!=": 1 | 2 | 4, ">": 4, ">=": 4 | 8}
"""What the specialised comparisons of COMPARE_OP test: unordered 1, less 2, greater 4, equal 8."""


def target(asm: Assembler) -> Target:
    """That of the running version."""
    kinds = {(3, 11): Target, (3, 12): Target312, (3, 13): Target313}
    return kinds[sys.version_info[:2]](asm)
