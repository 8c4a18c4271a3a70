"""EP, SEP, algorithm 3 and the released program on the mixture of Gaussians: kernels, fits and sensitivity."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods import contract
from methods.contract import Diverged
from methods.ep._dpsep_program import Settings as Program
from methods.ep._mixture import kernel, naturals, training
from methods.ep._mixture.naturals import Naturals
from models.mixture_of_gaussians import MixtureOfGaussians, posterior_given_labels
from models.task import Task
from privacy import audit
from privacy.budget import BudgetSpec
from privacy.ledger import Ledger, Mechanism, Relation, Sampling
from tests.methods.ep.mixture import oracle

SILENT = np.zeros((0, 0))
SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))
CENTRES = np.array([[4.0, 0.0], [-4.0, 2.0], [0.0, -5.0]])


def rows_of(n=40, centres=CENTRES, sd=0.5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(centres), n)
    return centres[labels] + sd * rng.standard_normal((n, centres.shape[1])), labels


def task_of(x, components=3, noise_sd=0.5, prior_seed=0):
    return Task("toy", MixtureOfGaussians(components, noise_sd, prior_seed=prior_seed), x)


def random_naturals(rng, components, d, size=1.0):
    """Positive definite precisions whose eigenvalues are spread over some powers of ten."""
    out = []
    for _ in range(components):
        q, _ = np.linalg.qr(rng.standard_normal((d, d)))
        precision = (q * 10.0 ** rng.uniform(-1, 2, d)) @ q.T
        out.append(0.5 * (precision + precision.T) * size)
    return Naturals(np.einsum("kij,kj->ki", out, rng.standard_normal((components, d))), np.array(out))


def rows(x):
    """As those of a task, which are read-only: for others the kernels compile again."""
    out = np.array(x, order="C")
    out.setflags(write=False)
    return out


def copies(*naturals):
    return [np.array(a, order="C") for n in naturals for a in n]


def kernel_steps(
    x, order, prior, data, f, *, n, s2, k, rule, bound=math.inf, factor_bound=math.inf, floor=1e-4, noise=SILENT
):
    """Data part, f and counts after :func:`kernel.noisy_steps`; the arguments are left alone."""
    h, L, f_h, f_L = copies(data, f)
    counts = np.zeros(len(kernel.COUNTS))
    kernel.noisy_steps(
        rows(x), np.asarray(order), *copies(prior), h, L, f_h, f_L, 1.0 / n, s2, k, bound, factor_bound, floor, rule,
        True, noise, counts,
    )  # fmt: skip
    return Naturals(h, L), Naturals(f_h, f_L), dict(zip(kernel.COUNTS, counts, strict=True))


def kernel_site(x, cavity, s2):
    """One undamped step of SEP from nothing: the data part is the site."""
    nothing = naturals.zeros(*cavity.h.shape)
    return kernel_steps(x[None], [0], cavity, nothing, nothing, n=1, s2=s2, k=1.0, rule=kernel.SEP)[0]


def assert_close(a, b, tolerance=1e-9):
    """Relative to the largest number of each array: both sides are float64 sums of numbers of that size."""
    for one, two in zip(a, b, strict=True):
        assert np.max(np.abs(one - two)) <= tolerance * max(1.0, np.max(np.abs(two)))


# --------------------------------------------------------------------------------------------- one tilted distribution


@settings(deadline=None, max_examples=100)
@given(SHAPES, st.floats(0.1, 3.0))
def test_the_closed_form_site_is_that_of_the_moments(shape, noise_sd):
    components, d, seed = shape
    rng = np.random.default_rng(seed)
    cavity, x = random_naturals(rng, components, d), rng.standard_normal(d)
    expected = oracle.site(x, cavity, noise_sd**2)
    # the oracle subtracts the cavity from the inverse of an inverse: its error is relative to the cavity
    scale = max(1.0, np.max(np.abs(cavity.L)), np.max(np.abs(cavity.h)))
    got = kernel_site(x, cavity, noise_sd**2)
    assert np.max(np.abs(got.h - expected.h)) <= 1e-9 * scale
    assert np.max(np.abs(got.L - expected.L)) <= 1e-9 * scale


@settings(deadline=None, max_examples=60)
@given(SHAPES, st.floats(0.1, 3.0))
def test_tilted_moments_are_those_of_a_distribution(shape, noise_sd):
    components, d, seed = shape
    rng = np.random.default_rng(seed)
    cavity = random_naturals(rng, components, d)
    r, means, covariances = oracle.tilted(rng.standard_normal(d), cavity, noise_sd**2)
    assert r.sum() == pytest.approx(1.0, abs=1e-12)
    assert (r >= 0).all()
    assert np.isfinite(means).all()
    np.testing.assert_allclose(covariances, covariances.transpose(0, 2, 1), atol=1e-10 * np.abs(covariances).max())
    assert (np.linalg.eigvalsh(covariances) > 0).all()
    precisions = cavity.L + kernel_site(rng.standard_normal(d), cavity, noise_sd**2).L
    np.testing.assert_array_equal(precisions - cavity.L, (precisions - cavity.L).transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(precisions) > 0).all()


@settings(deadline=None, max_examples=10)
@given(st.floats(-3, 3), st.floats(0.3, 2.0), st.integers(0, 10**6))
def test_tilted_moments_against_integration_on_a_grid(x, noise_sd, seed):
    """Two components in one dimension: q(mu_1) q(mu_2) (N(x; mu_1) + N(x; mu_2)) / 2 on a grid of both means.

    The trapezoidal rule of a Gaussian at 0.1 standard deviations, cut at 12, is exact to rounding.
    """
    rng = np.random.default_rng(seed)
    m, v = rng.uniform(-2, 2, 2), rng.uniform(0.5, 2.0, 2)
    cavity = Naturals((m / v)[:, None], (1 / v)[:, None, None])
    r, means, covariances = oracle.tilted(np.array([x]), cavity, noise_sd**2)
    step = 0.1 / math.sqrt(1 / v.min() + 1 / noise_sd**2)
    axes = [np.arange(a - 12 * math.sqrt(b), a + 12 * math.sqrt(b), step) for a, b in zip(m, v, strict=True)]
    priors = [np.exp(-0.5 * (t - a) ** 2 / b) for t, a, b in zip(axes, m, v, strict=True)]
    likelihoods = [np.exp(-0.5 * ((x - t) / noise_sd) ** 2) for t in axes]
    density = np.outer(*priors) * (likelihoods[0][:, None] + likelihoods[1][None])
    total = density.sum()
    first = np.outer(priors[0] * likelihoods[0], priors[1]).sum() / total
    assert r[0] == pytest.approx(first, abs=1e-9)
    for k, t in enumerate(axes):
        marginal = density.sum(axis=1 - k) / total
        mean = marginal @ t
        assert means[k, 0] == pytest.approx(mean, abs=1e-9)
        assert covariances[k, 0, 0] == pytest.approx(marginal @ (t - mean) ** 2, abs=1e-9)


def test_a_row_of_one_component_has_the_site_of_its_likelihood():
    """r = 1 up to e^-1250 for one component: x / s2 and I / s2, to 1e-13 (a dozen operations); 0 for the others."""
    rng = np.random.default_rng(3)
    base = random_naturals(rng, 3, 4)
    means = np.array([np.zeros(4), np.full(4, 100.0), np.full(4, -100.0)])
    cavity = Naturals(np.einsum("kij,kj->ki", base.L, means), base.L)
    x = rng.standard_normal(4)
    got = kernel_site(x, cavity, 0.25)
    np.testing.assert_allclose(got.h[0], x / 0.25, rtol=1e-13)
    np.testing.assert_allclose(got.L[0], np.eye(4) / 0.25, rtol=1e-13, atol=1e-13)
    assert np.abs(got.h[1:]).max() == np.abs(got.L[1:]).max() == 0.0


def test_a_small_probability_gives_a_small_site_with_all_its_digits():
    """r about 1e-100: the site is r times its derivative at 0, P A^-1 - u u' and A^-1 h + (1 - u'm) u, A = I + s2 P."""
    rng = np.random.default_rng(4)
    base = random_naturals(rng, 2, 3)
    means = np.array([np.zeros(3), np.full(3, 12.0)])
    cavity = Naturals(np.einsum("kij,kj->ki", base.L, means), base.L)
    x, s2 = rng.standard_normal(3), 0.25
    r = oracle.tilted(x, cavity, s2)[0][1]
    assert 0 < r < 1e-60
    a = np.eye(3) + s2 * cavity.L[1]
    u = np.linalg.solve(a, cavity.L[1] @ x - cavity.h[1])
    got = kernel_site(x, cavity, s2)
    np.testing.assert_allclose(got.L[1] / r, np.linalg.solve(a, cavity.L[1]) - np.outer(u, u), rtol=1e-9)
    np.testing.assert_allclose(got.h[1] / r, np.linalg.solve(a, cavity.h[1]) + (1 - u @ means[1]) * u, rtol=1e-9)


def test_the_rest_of_a_probability_near_one_keeps_its_digits():
    """A far row, x = 1e4, and two means close together: 1 - r = 7e-13 is multiplied by x^2 / 4 = 2.5e7.

    Taken as 1 - r, its error of 1e-16 would be one of 1e-9 in the site; the log-weights of size 1e7 leave 1e-14.
    """
    x, gap = 1e4, 5.6e-3  # unit cavity variances, noise variance 1
    cavity = Naturals(np.array([[0.0], [-gap]]), np.ones((2, 1, 1)))
    q = 1.0 / (1.0 + math.exp((2 * x * gap + gap**2) / 4))
    variance = 1 - (1 - q) / 2 + (1 - q) * q * (x / 2) ** 2
    got = kernel_site(np.array([x]), cavity, 1.0)
    assert got.L[0, 0, 0] == pytest.approx(1 / variance - 1, rel=1e-11)
    assert got.h[0, 0] == pytest.approx((1 - q) * x / 2 / variance, rel=1e-11)


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([1e-6, 1.0, 1e6]))
def test_lifted_eigenvalues(d, seed, size):
    """Against LAPACK; whole numbers give equal and zero eigenvalues too."""
    rng = np.random.default_rng(seed)
    a = rng.integers(-2, 3, (2, d, d)).astype(float) if seed % 2 else rng.standard_normal((2, d, d))
    a = (a + a.transpose(0, 2, 1)) * size
    rank = np.linalg.eigvalsh(a)
    h, L, f_h, f_L = np.zeros((2, d)), a.copy(), np.zeros((2, d)), np.zeros((2, d, d))
    counts = np.zeros(len(kernel.COUNTS))
    kernel.settle(np.zeros((2, d, d)), h, L, f_h, f_L, 1.0, math.inf, 0.5 * size, kernel.RELEASED, counts)
    if np.abs(rank).min() > 1e-9 * size:  # an eigenvalue of 0 up to rounding may be lifted or not
        np.testing.assert_allclose(L, oracle.floored(a, 0.5 * size), atol=1e-12 * d * size * 10)
        assert counts[kernel.COUNTS.index("floored")] == (rank[:, 0] <= 0).sum()
    assert (np.linalg.eigvalsh(L) > -1e-12 * size).all()


# ----------------------------------------------------------------------------------- kernels against the oracle


def overlapping(seed=1, n=25, d=3, components=3):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((components, d))[rng.integers(0, components, n)] + 0.7 * rng.standard_normal((n, d))
    return x, naturals.prior_naturals(MixtureOfGaussians(components), d), rng.permutation(n), rng


def test_sep_steps_are_those_of_the_oracle():
    x, prior, order, _ = overlapping()
    data = nothing = naturals.zeros(3, 3)
    got, f, counts = kernel_steps(x, order, prior, data, nothing, n=25, s2=0.25, k=0.7, rule=kernel.SEP)
    for i in order:
        data = oracle.sep_step(x[i], prior, data, 25, 0.25, 0.7)
    assert_close(got, data)
    assert_close(f, data.times(1 / 25))
    assert sum(counts.values()) == 0


def test_ep_steps_are_those_of_the_oracle():
    x, prior, order, rng = overlapping()
    h, L = copies(naturals.zeros(3, 3))
    sites_h, sites_L, counts = np.zeros((25, 3, 3)), np.zeros((25, 3, 3, 3)), np.zeros(len(kernel.COUNTS))
    data, own = naturals.zeros(3, 3), [naturals.zeros(3, 3)] * 25
    for _ in range(3):
        kernel.ep_steps(rows(x), order, *prior, h, L, sites_h, sites_L, 0.25, 0.6, counts)
        for i in order:
            data, own[i] = oracle.ep_step(x[i], prior, data, own[i], 0.25, 0.6)
        order = rng.permutation(25)
    assert_close((h, L), data)
    assert_close((sites_h, sites_L), (np.array([s.h for s in own]), np.array([s.L for s in own])))
    assert counts.sum() == 0


@pytest.mark.parametrize("deviation", [0.0, 0.5])
def test_algorithm_3_is_that_of_the_oracle(deviation):
    """With noise: eigenvalues are lifted and theta_f is clipped on the way."""
    x, prior, order, rng = overlapping()
    n, gamma, clip = 25, 50.0, 0.1 if deviation else 3.0
    theta_0 = naturals.clipped_jointly(prior, clip)
    noise = deviation * rng.standard_normal((n, 9 + 18)) if deviation else SILENT
    theta_f = naturals.zeros(3, 3)
    got, f, counts = kernel_steps(
        x, order, theta_0, theta_f, theta_f, n=n, s2=0.25, k=gamma / n, rule=kernel.ALGORITHM_3, bound=clip,
        factor_bound=clip, floor=1e-2, noise=noise,
    )  # fmt: skip
    for t, i in enumerate(order):
        numbers = naturals.noise_of(noise[t], 3, 3) if deviation else None
        theta_f = oracle.algorithm3_step(x[i], theta_0, theta_f, n, 0.25, gamma, clip, 1e-2, numbers)
    assert_close(f, theta_f)
    assert_close(got, theta_f.times(n))
    assert counts["clipped_sites"] > 0
    assert counts["skipped"] == counts["zeroed_sites"] == 0
    assert (counts["floored"] > 0, counts["clipped_factors"] > 0) == (deviation > 0, deviation > 0)


@pytest.mark.parametrize("deviation", [0.0, 0.2])
def test_the_released_program_is_that_of_the_oracle(deviation):
    """Three epochs. Skipped updates occur; with noise, of four rows, also lifted eigenvalues and a clipped f."""
    n, clip = (4, 0.4) if deviation else (25, 3.0)
    x, prior, _, rng = overlapping(n=n)
    x, order, gamma = 3.0 * x, np.tile(np.arange(n), 3), n if deviation else 5.0
    prior = naturals.clipped_apart(prior, clip)
    noise = deviation * rng.standard_normal((len(order), 9 + 18)) if deviation else SILENT
    data = f = naturals.zeros(3, 3)
    got, got_f, counts = kernel_steps(
        x, order, prior, data, f, n=n, s2=0.25, k=gamma / n, rule=kernel.RELEASED, bound=clip,
        factor_bound=clip if deviation else math.inf, floor=1e-2, noise=noise,
    )  # fmt: skip
    skipped = 0
    for t, i in enumerate(order):
        numbers = naturals.noise_of(noise[t], 3, 3) if deviation else None
        data, f, left = oracle.authors_step(x[i], prior, data, f, n, 0.25, gamma, clip, 1e-2, numbers)
        skipped += left
    assert_close(got, data)
    assert_close(got_f, f)
    assert len(order) > counts["skipped"] == skipped > 0
    assert counts["clipped_sites"] > 0
    assert (counts["floored"] > 0, counts["clipped_factors"] > 0) == (deviation > 0, deviation > 0)


@pytest.mark.parametrize("row", [[1e200, 0.0, 1.0], [-1e155, 1e155, 1e155], [np.inf, 0.0, 0.0]])
def test_a_site_that_is_not_finite_counts_as_zero(row):
    _, prior, _, _ = overlapping()
    nothing = naturals.zeros(3, 3)
    for rule in (kernel.ALGORITHM_3, kernel.SEP):
        data, _, counts = kernel_steps(
            np.array([row]), [0], prior, nothing, nothing, n=1, s2=0.25, k=1.0, rule=rule, bound=1.0
        )
        assert counts["zeroed_sites"] == 1
        assert np.abs(data.h).max() == np.abs(data.L).max() == 0


# ------------------------------------------------------------------------------------------------- sensitivity


@settings(deadline=None, max_examples=150)
@given(SHAPES, st.integers(-3, 9), st.integers(-3, 9), st.floats(0.01, 10), st.sampled_from(["joint", "apart"]))
def test_one_row_moves_a_step_by_no_more_than_declared(shape, first, second, clip, rule):
    """Rows of any size, from any state; the released program where it skips no step. Rounding: 1e-12 of the state."""
    components, d, seed = shape
    rng = np.random.default_rng(seed)
    prior, data, n, gamma = random_naturals(rng, components, d), random_naturals(rng, components, d), 7, 3.0
    code = kernel.ALGORITHM_3 if rule == "joint" else kernel.RELEASED
    moved = []
    for size in (first, second):
        x = 10.0**size * rng.standard_normal((1, d))
        h, L, f_h, f_L = copies(data, data.times(1 / n))
        counts = np.zeros(len(kernel.COUNTS))
        kernel.noisy_steps(
            rows(x), np.zeros(1, dtype=np.int64), *prior, h, L, f_h, f_L, 1 / n, 0.25, gamma / n, clip, clip, 1e-4,
            code, False, SILENT, counts,
        )  # fmt: skip
        if counts[0]:
            return
        moved.append((h, L))
    (h, L), (h2, L2) = moved
    upper = np.triu_indices(d)
    change_h, change_L = np.linalg.norm(h - h2), np.linalg.norm((L - L2)[:, upper[0], upper[1]])
    bound = 2 * gamma * clip / n + 1e-12 * (np.abs(h).max() + np.abs(L).max())
    if rule == "joint":
        assert math.hypot(change_h, change_L) <= bound
        assert np.linalg.norm(L - L2) <= bound  # the full matrices too
    else:
        assert max(change_h, change_L) <= bound


def released_settings(**more):
    return Program(epochs=2, mean_noise=2.0, precision_noise=3.0, **more)


def test_replayed_algorithm_3_moves_as_declared_and_the_bound_is_nearly_reached():
    x, _ = rows_of(12)
    method = contract.get("dp_sep")
    chosen, spec = method.Settings(epochs=2, gamma=4.0), BudgetSpec(noise_multiplier=2.0)
    worst = 0.0
    for name, d, other in audit.neighbours(task_of(x), Relation.REPLACE_ONE):
        result = audit.replay(method, d, other, chosen, spec, seed=3)
        assert result.ratio <= 1 + audit.ROUNDING, name
        assert result.posterior_change == 0.0, name
        assert not result.events_differ, name
        (gap,) = result.gaps
        assert gap.moved <= 2, name  # the row is read once an epoch
        worst = max(worst, gap.ratio)
    assert worst > 0.6


def test_replayed_released_program_moves_as_declared():
    """One component: its sites are I / s2 and x / s2, so no step is skipped and the runs make the same releases."""
    x, _ = rows_of(12, CENTRES[:1])
    method = contract.get("dp_sep_authors")
    worst = 0.0
    for name, d, other in audit.neighbours(task_of(x, 1), Relation.REPLACE_ONE):
        noise = replace(released_settings(clip=0.5, gamma=1.0), mean_noise=0.01, precision_noise=1e-3)
        result = audit.replay(method, d, other, noise, BudgetSpec(), seed=3)
        assert [g.releases for g in result.gaps] == [2 * d.n] * 2, name
        assert result.ratio <= 1 + audit.ROUNDING, name
        assert result.posterior_change == 0.0, name
        assert not result.events_differ, name
        worst = max(worst, result.gaps[0].ratio)
    assert worst > 0.9  # a row and its negative


def test_a_skipped_step_of_the_released_program_tells_about_its_row():
    """The leak that no event counts: far rows leave an improper precision, are skipped, and make no release."""
    x, _ = rows_of(12, CENTRES[:2])
    far = audit.with_last_row(task_of(x, 2), np.array([1e6, 1e6]), None)
    with pytest.raises(audit.StructureDiffers):
        audit.replay(contract.get("dp_sep_authors"), task_of(x, 2), far, released_settings(), BudgetSpec(), seed=3)


# ---------------------------------------------------------------------------------- audited and ordinary path


class GivenNoise:
    """A mechanism whose noise is known in advance, block by block or release by release."""

    def __init__(self, numbers, audited):
        self.numbers, self.audited, self.next = numbers, audited, 0

    def at_once(self, releases):
        return releases

    def noise(self, releases, size):
        assert size == self.numbers.shape[1]
        self.next += releases
        return np.ascontiguousarray(self.numbers[self.next - releases : self.next])

    def release(self, value):
        assert value.shape == self.numbers.shape[1:]
        self.next += 1
        return value + self.numbers[self.next - 1]


class GivenBudget:
    ledger = Ledger()

    def __init__(self, mechanisms):
        self.mechanisms = list(mechanisms)

    def gaussian(self, *_, **__):
        return self.mechanisms.pop(0)


@pytest.mark.parametrize("deviation", [1e-3, 0.3])
def test_both_paths_take_the_same_noise_to_the_same_result_in_algorithm_3(deviation, monkeypatch):
    """The blocks are cut so that an epoch has three."""
    monkeypatch.setattr(training, "_NOISE_BLOCK", 15 * 10)
    x, _ = rows_of(30)
    numbers = deviation * np.random.default_rng(8).standard_normal((90, 3 * 2 + 3 * 3))
    fits = [
        training.algorithm3(
            task_of(x), np.random.default_rng(5), method="test", epochs=3, clip=0.5, gamma=5.0, floor=1e-2,
            mechanism=GivenNoise(numbers, audited), ledger=Ledger(),
        )
        for audited in (False, True)
    ]  # fmt: skip
    assert_close([fits[0].posterior.means], [fits[1].posterior.means], 1e-8)
    assert_close([fits[0].posterior.covariances], [fits[1].posterior.covariances], 1e-8)
    assert dict(fits[0].diagnostics) == dict(fits[1].diagnostics)
    assert (fits[0].diagnostics["floored"] > 0) == (deviation > 0.1)


@pytest.mark.parametrize("deviation", [1e-3, 0.3])
def test_both_paths_take_the_same_noise_to_the_same_result_in_the_released_program(deviation, monkeypatch):
    monkeypatch.setattr(training, "_NOISE_BLOCK", 5 * 10)
    x, _ = rows_of(30, CENTRES[:1])
    rng = np.random.default_rng(8)
    one, two = deviation * rng.standard_normal((90, 2)), deviation * rng.standard_normal((90, 3))
    fits = [
        training.released(
            task_of(x, 1), method="test", settings=replace(released_settings(clip=0.5, gamma=5.0), epochs=3),
            budget=GivenBudget([GivenNoise(one, audited), GivenNoise(two, audited)]), noise=True,
        )
        for audited in (False, True)
    ]  # fmt: skip
    assert fits[0].diagnostics["skipped"] == 0  # a skipped step takes a number of the block but makes no release
    assert_close([fits[0].posterior.means], [fits[1].posterior.means], 1e-8)
    assert_close([fits[0].posterior.covariances], [fits[1].posterior.covariances], 1e-8)
    assert dict(fits[0].diagnostics) == dict(fits[1].diagnostics)
    assert (fits[0].diagnostics["floored"] > 0) == (deviation > 0.1)


def test_both_paths_are_equal_to_rounding():
    x, _ = rows_of(15, CENTRES[:2])
    method = contract.get("dp_sep")
    chosen = method.Settings(epochs=2, gamma=3.0)
    assert audit.same_path(method, task_of(x, 2), chosen, BudgetSpec(noise_multiplier=1.0), seed=2) == ""


# -------------------------------------------------------------------------------------------------------- fits


def ep(task, epochs=200, damping=0.5, seed=0):
    return training.ep(
        task, np.random.default_rng(seed), method="ep", epochs=epochs, damping=damping, ledger=Ledger()
    ).posterior


def sep(task, epochs, damping, seed=0):
    return training.sep(
        task, np.random.default_rng(seed), method="sep", epochs=epochs, damping=damping, ledger=Ledger()
    )


def reference_ep(x, model, sweeps=4000, damping=0.2):
    """EP in moments, all sites at once, damped, to convergence. Each site is (mean natural, precision) a component."""
    n, d = x.shape
    s2, components = model.noise_sd**2, model.components
    prior_precision = np.eye(d) / model.prior_variance
    prior_h = model.prior_means(d) / model.prior_variance
    etas, lams = np.zeros((n, components, d)), np.zeros((n, components, d, d))
    for _ in range(sweeps):
        eta, lam = prior_h + etas.sum(axis=0), prior_precision + lams.sum(axis=0)
        s = np.linalg.inv(lam - lams)
        m = np.einsum("nkij,nkj->nki", s, eta - etas)
        spread = s + s2 * np.eye(d)
        v = x[:, None] - m
        solved = np.linalg.solve(spread, v[..., None])[..., 0]
        log_r = -0.5 * (np.linalg.slogdet(spread)[1] + np.einsum("nki,nki->nk", v, solved))
        r = np.exp(log_r - log_r.max(axis=1, keepdims=True))
        r = (r / r.sum(axis=1, keepdims=True))[..., None]
        # the two parts of the tilted mixture: the row is of this component, or it is not
        mine_mean = m + np.einsum("nkij,nkj->nki", s, solved)
        mine_cov = np.linalg.inv(np.linalg.inv(s) + np.eye(d) / s2)
        mean = r * mine_mean + (1 - r) * m
        second = r[..., None] * (mine_cov + mine_mean[..., :, None] * mine_mean[..., None, :])
        second = second + (1 - r)[..., None] * (s + m[..., :, None] * m[..., None, :])
        cov = second - mean[..., :, None] * mean[..., None, :]
        new_lam = np.linalg.inv(cov)
        new_eta = np.einsum("nkij,nkj->nki", new_lam, mean) - (eta - etas)
        change_lam, change_eta = new_lam - (lam - lams) - lams, new_eta - etas
        etas, lams = etas + damping * change_eta, lams + damping * change_lam
        if max(np.abs(change_eta).max(), np.abs(change_lam).max()) < 1e-10:
            lam = prior_precision + lams.sum(axis=0)
            return np.linalg.solve(lam, (prior_h + etas.sum(axis=0))[..., None])[..., 0], np.linalg.inv(lam)
    raise AssertionError("the reference did not converge")


@pytest.mark.parametrize(("spacing", "n"), [(1.0, 40), (0.3, 40)], ids=["separated", "overlapping"])
def test_the_fixed_point_of_ep(spacing, n):
    """1e-6: both iterations stop at changes of 1e-9 and less; another schedule leads to the same point."""
    model = MixtureOfGaussians(3)
    x, _ = rows_of(n, spacing * CENTRES)
    means, covariances = reference_ep(x, model)
    q = ep(task_of(x), epochs=400)
    np.testing.assert_allclose(q.means, means, atol=1e-6)
    np.testing.assert_allclose(q.covariances, covariances, atol=1e-6)


def test_with_one_component_ep_is_exact():
    x, labels = rows_of(50, CENTRES[:1])
    exact = posterior_given_labels(MixtureOfGaussians(1), x, labels)
    q = ep(task_of(x, 1), epochs=1, damping=1.0)
    np.testing.assert_allclose(q.means, exact.means, rtol=1e-10)
    np.testing.assert_allclose(q.covariances, exact.covariances, rtol=1e-10, atol=1e-14)


def given_labels(task, labels, q):
    """The exact posterior, cluster j named after the component whose mean under q is nearest to the cluster's rows.

    Which component takes which cluster is decided by the first rows; the prior means differ by component.
    """
    clusters = [task.x[labels == j].mean(axis=0) for j in range(task.model.components)]
    names = np.array([np.argmin(np.linalg.norm(q.means - c, axis=1)) for c in clusters])
    assert sorted(names) == list(range(task.model.components))
    return posterior_given_labels(task.model, task.x, names[labels])


def far_apart(n, sd=0.5, seed=0):
    """Clusters at least 29 noise standard deviations apart."""
    centres = 10.0 * MixtureOfGaussians(4).prior_means(4)
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 4
    return centres[labels] + sd * rng.standard_normal((n, 4)), labels


def test_ep_on_clusters_far_apart_is_the_posterior_given_the_labels():
    """Assignments are certain to e^-100, and 60 epochs leave 2^-60 of the first sites."""
    x, labels = far_apart(80)
    task = task_of(x, 4)
    q = ep(task, epochs=60)
    exact = given_labels(task, labels, q)
    np.testing.assert_allclose(q.means, exact.means, atol=1e-10)
    np.testing.assert_allclose(q.covariances, exact.covariances, atol=1e-10)


def test_sep_with_damping_one_over_n_absorbs_a_tenth_of_the_data():
    """N = 1000, 100 epochs, 250 rows a component: precision 0.1 + 1000 (1 - e^-0.1) = 95.3; the rows' sites start
    elsewhere while q is broad, which is why 2 %."""
    x, _ = far_apart(1000)
    fit = sep(task_of(x, 4), 100, 1e-3)
    share = 1 - math.exp(-0.1)
    assert fit.diagnostics["fraction_absorbed"] == pytest.approx(share, rel=1e-5)
    precision = 1.0 / np.einsum("kii->ki", fit.posterior.covariances)
    np.testing.assert_allclose(precision, 0.1 + 1000 * share, rtol=0.02)


def test_sep_of_li_is_near_ep():
    """Damping 1 (1/N of the average site) over 30 epochs; SEP's average site loses little where clusters are clear."""
    x, labels = far_apart(200)
    task = task_of(x, 4)
    q = sep(task, 30, 1.0).posterior
    exact = given_labels(task, labels, q)
    np.testing.assert_allclose(q.means, exact.means, atol=0.1)  # sd of the posterior: 0.07
    np.testing.assert_allclose(np.einsum("kii->ki", q.covariances), 0.25 / 50, rtol=0.1)


