"""Functions of exceptions and suspensions, each with calls to compare: `CASES`. The first argument
is always a new list, the log."""

from __future__ import annotations

import contextlib
from typing import Any

CASES: list[tuple[Any, tuple[tuple[Any, ...], ...]]] = []
STATE = {"n": 0}


def case(*calls: tuple[Any, ...]) -> Any:
    def enter(f: Any) -> Any:
        CASES.append((f, calls))
        return f

    return enter


# -- try -------------------------------------------------------------------------------------------
@case((0,), (2,), ("x",), (None,))
def clauses(log, x):
    try:
        y = 4 / x
    except ZeroDivisionError as e:
        log.append(repr(e))
        y = 0
    except (TypeError, ValueError):
        log.append("kinds")
        raise
    else:
        log.append("else")
    finally:
        log.append("finally")
    return y


@case((0,), (1,), (2,), (3,))
def finally_decides(log, n):
    for i in range(3):
        try:
            if n == 0:
                return "try"
            if n == 1:
                raise ValueError(i)
            if n == 2:
                continue
            break
        finally:
            log.append(i)
            if n == 1 and i == 1:
                return "finally"
            if n == 1:
                continue
    return n, i


@case(())
def chains(log):
    try:
        try:
            raise KeyError(1)
        except KeyError as e:
            try:
                raise ValueError(2) from e
            finally:
                log.append(repr(e))
    except ValueError as e:
        try:
            raise TypeError(3)
        except TypeError:
            raise OSError(4) from None


@case((0,), (1,), (2,))
def name_is_deleted(log, n):
    e = "kept"
    try:
        if n:
            raise [ValueError, KeyError][n - 1](n)
    except ValueError as e:  # noqa: F811
        log.append(e.args)
    except KeyError as error:
        e = error.args
    return e


@case((5,), (0,))
def retry(log, n):
    while True:
        try:
            n -= 1
            if n > 0:
                raise ValueError(n)
            if n < 0:
                raise KeyError(n)
            return n
        except ValueError as e:
            log.append(str(e))
            continue
        except KeyError:
            break
    return "left"


@case(([1, 0, "x", 2],))
def loops_in_try_in_loops(log, xs):
    total = 0
    for x in xs:
        try:
            for k in range(2):
                total += 1 / x + k
        except ZeroDivisionError:
            total += 100
        except TypeError:
            log.append((x, k, total))
            break
    else:
        log.append("all")
    return total


@case((ValueError,), (int,), (3,), ((KeyError, ValueError),))
def kinds_are_values(log, kind):
    try:
        raise ValueError("x")
    except kind:
        return "caught"


@case((1,), (0,))
def unbound_in_handlers(log, x):
    try:
        y = 1 / x
        del y
        raise KeyError
    except KeyError:
        return y  # noqa: F821
    except ZeroDivisionError:
        return y  # noqa: F821


@case((3,))
def closures_in_handlers(log, n):
    fs = []
    for i in range(n):
        try:
            if i == 1:
                raise ValueError(i)
            fs.append(lambda: i)
        except ValueError as e:
            text = str(e)
            fs.append(lambda: text)
    return [f() for f in fs]


@case((1,), (0,))
def asserts(log, x):
    try:
        assert x, "message"
    except AssertionError as e:
        return str(e)
    return [x for x in range(3)], x


@case(())
def groups(log):
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2), ExceptionGroup("h", [TypeError(3)])])
    except* ValueError as e:
        log.append([repr(x) for x in e.exceptions])
    except* TypeError:
        log.append("nested")


@case((0,), (1,), (2,))
def groups_that_raise(log, n):
    try:
        try:
            raise [ValueError(1), ExceptionGroup("g", [ValueError(1)]), KeyError(2)][n]
        except* ValueError as e:
            log.append(repr(e.exceptions))
            raise OSError(5) from e
    finally:
        log.append("finally")


# -- with ------------------------------------------------------------------------------------------
class Manager:
    def __init__(self, log, name, swallow=False, fails=None):
        self.log, self.name, self.swallow, self.fails = log, name, swallow, fails

    def __enter__(self):
        self.log.append(f"enter {self.name}")
        if self.fails == "enter":
            raise OSError(self.name)
        return self.name

    def __exit__(self, kind, exc, tb):
        self.log.append(f"exit {self.name} {kind} {exc} {tb and tb.tb_lineno}")
        if self.fails == "exit":
            raise RuntimeError(self.name)
        return self.swallow

    def __repr__(self):
        return self.name


@case((False, None, None), (True, None, None), (True, "enter", None), (True, None, "exit"))
@case((False, "exit", "exit"))
def several_managers(log, swallow, first, second):
    with Manager(log, "a", swallow, first) as a, Manager(log, "b", False, second) as b:
        log.append(a + b)
        raise ValueError("inside")
    return "swallowed"


