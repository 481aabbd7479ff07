"""Flat typed IR to machine code: one unit with all the functions that it calls, and its wrapper.

LLVM's code is made straight from the IR with Numba's target (its types, calling convention,
implementations of scalar functions, memory runtime, boxing), not from a code object through Numba's
compiler: everything that this would find out is known already, which halves the time to compile.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from numba import types
from numba.core import compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.funcdesc import FunctionDescriptor
from numba.core.lowering import Environment
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.utils import _dynamic_modname

from ..ir.core import IR, Return
from ..runtime import native_prims, vmath  # noqa: F401  (native_prims registers machine code)
from ..runtime.memory import Memory, checkout, give_back
from ..runtime.native_core import plain, value_type
from ..typing_.ask import context
from . import cache
from .emit import Body, Typed
from .fingerprint import fingerprint
from .parallel import kernels_for
from .reductions import ordered_reductions
from .scopes import Builder
from .sites import TAKES_TAPE, Sites, raise_at


class Machine:
    """Machine code in memory: the entry that CPython calls, the library that holds it, and the
    environment: the objects (dtypes, say) that results are made with."""

    def __init__(self, entry: Any, library: Any, desc: FunctionDescriptor, env: Any) -> None:
        self.entry, self.library, self.desc, self.env = entry, library, desc, env


_machines: WeakValueDictionary[str, Machine] = WeakValueDictionary()


class Compiled:
    """A compiled function: call it with the IR's parameters, the tape left out.

    The arguments must have the types ``argtypes``: what holds of rank and layout is not checked.
    ``run`` is the same on memory that the caller keeps."""

    def __init__(self, machine: Machine, sites: Sites, name: str) -> None:
        self.machine, self.sites, self.__name__ = machine, sites, name
        self.entry = machine.entry
        self.argtypes = machine.desc.argtypes[1:]

    def __call__(self, *args: Any) -> Any:
        memory = checkout()
        try:
            return self.entry(memory.address, *args)
        except SystemError:
            if not memory.failed:
                raise
            failed = self.sites.failure(memory)
        finally:
            give_back(memory)
        raise_at(*failed)

    def run(self, memory: Memory, *args: Any) -> Any:
        """Call it on ``memory``; exceptions come from the user's file and line."""
        try:
            return self.entry(memory.address, *args)
        except SystemError:
            if not memory.failed:
                raise
            failed = self.sites.failure(memory)
        raise_at(*failed)

    def asm(self) -> str:
        """The machine code, for reading (not there if it was loaded from disk)."""
        return str(self.machine.library.get_asm_str())

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}({', '.join(map(str, self.argtypes))})>"


def compile_native(ir: IR, options: Mapping[str, Any] | None = None) -> Compiled:
    """Compile ``ir``, whose parameters have types; the tape, if it takes one, is the first of them.

    Options: ``fastmath`` (bool or a set of LLVM's flags), ``noalias`` (the arrays do not overlap),
    ``kernels`` (the names of the elementary functions to do with `runtime.vmath`, in order; by
    default `kernels_for` this program), ``nogil`` (default True), ``cache`` (look on disk, and
    leave the code there; default False).
    TypingError if an operation has no machine code for its types."""
    options = options or {}
    flags = compiler.Flags()
    flags.nrt = True
    flags.error_model = "numpy"
    flags.fastmath = options.get("fastmath", False)
    with global_compiler_lock, ConfigStack().enter(flags):
        context().refresh()
        cx = compiler._make_subtarget(cpu_target.target_context, flags)
        cx.refresh()
        unit = Unit(cx, ir, options)
        return Compiled(unit.machine(), unit.sites, ir.info.name)


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


def callees_of(ir: IR) -> dict[Any, int]:
    """The functions that ``ir`` calls, directly or not, each with its position in the unit; ``ir``
    itself is at 0."""
    found: dict[Any, int] = {}
    waiting = [ir]
    while waiting:
        for op in waiting.pop(0).ops():
            if hasattr(op.callee, "flat") and op.callee not in found:
                found[op.callee] = len(found) + 1
                waiting.append(op.callee.flat.ir)
    return found