def test_algorithm_3_without_its_clipping_is_sep():
    """gamma / N = 0.5 is SEP's coefficient; the rounding of 300 steps stays far below 1e-9."""
    x, _ = rows_of(30, 0.4 * CENTRES)
    free = training.algorithm3(
        task_of(x), np.random.default_rng(1), method="clipped_sep", epochs=10, clip=1e9, gamma=15.0, floor=1e-4,
        mechanism=None, ledger=Ledger(),
    )  # fmt: skip
    plain = sep(task_of(x), 10, 0.5, seed=1)
    np.testing.assert_allclose(free.posterior.means, plain.posterior.means, atol=1e-9)
    np.testing.assert_allclose(free.posterior.covariances, plain.posterior.covariances, atol=1e-9)
    assert free.diagnostics["fraction_absorbed"] == plain.diagnostics["fraction_absorbed"]


def test_clipping_is_felt_and_bounds_what_is_absorbed():
    """theta_f has norm <= C, so the data part has norm <= N C."""
    x, _ = rows_of(30)
    fit = contract.get("clipped_sep").fit(
        task_of(x), contract.get("clipped_sep").Settings(epochs=20, clip=0.5, gamma=30.0), open_budget(),
        np.random.default_rng(0),
    )  # fmt: skip
    prior = naturals.clipped_jointly(naturals.prior_naturals(MixtureOfGaussians(3), 2), 0.5)
    data = np.linalg.inv(fit.posterior.covariances) - prior.L
    assert fit.diagnostics["clipped_sites"] > 0
    assert 1.0 < np.linalg.norm(data) <= 30 * 0.5


