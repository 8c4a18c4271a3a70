"""The four chains without privacy reach the law that they should, and a slip of each is seen.

The statistics are exact under the null or made from batch means; every test states its false-alarm rate ``ALPHA``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import signal, stats

from methods.mcmc import _kernels, _release
from methods.mcmc._targets import Size, Target

#: of each statistical test here.
ALPHA = 1e-4


class Gaussian(Target):
    """theta ~ N(0, 1 / curvature I): no row, all of it public."""

    def __init__(self, d: int, curvature: float = 1.0):
        self.size, self.start, self.n, self.curvature = Size(1, d, curvature, 0.0, 1.0), np.zeros(d), 0, curvature

    def clipped_gradients(self, theta, scale, rows, clip):
        return np.zeros(len(theta))

    def energy(self, theta):
        return np.zeros(1)

    def public_gradient(self, theta):
        return -self.curvature * theta

    def public_log_density(self, theta):
        return -0.5 * self.curvature * float(theta @ theta)


def variance_fits(draws: np.ndarray, variance: float) -> float:
    """p-value of independent N(0, variance) numbers, chi-square, two-sided."""
    tail = stats.chi2.cdf(float((draws**2).sum()) / variance, draws.size)
    return 2 * min(tail, 1 - tail)


def mean_fits(series: np.ndarray, value: float, batches: int = 25) -> float:
    """p-value that a stationary series has that mean: t-test of batch means, batches far longer than its memory."""
    means = series[: len(series) // batches * batches].reshape(batches, -1).mean(axis=1)
    return float(stats.ttest_1samp(means, value).pvalue)


def noisy(rng, sd: float, slope: float = 1.0):
    """A gradient release of noise alone; ``slope`` times too large with the target's own gradient: for slips."""
    return lambda theta, scale, step: sd * rng.standard_normal(len(theta)) - (slope - 1.0) * theta


# --------------------------------------------------------------------------------------------------- Langevin


@pytest.mark.parametrize(
    ("curvature", "h", "extra", "variance"),
    [(1.0, 0.5, 0.0, 1.142857), (1.0, 0.5, 4.0, 1.714286), (4.0, 0.2, 10.0, 0.46875)],
)
def test_langevin_has_the_variance_of_its_closed_form(curvature, h, extra, variance):
    """(1 + h v / 4) / (Lambda (1 - h Lambda / 4)), v the variance of the batches; 2,000 independent coordinates."""
    rng = np.random.default_rng(1)
    ask = noisy(rng, math.sqrt(4.0 / h + extra))
    steps = math.ceil(60 / (h * curvature))
    path = _kernels.sgld(Gaussian(2000, curvature), np.zeros(2000), ask, step_size=h, steps=steps, burn_in=0, draws=1)
    assert variance == pytest.approx((1 + h * extra / 4) / (curvature * (1 - h * curvature / 4)), rel=1e-5)
    assert variance_fits(path.draws, variance) > ALPHA


def test_half_the_temperature_is_seen():
    """The published slip: drift h (not h / 2) with noise of variance h has variance 1 / (Lambda (2 - h Lambda))."""
    rng, h = np.random.default_rng(2), 0.1
    path = _kernels.sgld(
        Gaussian(2000), np.zeros(2000), noisy(rng, 2.0 / math.sqrt(h), slope=2.0),
        step_size=h, steps=600, burn_in=0, draws=1,
    )  # fmt: skip
    assert variance_fits(path.draws, 1.0 / (1.0 - h / 4)) < 1e-12
    assert variance_fits(path.draws, 1.0 / (2.0 - h)) > ALPHA


@pytest.mark.parametrize("extra", [0.0, 4.0])
def test_the_thermostat_absorbs_the_noise_of_batches(extra):
    """E p^2 = 1 and variance 1 whatever the batches add; without the thermostat extra noise of variance V heats."""
    rng, eta, friction = np.random.default_rng(3), 0.05, 1.0
    path = _kernels.sgnht(
        Gaussian(2000), np.zeros(2000), noisy(rng, math.sqrt(2.0 * friction / eta + extra)), rng,
        step_size=eta, friction=friction, steps=1500, burn_in=0, draws=1,
    )  # fmt: skip
    assert variance_fits(path.draws, 1.0) > ALPHA
    if extra:  # temperature without the thermostat: 1 + eta V / (2 A)
        assert variance_fits(path.draws, 1.0 + eta * extra / (2.0 * friction)) < ALPHA


# ------------------------------------------------------------------------------------------------ accept steps


