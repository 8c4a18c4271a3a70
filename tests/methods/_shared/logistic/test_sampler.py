"""The sampler against exact laws in one and two dimensions, and against long chains of another sampler (slow)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from methods._shared.logistic import reference, sampler
from methods._shared.logistic.sampler import Plan, Target, laplace, sample
from methods.contract import Diverged
from models.logistic_regression import gradient, potential

#: draws of each comparison; a statistic is compared in units of its Monte Carlo error.
DRAWS = 4000
#: |z| < 4.5 fails by chance with 7e-6 a statistic; the seeds are fixed, so a test that passes once passes always.
WITHIN = 4.5


def signed(n, d, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d)) + 0.5
    return scale * z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-9)


def draws_of(z, target, k=DRAWS, seed=0, plan=None):
    rngs = [np.random.default_rng([seed, i]) for i in range(k)]
    return sample(z, [target] * k, rngs, plan)


def grid(z, target, reach, points):
    """Points (points^d, d) and their probabilities, by the density on a regular grid around the mode."""
    d = z.shape[1]
    (around,), _ = laplace(z, [target])
    axis = np.linspace(-reach, reach, points)
    u = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    w = around.mode + u @ around.whitening.T
    log = -potential(w.T, z, target.power, target.precision)
    log[np.linalg.norm(w, axis=1) > target.radius] = -np.inf
    p = np.exp(log - log.max())
    return w, p / p.sum()


def largest_z(draws, w, p):
    """Largest standardised difference of the means, of the second moments and of the energies of one law."""
    mean = p @ w
    centred, own = w - mean, draws - mean
    out = []
    for i in range(w.shape[1]):
        for j in range(i, w.shape[1]):
            exact = centred[:, i] * centred[:, j]
            sd = math.sqrt(max(p @ exact**2 - (p @ exact) ** 2, 1e-300) / len(draws))
            out.append(((own[:, i] * own[:, j]).mean() - p @ exact) / sd)
        out.append(own[:, i].mean() / math.sqrt(p @ centred[:, i] ** 2 / len(draws)))
    return np.abs(out).max()


def test_the_hessian_against_finite_differences():
    z, w, h = signed(9, 3, 2), np.array([0.3, -1.0, 0.5]), 1e-5

    def slope(at):
        return gradient(at[:, None], z, 0.7, 2.0)[:, 0]

    numeric = [(slope(w + s) - slope(w - s)) / (2 * h) for s in h * np.eye(3)]
    np.testing.assert_allclose(sampler.hessian(w, z, Target(0.7, 2.0)), numeric, rtol=1e-8, atol=1e-8)


#: broad and skew posteriors of few rows (the Laplace approximation is wrong there), and a tempered one
CASES = [
    pytest.param(signed(4, 1, 1), Target(1.0, 0.05), id="skew-1d"),
    pytest.param(signed(6, 2, 2), Target(1.0, 0.05), id="skew-2d"),
    pytest.param(signed(30, 2, 3), Target(0.2, 0.5), id="tempered-2d"),
]


@pytest.mark.parametrize(("z", "target"), CASES)
def test_moments_against_the_exact_law(z, target):
    w, p = grid(z, target, 12.0, 4001 if z.shape[1] == 1 else 301)
    found = draws_of(z, target)
    assert largest_z(found.weights, w, p) < WITHIN
    assert found.acceptance.mean() > 0.8


def test_one_dimension_against_the_exact_distribution_function():
    """Kolmogorov-Smirnov; fails by chance with 1e-4."""
    z, target = signed(4, 1, 1), Target(1.0, 0.05)
    w, p = grid(z, target, 12.0, 20001)
    cdf = np.cumsum(p) - 0.5 * p
    assert kstest(draws_of(z, target).weights[:, 0], lambda v: np.interp(v, w[:, 0], cdf)).pvalue > 1e-4


def test_the_comparison_sees_a_sampler_that_stops_at_its_start():
    """The same comparison rejects draws of the Laplace approximation: it is the chain that mends them."""
    z, target = signed(4, 1, 1), Target(1.0, 0.05)
    (around,), _ = laplace(z, [target])
    start = around.mode + np.random.default_rng(5).standard_normal((DRAWS, 1)) @ around.whitening.T
    assert largest_z(start, *grid(z, target, 12.0, 4001)) > 2 * WITHIN


def test_truncated_to_a_ball():
    """A ball that cuts off about a third of the mass, against the exact truncated law."""
    z = signed(6, 2, 2)
    whole = Target(1.0, 0.05)
    w, p = grid(z, whole, 12.0, 301)
    norms = np.linalg.norm(w, axis=1)
    order = np.argsort(norms)
    radius = float(norms[order][np.searchsorted(np.cumsum(p[order]), 0.65)])
    target = Target(1.0, 0.05, radius)
    found = draws_of(z, target)
    assert np.linalg.norm(found.weights, axis=1).max() <= radius
    assert 1.4 < found.runs.mean() < 1.7  # 1 / 0.65
    # the edge of the ball on the grid: an error of its cells' width, far below the Monte Carlo error of 4,000 draws
    assert largest_z(found.weights, *grid(z, target, 12.0, 1201)) < WITHIN


class Counted:
    """A generator that counts what is asked of it."""

    def __init__(self, seed):
        self.rng, self.normals, self.uniforms = np.random.default_rng(seed), 0, 0

    def standard_normal(self, size):
        self.normals += size
        return self.rng.standard_normal(size)

    def random(self, size):
        self.uniforms += size
        return self.rng.random(size)


@pytest.mark.parametrize("plan", [Plan(), Plan(10, 1)])
def test_no_trajectory_is_made_again_because_it_was_rejected(plan):
    """A run takes the random numbers of its start and of its trajectories, however many of them are rejected.

    Precision 1e-3 beside a separable column: with one leapfrog step a trajectory nearly all are rejected.
    """
    z, target = np.ones((50, 1)), Target(1.0, 1e-3)
    rngs = [Counted(i) for i in range(40)]
    found = sample(z, [target] * 40, rngs, plan)
    assert found.acceptance.min() < 0.8  # some were rejected
    assert (found.runs == 1).all()
    assert {r.normals for r in rngs} == {1 + plan.trajectories}
    assert {r.uniforms for r in rngs} == {2 * plan.trajectories}


def test_the_ball_is_met_by_rejection_sampling():
    """The draw is the first of independent runs that lies inside, from the numbers that follow in the stream."""
    z, whole = signed(6, 2, 2), Target(1.0, 0.05)
    ball, seen = Target(1.0, 0.05, 4.0), []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        tried = [sample(z, [whole], [rng]).weights[0]]
        while np.linalg.norm(tried[-1]) > ball.radius:
            tried.append(sample(z, [whole], [rng]).weights[0])
        found = sample(z, [ball], [np.random.default_rng(seed)])
        np.testing.assert_allclose(found.weights[0], tried[-1], rtol=1e-12)
        assert found.runs[0] == len(tried)
        seen.append(len(tried))
    assert max(seen) > 1


def test_without_likelihood_it_draws_from_the_prior():
    found = draws_of(signed(5, 3, 4), Target(0.0, 4.0))
    np.testing.assert_allclose(found.weights.mean(axis=0), 0, atol=WITHIN * 0.5 / math.sqrt(DRAWS))
    np.testing.assert_allclose(found.weights.var(axis=0), 0.25, atol=WITHIN * 0.25 * math.sqrt(2 / DRAWS))


def test_the_mode_is_the_mode():
    """On separable rows, where the mode is far away and the bound of the curvature is loose, too."""
    for z, target in [(signed(50, 4, 5), Target(1.0, 0.1)), (np.abs(signed(40, 3, 6)), Target(1.0, 1e-3))]:
        (around,), taken = laplace(z, [target])
        g = around.whitening.T @ gradient(around.mode[:, None], z, target.power, target.precision)[:, 0]
        assert np.linalg.norm(g) < 0.01  # in posterior standard deviations
        assert taken <= 90


def test_a_batch_gives_what_single_runs_give():
    """Columns share products, not random numbers: equal up to rounding."""
    z = signed(40, 5, 7)
    targets = [Target(1.0, 0.5), Target(0.1, 0.5), Target(1.0, 0.5), Target(1.0, 3.0, 10.0)]
    together = sample(z, targets, [np.random.default_rng(i) for i in range(4)])
    for i, target in enumerate(targets):
        alone = sample(z, [target], [np.random.default_rng(i)])
        np.testing.assert_allclose(together.weights[i], alone.weights[0], rtol=1e-3, atol=1e-3)
        assert together.acceptance[i] == alone.acceptance[0]
    assert (together.weights[0] != together.weights[2]).all()


def test_blocks_of_a_batch_join(monkeypatch):
    z, target = signed(10, 2, 8), Target(1.0, 1.0)
    whole = draws_of(z, target, k=7)
    monkeypatch.setattr("methods._shared.logistic.sampler.BLOCK", 30)  # three columns at once
    np.testing.assert_allclose(draws_of(z, target, k=7).weights, whole.weights, rtol=1e-9, atol=1e-9)


def test_diagnostics_see_a_step_that_is_too_long():
    z, target = signed(60, 30, 9), Target(1.0, 0.5)
    fine, rough = draws_of(z, target, 20, plan=Plan(10, 8)), draws_of(z, target, 20, plan=Plan(10, 1))
    assert fine.acceptance.mean() > 0.9
    assert fine.energy_error.mean() < 0.2
    assert rough.energy_error.mean() > 10 * fine.energy_error.mean()
    assert Plan(10, 8).gradients == 81


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((-1.0, 1.0), "power"),
        ((math.nan, 1.0), "power"),
        ((1.0, 0.0), "precision"),
        ((1.0, math.inf), "precision"),
        ((1.0, 1.0, 0.0), "radius"),
    ],
)
def test_a_wrong_target_is_refused(values, named):
    with pytest.raises(ValueError, match=f"logistic sampler: {named} = "):
        Target(*values)


def test_what_cannot_run_is_refused():
    with pytest.raises(ValueError, match="trajectories = 0"):
        Plan(0, 5)
    with pytest.raises(ValueError, match="1 targets and 0 rngs"):
        sample(signed(3, 2, 0), [Target(1.0, 1.0)], [])
    with pytest.raises(Diverged, match="no draw inside of the ball of radius 1e-09 in 1000 runs"):
        sample(signed(3, 2, 0), [Target(1.0, 1.0, 1e-9)], [np.random.default_rng(0)], Plan(1, 1))
    with pytest.raises(Diverged, match="no Laplace approximation"):
        sample(np.full((2, 2), np.nan), [Target(1.0, 1.0)], [np.random.default_rng(0)])


def test_a_ball_far_from_the_mode_is_given_up_after_one_run(monkeypatch):
    """A draw 2 standard deviations out is found, and is the same as without the check."""
    z = np.tile([[1.0]], (4000, 1))  # the mode is near log n; its standard deviation is known
    (found,), _ = sampler.laplace(z, [Target(1.0, 1.0)])
    mode, sd = float(found.mode[0]), float(found.whitening[0, 0])
    runs = []
    once = sampler._batch
    monkeypatch.setattr(sampler, "_batch", lambda *given: runs.append(1) or once(*given))
    with pytest.raises(Diverged, match=r"holds at most \S+ of the posterior"):
        sample(z, [Target(1.0, 1.0, mode - 6.5 * sd)], [np.random.default_rng(0)])
    assert len(runs) == 1
    near = Target(1.0, 1.0, mode - 2 * sd)
    with_check = sample(z, [near], [np.random.default_rng(1)])
    monkeypatch.setattr(sampler, "_hopeless", lambda *given: None)
    assert (sample(z, [near], [np.random.default_rng(1)]).weights == with_check.weights).all()
    assert with_check.runs[0] > 1


@pytest.mark.slow
@pytest.mark.parametrize(("power", "precision"), [(1.0, 0.5), (0.1, 0.5)])
def test_against_long_chains(power, precision):
    """400 rows, 20 inputs. Largest of 20 |z| above 4.5 by chance: 1.4e-4 each for means and variances."""
    z, target = signed(400, 20, 10), Target(power, precision)
    chains = reference.long_chains(z, target, np.random.default_rng(1))
    assert chains.rhat < 1.01
    assert chains.ess.min() > 1000
    found = draws_of(z, target, 1000).weights
    told = reference.compare(found, potential(found.T, z, power, precision), chains)
    assert max(told.values()) < WITHIN
    wrong = reference.compare(1.1 * found, potential(1.1 * found.T, z, power, precision), chains)
    assert max(wrong.values()) > WITHIN