# ------------------------------------------------------------------------------------------ ledger and bad input


def open_budget(seed=0, **spec):
    return BudgetSpec(**spec).open(np.random.default_rng(seed))


def fit_with(name, task, seed=0, sigma=None, **chosen):
    method = contract.get(name)
    return method.fit(
        task, method.Settings(**chosen), open_budget(seed, noise_multiplier=sigma), np.random.default_rng(seed)
    )


def test_the_ledger_of_the_released_program():
    x, _ = rows_of(20)
    fit = fit_with("dp_sep_authors", task_of(x), epochs=3, clip=2.0, gamma=1.5, mean_noise=4.0, precision_noise=7.0)
    mean, precision = fit.ledger
    for event, what, multiplier in ((mean, "mean naturals", 4.0), (precision, "precisions", 7.0)):
        assert event.what == f"{what} after each step"
        assert event.sensitivity == pytest.approx(2 * 2.0 * 1.5 / 20)
        assert event.noise_multiplier == pytest.approx(multiplier)
        assert (event.sampling, event.relation, event.steps) == (Sampling.FIXED_PARTITION, Relation.REPLACE_ONE, 3)
        module, function = event.proof.rsplit(".", 1)
        assert module == kernel.__name__
        assert "Sensitivity" in getattr(kernel, function).__doc__


