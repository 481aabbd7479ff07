"""Every error of the package, each with a stable code.

A message has four parts: what is wrong, where (file, line, variable), why, and what to do. The
catalogue with a minimal program for each code is ``docs/errors.md``.
"""

from __future__ import annotations

from typing import Protocol


class HasPlace(Protocol):
    """Anything with a file and a line: ``ir.Loc``."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...


def of_type(x: object) -> str:
    """What ``x`` is, by its type: ``a list``, ``an int``."""
    name = type(x).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


class PullbackError(Exception):
    """Base of all errors. ``code`` is stable, ``loc`` the user's place, ``hint`` what to do."""

    code = "PB000"

    def __init__(
        self,
        what: str,
        *,
        loc: HasPlace | None = None,
        variable: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.what, self.loc, self.variable, self.hint = what, loc, variable, hint
        super().__init__(self._message())

    def _message(self) -> str:
        lines = [f"[{self.code}] {self.what}"]
        if self.variable:
            lines[0] += f" (variable {self.variable!r})"
        if self.loc is not None:
            lines.append(f'  File "{self.loc.file}", line {self.loc.line}')
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)


# -- PB1: lifting and lowering ---------------------------------------------------------------------
class UnsupportedPython(PullbackError):
    """This version of Python is not one whose code objects can be read."""

    code = "PB101"


class LiftError(PullbackError):
    """The function holds a construct that is not read (yet)."""

    code = "PB102"


class NotLiftable(PullbackError, TypeError):
    """There is no Python code behind this object."""

    code = "PB103"


class InvalidIR(PullbackError):
    """The verifier found the IR broken: a defect of a pass."""

    code = "PB104"


# -- PB2: typing -----------------------------------------------------------------------------------
class TypingError(PullbackError, TypeError):
    """No type could be found for an operation or a variable."""

    code = "PB201"
    about: object = None  # the abstract value of the operand that is to blame, if one is


class JoinError(TypingError):
    """Two paths give a variable types that have no common type."""

    code = "PB202"


class UnsupportedArgument(PullbackError, TypeError):
    """An argument of a kind that is not taken: the message names the conversion."""

    code = "PB203"


class TypeInstability(UserWarning):
    """A variable changes type on the way, which makes generated code slow."""

    code = "PB204"


class CopiedView(PullbackError):
    """Compiled code has a copy where NumPy has a view, and a write would show the difference."""

    code = "PB205"


# -- PB3: derivatives ------------------------------------------------------------------------------
class NoDerivativeError(PullbackError):
    """An active value meets an operation without a rule and without a Python body."""

    code = "PB301"


class NotDifferentiable(PullbackError, TypeError):
    """The argument selected for differentiation is an integer, a bool, a string, ..."""

    code = "PB302"


class NonScalarOutput(PullbackError, TypeError):
    """``grad`` needs a real scalar output."""

    code = "PB303"


class CotangentMismatch(PullbackError, ValueError):
    """A cotangent or tangent has another shape, structure or dtype than its value."""

    code = "PB304"


class AliasedArguments(PullbackError, ValueError):
    """Two arguments overlap in memory and the function writes to one of them."""

    code = "PB305"


class ActivityLost(PullbackError):
    """An active value is stored where no derivative can live: an integer array or cast."""

    code = "PB306"


class ReadOnlyArgument(PullbackError, ValueError):
    """The function writes to an argument that is read-only."""

    code = "PB307"


# -- PB4: use of the API ---------------------------------------------------------------------------
class ArgnumsError(PullbackError, ValueError):
    """``argnums`` names no argument of the call."""

    code = "PB401"


class CheckFailed(PullbackError, AssertionError):
    """``pb.check`` found a derivative, value or mutation that disagrees with its oracle."""

    code = "PB402"


class UnknownOption(PullbackError, ValueError):
    """An engine, an option or a mode that does not exist."""

    code = "PB403"


# -- PB5: contexts and passes ----------------------------------------------------------------------
class PassFailed(PullbackError):
    """A pass raised, returned something that is no IR, or left broken IR."""

    code = "PB501"


class HookFailed(PullbackError):
    """A hook of a context raised."""

    code = "PB502"


class NoContext(PullbackError, TypeError):
    """A value is tagged, untagged or asked for metadata without a context."""

    code = "PB503"


class BadPrimitive(PullbackError, TypeError):
    """A primitive that could never stand for a call."""

    code = "PB504"


class CannotTag(PullbackError, TypeError):
    """The value is one object for the whole process (a small int, a bool, None): a tag on it would
    be on all of its kind."""

    code = "PB505"


class NonFiniteResult(PullbackError, ArithmeticError):
    """An operation made a NaN or an infinity out of finite numbers, and was to stop there."""

    code = "PB506"


class LanesMismatch(PullbackError, ValueError):
    """What `vmap` was to map over has no lanes, or different numbers of them, or the lanes give
    what cannot be put together."""

    code = "PB507"
