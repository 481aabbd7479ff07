"""Lift and lower every function found in the source files of some packages.

``python tests/backend/sweep.py [--every N] [stdlib numpy scipy PATH ...]`` prints how many
functions were lifted and how many refused, by reason, and fails if one that was lifted comes back
different. With ``--every``, it takes one file in N.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

from pullback.backend import lower_code
from pullback.errors import PullbackError
from pullback.frontend import lift_code
from pullback.ir.printer import format_ir
from pullback.ir.verify import verify

OPTIMIZED = 1  # functions, as opposed to modules and class bodies


def files(name: str) -> Iterator[Path]:
    """The Python files of a package, of the standard library, or below a path."""
    if name == "stdlib":
        root = Path(sysconfig.get_path("stdlib"))
    elif Path(name).exists():
        root = Path(name)
    else:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise SystemExit(f"no package {name}")
        root = Path(spec.origin).parent
    if root.is_file():
        yield root
        return
    for path in sorted(root.rglob("*.py")):
        if "site-packages" not in path.relative_to(root).parts:
            yield path


def functions(path: Path) -> Iterator[CodeType]:
    """The code of all functions in a file, nested ones and methods included."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            top = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    todo = [top]
    while todo:
        code = todo.pop()
        if code.co_flags & OPTIMIZED:
            yield code
        todo += [c for c in code.co_consts if isinstance(c, CodeType)]


def round_trip(code: CodeType) -> tuple[str, str]:
    """The text of the lifted function, and of what it lowers to, lifted again. Both verify."""
    ir = verify(lift_code(code))
    text = format_ir(ir)
    again = verify(lift_code(lower_code(ir).code))
    return text, format_ir(again)


def sweep(paths: Iterator[Path]) -> tuple[int, Counter[str], list[str]]:
    """How many functions came back identical, how many were refused by reason, and the failures."""
    good, refused, failed = 0, Counter[str](), []
    for path in paths:
        for code in functions(path):
            try:
                before, after = round_trip(code)
            except PullbackError as error:
                if error.code in ("PB102", "PB103"):
                    refused[construct(error)] += 1
                    continue
                failed.append(f"{path}:{code.co_firstlineno} {code.co_qualname}: {error}")
            except Exception as error:
                failed.append(f"{path}:{code.co_firstlineno} {code.co_qualname}: {error!r}")
            else:
                if before == after:
                    good += 1
                else:
                    failed.append(f"{path}:{code.co_firstlineno} {code.co_qualname}: not identical")
    return good, refused, failed


CONSTRUCTS = (
    "reads the frame",
    "the instruction",
    "a variable of a comprehension that a handler reads",
    "a function whose defaults are not written in place",
)


def construct(error: PullbackError) -> str:
    return next((c for c in CONSTRUCTS if c in error.what), error.what)


def main(names: list[str]) -> int:
    status, every = 0, 1
    if names[:1] == ["--every"]:
        every, names = int(names[1]), names[2:]
    for name in names or ["stdlib", "numpy", "scipy"]:
        good, refused, failed = sweep(itertools.islice(files(name), 0, None, every))
        print(f"{name}: {good} lifted, {sum(refused.values())} refused, {len(failed)} failed")
        for what, n in refused.most_common():
            print(f"    {n:6} {what}")
        for line in failed[:40]:
            print(f"    FAILED {line}")
        status |= bool(failed)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