def test_the_released_program_without_noise_says_so_and_is_the_clipped_one():
    x, _ = rows_of(20)
    dp, clipped = (fit_with(name, task_of(x), epochs=4) for name in ("dp_sep_authors", "clipped_sep_authors"))
    assert [e.mechanism for e in dp.ledger] == [Mechanism.NO_NOISE]
    assert len(clipped.ledger) == 0
    np.testing.assert_array_equal(dp.posterior.means, clipped.posterior.means)
    np.testing.assert_array_equal(dp.posterior.covariances, clipped.posterior.covariances)


@pytest.mark.parametrize("name", ["ep", "sep", "clipped_sep", "dp_sep", "clipped_sep_authors", "dp_sep_authors"])
def test_a_fit_is_reproducible_and_fits_any_shape(name):
    x, _ = rows_of(9, CENTRES[:, :1])
    method = contract.get(name)
    method.prepare(task_of(x, 2), method.Settings())
    one, two, other = (fit_with(name, task_of(x, 2), seed, 5.0, epochs=2) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.posterior.means, two.posterior.means)
    assert one.posterior.covariances.shape == (2, 1, 1)
    assert all(math.isfinite(v) for v in one.diagnostics.values())
    fixed = name.endswith("authors")  # rows in the order of the file
    assert np.array_equal(one.posterior.means, other.posterior.means) == fixed


