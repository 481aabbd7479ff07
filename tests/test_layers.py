"""Imports point down the layers, and the package itself is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pullback

ROOT = Path(pullback.__file__).parent
LAYERS = [
    {"errors"},
    {"ir"},
    {"runtime"},
    {"frontend", "rules"},
    {"typing_"},
    {"passes"},
    {"backend"},
    {"ad", "context"},
    {"api"},
    {"cli"},
]
HEIGHT = {name: k for k, names in enumerate(LAYERS) for name in names}
FILES = [
    p
    for p in sorted(ROOT.rglob("*.py"))
    if p.relative_to(ROOT).parts[0].removesuffix(".py") in HEIGHT
]


def layer_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_layers(path, source):
    """Layers that a file imports from, with the line."""
    package = ("pullback", *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            full = (*start, *(node.module.split(".") if node.module else ()))
            names = [(*full, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == "pullback" and len(name) > 1 and name[1] in HEIGHT:
                yield name[1], node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    own = layer_of(path)
    for layer, line in imported_layers(path, path.read_text()):
        below = HEIGHT[layer] < HEIGHT[own]
        assert layer == own or below, f"{path.name}:{line}: {own} imports {layer}"


def test_an_upward_import_is_seen():
    path = ROOT / "ir" / "core.py"
    source = "from ..api.gradient import grad\nimport pullback.ad\nfrom . import printer\n"
    assert list(imported_layers(path, source)) == [("api", 1), ("ad", 2), ("ir", 3)]


def test_importing_the_package_is_light():
    heavy = "{'numba', 'scipy', 'click', 'rich', 'matplotlib'}"
    code = f"import pullback, sys; print({heavy} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
