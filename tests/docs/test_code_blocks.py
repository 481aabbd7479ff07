"""Every Python block of the README and the documentation does what the page says."""

import contextlib
import io
import re
import warnings

import pytest

from pullback import errors

from .blocks import PAGES, ROOT, Block, read_blocks

CODED = {
    c.code: c
    for c in vars(errors).values()
    if isinstance(c, type) and issubclass(c, Exception) and "code" in vars(c)
}
CATALOGUE = ROOT / "docs" / "errors.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_blocks_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages may save figures
    scope = {"__name__": "__main__"}
    for block in read_blocks(page):
        run(block, page, scope)


def run(block: Block, page, scope):
    place = f"{page.name}, line {block.line}"
    code = block.compile(page)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        if block.raises is None:
            exec(code, scope)
        else:
            warnings.simplefilter("error", errors.TypeInstability)
            with pytest.raises(Exception) as caught:
                exec(code, scope)
            found = {getattr(caught.value, "code", None), type(caught.value).__name__}
            assert block.raises in found, f"{place}: {caught.value!r}"
    if block.output is not None:
        assert printed.getvalue().rstrip() == block.output.rstrip(), place


def test_the_catalogue_has_every_error_and_raises_it():
    sections = re.split(r"^### ", CATALOGUE.read_text(), flags=re.MULTILINE)[1:]
    entries = {s.split(maxsplit=1)[0]: s for s in sections}
    assert set(entries) == set(CODED) - {"PB000"}
    for code, text in entries.items():
        assert text.splitlines()[0] == f"{code} {CODED[code].__name__}"
        assert f"raises={code}" in text, f"{code} has no program that raises it"
        assert "**Cure.**" in text, f"{code} has no cure"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_a_block_that_does_not_do_what_it_says_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\n1 / 0\n```\n"
        "```python raises=PB302\nraise ValueError\n```\n"
        "```python raises=ValueError\npass\n```\n"
        "```python\nprint(1)\n```\n```output\n2\n```\n"
    )
    blocks = read_blocks(page)
    assert [b.line for b in blocks] == [2, 5, 8, 11]
    for block in blocks:
        with pytest.raises((ZeroDivisionError, AssertionError, pytest.fail.Exception)):
            run(block, page, {})
