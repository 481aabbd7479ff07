"""Random functions of exceptions, loops and suspensions, as source text.

A program takes ``log``, a list, and ``trip``, which it calls everywhere: the call number ``fuse``
raises. So one program run with every fuse takes every exceptional path.
"""

from __future__ import annotations

import random
from typing import Any

KINDS = (ValueError, KeyError, ZeroDivisionError)
DEPTH = 4


class Trip:
    """Logs the calls, raises at one of them."""

    def __init__(self, log: list[Any], fuse: int) -> None:
        self.log, self.fuse, self.calls = log, fuse, 0

    def __call__(self, k: int) -> int:
        self.calls += 1
        self.log.append(k)
        if self.calls == self.fuse:
            raise KINDS[k % 3](k)
        return k


class Manager:
    """A context manager, also an asynchronous one, that says what happens; it swallows if told."""

    def __init__(self, log: list[Any], k: int) -> None:
        self.log, self.k = log, k

    def __enter__(self) -> int:
        self.log.append(("enter", self.k))
        return self.k

    def __exit__(self, kind: Any, exc: Any, tb: Any) -> bool:
        line = None if tb is None or kind is UnboundLocalError else tb.tb_lineno
        self.log.append(("exit", self.k, kind, str(exc), line))
        return self.k % 3 == 0

    async def __aenter__(self) -> int:
        return await Pause(self.__enter__())

    async def __aexit__(self, *what: Any) -> bool:
        return await Pause(self.__exit__(*what))


class Pause:
    """Awaiting it suspends once."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __await__(self) -> Any:
        sent = yield self.value
        return self.value if sent is None else sent


class Countdown:
    """An iterable of n numbers, synchronous and asynchronous."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Any:
        return iter(range(self.n))

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> int:
        if self.n <= 0:
            raise StopAsyncIteration
        self.n -= 1
        return await Pause(self.n)


class Source:
    """Writes one program. ``kind``: function, generator, coroutine or asyncgen."""

    def __init__(self, seed: int, kind: str) -> None:
        self.random, self.kind = random.Random(f"{kind}{seed}"), kind
        self.lines: list[str] = []
        self.count = 0

    def text(self) -> str:
        self.put(0, f"{'async ' if self.is_async else ''}def f(log, trip):")
        for name in "ab":
            self.put(1, f"{name} = {self.number()}")
        self.body(1, False, False)
        if self.kind in ("generator", "asyncgen"):
            self.put(1, "yield a")
        self.put(1, "return" if self.kind == "asyncgen" else "return a, b")
        return "\n".join(self.lines) + "\n"

    @property
    def is_async(self) -> bool:
        return self.kind in ("coroutine", "asyncgen")

    def put(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def number(self) -> int:
        self.count += 1
        return self.count

    def body(self, depth: int, loop: bool, handler: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            compound = [self.tries, self.tries, self.withs, self.ifs, self.fors, self.whiles]
            if depth < DEPTH and self.random.random() < 0.6:
                self.random.choice(compound)(depth, loop, handler)
            else:
                self.put(depth, self.simple(loop, handler))

    def simple(self, loop: bool, handler: bool) -> str:
        k, x = self.number(), self.random.choice("abc")
        found = [
            f"{x} = trip({k})", f"{x} = {k}", f"{x} = [{x}, trip({k})]", f"log.append({x})",
            f"a, b = b, trip({k})", f"del {x}", f"{x} = None", f"trip({k})",
            f"b = [t for t in [{k}]]", f"a = [(lambda: b)() for b in (trip({k}), {k})]",
        ]  # fmt: skip
        found += ["return" if self.kind == "asyncgen" else f"return {x}", f"raise KeyError({k})"]
        found += [f"raise ValueError({k}) from KeyError({x})"]
        if loop:
            found += ["break", "continue"] * 2
        if handler:
            found += ["raise", "log.append(repr(sys.exc_info()[1]))"] * 2
        if self.kind in ("generator", "asyncgen"):
            found += [f"{x} = yield trip({k})", f"yield {x}"] * 3
        if self.kind == "generator":
            found += [
                f"{x} = yield from [trip({k}), {x}]",
                f"{x} = yield from inner({k}, trip)",
            ] * 2
        if self.is_async:
            found += [f"{x} = await Pause(trip({k}))", f"{x} = [t async for t in Countdown(2)]"] * 2
        return self.random.choice(found)

    def tries(self, depth: int, loop: bool, handler: bool) -> None:
        self.put(depth, "try:")
        self.body(depth + 1, loop, handler)
        clauses = self.random.randint(0, 2)
        for kind in self.random.sample(
            ["ValueError", "(KeyError, ValueError)", "Exception"], clauses
        ):
            bound = self.random.choice(["", " as e", " as a"])
            self.put(depth, f"except {kind}{bound}:")
            if bound:
                self.put(depth + 1, f"log.append(repr({bound[-1]}))")
            self.body(depth + 1, loop, True)
        if clauses and self.random.random() < 0.4:
            self.put(depth, "else:")
            self.body(depth + 1, loop, handler)
        if not clauses or self.random.random() < 0.5:
            self.put(depth, "finally:")
            self.body(depth + 1, loop, handler)

    def withs(self, depth: int, loop: bool, handler: bool) -> None:
        items = ", ".join(
            f"Manager(log, trip({self.number()})){self.random.choice(['', ' as b', ' as c'])}"
            for _ in range(self.random.randint(1, 2))
        )
        start = "async " if self.is_async and self.random.random() < 0.7 else ""
        self.put(depth, f"{start}with {items}:")
        self.body(depth + 1, loop, handler)

    def ifs(self, depth: int, loop: bool, handler: bool) -> None:
        self.put(depth, f"if trip({self.number()}) % 2:")
        self.body(depth + 1, loop, handler)
        self.put(depth, "else:")
        self.body(depth + 1, loop, handler)

    def fors(self, depth: int, loop: bool, handler: bool) -> None:
        start = "async " if self.is_async and self.random.random() < 0.7 else ""
        self.put(depth, f"{start}for {self.random.choice('abc')} in Countdown(2):")
        self.body(depth + 1, True, handler)

    def whiles(self, depth: int, loop: bool, handler: bool) -> None:
        k = self.number()
        self.put(depth, f"n{k} = 0")
        self.put(depth, f"while n{k} < 2:")
        self.put(depth + 1, f"n{k} += 1")
        self.body(depth + 1, True, handler)


def inner(k: int, trip: Trip) -> Any:
    """A generator to delegate to, which catches what is thrown in."""
    try:
        yield k
        trip(k)
        yield -k
    except ValueError as error:
        yield repr(error)
    return k


def make(seed: int, kind: str) -> Any:
    """The function of a program."""
    import linecache
    import sys

    text = Source(seed, kind).text()
    name = f"<program {kind} {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"sys": sys, "Manager": Manager, "Pause": Pause, "Countdown": Countdown, "inner": inner}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]