@pytest.mark.parametrize("name", ["ep", "sep", "clipped_sep", "dp_sep", "clipped_sep_authors", "dp_sep_authors"])
@pytest.mark.parametrize(
    ("rows", "chosen", "message"),
    [(0, {}, "rows"), (5, {"epochs": 0}, "epochs"), (5, {"epochs": 1.5}, "whole number")],
)
def test_bad_input_of_all(name, rows, chosen, message):
    with pytest.raises(ValueError, match=message):
        fit_with(name, task_of(np.zeros((rows, 2))), sigma=1.0, **chosen)


@pytest.mark.parametrize(
    ("name", "chosen", "message"),
    [
        ("ep", {"damping": 0.0}, "damping"),
        ("ep", {"damping": 1.5}, "at most 1"),
        ("sep", {"damping": math.nan}, "damping"),
        ("clipped_sep", {"clip": -1.0}, "clip"),
        ("clipped_sep", {"gamma": math.inf}, "gamma"),
        ("dp_sep", {"floor": 0.0}, "floor"),
        ("clipped_sep_authors", {"clip": 0.0}, "clip"),
        ("clipped_sep_authors", {"mean_noise": 1.0}, "mean_noise is set"),
        ("dp_sep_authors", {"mean_noise": 1.0}, "only mean_noise"),
        ("dp_sep_authors", {"precision_noise": 1.0}, "only precision_noise"),
        ("dp_sep_authors", {"mean_noise": 0.0, "precision_noise": 1.0}, "noise_multiplier"),
    ],
)
def test_bad_settings(name, chosen, message):
    with pytest.raises(ValueError, match=message):
        fit_with(name, task_of(np.ones((5, 2))), sigma=1.0, **chosen)


def test_unknown_noise_is_refused():
    with pytest.raises(ValueError, match="noise_sd"):
        fit_with("sep", Task("toy", MixtureOfGaussians(2, None), np.ones((5, 2))))


def test_a_step_too_long_diverges():
    """Coefficient 1e6 throws theta far beyond the tilted distribution, and back, until no precision is left."""
    x, _ = rows_of(30, 0.3 * CENTRES)
    with pytest.raises(Diverged, match="sep"):
        sep(task_of(x), 30, 1e6)
