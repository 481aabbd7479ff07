"""The C library's function, where a kernel's arithmetic does not reach: called for a lane only.

A loop with a call in it is not vectorised, unless the call says which function does the same for a
vector. So the call has such functions: each tests whether any lane is out of reach, which is the
whole cost as long as none is, and if so calls the library for these lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import binding
from llvmlite import ir as ll

I1, I8, I64, F64 = ll.IntType(1), ll.IntType(8), ll.IntType(64), ll.DoubleType()
BYTES = I8.as_pointer()
PREFIX = "pullback.far."
REACH = 2.0**40
"""The library's function is called for larger numbers, of either sign."""

MASKED = binding.llvm_version_info[0] >= 17
"""Whether LLVM passes a mask where the call depends on a condition. Earlier versions make it at all
events; since the functions test the numbers themselves, that does no harm."""


def call(b: ll.IRBuilder, name: str, x: Any, widths: Sequence[int]) -> Any:
    """The C library's function ``name`` of a float64 out of reach, in a block that is rarely
    entered; ``widths`` are how many lanes a vector may have."""
    wrapper = PREFIX + name
    f = b.module.globals.get(wrapper) or declare(b.module, name)
    called = b.call(f, [x])
    if widths:
        declare_vectors(b.module, f, widths)
        kind = "M" if MASKED else "N"
        variants = ",".join(f"_ZGV_LLVM_{kind}{n}v_{wrapper}({wrapper}.{n})" for n in widths)
        set.add(called.attributes, f'"vector-function-abi-variant"="{variants}"')
    return called


def declare(module: ll.Module, name: str) -> ll.Function:
    """The function of one lane. It hides the name of the library's, by which LLVM would take it for
    an operation that can be done everywhere, needed or not."""
    kind = ll.FunctionType(F64, [F64])
    library = module.globals.get(name) or ll.Function(module, kind, name)
    one = define(module, kind, PREFIX + name, "noinline")
    for f in (library, one):
        f.attributes.add("readnone")
        f.attributes.add("nounwind")
    b = ll.IRBuilder(one.append_basic_block())
    b.ret(b.call(library, one.args))
    return one


def declare_vectors(module: ll.Module, one: ll.Function, widths: Sequence[int]) -> None:
    """The functions of vectors that do the same."""
    each = module.globals.get(one.name + ".each") or declare_each(module, one)
    for n in widths:
        if f"{one.name}.{n}" not in module.globals:
            declare_vector(module, one.name, each, n)


def define(module: ll.Module, kind: ll.FunctionType, name: str, inlining: str) -> ll.Function:
    f = ll.Function(module, kind, name)
    f.linkage = "internal"
    f.attributes.add(inlining)
    return f


def declare_each(module: ll.Module, one: ll.Function) -> ll.Function:
    """``each(place, mask)``: replace numbers at ``place``, those whose bits in ``mask`` are set."""
    kind = ll.FunctionType(ll.VoidType(), [F64.as_pointer(), I64])
    f = define(module, kind, one.name + ".each", "noinline")
    place, mask = f.args
    entry, head, body, step, done = (f.append_basic_block(s) for s in LOOP)
    b = ll.IRBuilder(entry)
    b.branch(head)
    b.position_at_end(head)
    k, left = b.phi(I64), b.phi(I64)
    b.cbranch(b.icmp_unsigned("==", left, I64(0)), done, body)
    b.position_at_end(body)
    with b.if_then(b.trunc(left, I1)):
        p = b.gep(place, [k])
        b.store(b.call(one, [b.load(p)]), p)
    b.branch(step)
    b.position_at_end(step)
    for phi, first, next in ((k, I64(0), b.add(k, I64(1))), (left, mask, b.lshr(left, I64(1)))):
        phi.add_incoming(first, entry)
        phi.add_incoming(next, step)
    b.branch(head)
    b.position_at_end(done)
    b.ret_void()
    return f


LOOP = ("entry", "head", "body", "step", "done")


def declare_vector(module: ll.Module, name: str, each: ll.Function, n: int) -> ll.Function:
    """The function of n lanes. What it returns for those in reach is not used."""
    vector, words, mask = (ll.VectorType(t, n) for t in (F64, I64, I1))
    kind = ll.FunctionType(vector, [vector, mask] if MASKED else [vector])
    f = define(module, kind, f"{name}.{n}", "alwaysinline")
    x = f.args[0]
    b = ll.IRBuilder(f.append_basic_block("entry"))
    place = b.alloca(vector)
    size = b.and_(b.bitcast(x, words), ll.Constant(words, [ALL_BUT_SIGN] * n))
    beyond = b.fcmp_ordered(">", b.bitcast(size, vector), ll.Constant(vector, [REACH] * n))
    entry, bits = b.block, b.bitcast(beyond, ll.IntType(n))
    with b.if_then(b.icmp_unsigned("!=", bits, bits.type(0)), likely=False):
        b.store(x, place)
        b.call(each, [b.bitcast(place, F64.as_pointer()), b.zext(bits, I64)])
        y = b.load(place)
        inside = b.block
    result = b.phi(vector)
    result.add_incoming(x, entry)
    result.add_incoming(y, inside)
    b.ret(result)
    return f


ALL_BUT_SIGN = (1 << 63) - 1


def keep(module: ll.Module) -> None:
    """Only the attributes of calls name the functions of vectors: LLVM shall keep them."""
    found = [
        f.bitcast(BYTES)
        for name, f in module.globals.items()
        if name.startswith(PREFIX) and "alwaysinline" in f.attributes
    ]
    if found:
        used = ll.GlobalVariable(module, ll.ArrayType(BYTES, len(found)), "llvm.compiler.used")
        used.linkage, used.section = "appending", "llvm.metadata"
        used.initializer = ll.Constant(used.value_type, found)
