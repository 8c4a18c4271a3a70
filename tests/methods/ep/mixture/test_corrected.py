"""The corrected DP-SEP on the mixture: sites, sensitivity, schedule, the noise-aware reading, whole fits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import linear_sum_assignment

from methods.contract import Diverged
from methods.ep._mixture import corrected, sites
from methods.ep.dp_sep_corrected import DPSEPCorrected
from models.mixture_of_gaussians import MixtureOfGaussians, posterior_given_labels
from models.task import PublicKnowledge, Task
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec, Mode
from privacy.ledger import Sampling

SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6))
HUGE = 1e9


def cavity_of(rng, components, d):
    """Random means and precisions whose eigenvalues lie between 0.1 and 1000."""
    means = rng.normal(0, 2, (components, d))
    turned = np.linalg.qr(rng.standard_normal((components, d, d)))[0]
    values = 10 ** rng.uniform(-1, 3, (components, 1, d))
    precisions = (turned * values) @ turned.transpose(0, 2, 1)
    return means, 0.5 * (precisions + precisions.transpose(0, 2, 1))


def dense_site(row, means, precisions, s2):
    """Specification: tilted moments (Li et al. 2015) by plain matrices; mean naturals (J, D), precisions (J, D, D)."""
    d = len(row)
    covariances = np.linalg.inv(precisions)
    total = covariances + s2 * np.eye(d)
    density = [stats.multivariate_normal(m, c).logpdf(row) for m, c in zip(means, total, strict=True)]
    r = np.exp(density - np.max(density))
    r /= r.sum()
    h, out = np.empty_like(means), np.empty_like(precisions)
    for k, (m, s) in enumerate(zip(means, covariances, strict=True)):
        gain = s @ np.linalg.inv(total[k])
        g = gain @ (row - m)
        tilted = np.linalg.inv(s + r[k] * (1 - r[k]) * np.outer(g, g) - r[k] * gain @ s)
        h[k] = tilted @ (m + r[k] * g) - precisions[k] @ m
        out[k] = tilted - precisions[k]
    return h, out


def test_site_is_the_tilted_distribution_by_quadrature():
    """D = 1, J = 2: moments of prod_j N(mu_j; cavity) sum_j N(x; mu_j, s2) / 2 on a grid."""
    means, precisions, s2, x = np.array([[0.4], [-0.7]]), np.array([[[1.5]], [[0.6]]]), 0.25, 0.9
    one, two = (np.linspace(m - 9 / math.sqrt(p), m + 9 / math.sqrt(p), 1201) for m, p in ((0.4, 1.5), (-0.7, 0.6)))
    weight = stats.norm.pdf(one, 0.4, 1.5**-0.5)[:, None] * stats.norm.pdf(two, -0.7, 0.6**-0.5)
    weight = weight * (stats.norm.pdf(x, one, 0.5)[:, None] + stats.norm.pdf(x, two, 0.5))
    weight /= weight.sum()
    h, precision = sites.unpack(
        sites.clipped_site_sum(np.array([[x]]), np.array([0]), means, precisions, s2, 1e9), 2, 1
    )
    for k, (grid, margin) in enumerate(((one, weight.sum(1)), (two, weight.sum(0)))):
        mean = margin @ grid
        q = 1.0 / (margin @ np.square(grid - mean))
        np.testing.assert_allclose(precision[k, 0, 0], q - precisions[k, 0, 0], rtol=1e-6)
        np.testing.assert_allclose(h[k, 0], q * mean - precisions[k, 0, 0] * means[k, 0], rtol=1e-6)


@given(SHAPES)
@settings(max_examples=40, deadline=None)
def test_site_equals_plain_matrices(shape):
    components, d, seed = shape
    rng = np.random.default_rng(seed)
    means, precisions = cavity_of(rng, components, d)
    rows = means[rng.integers(0, components, 5)] + rng.standard_normal((5, d))
    total = sites.clipped_site_sum(rows, np.arange(5), means, precisions, 0.25, HUGE)
    wanted = [dense_site(row, means, precisions, 0.25) for row in rows]
    wanted = sites.pack(sum(h for h, _ in wanted), sum(p for _, p in wanted))
    np.testing.assert_allclose(total, wanted, rtol=1e-6, atol=1e-7 * np.abs(precisions).max())


@given(SHAPES)
@settings(max_examples=20, deadline=None)
def test_packing_keeps_the_norm_and_comes_back(shape):
    components, d, seed = shape
    h, precision = cavity_of(np.random.default_rng(seed), components, d)
    vector = sites.pack(h, precision)
    assert len(vector) == sites.size(components, d)
    np.testing.assert_allclose(np.sum(vector**2), np.sum(h**2) + np.sum(precision**2))
    for back, given_ in zip(sites.unpack(vector, components, d), (h, precision), strict=True):
        np.testing.assert_allclose(back, given_, rtol=1e-14, atol=1e-12)


@given(SHAPES, st.floats(-9, 9), st.floats(-6, 3))
@settings(max_examples=60, deadline=None)
def test_one_row_moves_the_sum_by_at_most_the_clip(shape, size, clip):
    """Rows from 1e-9 to 1e9, clips from 1e-6 to 1e3."""
    components, d, seed = shape
    rng = np.random.default_rng(seed)
    means, precisions = cavity_of(rng, components, d)
    rows = rng.normal(0, 2, (7, d))
    rows[-1] *= 10**size
    clip = 10**clip
    full, less = (sites.clipped_site_sum(rows, np.arange(k), means, precisions, 0.25, clip) for k in (7, 6))
    assert np.linalg.norm(full - less) <= clip * (1 + 1e-9) + 1e-12 * np.linalg.norm(full)


def test_clipping_brings_a_long_site_to_the_clip_and_keeps_its_direction():
    means, precisions = cavity_of(np.random.default_rng(0), 3, 2)
    row = np.array([[3.0, -2.0]])
    whole = sites.clipped_site_sum(row, np.array([0]), means, precisions, 0.25, HUGE)
    part = sites.clipped_site_sum(row, np.array([0]), means, precisions, 0.25, 0.5)
    assert np.linalg.norm(whole) > 1
    np.testing.assert_allclose(part, 0.5 * whole / np.linalg.norm(whole), rtol=1e-12)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e200])
def test_a_row_whose_site_is_not_finite_contributes_nothing(value):
    means, precisions = cavity_of(np.random.default_rng(0), 3, 2)
    rows = np.array([[1.0, 0.5], [value, 0.0], [-1.0, 2.0]])
    found = sites.clipped_site_sum(rows, np.arange(3), means, precisions, 0.25, 1.0)
    np.testing.assert_array_equal(found, sites.clipped_site_sum(rows, np.array([0, 2]), means, precisions, 0.25, 1.0))


def test_an_empty_batch_gives_zero():
    means, precisions = cavity_of(np.random.default_rng(0), 3, 2)
    none = sites.clipped_site_sum(np.ones((4, 2)), np.arange(0), means, precisions, 0.25, 1.0)
    np.testing.assert_array_equal(none, np.zeros(sites.size(3, 2)))


def test_blocks_of_rows_add_up(monkeypatch):
    rng = np.random.default_rng(0)
    means, precisions = cavity_of(rng, 3, 2)
    rows = rng.normal(0, 2, (50, 2))
    whole = sites.clipped_site_sum(rows, np.arange(50), means, precisions, 0.25, 1.0)
    monkeypatch.setattr(sites, "_BLOCK", 7 * 3 * 2 * 2)
    np.testing.assert_allclose(sites.clipped_site_sum(rows, np.arange(50), means, precisions, 0.25, 1.0), whole)


# -------------------------------------------------------------------------------------------------- schedule

MODEL = MixtureOfGaussians(4)


def test_schedule_follows_its_formulas():
    plan = corrected.schedule(120, 1.0, 40.0, 1000, 4, MODEL)
    assert plan.absorbed(120) == pytest.approx(1 - math.exp(-corrected.E_FOLDS))
    assert plan.noise_sd(120) == pytest.approx(corrected.NOISE_OVER_DATA * 1000 / (4 * 0.25))
    loose = corrected.schedule(120, 1.0, 1e-6, 1000, 4, MODEL)
    rng = np.random.default_rng(0)
    components = MODEL.prior_means(4) + math.sqrt(MODEL.prior_variance) * rng.standard_normal((50_000, 4, 4))
    rows = components.reshape(-1, 4) + 0.5 * rng.standard_normal((200_000, 4))
    # the norm of the site of a row that surely belongs to its component; standard error of the mean square .003
    norms = np.square(rows / 0.25).sum(axis=1) + 4 / 0.25**2
    assert loose.clip == pytest.approx(math.sqrt(norms.mean()), rel=0.01)


@pytest.mark.parametrize("step", [1, 3, 20])
def test_noise_sd_is_that_of_the_damped_sum(step):
    plan = corrected.Schedule(20, 0.5, 0.2, 3.0, 2.0)
    weights = 0.2 * 0.8 ** np.arange(step)
    assert plan.noise_sd(step) == pytest.approx(3.0 * 2.0 / 0.5 * math.sqrt(np.sum(weights**2)))
    assert plan.absorbed(step) == pytest.approx(weights.sum())


def test_whole_steps_leave_the_noise_of_the_last():
    plan = corrected.Schedule(5, 1.0, 1.0, 3.0, 2.0)
    assert plan.noise_sd(5) == 6.0
    assert (plan.absorbed(0), plan.absorbed(5)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"steps": 0}, "steps = 0"),
        ({"rate": 1.5}, "rate = 1.5"),
        ({"noise_multiplier": 0.0}, "noise_multiplier = 0"),
        ({"n": 0}, "0 rows"),
        ({"damping": 2.0}, "damping = 2"),
        ({"clip": -1.0}, "clip = -1"),
    ],
)
def test_schedule_refuses_what_is_out_of_range(change, words):
    arguments = {"steps": 10, "rate": 1.0, "noise_multiplier": 1.0, "n": 100, "d": 2, "model": MODEL}
    with pytest.raises(ValueError, match=words):
        corrected.schedule(**(arguments | change))


# --------------------------------------------------------------------------------------------------- reading


def test_reading_without_noise_is_the_prior_plus_the_data_part():
    rng = np.random.default_rng(1)
    h, precision = cavity_of(rng, 4, 3)
    means, precisions = corrected.reading(sites.pack(h, precision), 0.0, MODEL, 3, fraction=0.7, final=False)
    np.testing.assert_allclose(precisions, 0.1 * np.eye(3) + 0.7 * precision, rtol=1e-9, atol=1e-9)
    wanted = np.linalg.solve(precisions, (0.1 * MODEL.prior_means(3) + 0.7 * h)[:, :, None])[:, :, 0]
    np.testing.assert_allclose(means, wanted, rtol=1e-9)


def test_precision_is_never_below_the_priors():
    rng = np.random.default_rng(2)
    for noise in (0.0, 1.0, 50.0):
        vector = 50.0 * rng.standard_normal(sites.size(4, 3))
        _, precisions = corrected.reading(vector, noise, MODEL, 3)
        assert np.linalg.eigvalsh(precisions).min() >= 0.1 - 1e-9
    means, precisions = corrected.reading(np.zeros(sites.size(4, 3)), 0.0, MODEL, 3)
    np.testing.assert_allclose(means, MODEL.prior_means(3), atol=1e-12)
    np.testing.assert_allclose(precisions, np.tile(0.1 * np.eye(3), (4, 1, 1)), atol=1e-12)


def test_noise_alone_leaves_the_prior_in_q_but_moves_a_cavity():
    """4 matrices of pure noise, 30 x 30: at most the largest eigenvalue of each can stand out, by chance."""
    d, noise = 30, 20.0
    vector = noise * np.random.default_rng(4).standard_normal(sites.size(4, d))
    _, precisions = corrected.reading(vector, noise, MODEL, d)
    assert np.sum(np.linalg.eigvalsh(precisions) > 0.1 + 1e-9) <= 4
    _, precisions = corrected.reading(vector, noise, MODEL, d, final=False)
    assert np.linalg.eigvalsh(precisions).min() > 1


def test_reading_is_as_wide_as_the_noise_makes_it_wrong():
    """Squared errors in units of the stated covariance: chi-square, 1600 degrees; false-alarm rate 1e-3.

    Noise 30 on a precision of 400: the means are known to about .17 by noise and .05 by rows.
    """
    rng = np.random.default_rng(3)
    model, d, size, tau = MixtureOfGaussians(2), 2, 400.0, 30.0
    total = 0.0
    for _ in range(400):
        truth = rng.normal(0, 1.5, (2, d))
        h = size * truth + math.sqrt(size) * rng.standard_normal((2, d))
        vector = sites.pack(h, np.tile(size * np.eye(d), (2, 1, 1)))
        means, precisions = corrected.reading(vector + tau * rng.standard_normal(len(vector)), tau, model, d)
        total += np.einsum("jd,jde,je->", means - truth, precisions, means - truth)
    low, high = stats.chi2.ppf([5e-4, 1 - 5e-4], 400 * 4)
    assert low < total < high


# ------------------------------------------------------------------------------------------------ whole fits


def task_of(n=80, centres=None, sd=0.5, seed=0, noise_sd=0.5):
    rng = np.random.default_rng(seed)
    centres = 1.2 * MixtureOfGaussians(3).prior_means(2) if centres is None else centres
    labels = rng.integers(0, len(centres), n)
    x = centres[labels] + sd * rng.standard_normal((n, centres.shape[1]))
    return Task("toy", MixtureOfGaussians(len(centres), noise_sd), x), labels


def fitted(task, spec, seed=0, **change):
    method = DPSEPCorrected()
    return method.fit(
        task, replace(method.Settings(), **change), spec.open(np.random.default_rng(seed)), np.random.default_rng(0)
    )


QUIET = BudgetSpec(noise_multiplier=1e-10)


def naturals(task, posterior):
    """Data part (h, L) of a posterior."""
    precisions = np.linalg.inv(posterior.covariances)
    d, p = task.x.shape[1], 1.0 / task.model.prior_variance
    h = np.einsum("jde,je->jd", precisions, posterior.means) - p * task.model.prior_means(d)
    return h, precisions - p * np.eye(d)


def test_without_noise_it_ends_at_the_fixed_point_of_sep():
    """Overlapping clusters: N theta_f is the sum of the sites that its cavity gives, and sequential SEP gets there too.

    SEP of Li et al. 2015 by plain matrices: theta <- theta + k (f_n - theta / N), k = .1, 80 epochs (8 e-folds).
    """
    task, _ = task_of(40)
    fit = fitted(task, QUIET, steps=600, damping=0.05, clip=1e4)
    h, precision = naturals(task, fit.posterior)
    prior, p, n = task.model.prior_means(2), 0.1, task.n

    def site(row, h, precision):
        cavity = p * np.eye(2) + precision * (1 - 1 / n)
        means = np.linalg.solve(cavity, (p * prior + h * (1 - 1 / n))[:, :, None])[:, :, 0]
        return dense_site(row, means, cavity, 0.25)

    every = [site(row, h, precision) for row in task.x]
    scale = np.abs(precision).max()
    np.testing.assert_allclose(sum(s[0] for s in every), h, atol=1e-5 * scale)
    np.testing.assert_allclose(sum(s[1] for s in every), precision, atol=1e-5 * scale)
    found_h, found = np.zeros_like(h), np.zeros_like(precision)
    rng = np.random.default_rng(0)
    for _ in range(80):
        for i in rng.permutation(n):
            one, two = site(task.x[i], found_h, found)
            found_h, found = found_h + 0.1 * (one - found_h / n), found + 0.1 * (two - found / n)
    np.testing.assert_allclose(found, precision, atol=0.03 * scale)
    np.testing.assert_allclose(found_h, h, atol=0.03 * scale)


def test_far_apart_clusters_give_the_posterior_of_known_labels():
    task, labels = task_of(90, 8 * MixtureOfGaussians(3).prior_means(2))
    found = fitted(task, QUIET, steps=300, clip=1e4).posterior
    wanted = posterior_given_labels(task.model, task.x, labels)
    _, order = linear_sum_assignment(np.square(found.means[:, None] - wanted.means).sum(axis=2))
    wanted = posterior_given_labels(task.model, task.x, np.argsort(order)[labels])
    sd = np.sqrt(np.diagonal(wanted.covariances, axis1=1, axis2=2))
    assert np.abs(found.means - wanted.means).max() < 0.2 * sd.min()
    np.testing.assert_allclose(found.covariances, wanted.covariances, atol=0.1 * np.max(sd) ** 2)


def test_at_a_moderate_budget_it_still_finds_far_apart_clusters():
    """600 rows, epsilon = 5: every mean within 6 stated standard deviations (false-alarm rate below 1e-7)."""
    task, labels = task_of(600, np.array([[5.0, 3.0], [-4.0, 5.0], [2.0, -6.0]]))
    found = fitted(task, BudgetSpec(epsilon=5.0, delta=1e-5, mode=Mode.ENFORCE)).posterior
    wanted = posterior_given_labels(task.model, task.x, labels).means
    _, order = linear_sum_assignment(np.square(found.means[:, None] - wanted).sum(axis=2))
    error = np.abs(found.means - wanted[order])
    sd = np.sqrt(np.diagonal(found.covariances, axis1=1, axis2=2))
    assert sd.max() < 0.3
    assert (error < 6 * sd).all()


def test_ledger_holds_one_event_and_costs_what_is_asked():
    task, _ = task_of()
    fit = fitted(task, BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE), steps=7)
    (event,) = fit.ledger
    assert (event.steps, event.sampling, event.sampling_rate) == (7, Sampling.FULL_BATCH, 1.0)
    assert event.sensitivity == fit.diagnostics["clip"]
    assert epsilon_of(fit.ledger, 1e-5).epsilon == pytest.approx(1.0, rel=2e-3)


def test_smaller_batches_are_poisson():
    task, _ = task_of()
    fit = fitted(task, BudgetSpec(noise_multiplier=2.0), steps=7, batch_rows=20)
    (event,) = fit.ledger
    assert (event.sampling, event.sampling_rate, event.noise_multiplier) == (Sampling.POISSON, 0.25, 2.0)
    assert fit.diagnostics["sampling_rate"] == 0.25


def test_sizes_come_from_public_knowledge():
    """A row less with the same public number of rows: the same event and the same plan."""
    task, _ = task_of()
    less = Task("toy", task.model, task.x[:-1], public=PublicKnowledge(task.n))
    one, two = (fitted(t, BudgetSpec(epsilon=1.0, delta=1e-5), steps=7, batch_rows=20) for t in (task, less))
    assert one.ledger.to_json() == two.ledger.to_json()
    assert one.diagnostics == two.diagnostics


def test_what_cannot_be_fitted_is_refused():
    task, _ = task_of()
    with pytest.raises(ValueError, match="at least 1 training row"):
        fitted(Task("toy", task.model, np.zeros((0, 2))), QUIET)
    with pytest.raises(ValueError, match="known noise_sd"):
        fitted(Task("toy", MixtureOfGaussians(3, None), task.x), QUIET)
    with pytest.raises(ValueError, match="no noise_multiplier above 0"):
        fitted(task, BudgetSpec())


def test_an_overflow_is_named():
    task, _ = task_of()
    with pytest.raises(Diverged, match="left the finite range in step 1"):
        fitted(task, BudgetSpec(noise_multiplier=1.7), clip=1e308, steps=2)
