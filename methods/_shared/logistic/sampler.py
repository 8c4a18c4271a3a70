"""Draws from tempered logistic posteriors, with one Hamiltonian Monte Carlo run per draw.

The target is

    p(w) proportional to exp(-power sum_i log(1 + exp(-z_i . w)) - precision |w|^2 / 2),   |w| <= radius.

A run starts at a draw of the Laplace approximation (Gaussian at the mode, covariance the inverse Hessian), which is
already close to the target. It makes a few Metropolis-corrected trajectories of about a quarter period each, with the
Hessian at the mode as mass matrix. Coordinates are whitened: w = mode + A u with A A' the inverse Hessian. The last
point is the draw, and all others are discarded, so draws are independent. Draws that share the rows are batched with
one column each, and every gradient is two matrix products.

Sources: Neal 2011, MCMC using Hamiltonian dynamics, sections 5.3.1 and 5.4.1. The mode is found by accelerated
majorisation with the bound sigmoid' <= 1/4 (Boehning & Lindsay 1988), then by Newton steps.

The chain leaves the target invariant whatever the step size, but a finite run started elsewhere is not an exact
sample. The privacy guarantees of ``guarantee`` are for exact samples. The difference is examined in three places:

- ``reference`` compares with long chains of another sampler;
- ``papers/geumlek2017rdp/one_weight.py`` compares with exact distributions in one dimension;
- ``evaluation.sampler_distance`` says what the distance adds to delta.

A rejected trajectory leaves the point where it is, and the run goes on. Repeating it until one is accepted would draw
from another distribution. A whole run is repeated, from fresh random numbers, if its draw lies outside of the ball:
this is rejection sampling of the truncated distribution. A chain that refused to leave the ball would mix badly near
its edge. With radius c / beta, as in the mechanisms of ``guarantee``, a draw outside is extremely unlikely.

If a draw is exact, so is the accepted one. If the total variation of a draw from the posterior is t, that of the
accepted draw from the truncated posterior is at most t / m, where m is the posterior's mass in the ball. Proof: let P
be the posterior, F a draw's distribution, B the ball, A a part of it, and q = F(A | B). Then

    P(B) (F(A | B) - P(A | B)) = (1 - q) (F(A) - P(A)) - q (F(B - A) - P(B - A)),

and each difference is at most t.

A run is deterministic given its rng, up to rounding of the matrix products if other columns share the batch. Run it
with one BLAS thread: the products are bound by memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.special import expit, ndtr

from methods._shared import row_blocks
from methods._shared.settings_checks import positive, whole, within
from methods.contract import Diverged
from models.logistic_regression import gradient, potential

#: relative range of the random step size of each trajectory, which avoids resonance with a period of the target.
JITTER = 0.2
#: search of the mode: largest number of gradients of the first phase, and squared distance from the mode (in posterior
#: standard deviations, summed over the coordinates) at which each of the two phases stops; a last Newton step follows.
MODE_STEPS, MODE_TOLERANCE, NEWTON_TOLERANCE = 40, 1e-4, 1e-3
NEWTON_STEPS = 50
#: largest number of runs for a draw inside of the ball. After the first run the sampler also gives up if the Gaussian
#: at the mode has less than ``LEAST_MASS`` there: a thousand runs would then find a draw once in a million.
ATTEMPTS, LEAST_MASS = 1000, 1e-9
#: largest size of one block of a batch, in numbers of 8 bytes: margins (n, k) or k whitening matrices (d, d).
BLOCK = 2**25


@dataclass(frozen=True)
class Target:
    """Distribution to draw from: exponent of the likelihood, precision n beta of the prior, radius or infinity."""

    power: float
    precision: float
    radius: float = math.inf

    def __post_init__(self) -> None:
        within("logistic sampler", self, "[0, inf)", "power")
        positive("logistic sampler", self, "precision")
        within("logistic sampler", self, "(0, inf]", "radius")


@dataclass(frozen=True)
class Plan:
    """Length of a run: ``trajectories`` of ``leapfrog_steps`` steps each, with a length of pi / 2 per trajectory.

    A run takes trajectories x leapfrog_steps + 1 gradients, in addition to those for the mode.
    """

    trajectories: int = 10
    leapfrog_steps: int = 8

    def __post_init__(self) -> None:
        whole("logistic sampler", self, "trajectories", "leapfrog_steps")

    @property
    def gradients(self) -> int:
        return self.trajectories * self.leapfrog_steps + 1


@dataclass(frozen=True)
class Draws:
    """``weights`` (k, d), one independent draw per row, and diagnostics of its run, (k,) each.

    acceptance : share of trajectories accepted.
    energy_error : mean |change of energy| of a trajectory, nats.
    mode_gradients : gradients of the search of the mode (shared by all columns of a batch).
    runs : number of runs, above 1 if a draw fell outside of the ball. The other diagnostics are of the last run.
    """

    weights: np.ndarray
    acceptance: np.ndarray
    energy_error: np.ndarray
    mode_gradients: np.ndarray
    runs: np.ndarray


@dataclass(frozen=True)
class Laplace:
    """Gaussian at the ``mode`` (d,) with covariance ``whitening`` times its transpose, (d, d)."""

    mode: np.ndarray
    whitening: np.ndarray


def sample(
    z: np.ndarray, targets: Sequence[Target], rngs: Sequence[np.random.Generator], plan: Plan | None = None
) -> Draws:
    """One draw for each (target, rng) pair; equal targets share the mode and the factor of the Hessian.

    Parameters
    ----------
    z : (n, d) signed rows (``models.logistic_regression.signed_rows``).
    targets, rngs : k each.
    plan : None for the default length.

    Raises :class:`methods.contract.Diverged` if a number leaves the finite range.
    """
    plan = plan or Plan()
    if len(targets) != len(rngs) or not targets:
        raise ValueError(f"logistic sampler: {len(targets)} targets and {len(rngs)} rngs; give as many, at least one")
    gram = z.T @ z
    size = max(1, BLOCK // max(len(z), z.shape[1] ** 2))
    pending = np.arange(len(targets))
    out: dict[str, np.ndarray] = {}
    for run in range(1, ATTEMPTS + 1):
        if run == 2:
            _hopeless(z, gram, list(dict.fromkeys(targets[i] for i in pending)))
        outside = []
        for k in range(0, len(pending), size):
            columns = pending[k : k + size]
            found = _batch(z, gram, [targets[i] for i in columns], [rngs[i] for i in columns], plan)
            for name, values in {**found, "runs": np.full(len(columns), float(run))}.items():
                out.setdefault(name, np.empty((len(targets), *values.shape[1:])))[columns] = values
            radius = np.array([targets[i].radius for i in columns])
            # rejection sampling of the truncated distribution: repeat the whole run, whatever its trajectories were
            outside.append(columns[np.linalg.norm(found["weights"], axis=1) > radius])
        pending = np.concatenate(outside)
        if not len(pending):
            return Draws(**out)
    raise Diverged(
        f"logistic sampler: no draw inside of the ball of radius {targets[pending[0]].radius:g} in {ATTEMPTS} runs; "
        "the posterior has next to no mass there: raise the radius or the precision"
    )


def _hopeless(z: np.ndarray, gram: np.ndarray, targets: list[Target]) -> None:
    """Raise Diverged if the ball holds almost no mass of the Gaussian at the mode, by its mass in a half-space."""
    for target, found in zip(targets, laplace(z, targets, gram)[0], strict=True):
        distance = float(np.linalg.norm(found.mode))
        along = float(np.linalg.norm(found.whitening.T @ found.mode)) / distance if distance else math.inf
        mass = float(ndtr((target.radius - distance) / along))
        if mass < LEAST_MASS:
            raise Diverged(
                f"logistic sampler: the ball of radius {target.radius:g} holds at most {mass:.1g} of the posterior, "
                f"whose mode has norm {distance:g}: raise the radius or the precision"
            )


def laplace(z: np.ndarray, targets: Sequence[Target], gram: np.ndarray | None = None) -> tuple[list[Laplace], int]:
    """Gaussian approximation at the mode of each target (the ball ignored), and the gradients that the search took.

    ``gram`` is z' z, (d, d). The Hessian is exact at the last point but one, whose distance from the mode is small
    (``NEWTON_TOLERANCE``). Raises :class:`methods.contract.Diverged` if a Hessian is not finite or not positive
    definite.
    """
    gram = z.T @ z if gram is None else gram
    d, k = z.shape[1], len(targets)
    power = np.array([t.power for t in targets])
    precision = np.array([t.precision for t in targets])
    try:
        bounds = [cholesky(0.25 * t.power * gram + t.precision * np.eye(d), lower=True) for t in targets]
        w, ahead, momentum = np.zeros((d, k)), np.zeros((d, k)), np.ones(k)
        taken = 0
        while taken < MODE_STEPS:
            g = gradient(ahead, z, power, precision)
            taken += 1
            step = np.column_stack([cho_solve((bounds[j], True), g[:, j]) for j in range(k)])
            following = ahead - step
            if np.einsum("dk,dk->k", g, step).max() < MODE_TOLERANCE:
                w = following
                break
            # a step that goes against the last movement: drop the momentum (O'Donoghue & Candes 2015)
            momentum[np.einsum("dk,dk->k", g, following - w) > 0] = 1.0
            larger = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            ahead = following + (momentum - 1.0) / larger * (following - w)
            w, momentum = following, larger
        out = []
        for j, t in enumerate(targets):
            found, gradients = _newton(w[:, j], z, t)
            out.append(found)
            taken += gradients
    except (LinAlgError, ValueError) as error:
        raise Diverged(f"logistic sampler: no Laplace approximation ({error}); check the scale of the rows") from error
    return out, taken


def hessian(w: np.ndarray, z: np.ndarray, t: Target) -> np.ndarray:
    """The Hessian (d, d) of the potential of ``t`` at w (d,), for signed rows z (n, d)."""
    p = expit(z @ w)
    return row_blocks.gram(z, t.power * p * (1.0 - p)) + t.precision * np.eye(len(w))


def _newton(w: np.ndarray, z: np.ndarray, t: Target) -> tuple[Laplace, int]:
    """Damped Newton steps from w (d,), and the gradients taken. The Hessian of the last step is that of the result."""

    def value(at):
        return float(potential(at[:, None], z, t.power, t.precision)[0])

    for taken in range(1, NEWTON_STEPS + 1):
        g = gradient(w[:, None], z, t.power, t.precision)[:, 0]
        factor = cholesky(hessian(w, z, t), lower=True)
        inverse = solve_triangular(factor, np.eye(len(w)), lower=True)
        step = inverse.T @ (inverse @ g)
        decrement = float(g @ step)
        if decrement < NEWTON_TOLERANCE:
            return Laplace(w - step, np.ascontiguousarray(inverse.T)), taken
        here, size = value(w), 1.0
        while size > 1e-6 and not value(w - size * step) <= here - 0.25 * size * decrement:
            size *= 0.5
        w = w - size * step
    raise Diverged(
        f"logistic sampler: the mode was not found in {NEWTON_STEPS} Newton steps; raise the prior precision"
    )


def _batch(z: np.ndarray, gram: np.ndarray, targets: list, rngs: list, plan: Plan) -> dict[str, np.ndarray]:
    d, k = z.shape[1], len(targets)
    distinct = list(dict.fromkeys(targets))
    found, taken = laplace(z, distinct, gram)
    groups = [np.array([i for i, t in enumerate(targets) if t == one]) for one in distinct]
    power, precision = (np.array([getattr(t, f) for t in targets]) for f in ("power", "precision"))

    def weights(u):
        w = np.empty((d, k))
        for one, columns in zip(found, groups, strict=True):
            w[:, columns] = one.mode[:, None] + one.whitening @ u[:, columns]
        return w

    def slope(w, with_value=False):
        """Whitened gradient, and the potential on request, from one pass over the rows."""
        margins = z @ w
        g = precision * w - z.T @ (power * expit(-margins))
        for one, columns in zip(found, groups, strict=True):
            g[:, columns] = one.whitening.T @ g[:, columns]
        if not with_value:
            return g
        value = power * np.logaddexp(0.0, -margins).sum(axis=0) + 0.5 * precision * np.einsum("dk,dk->k", w, w)
        return g, value

    def normals():
        return np.column_stack([rng.standard_normal(d) for rng in rngs])

    u = normals()
    w = weights(u)
    g, value = slope(w, with_value=True)
    accepted, errors = np.zeros(k), np.zeros(k)
    nominal = 0.5 * math.pi / plan.leapfrog_steps
    for _ in range(plan.trajectories):
        p = normals()
        uniforms = np.array([rng.random(2) for rng in rngs])
        h = nominal * (1.0 - JITTER + 2.0 * JITTER * uniforms[:, 0])
        energy = value + 0.5 * np.einsum("dk,dk->k", p, p)
        q, slope_q = u, g
        for step in range(plan.leapfrog_steps):
            p = p - 0.5 * h * slope_q
            q = q + h * p
            at = weights(q)
            if step + 1 < plan.leapfrog_steps:
                slope_q = slope(at)
            else:
                slope_q, value_q = slope(at, with_value=True)
            p = p - 0.5 * h * slope_q
        change = value_q + 0.5 * np.einsum("dk,dk->k", p, p) - energy
        if not np.isfinite(change).all():
            raise Diverged("logistic sampler: the energy is not finite; check the scale of the rows")
        # a rejected trajectory counts as one; log(1 - u) is finite, log(u) need not be
        move = np.log1p(-uniforms[:, 1]) <= -change
        u, g = np.where(move, q, u), np.where(move, slope_q, g)
        value = np.where(move, value_q, value)
        accepted += move
        errors += np.abs(change)
    return {
        "weights": weights(u).T.copy(),
        "acceptance": accepted / plan.trajectories,
        "energy_error": errors / plan.trajectories,
        "mode_gradients": np.full(k, float(taken)),
    }
