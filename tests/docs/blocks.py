"""The code blocks of a Markdown page.

A block is opened by ```` ```python ````; what follows on that line says what to expect of it:

    ```python                  runs
    ```python raises=PB301     raises the error with that code (or of that name)

A block ```` ```output ```` right after one is what it prints, to the letter; one that is opened by
```` ```output python=3.11 ```` what it prints on that version.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

VERSION = f"python={sys.version_info.major}.{sys.version_info.minor}"

FENCE = re.compile(r"^```(\w+)? ?(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    """A ```python block: its source, its first line's number, and what is expected of it."""

    source: str
    line: int
    raises: str | None = None
    output: str | None = None

    def compile(self, page: Path):
        """Code whose line numbers are those of the page."""
        return compile("\n" * (self.line - 1) + self.source, str(page), "exec")


def read_blocks(page: Path) -> list[Block]:
    """The Python blocks of a page, in order."""
    text = page.read_text()
    blocks: list[Block] = []
    for match in FENCE.finditer(text):
        language, info, body = match.groups()
        if language == "python":
            line = text.count("\n", 0, match.start(3)) + 1
            raises = re.search(r"raises=(\w+)", info)
            blocks.append(Block(body, line, raises.group(1) if raises else None))
        elif language == "output" and info in ("", VERSION):
            blocks[-1].output = body
    return blocks
