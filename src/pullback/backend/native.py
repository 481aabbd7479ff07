"""Flat typed IR to machine code: one unit with all the functions that it calls, and its wrapper.

LLVM's code is made straight from the IR with Numba's target (its types, calling convention,
implementations of scalar functions, memory runtime, boxing), not from a code object through Numba's
compiler: everything that this would find out is known already, which halves the time to compile.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from llvmlite import ir as ll
from numba import types
from numba.core import compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.funcdesc import FunctionDescriptor
from numba.core.lowering import Environment
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.utils import _dynamic_modname

from ..ir.core import IR, Return
from ..runtime import native_prims  # noqa: F401  (registers the primitives' machine code)
from ..runtime.memory import Memory, checkout, give_back
from ..runtime.native_core import plain
from .emit import Body, Typed, value_type
from .sites import TAKES_TAPE, failure, raise_at

_units = itertools.count(1)


class Compiled:
    """A compiled function: call it with the IR's parameters, the tape left out.

    The arguments must have the types ``argtypes``: what holds of rank and layout is not checked.
    ``run`` is the same on memory that the caller keeps."""

    def __init__(self, entry: Any, library: Any, sig: tuple[Any, ...], name: str) -> None:
        self.entry, self.library, self.argtypes, self.__name__ = entry, library, sig, name

    def __call__(self, *args: Any) -> Any:
        memory = checkout()
        try:
            return self.run(memory, *args)
        finally:
            give_back(memory)

    def run(self, memory: Memory, *args: Any) -> Any:
        """Call it on ``memory``; exceptions come from the user's file and line."""
        try:
            return self.entry(memory.address, *args)
        except SystemError:
            if not memory.failed:
                raise
        raise_at(*failure(memory))

    def asm(self) -> str:
        """The machine code, for reading."""
        return str(self.library.get_asm_str())

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}({', '.join(map(str, self.argtypes))})>"


def compile_native(ir: IR, options: Mapping[str, Any] | None = None) -> Compiled:
    """Compile ``ir``, whose parameters have types; the tape, if it takes one, is the first of them.

    Options: ``fastmath`` (bool or a set of LLVM's flags), ``noalias`` (the arrays do not overlap),
    ``nogil`` (default True). TypingError if an operation has no machine code for its types."""
    options = options or {}
    flags = compiler.Flags()
    flags.nrt = True
    flags.error_model = "numpy"
    flags.fastmath = options.get("fastmath", False)
    with global_compiler_lock, ConfigStack().enter(flags):
        cpu_target.typing_context.refresh()
        cx = compiler._make_subtarget(cpu_target.target_context, flags)
        cx.refresh()
        return Unit(cx, ir, options).compile()


def tape_of(ir: IR) -> Any:
    """The parameter of ``ir`` that is the tape, if it has one: the first, by use or by name."""
    first = ir.args[0] if ir.args else None
    if first is None:
        return None
    used = any(op.callee in TAKES_TAPE and op.args[1] is first for op in ir.ops())
    return first if used or first.name == "tape" else None


def result_type(ir: IR) -> Any:
    """The Numba type of what ``ir`` returns."""
    for b in ir:
        if isinstance(b.term, Return):
            kind = getattr(b.term.value, "type", None)
            return types.none if kind is None else plain(kind)
    return types.none


class Unit:
    """An LLVM module: the function and those it calls, each with the frame as first argument."""

    def __init__(self, cx: Any, ir: IR, options: Mapping[str, Any]) -> None:
        self.ir, self.options = ir, options
        self.number = next(_units)
        self.main = self.describe(ir, options.get("noalias", False))
        self.env = Environment.from_fndesc(self.main)
        self.cx = cx.subtarget(environment=self.env, fndesc=self.main)
        self.library = cx.codegen().create_library(ir.info.qualname)
        self.library.enable_object_caching()
        self.module = self.cx.create_module(ir.info.name)
        self.functions: dict[Any, tuple[Any, FunctionDescriptor]] = {}
        self.waiting: list[tuple[Any, FunctionDescriptor, IR]] = []

    def describe(self, ir: IR, noalias: bool = False) -> FunctionDescriptor:
        params = [p for p in ir.args if p is not tape_of(ir)]
        return FunctionDescriptor(
            native=True,
            modname=_dynamic_modname,
            qualname=ir.info.qualname,
            unique_name=f"{ir.info.qualname}${self.number}",
            doc="",
            typemap=None,
            restype=result_type(ir),
            calltypes=None,
            args=["frame", *(f"a{k}" for k in range(len(params)))],
            kws=(),
            argtypes=(types.int64, *map(value_type, params)),
            noalias=noalias,
            global_dict={"__name__": _dynamic_modname},
            uid=next(_units),
        )

    def compile(self) -> Compiled:
        with self.cx.push_code_library(self.library):
            function = self.cx.declare_function(self.module, self.main)
            helper = self.emit(function, self.main, self.ir)
            while self.waiting:
                self.emit(*self.waiting.pop())
            self.cx.post_lowering(self.module, self.library)
            self.library.add_ir_module(self.module)
            self.cx.create_cpython_wrapper(
                self.library, self.main, self.env, helper, self.options.get("nogil", True)
            )
            entry = self.cx.get_executable(self.library, self.main, self.env)
        return Compiled(entry, self.library, self.main.argtypes[1:], self.ir.info.name)

    def emit(self, function: Any, desc: FunctionDescriptor, ir: IR) -> Any:
        """Emit the body of ``ir``; returns Numba's call helper."""
        builder = ll.IRBuilder(function.append_basic_block("entry"))
        helper = self.cx.call_conv.init_call_helper(builder)
        frame, *values = self.cx.call_conv.decode_arguments(builder, desc.argtypes, function)
        tape, rest = tape_of(ir), iter(values)
        args = [None if p is tape else next(rest) for p in ir.args]
        Body(ir, self.cx, builder, frame, args, desc.restype, self.call).emit()
        return helper

    def call(self, body: Body, callee: Any, typed: list[Typed]) -> Typed:
        """Call another function of the unit, which is emitted later."""
        if callee not in self.functions:
            ir = callee.flat.ir
            desc = self.describe(ir)
            function = self.cx.declare_function(self.module, desc)
            function.linkage = "internal"
            self.functions[callee] = function, desc
            self.waiting.append((function, desc, ir))
        function, desc = self.functions[callee]
        if tape_of(callee.flat.ir) is not None:
            typed = typed[1:]
        args = [body.as_type(x, t) for x, t in zip(typed, desc.argtypes[1:], strict=True)]
        b = body.b
        status, result = self.cx.call_conv.call_function(
            b, function, desc.restype, desc.argtypes, [body.frame, *args]
        )
        with b.if_then(status.is_error, likely=False):
            body.release(body.alive)
            self.cx.call_conv.return_status_propagate(b, status)
        return desc.restype, result
