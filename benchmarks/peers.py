"""The kernels as users of JAX and of HIPS autograd write them.

A whole-array kernel is the same text there, with the tool's own ``np`` in the place of NumPy's.
Where arrays are written to, and for the plain loops, it is rewritten with what the tool offers:
``lax.scan``, ``.at[...]``, concatenation. Some cannot be written so that they end in reasonable
time, or at all: those say why.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import arrays
import kernels
import numpy as np
from kernels import Kernel


@dataclass(frozen=True)
class Program:
    """``f``, to be differentiated by its first argument, or those of the kernel's ``argnums``.
    ``arguments``: what it is called with, if that is not what the kernel is. ``times``: how often
    the kernel does what it does (for tools that would take minutes)."""

    f: Callable[..., Any]
    arguments: Callable[..., tuple[Any, ...]] | None = None
    times: int = 1


class Missing(Exception):
    """Why there is no number."""


def rebound(f: Any, **names: Any) -> Any:
    """``f`` with other globals of these names."""
    return FunctionType(f.__code__, {**f.__globals__, **names}, f.__name__, f.__defaults__)


class Jax:
    """``jax.jit(jax.value_and_grad(f))`` in double precision, its arguments on the device."""

    name = "JAX"

    def __init__(self) -> None:
        try:
            import jax
        except ImportError as e:
            raise Missing("jax is not installed") from e
        jax.config.update("jax_enable_x64", True)
        self.jax = jax
        self.version = f"jax {importlib.metadata.version('jax')}"
        self.programs = _in_jax(jax)

    def prepare(self, kernel: Kernel) -> tuple[Callable[[], Any], int]:
        """A call that gives (value, gradients), and how many of them the kernel amounts to."""
        jax, program = self.jax, self.programs.get(kernel.f, WRITTEN_TO)
        if isinstance(program, str):
            raise Missing(program)
        arguments = kernel.arguments()
        fixed = [k for k, a in enumerate(arguments) if isinstance(a, int)]  # numbers of steps
        both = jax.jit(jax.value_and_grad(program.f, kernel.argnums), static_argnums=fixed)
        moved = [a if k in fixed else jax.numpy.asarray(a) for k, a in enumerate(arguments)]
        return lambda: jax.block_until_ready(both(*moved)), 1


class Hips:
    """``autograd.value_and_grad(f)``."""

    name = "HIPS autograd"

    def __init__(self) -> None:
        try:
            import autograd
        except ImportError as e:
            raise Missing("autograd is not installed") from e
        self.autograd = autograd
        self.version = f"autograd {importlib.metadata.version('autograd')}"
        self.programs = _in_autograd()

    def prepare(self, kernel: Kernel) -> tuple[Callable[[], Any], int]:
        program = self.programs.get(kernel.f, WRITTEN_TO)
        if isinstance(program, str):
            raise Missing(program)
        arguments = (program.arguments or (lambda *a: a))(*kernel.arguments())
        both = self.autograd.value_and_grad(program.f, kernel.argnums)
        return lambda: both(*arguments), program.times


WRITTEN_TO = "writes to single elements"


def tools() -> tuple[list[Any], list[str]]:
    """The tools that are installed, and what is to be said of the others."""
    found, missing = [], []
    for tool in (Jax, Hips):
        try:
            found.append(tool())
        except Missing as e:
            missing.append(f"{tool.name}: {e} (pip install 'pullback[bench]')")
    return found, missing


# -- JAX -------------------------------------------------------------------------------------------
def _in_jax(jax: Any) -> dict[Any, Program | str]:
    jnp, scan = jax.numpy, jax.lax.scan
    erf = jax.scipy.special.erf
    normal = rebound(arrays.normal, np=jnp, erf=erf)

    def repeat(step: Callable[[Any], Any], start: Any, steps: int) -> Any:
        return scan(lambda x, _: (step(x), None), start, None, length=steps)[0]

    def lotka_volterra(p: Any, steps: int) -> Any:
        def step(state: Any) -> Any:
            u, v = state
            return _runge_kutta(p[0], p[1], p[2], p[3], u, v)

        u, v = repeat(step, (p[4], p[5]), steps)
        return u + v

    def heat(u: Any, k: Any, steps: int) -> Any:
        def step(u: Any) -> Any:
            inner = u[1:-1] + k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
            return u.at[1:-1].set(inner)

        u = repeat(step, u, steps)
        return (u * u).sum()

    def heat_conductivity(k: Any, u: Any, steps: int) -> Any:
        def step(u: Any) -> Any:
            inner = u[1:-1] + k[1:-1] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
            return u.at[1:-1].set(inner)

        u = repeat(step, u, steps)
        return (u * u).sum()

    def stencil(u: Any, k: Any, steps: int) -> Any:
        def step(u: Any) -> Any:
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            return u.at[1:-1, 1:-1].add(k * (around - 4.0 * u[1:-1, 1:-1]))

        u = repeat(step, u, steps)
        return (u * u).sum()

    def bodies(q: Any, v: Any, m: Any, steps: int) -> Any:
        q, v = repeat(lambda qv: _leapfrog(jnp, *qv, m), (q, v), steps)
        return (q * q).sum() + (v * v).sum()

    def cholesky(a: Any) -> Any:
        return _log_determinant(jnp, a)

    same = [arrays.network, arrays.kmeans, arrays.black_scholes, arrays.logistic, kernels.network]
    return {f: Program(rebound(f, np=jnp, normal=normal)) for f in same} | {
        kernels.lotka_volterra: Program(lotka_volterra),
        kernels.heat: Program(heat),
        kernels.heat_conductivity: Program(heat_conductivity),
        kernels.cholesky: Program(cholesky),
        kernels.cholesky_updates: Program(cholesky),
        kernels.bodies: Program(bodies),
        kernels.mixture: Program(lambda means, logs, x: _mixture(jnp, means, logs, x)),
        arrays.stencil: Program(stencil),
        kernels.newton: "no reverse mode through while",
    }


# -- HIPS autograd ---------------------------------------------------------------------------------
def _in_autograd() -> dict[Any, Program | str]:
    import autograd.numpy as anp
    from autograd.scipy.special import erf

    normal = rebound(arrays.normal, np=anp, erf=erf)

    def lotka_volterra(p: Any, steps: int) -> Any:
        u, v = p[4], p[5]
        for _ in range(steps):
            u, v = _runge_kutta(p[0], p[1], p[2], p[3], u, v)
        return u + v

    def heat(u: Any, k: Any, steps: int) -> Any:
        for _ in range(steps):
            inner = u[1:-1] + k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
            u = anp.concatenate([u[:1], inner, u[-1:]])
        return (u * u).sum()

    def heat_conductivity(k: Any, u: Any, steps: int) -> Any:
        for _ in range(steps):
            inner = u[1:-1] + k[1:-1] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
            u = anp.concatenate([u[:1], inner, u[-1:]])
        return (u * u).sum()

    def stencil(u: Any, k: Any, steps: int) -> Any:
        for _ in range(steps):
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            inner = u[1:-1, 1:-1] + k * (around - 4.0 * u[1:-1, 1:-1])
            rows = anp.concatenate([u[1:-1, :1], inner, u[1:-1, -1:]], axis=1)
            u = anp.concatenate([u[:1], rows, u[-1:]])
        return (u * u).sum()

    def bodies(q: Any, v: Any, m: Any, steps: int) -> Any:
        for _ in range(steps):
            q, v = _leapfrog(anp, q, v, m)
        return (q * q).sum() + (v * v).sum()

    def cholesky(a: Any) -> Any:
        return _log_determinant(anp, a)

    def tenth(*arguments: Any) -> tuple[Any, ...]:
        return (*arguments[:-1], arguments[-1] // 10)

    def thousandth(*arguments: Any) -> tuple[Any, ...]:
        return (*arguments[:-1], arguments[-1] // 1000)

    same = [arrays.network, arrays.kmeans, arrays.black_scholes, arrays.logistic, kernels.network]
    return {f: Program(rebound(f, np=anp, normal=normal)) for f in same} | {
        kernels.lotka_volterra: Program(lotka_volterra, thousandth, 1000),
        kernels.heat: Program(heat),
        kernels.heat_conductivity: Program(heat_conductivity),
        kernels.cholesky: Program(cholesky),
        kernels.cholesky_updates: Program(cholesky),
        kernels.bodies: Program(bodies, tenth, 10),
        kernels.mixture: Program(lambda means, logs, x: _mixture(anp, means, logs, x)),
        arrays.stencil: Program(stencil, tenth, 10),
        kernels.newton: "one element at a time",
    }


# -- what both write -------------------------------------------------------------------------------
def _runge_kutta(a: Any, b: Any, c: Any, d: Any, u: Any, v: Any) -> tuple[Any, Any]:
    h = 0.01
    k1, l1 = (a - b * v) * u, (d * u - c) * v
    x, y = u + h / 2 * k1, v + h / 2 * l1
    k2, l2 = (a - b * y) * x, (d * x - c) * y
    x, y = u + h / 2 * k2, v + h / 2 * l2
    k3, l3 = (a - b * y) * x, (d * x - c) * y
    x, y = u + h * k3, v + h * l3
    k4, l4 = (a - b * y) * x, (d * x - c) * y
    u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return u, v + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)


def _leapfrog(xp: Any, q: Any, v: Any, m: Any) -> tuple[Any, Any]:
    apart = q[None, :, :] - q[:, None, :]
    r2 = (apart * apart).sum(axis=2) + 1e-2
    weight = m[None, :] / (r2 * xp.sqrt(r2))
    v = v + 1e-3 * (weight[:, :, None] * apart).sum(axis=1)
    return q + 1e-3 * v, v


def _mixture(xp: Any, means: Any, logs: Any, x: Any) -> Any:
    z = (x[:, None, :] - means[None, :, :]) * xp.exp(-logs)[None, :, None]
    exponents = -0.5 * (z * z).sum(axis=2) - x.shape[1] * logs[None, :]
    return -xp.log(xp.exp(exponents).sum(axis=1)).sum()


def _log_determinant(xp: Any, a: Any) -> Any:
    """From the lower triangle alone, as the loops have it."""
    a = xp.tril(a) + xp.tril(a, -1).T
    return 2.0 * xp.log(xp.diag(xp.linalg.cholesky(a))).sum()


def gradients_of(result: Any) -> Sequence[np.ndarray]:
    """The gradients of ``(value, gradients)``, as arrays."""
    grads = result[1]
    return [np.asarray(g) for g in (grads if isinstance(grads, tuple | list) else (grads,))]