class Unit:
    """An LLVM module: the function and those it calls, each with the frame as first argument."""

    def __init__(self, cx: Any, ir: IR, options: Mapping[str, Any]) -> None:
        self.cx, self.options = cx, options
        self.callees = callees_of(ir)
        self.functions: Sequence[IR] = [ir, *(c.flat.ir for c in self.callees)]
        self.sites = Sites(self.functions, cx.typing_context)
        self.kernels = options.get("kernels", kernels_for(self.functions))
        self.target = vmath.target(*cx.codegen().magic_tuple())
        magic = map(str, (*cx.codegen().magic_tuple(), *cache.versions(), sorted(options.items())))
        self.key = fingerprint(self.functions, self.callees, self.sites, magic)
        self.number = (self.key or secrets.token_hex(16))[:32]  # symbols must differ in all units

    # -- finding -------------------------------------------------------------------------------
    def machine(self) -> Machine:
        """The machine code: in memory already, on disk, or compiled."""
        if self.key is None:
            return self.compile()
        found = _machines.get(self.key) or self.loaded() or self.compiled()
        _machines[self.key] = found
        return found

    def loaded(self) -> Machine | None:
        if not self.options.get("cache") or self.key is None:
            return None
        content = cache.load(self.key)
        if content is None:
            return None
        state, desc, objects = content
        library = self.cx.codegen().unserialize_library(state)
        env = Environment.from_fndesc(desc)
        env.consts.extend(objects)
        return Machine(self.cx.get_executable(library, desc, env), library, desc, env)

    def compiled(self) -> Machine:
        made = self.compile()
        if self.options.get("cache") and self.key and not made.library.has_dynamic_globals:
            state = made.library.serialize_using_object_code()
            cache.save(self.key, (state, made.desc, list(made.env.consts)))
        return made

    # -- compiling -----------------------------------------------------------------------------
    def describe(self, k: int) -> FunctionDescriptor:
        """The descriptor of the function at position ``k``."""
        ir = self.functions[k]
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
            noalias=self.apart(k),
            global_dict={"__name__": _dynamic_modname},
            uid=f"{self.number}x{k}",
        )

    def apart(self, k: int) -> bool:
        """Whether the array parameters of the function at position ``k`` share no memory."""
        return k == 0 and self.options.get("noalias", False)

    def compile(self) -> Machine:
        main = self.describe(0)
        env = Environment.from_fndesc(main)
        cx = self.cx = self.cx.subtarget(environment=env, fndesc=main)
        library = cx.codegen().create_library(main.qualname)
        library.enable_object_caching()
        module = cx.create_module(main.qualname)
        with cx.push_code_library(library), ordered_reductions():
            self.declared = [self.declare(module, k) for k in range(len(self.functions))]
            helpers = [self.emit(k) for k in range(len(self.functions))]
            cx.post_lowering(module, library)
            vmath.define(module, self.target)
            library.add_ir_module(module)
            nogil = self.options.get("nogil", True)
            cx.create_cpython_wrapper(library, main, env, helpers[0], nogil)
            entry = cx.get_executable(library, main, env)
        return Machine(entry, library, main, env)

    def declare(self, module: Any, k: int) -> tuple[Any, FunctionDescriptor]:
        desc = self.describe(k)
        function = self.cx.declare_function(module, desc)
        if k:
            function.linkage = "internal"
        return function, desc

    def emit(self, k: int) -> Any:
        """Emit the body of a function; returns Numba's call helper."""
        ir, (function, desc) = self.functions[k], self.declared[k]
        builder = Builder(function.append_basic_block("entry"))
        helper = self.cx.call_conv.init_call_helper(builder)
        frame, *values = self.cx.call_conv.decode_arguments(builder, desc.argtypes, function)
        tape, rest = tape_of(ir), iter(values)
        args = [None if p is tape else next(rest) for p in ir.args]
        about = (desc.restype, self.sites, self.call, self.kernels, self.apart(k))
        body = Body(ir, self.cx, builder, frame, args, *about)
        body.emit()
        if body.used_kernels:
            vmath.prefer_wide(function, self.target)
        return helper

    def call(self, body: Body, callee: Any, typed: list[Typed]) -> Typed:
        """Call another function of the unit."""
        k = self.callees[callee]
        function, desc = self.declared[k]
        if tape_of(self.functions[k]) is not None:
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