def accepted_share(log_ratio: float, s: float) -> float:
    """a(lambda, S) = Phi((lambda - S^2/2) / S) + e^lambda Phi((-lambda - S^2/2) / S)."""
    below, above = (log_ratio - s**2 / 2) / s, (-log_ratio - s**2 / 2) / s
    return float(stats.norm.cdf(below) + math.exp(log_ratio) * stats.norm.cdf(above))


@pytest.mark.parametrize(
    ("log_ratio", "s", "share"),
    [(0.0, 0.5, 0.802587), (0.0, 2.0, 0.317311), (0.0, 3.0, 0.133614), (1.0, 1.0, 0.873063), (-1.0, 1.0, 0.321182),
     (2.0, 1.5, 0.857679), (-2.0, 1.5, 0.116074)],
)  # fmt: skip
def test_the_penalty_test_accepts_at_its_closed_form(log_ratio, s, share):
    """And without the penalty it accepts too often."""
    assert accepted_share(log_ratio, s) == pytest.approx(share, abs=1e-6)
    rng, tries = np.random.default_rng(4), 4000
    noise = s * rng.standard_normal(tries)
    taken = sum(_kernels.accepts(log_ratio + z, s, rng) for z in noise)
    assert stats.binomtest(taken, tries, share).pvalue > ALPHA
    bare = sum(_kernels.accepts(log_ratio + z, 0.0, rng) for z in noise)
    assert stats.binomtest(bare, tries, share).pvalue < (ALPHA if s >= 1 else 1.0)


class Rows(Gaussian):
    """The same law, all of it in one row's energy: what the ratio releases."""

    def energy(self, theta):
        return np.array([-0.5 * float(theta @ theta)])

    def public_log_density(self, theta):
        return 0.0


def ratio_with(rng, s: float):
    """A release of the sum over c with noise s."""
    return lambda energy, other, c: float((other - energy).sum()) / c + s * rng.standard_normal()


def walked(s: float, told: float) -> np.ndarray:
    """Squares of a random walk on N(0, 1), proposals of deviation 1.5, S = s |d|; the test is told ``told`` for s."""
    rng = np.random.default_rng(5)
    path = _kernels.penalty(
        Rows(1), np.zeros(1), np.ones(1), ratio_with(rng, s), rng, width=1.5, bound=_kernels.Bound(1.0),
        noise_multiplier=told, steps=25_000, burn_in=0, draws=25_000,
    )  # fmt: skip
    return path.draws[:, 0] ** 2


def test_the_penalty_chain_leaves_its_law_invariant_and_the_forgotten_penalty_does_not():
    assert mean_fits(walked(1.5, 1.5), 1.0) > ALPHA
    assert mean_fits(walked(1.5, 0.0), 1.0) < ALPHA


def hamiltonian(sd: float, s: float, told: float, *, pull: float = 1.0, eta: float = 0.7) -> np.ndarray:
    rng = np.random.default_rng(6)

    class Clipped(Rows):
        def public_gradient(self, theta):
            return -np.clip(theta, -pull, pull)

    path = _kernels.hmc(
        Clipped(2), np.zeros(2), np.ones(2), noisy(rng, sd), ratio_with(rng, s), rng, step_size=eta, leapfrog=3,
        bound=_kernels.Bound(1.0), noise_multiplier=told, steps=8000, burn_in=0, draws=8000,
    )  # fmt: skip
    return path.draws[:, 0] ** 2


def test_noise_and_clipping_of_gradients_leave_hmc_exact_and_the_forgotten_penalty_does_not():
    assert mean_fits(hamiltonian(0.5, 0.5, 0.5), 1.0) > ALPHA
    assert mean_fits(hamiltonian(0.0, 0.0, 0.0), 1.0) > ALPHA
    assert mean_fits(hamiltonian(0.5, 1.5, 0.0), 1.0) < ALPHA


def test_the_kept_draws_end_with_the_last_one():
    keeper = _kernels.Keeper(100, 40, 7)
    for t in range(100):
        keeper.after(t, np.array([float(t)]))
    assert len(keeper.draws) == 7
    assert keeper.draws[-1, 0] == 99
    assert keeper.draws.min() >= 40
    last = _kernels.Keeper(100, 40, 1)
    for t in range(100):
        last.after(t, np.array([float(t)]))
    assert last.draws.tolist() == [[99.0]]


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
def test_effective_size_of_an_autoregression(rho):
    """m (1 - rho) / (1 + rho) of 40,000 steps; its error over 40 seeds has standard deviation 5 % or less, so that 25 %
    has a false-alarm rate below 1e-5."""
    e = np.random.default_rng(8).standard_normal(40_000)
    x = signal.lfilter([1.0], [1.0, -rho], e)
    assert _release.effective_size(x) == pytest.approx(len(x) * (1 - rho) / (1 + rho), rel=0.25)
