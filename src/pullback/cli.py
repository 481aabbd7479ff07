"""The command line: ``pullback demo | ir | check | explain | cache``.

A function is named FILE:FUNC, where FILE is a path or the name of a module that can be imported,
and FUNC may be dotted (``Class.method``). Arguments are Python expressions that see ``np``,
``math`` and everything in FILE: ``pullback check model.py:loss "np.ones(3)" 0.5``.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import click

from .errors import PullbackError, of_type

NEGATIVE_NUMBERS = {"ignore_unknown_options": True}  # -1.5 is an argument, no option
DEMOS = {"lotka-volterra": "lotka_volterra", "heat-conductivity": "heat_conductivity"}


class Failure(click.ClickException):
    """A message to the user, without a traceback."""

    def show(self, file: Any = None) -> None:
        click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        click.echo(self.message, err=True)


def fail(message: str, cause: BaseException | None = None) -> NoReturn:
    raise Failure(message) from cause


# -- finding what the user named -------------------------------------------------------------------
def load_module(name: str) -> ModuleType:
    """The module behind a path or a dotted name, imported."""
    path = Path(name)
    try:
        if path.suffix == ".py" or path.exists():
            return load_file(path)
        return importlib.import_module(name)
    except Failure:
        raise
    except ModuleNotFoundError as e:
        if e.name == name.split(".")[0]:
            fail(f"{name!r} is neither a file nor a module that can be imported", e)
        fail(f"{name} imports {e.name!r}, which is not installed", e)
    except Exception as e:
        fail(f"{name} cannot be imported: {type(e).__name__}: {e}", e)


def load_file(path: Path) -> ModuleType:
    if not path.is_file():
        fail(f"there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        fail(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))  # as `python FILE` would find its neighbours
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def find(target: str) -> tuple[Callable[..., Any], ModuleType]:
    """The function that FILE:FUNC names, and its module."""
    file, colon, name = target.rpartition(":")
    if not colon or not file or not name:
        fail(f"{target!r} does not name a function: write FILE:FUNC, such as model.py:loss")
    module = load_module(file)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            names = [k for k, v in vars(found).items() if callable(v) and not k.startswith("_")]
            near = difflib.get_close_matches(part, names, 3) or sorted(names)[:10]
            fail(f"{file} has no {name!r}" + (f"; it has {', '.join(near)}" if near else ""))
        found = getattr(found, part)
    if not callable(found):
        fail(f"{name} is {of_type(found)}, not a function")
    return found, module


def evaluate(arguments: tuple[str, ...], module: ModuleType) -> list[Any]:
    """The values of the argument expressions."""
    import numpy as np

    scope = {"np": np, "numpy": np, "math": math, **vars(module)}
    values = []
    for text in arguments:
        try:
            values.append(eval(text, dict(scope)))
        except Exception as e:
            fail(f"argument {text!r} is no value: {type(e).__name__}: {e}", e)
    return values


# -- the commands ----------------------------------------------------------------------------------
class Group(click.Group):
    """Shows the package's own errors as messages: they say where and what to do."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PullbackError as e:
            fail(str(e), e)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pullback")
def main() -> None:
    """Differentiate and transform ordinary Python."""


@main.command()
@click.argument("name", type=click.Choice(list(DEMOS)), default="lotka-volterra")
@click.option("--figure", type=click.Path(dir_okay=False), help="Where to save the figure.")
def demo(name: str, figure: str | None) -> None:
    """Calibrate a model by gradients: table on the terminal, figure in out/."""
    try:
        module = importlib.import_module(f"pullback.examples.{DEMOS[name]}")
    except ModuleNotFoundError as e:
        if e.name != "pullback.examples":
            raise
        fail("this installation lacks the examples; run them from a clone of the project", e)
    module.main(*([figure] if figure else []))


@main.command()
@click.argument("target", metavar="FILE:FUNC")
def ir(target: str) -> None:
    """Print the intermediate representation that FUNC is lifted to."""
    f, _ = find(target)
    from .frontend import lift

    print_ir(str(lift(f)))


@main.command(context_settings=NEGATIVE_NUMBERS)
@click.argument("target", metavar="FILE:FUNC")
@click.argument("arguments", metavar="ARG...", nargs=-1)
def check(target: str, arguments: tuple[str, ...]) -> None:
    """Compare FUNC's derivatives at ARG... with finite differences and with each other."""
    f, module = find(target)
    values = evaluate(arguments, module)
    import pullback as pb

    report = on_behalf_of(f, lambda: pb.check(f, *values))
    if report is not None:
        click.echo(report)
    click.secho("derivatives, value and mutation agree", fg="green")


@main.command(context_settings=NEGATIVE_NUMBERS)
@click.argument("target", metavar="FILE:FUNC")
@click.argument("arguments", metavar="ARG...", nargs=-1)
def explain(target: str, arguments: tuple[str, ...]) -> None:
    """Say how FUNC is differentiated at ARG...: what is active, kept, recomputed, and slow."""
    f, module = find(target)
    values = evaluate(arguments, module)
    import pullback as pb

    click.echo(on_behalf_of(f, lambda: pb.explain(f, *values)))


@main.group("cache")
def cache_() -> None:
    """The machine code that is kept on disk for other processes."""


@cache_.command()
def info() -> None:
    """Say where it is, and how much."""
    from .backend import cache

    sizes = [f.stat().st_size for f in cache.files()]
    click.echo(cache.directory())
    click.echo(f"{counted(len(sizes))}, {sum(sizes) / 1e6:.1f} MB")


@cache_.command()
def clear() -> None:
    """Remove it; what is needed is compiled again."""
    from .backend import cache

    click.echo(f"{counted(cache.clear())} removed from {cache.directory()}")


def counted(files: int) -> str:
    return f"{files} file{'s' * (files != 1)}"


def on_behalf_of(f: Callable[..., Any], work: Callable[[], Any]) -> Any:
    """work(), where an exception of the user's function becomes a message."""
    try:
        return work()
    except (PullbackError, Failure):
        raise
    except Exception as e:
        name = getattr(f, "__name__", repr(f))
        fail(f"{name} raised {type(e).__name__}: {e}", e)


IR_COLOURS = {  # of the parts of the printed form (`ir.printer`): a style, and what it is
    "head": ("bold", r"^function \S+?(?=\()"),
    "block": ("bold yellow", r"\bb\d+\b"),
    "value": ("cyan", r"%\d+(\.\w+)?"),
    "type": ("green", r": [^=%]+?(?= =|, %|\):$)"),
    "call": ("blue", r"(?<== )[\w.]+(?=[\[(]|$)"),
    "word": ("magenta", r"^ +(jump|branch|for|return|raise|from)\b"),
    "text": ("green", r"'[^']*'|\"[^\"]*\""),
    "line": ("dim", r"  # \d+$"),
}


def print_ir(text: str) -> None:
    """In colour on a terminal, plain elsewhere."""
    from rich.console import Console
    from rich.highlighter import RegexHighlighter
    from rich.theme import Theme

    class Highlighter(RegexHighlighter):
        base_style = "ir."
        highlights = [f"(?m)(?P<{name}>{regex})" for name, (_, regex) in IR_COLOURS.items()]

    theme = Theme({f"ir.{name}": style for name, (style, _) in IR_COLOURS.items()})
    Console(theme=theme, highlighter=Highlighter(), soft_wrap=True).print(text, markup=False)


if __name__ == "__main__":
    main()
