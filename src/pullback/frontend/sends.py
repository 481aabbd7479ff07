"""``yield from`` and ``await`` as one instruction.

CPython writes them as a loop over SEND, in which the iterator that is delegated to stays on the
stack while the function is suspended (``throw``, ``close`` and ``gi_yieldfrom`` look for it there).
The loop says nothing but "yield from it to its end", so that is what it is read as.
"""

from __future__ import annotations

from .decode import Instr

_LOOP = ("SEND", "YIELD_VALUE", "RESUME", "JUMP_BACKWARD_NO_INTERRUPT")
AFTER_AWAIT = 3
"""The argument of RESUME, low two bits, in the loop of an ``await``."""


def fold(instrs: list[Instr]) -> list[Instr]:
    """Each loop becomes the instruction DELEGATE or AWAIT and a jump behind the loop. The end of
    ``async for`` jumps, if it does not raise: to the next instruction."""
    out: list[Instr] = []
    i = 0
    while i < len(instrs):
        ins = instrs[i]
        loop = instrs[i : i + len(_LOOP)]
        if ins.op == "SEND" and tuple(x.op for x in loop) == _LOOP:
            kind = "AWAIT" if loop[2].arg & 3 == AFTER_AWAIT else "DELEGATE"
            resume, back = loop[2:]
            out.append(Instr(ins.offset, kind, 0, None, resume.offset, ins.loc))
            out.append(Instr(resume.offset, "JUMP_FORWARD", 0, ins.target, back.next, ins.loc))
            i += len(_LOOP)
        else:
            ends = ins.op == "END_ASYNC_FOR"
            out.append(ins._replace(target=ins.next) if ends else ins)
            i += 1
    return out
