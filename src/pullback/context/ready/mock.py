"""``Mock``: functions replaced in one run, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..context import Context
from ..primitives import key_of, keys_of


class Called(NamedTuple):
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Mock(Context):
    """Calls what stands for each function instead of it; other threads and tests see the originals.

    ``replacements`` maps callables to callables, or to anything else, which is then the result.
    ``calls`` lists what each was called with.

    >>> import time
    >>> mock = Mock({time.time: 0.0})
    >>> mock.overdub(lambda: time.time() + 1)
    1.0
    >>> len(mock.calls[time.time])
    1
    """

    def __init__(self, replacements: Mapping[Callable[..., Any], Any], **filters: Any) -> None:
        super().__init__(**filters)
        self.calls: dict[Any, list[Called]] = {f: [] for f in replacements}
        self._by_key = {key_of(f): (f, fake) for f, fake in replacements.items()}

    def _find(self, g: Any) -> tuple[Any, Any, tuple[Any, ...]] | None:
        for key, before in keys_of(g):
            if key in self._by_key:
                return (*self._by_key[key], before)
        return None


@Mock.primitive(when=lambda ctx, f, *args, **kw: ctx._find(f) is not None)
def _(ctx: Mock, g: Any, *args: Any, **kw: Any) -> Any:
    found = ctx._find(g)
    assert found is not None
    f, fake, before = found
    ctx.calls[f].append(Called((*before, *args), kw))
    return fake(*before, *args, **kw) if callable(fake) else fake
