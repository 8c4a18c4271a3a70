"""The exact posterior of linear regression given a private release of moments, by data augmentation.

The model has n independent rows, with n public:

    x_j ~ N(mu_j, 1 / phi_j),   y ~ N(w . [x, 1], v).

Let u = (x, y), clipped to public bounds and divided by public units. Sums over the rows of u_a u_b (a <= b) and of u_a
are released, each with Laplace or Gaussian noise of its own. The latent rows are part of the state of the chain (Ju,
Awan, Gong & Rao 2022, "Data augmentation MCMC for Bayesian inference from privatized data"). One sweep has three parts.

1. Each row in turn gets a proposal from the model given the parameters, accepted by the density of the noise. The sums
   change by one row's difference, so the cost of a row does not depend on n.
2. The parameters are drawn from their conjugate posterior given the rows.
3. In non-centred moves the parameters move, and the rows with them, with the standardised inputs and errors held fixed.
   They are accepted by the prior and the density of the noise. A chain without them needs about
   1 + (noise variance) / (sampling variance of the sums) sweeps for one draw.

All three leave the posterior invariant. The result is a reference for methods that work with such a release, and not a
private method itself: it reads nothing but the release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise

#: non-centred moves per sweep: steps that leave the prior invariant (1: a draw from it), then random walk steps, in
#: multiples of 2.4 / sqrt(parameters) standard deviations of the chain during its burn-in.
PRIOR_STEPS = (1.0, 0.5, 0.5, 0.15)
WALK_STEPS = (1.0, 0.45, 0.15, 1.0, 0.45, 0.15, 1.0, 0.45)
NOISES = ("laplace", "gaussian")


@dataclass(frozen=True)
class Release:
    """A private release: the noisy values, and how they were made.

    Parameters
    ----------
    values : (k,), noisy :func:`moments` of d inputs, k = (d + 1)(d + 2) / 2 + d + 1.
    scale : scale of the Laplace noise or standard deviation of the Gaussian noise; one number, or one per value (k,).
    n : public number of rows.
    bounds : (d + 1,), the target last; u_a is clipped to [-bounds_a, bounds_a].
    units : (d + 1,), what the clipped numbers are divided by.
    noise : "laplace" or "gaussian".
    """

    values: np.ndarray
    scale: float | np.ndarray
    n: int
    bounds: np.ndarray
    units: np.ndarray
    noise: str = "laplace"

    def __post_init__(self) -> None:
        width = len(self.bounds)
        if len(self.values) != (k := width * (width + 1) // 2 + width):
            raise ValueError(
                f"release: {len(self.values)} values for {width} bounds; give {k}, as `moments` returns them"
            )
        if self.noise not in NOISES:
            raise ValueError(f"release: noise = '{self.noise}'; give one of {', '.join(NOISES)}")
        sizes = np.concatenate([np.ravel(self.scale), self.units])
        sound = np.isfinite(sizes).all() and np.isfinite(self.values).all() and (sizes > 0).all()
        if not (self.n >= 1 and sound and (np.asarray(self.bounds) > 0).all()):
            raise ValueError("release: give n >= 1, finite values, finite scales and units above 0, and bounds above 0")

    @property
    def inputs(self) -> int:
        return len(self.bounds) - 1


@dataclass(frozen=True)
class InputsPrior:
    """mu_j ~ N(0, mean_sd^2) and phi_j ~ Gamma(shape, rate), independent, for inputs of unknown mean and precision."""

    mean_sd: float = 1.0
    shape: float = 1.0
    rate: float = 0.5


@njit(cache=True, error_model="numpy", nogil=True)
def moments(x, y, bounds, units):  # pragma: no cover (compiled)
    """Sums over rows x (n, d), y (n,) of u_a u_b (a <= b, in the order of ``triu_indices``) and of u_a; (k,)."""
    n, d = x.shape
    out = np.zeros((d + 1) * (d + 2) // 2 + d + 1)
    u = np.empty(d + 1)
    for i in range(n):
        for a in range(d + 1):
            value = x[i, a] if a < d else y[i]
            u[a] = min(max(value, -bounds[a]), bounds[a]) / units[a]
        k = 0
        for a in range(d + 1):
            for b in range(a, d + 1):
                out[k] += u[a] * u[b]
                k += 1
        for a in range(d + 1):
            out[k + a] += u[a]
    return out


@njit(cache=True, error_model="numpy", nogil=True)
def _off(difference, scale, gaussian):  # pragma: no cover (compiled)
    """-log density of the noise, up to a constant, nats."""
    total = 0.0
    for k in range(len(difference)):
        r = difference[k] / scale[k]
        total += 0.5 * r * r if gaussian else abs(r)
    return total


@njit(cache=True, error_model="numpy", nogil=True)
def _sweep_rows(x, y, off, w, sd_noise, mu, sd, bounds, units, scale, gaussian, rng):  # pragma: no cover (compiled)
    """Propose every row from the model, in place; the accepted rows. ``off``: released values - sums, in place."""
    n, d = x.shape
    now, new, other = np.empty(d + 1), np.empty(d + 1), np.empty(d + 1)
    shift = np.empty(len(off))
    taken = 0
    for i in range(n):
        mean = w[d]
        for a in range(d):
            other[a] = mu[a] + sd[a] * rng.standard_normal()
            mean += w[a] * other[a]
            now[a] = min(max(x[i, a], -bounds[a]), bounds[a]) / units[a]
        other[d] = mean + sd_noise * rng.standard_normal()
        now[d] = min(max(y[i], -bounds[d]), bounds[d]) / units[d]
        for a in range(d + 1):
            new[a] = min(max(other[a], -bounds[a]), bounds[a]) / units[a]
        gain, k = 0.0, 0
        for a in range(d + 1):
            for b in range(a, d + 2):  # b = d + 1: the sum itself
                at = k if b <= d else len(off) - d - 1 + a
                step = new[a] * new[b] - now[a] * now[b] if b <= d else new[a] - now[a]
                shift[at] = step
                before, after = off[at] / scale[at], (off[at] - step) / scale[at]
                gain += 0.5 * (before * before - after * after) if gaussian else abs(before) - abs(after)
                k += b <= d
        if gain >= 0.0 or math.log(rng.random()) < gain:
            for a in range(d):
                x[i, a] = other[a]
            y[i] = other[d]
            for k in range(len(off)):
                off[k] -= shift[k]
            taken += 1
    return taken


@njit(cache=True, error_model="numpy", nogil=True)
def _rebuilt(inputs, errors, w, sd_noise, mu, sd, bounds, units):  # pragma: no cover (compiled)
    """Sums over the rows x = mu + sd inputs, y = w . [x, 1] + sd_noise errors; (k,)."""
    n, d = inputs.shape
    out = np.zeros((d + 1) * (d + 2) // 2 + d + 1)
    u = np.empty(d + 1)
    for i in range(n):
        y = w[d] + sd_noise * errors[i]
        for a in range(d):
            value = mu[a] + sd[a] * inputs[i, a]
            y += w[a] * value
            u[a] = min(max(value, -bounds[a]), bounds[a]) / units[a]
        u[d] = min(max(y, -bounds[d]), bounds[d]) / units[d]
        k = 0
        for a in range(d + 1):
            for b in range(a, d + 1):
                out[k] += u[a] * u[b]
                k += 1
        for a in range(d + 1):
            out[k + a] += u[a]
    return out


@njit(cache=True, error_model="numpy", nogil=True)
def _rebuilt_target(inputs, errors, w, sd_noise, mu, sd, bounds, units, old):  # pragma: no cover (compiled)
    """:func:`_rebuilt` with unchanged inputs: the sums without the target are those of ``old`` (k,)."""
    n, d = inputs.shape
    with_target = np.zeros(d + 2)
    for i in range(n):
        y = w[d] + sd_noise * errors[i]
        for a in range(d):
            y += w[a] * (mu[a] + sd[a] * inputs[i, a])
        y = min(max(y, -bounds[d]), bounds[d]) / units[d]
        for a in range(d):
            with_target[a] += y * (min(max(mu[a] + sd[a] * inputs[i, a], -bounds[a]), bounds[a]) / units[a])
        with_target[d] += y * y
        with_target[d + 1] += y
    out, k = old.copy(), 0
    for a in range(d + 1):
        k += d + 1 - a
        out[k - 1] = with_target[a]
    out[-1] = with_target[d + 1]
    return out


class _Chain:
    """State of one chain: the parameters, the latent rows and their sums."""

    def __init__(self, model: LinearRegressionUnknownNoise, release: Release, prior: InputsPrior | None, rng) -> None:
        self.model, self.release, self.prior, self.rng = model, release, prior, rng
        self.scale = np.broadcast_to(np.asarray(release.scale, dtype=float), release.values.shape).copy()
        self.gaussian = release.noise == "gaussian"
        self.bounds, self.units = (np.asarray(a, dtype=float) for a in (release.bounds, release.units))
        d = release.inputs
        self.w, self.v, self.mu, self.phi = self.from_prior()
        self.x = self.mu + rng.standard_normal((release.n, d)) / np.sqrt(self.phi)
        self.y = self.x @ self.w[:-1] + self.w[-1] + math.sqrt(self.v) * rng.standard_normal(release.n)
        self.spread = np.eye(self.coordinates().size) * 0.01

    def from_prior(self):
        """(w, v, mu, phi)."""
        m, d, rng = self.model, self.release.inputs, self.rng
        v = m.scale / rng.gamma(m.shape)
        w = math.sqrt(v / m.precision) * rng.standard_normal(d + 1)
        if self.prior is None:
            return w, v, np.zeros(d), np.ones(d)
        mu = self.prior.mean_sd * rng.standard_normal(d)
        return w, v, mu, rng.gamma(self.prior.shape, 1.0 / self.prior.rate, d)

    def coordinates(self) -> np.ndarray:
        """Unconstrained parameters: w, log v, and mu, log phi if they are unknown."""
        own = np.append(self.w, math.log(self.v))
        return own if self.prior is None else np.concatenate([own, self.mu, np.log(self.phi)])

    def parameters(self) -> np.ndarray:
        own = np.append(self.w, self.v)
        return own if self.prior is None else np.concatenate([own, self.mu, self.phi])

    def log_prior(self, w, v, mu, phi) -> float:
        """Log-density of :meth:`coordinates`, up to a constant, nats."""
        m = self.model
        out = -(m.shape + 0.5 * len(w)) * math.log(v) - (m.scale + 0.5 * m.precision * float(w @ w)) / v
        if self.prior is not None:
            out += float((self.prior.shape * np.log(phi) - self.prior.rate * phi).sum())
            out -= 0.5 * float(mu @ mu) / self.prior.mean_sd**2
        return out

    def sweep(self) -> int:
        """One sweep of the three kinds of moves; the number of accepted rows."""
        off = self.release.values - moments(self.x, self.y, self.bounds, self.units)
        law = self.w, math.sqrt(self.v), self.mu, 1.0 / np.sqrt(self.phi)
        taken = _sweep_rows(self.x, self.y, off, *law, self.bounds, self.units, self.scale, self.gaussian, self.rng)
        self.given_rows()
        self.together()
        return taken

    def given_rows(self) -> None:
        """Parameters from their conjugate posterior given the latent rows, which are not clipped."""
        rng, n = self.rng, self.release.n
        posterior = self.model.exact_posterior(self.x, self.y)
        self.v = float(posterior.scale / rng.gamma(posterior.shape))
        normal = np.linalg.solve(posterior.factor.T, rng.standard_normal(len(self.w)))
        self.w = posterior.mean + math.sqrt(self.v) * normal
        if self.prior is not None:
            precision = self.phi * n + self.prior.mean_sd**-2
            self.mu = self.phi * self.x.sum(axis=0) / precision + rng.standard_normal(len(self.mu)) / np.sqrt(precision)
            squares = ((self.x - self.mu) ** 2).sum(axis=0)
            self.phi = rng.gamma(self.prior.shape + 0.5 * n, 1.0 / (self.prior.rate + 0.5 * squares))

    def together(self) -> None:
        """Non-centred moves of the parameters and all rows."""
        rng = self.rng
        inputs = (self.x - self.mu) * np.sqrt(self.phi)
        errors = (self.y - self.x @ self.w[:-1] - self.w[-1]) / math.sqrt(self.v)
        state = self.w, self.v, self.mu, self.phi
        sums = moments(self.x, self.y, self.bounds, self.units)
        off = _off(self.release.values - sums, self.scale, self.gaussian)
        root = np.linalg.cholesky(self.spread) * 2.4 / math.sqrt(len(self.spread))
        moved = False
        for walk, length in (*((False, s) for s in PRIOR_STEPS), *((True, s) for s in WALK_STEPS)):
            new, gain = (
                self.walked(state, length * (root @ rng.standard_normal(len(root))))
                if walk
                else (self.prior_step(state, length), 0.0)
            )
            law = new[0], math.sqrt(new[1]), new[2], 1.0 / np.sqrt(new[3])
            if self.prior is None:
                found = _rebuilt_target(inputs, errors, *law, self.bounds, self.units, sums)
            else:
                found = _rebuilt(inputs, errors, *law, self.bounds, self.units)
            off_new = _off(self.release.values - found, self.scale, self.gaussian)
            if math.log(rng.random()) < gain + off - off_new:
                state, sums, off, moved = new, found, off_new, True
        if moved:
            self.w, self.v, self.mu, self.phi = state
            self.x = self.mu + inputs / np.sqrt(self.phi)
            self.y = self.x @ self.w[:-1] + self.w[-1] + math.sqrt(self.v) * errors

    def prior_step(self, state, length: float):
        """A step that leaves the prior invariant: a draw from it (1), or part of the way in w / sqrt(v) and mu."""
        w, v, mu, phi = state
        w_new, v_new, mu_new, phi_new = self.from_prior()
        if length == 1.0:
            return w_new, v_new, mu_new, phi_new
        keep = math.sqrt(1.0 - length**2)
        mu_new = keep * mu + length * mu_new
        return keep * w + length * math.sqrt(v / v_new) * w_new, v, mu_new, phi

    def walked(self, state, step: np.ndarray):
        """The state moved by ``step`` in :meth:`coordinates`, and the gain in log prior."""
        w, v, mu, phi = state
        p, d = len(w), len(mu)
        new = (w + step[:p], v * math.exp(step[p]), mu, phi)
        if self.prior is not None:
            new = (*new[:2], mu + step[p + 1 : p + 1 + d], phi * np.exp(step[p + 1 + d :]))
        return new, self.log_prior(*new) - self.log_prior(*state)


def names(inputs: int, unknown_inputs: bool = False) -> tuple[str, ...]:
    """Names of the columns of :func:`sample`."""
    own = *(f"w{j + 1}" for j in range(inputs)), "intercept", "v"
    if not unknown_inputs:
        return own
    return *own, *(f"mu{j + 1}" for j in range(inputs)), *(f"phi{j + 1}" for j in range(inputs))


def sample(
    model: LinearRegressionUnknownNoise,
    release: Release,
    rng: np.random.Generator,
    *,
    inputs_prior: InputsPrior | None = None,
    chains: int = 4,
    burn_in: int = 500,
    sweeps: int = 1000,
    thin: int = 1,
) -> tuple[np.ndarray, float]:
    """Draws (chains, sweeps // thin, D) of (w, v), and of (mu, phi) if unknown, and the share of accepted rows.

    Each chain starts at a draw of the prior. ``inputs_prior`` None means inputs ~ N(0, I). The scale of the random walk
    is learned during the burn-in and fixed afterwards. A sweep costs about 80 nanoseconds per row and released value.
    """
    draws, taken = [], 0
    for child in rng.spawn(chains):
        chain, seen, kept = _Chain(model, release, inputs_prior, child), [], []
        for i in range(burn_in + sweeps):
            taken += chain.sweep()
            if i < burn_in:
                seen.append(chain.coordinates())
                if i + 1 in (burn_in // 4, burn_in // 2, burn_in) and i > 2 * len(chain.spread):
                    found = np.cov(np.array(seen[len(seen) // 2 :]), rowvar=False)
                    chain.spread = found + 1e-8 * np.trace(found) / len(found) * np.eye(len(found))
            elif (i - burn_in) % thin == thin - 1:
                kept.append(chain.parameters())
        draws.append(kept)
    return np.array(draws), taken / (chains * (burn_in + sweeps) * release.n)