@case((0,), (1,), (2,))
def ways_out_of_with(log, n):
    for i in range(3):
        with Manager(log, str(i)):
            if n == 0:
                return i
            if n == 1:
                continue
            break
    return "end", i


@case((3,), (None,))
def no_manager(log, x):
    with x:
        pass


@case(())
def contextmanagers(log):
    @contextlib.contextmanager
    def managed(k):
        log.append(k)
        try:
            yield k + 1
        except ValueError as e:
            log.append(str(e))
        finally:
            log.append(-k)

    with managed(1) as a, managed(2) as b:
        raise ValueError(a, b)
    with contextlib.suppress(KeyError):
        {}["missing"]
    return a, b


# -- generators ------------------------------------------------------------------------------------
@case((3,))
def counts(log, n):
    for i in range(n):
        got = yield i
        log.append(got)
    return "done"


@case((2,))
def catches(log, n):
    while n:
        try:
            log.append((yield n))
        except ValueError as e:
            log.append(str(e))
            yield "caught"
        finally:
            n -= 1


@case(())
def delegates(log):
    def inner(k):
        try:
            got = yield k
            log.append(got)
        except ValueError as e:
            log.append(str(e))
        return k * 2

    a = yield from inner(1)
    b = yield from [a, 5]
    c = (yield from inner(3)) + (yield from inner(4))
    return a, b, c


@case((4,))
def expressions(log, n):
    total = sum(x * n for x in range(n) if x % 2)
    pairs = list((x, y) for x in range(2) for y in range(x + 1))
    log.append(total)
    x = [n, (yield total), (yield pairs)]
    f = log.append
    f((yield f"{(yield n)}"))
    return x


@case(())
def recursion(log):
    def tree(depth):
        if depth:
            yield from tree(depth - 1)
            yield depth
            yield from tree(depth - 1)

    return (yield from tree(3))


# -- coroutines ------------------------------------------------------------------------------------
class Later:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        got = yield self.value
        return got

    def __aiter__(self):
        return self

    async def __anext__(self):
        self.value -= 1
        if self.value < 0:
            raise StopAsyncIteration
        return await Later(self.value)

    async def __aenter__(self):
        return self.value

    async def __aexit__(self, kind, exc, tb):
        return await Later(kind is ValueError)


@case((2,))
async def awaits(log, n):
    log.append(await Later(n))
    async with Later(n) as a, Later(n + 1) as b:
        log.append((a, b))
        await Later("inside")
    async for x in Later(n):
        log.append(x)
        if x == 7:
            break
    else:
        log.append("else")
    return [y async for y in Later(2)], {z: await Later(z) for z in range(2)}


@case(())
async def awaits_what_is_not(log):
    await 3


@case((3,))
async def yields(log, n):
    for i in range(n):
        try:
            log.append((yield i))
        except ValueError:
            yield await Later("thrown")


# -- other constructs ------------------------------------------------------------------------------
@case((2,))
def nonlocal_and_global(log, n):
    global STATE
    kept = STATE

    def add():
        nonlocal n
        n += 1
        return n

    try:
        STATE = {"n": add()}
        return STATE, add(), n
    finally:
        STATE = kept


@case((1,))
def local_classes(log, n):
    class Base:
        limit = n

        def f(self):
            return [self.limit, __class__.__name__]

    class Derived(Base):
        def f(self):
            try:
                return super().f() + [n]
            finally:
                log.append(__class__.__name__)

    def decorate(f):
        log.append(f.__name__)
        return f

    @decorate
    def decorated(x=Derived().f(), *, y=n):
        return x, y

    return decorated()


@case(({"a": 1, "b": [1, 2]},), ({"a": 2},), ([1, 2, 3],), (3,))
def matching(log, x):
    try:
        match x:
            case {"a": 1, **rest} if log.append(rest) is None:
                return rest
            case {"a": a}:
                raise KeyError(a)
            case [first, *_]:
                return first
            case int(n) | float(n):
                return n / 0
    except (KeyError, ZeroDivisionError) as e:
        return repr(e)


@case((3,))
def deletions(log, n):
    x = [n]
    d = {"k": x}
    del d["k"], x[0]
    try:
        del x.attribute
    except AttributeError:
        del x
    try:
        return x
    except NameError as e:
        return str(e)


@case((0,), (1,))
def imports(log, n):
    try:
        if n:
            import no_such_module
        from math import no_such_name  # noqa: F401
    except ModuleNotFoundError as e:
        return str(e)
    except ImportError as e:
        return str(e).split("(")[0]
    return no_such_module
