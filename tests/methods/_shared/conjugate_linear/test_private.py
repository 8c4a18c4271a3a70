"""Private methods of linear regression in the box: their privacy, their kernels, and where they go without noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods import contract
from methods._shared import adassp
from methods._shared.conjugate_linear import descent, kernel, naturals, release
from models.bounded import BoundedLinearRegression
from models.task import PublicKnowledge, Task
from privacy import audit
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec
from privacy.ledger import Relation, Sampling

KIND = "bounded_linear_regression"
RELEASES = ("sufficient_statistics_perturbation", "adassp")
DESCENTS = ("dp_vi_vinaroz_corrected", "dp_sgd")
NAMES = RELEASES + DESCENTS
D = 3
SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, mode="enforce")


def some_task(n=400, seed=0, documented=True):
    """Rows inside their documented ranges, so that box and original units are the same."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, D))
    y = np.clip(0.4 * x[:, 0] - 0.3 * x[:, 1] + 0.1 + 0.1 * rng.standard_normal(n), -1, 1)
    ranges = (((-1.0, 1.0),) * D, (-1.0, 1.0)) if documented else ((), None)
    return Task("toy", BoundedLinearRegression(), x, y, PublicKnowledge(n, *ranges, "the law that draws these rows"))


def small(name, **change):
    """Settings with enough steps to run every line."""
    method = contract.get(name, KIND)
    return method.Settings(**({"steps": 6, "sampling_rate": 0.5, "clip": 0.3} if name in DESCENTS else {}), **change)


def fit(name, task, spec=SPEC, seed=1, **change):
    method = contract.get(name, KIND)
    budget = spec.open(np.random.default_rng([seed, 1]))
    return method.fit(task, method.Settings(**change), budget, np.random.default_rng([seed, 2]))


def rmse(fitted, task):
    mean = fitted.posterior.predictive(task.x, np.random.default_rng(0)).mean
    return float(np.sqrt(np.mean((mean - task.y) ** 2)))


# ------------------------------------------------------------------------------------------------------ its privacy


@pytest.mark.parametrize("name", RELEASES)
def test_a_loose_clip_is_caught(name, monkeypatch):
    """The audit has power: a release at 1.5 times the declared bound is found out by a row in the corner of the box."""
    if name == "sufficient_statistics_perturbation":
        monkeypatch.setattr(release, "clipped_site_sum", lambda x, y, b: _true_sum(x, y, 1.5 * b))
    else:
        monkeypatch.setattr(adassp, "second_moments", lambda rows, c, t: _true_moments(rows, math.sqrt(1.5) * c, t))
    task = audit.with_last_row(some_task(30), np.ones(D), 1.0)
    # noise enough that rows are clipped
    gaps = audit.replay_gap(
        contract.get(name, KIND), task, audit.first_rows(task, 29), small(name), BudgetSpec(noise_multiplier=50.0), 3
    )
    assert max(g.ratio for g in gaps) > 1.3


_true_sum, _true_moments = release.clipped_site_sum, adassp.second_moments


@pytest.mark.parametrize("epsilon", [pytest.param(0.1, marks=pytest.mark.nightly), 1.0, 8.0])
@pytest.mark.parametrize("name", NAMES)
def test_the_budget_is_kept_and_used(name, epsilon):
    spec = BudgetSpec(epsilon=epsilon, delta=1e-5, mode="enforce")
    change = {"steps": 50} if name in DESCENTS else {}
    for documented, events in ((True, 1), (False, 3)):
        made = fit(name, some_task(100, documented=documented), spec, **change)
        assert 0.99 * epsilon < epsilon_of(made.ledger, 1e-5).epsilon <= epsilon * (1 + 1e-9)
        assert len(made.ledger) == events
        assert {e.relation for e in made.ledger} == {Relation.ADD_REMOVE}


@pytest.mark.parametrize("name", DESCENTS)
def test_all_steps_are_declared_as_poisson(name):
    event = fit(name, some_task(50), BudgetSpec(noise_multiplier=2.0), steps=7, sampling_rate=0.25).ledger.events[-1]
    assert (event.sampling, event.sampling_rate, event.steps) == (Sampling.POISSON, 0.25, 7)
    whole = fit(name, some_task(50), BudgetSpec(noise_multiplier=2.0), steps=7, sampling_rate=1.0).ledger.events[-1]
    assert whole.sampling is Sampling.FULL_BATCH


@pytest.mark.parametrize("name", DESCENTS)
def test_a_batch_of_many_rows_is_smaller_than_its_share_and_the_ledger_says_so(name):
    many = {"steps": 7, "sampling_rate": 0.5, "most_rows": 10}
    event = fit(name, some_task(50), BudgetSpec(noise_multiplier=2.0), **many).ledger.events[-1]
    assert (event.sampling, event.sampling_rate, event.steps) == (Sampling.POISSON, 0.2, 7)
    rates = [descent.Settings().rate(n) for n in (1_000, 200_000, 1_000_000)]
    assert rates == [0.1, 0.1, 0.02]


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_rows_comes_from_what_is_public(name):
    task = some_task(100)
    one, two = (fit(name, t) for t in (task, replace(task, x=task.x[:-1], y=task.y[:-1])))
    assert one.ledger.to_json() == two.ledger.to_json()
    plan = {k: v for k, v in one.diagnostics.items() if k != "penalty"}  # the penalty is read from the release
    assert plan == {k: v for k, v in two.diagnostics.items() if k != "penalty"}


# ------------------------------------------------------------------------------------------------------ the releases


def test_unclipped_sites_give_the_moments_back():
    task = some_task(50)
    rows = np.column_stack([task.x, np.ones(50), task.y])
    summed = release.clipped_site_sum(task.x, task.y, D + 2.0)  # no row of the box is longer
    np.testing.assert_allclose(release.gram_of_sites(summed, D, 50), rows.T @ rows, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.floats(), min_size=D + 1, max_size=D + 1), st.floats(1.01, 20.0))
def test_no_row_exceeds_the_bound_of_the_sites(row, squared):
    """NaN, infinities and numbers whose squares overflow included; 1e-12 is rounding."""
    z = np.array([row])
    out = release.clipped_site_sum(z[:, :D], z[:, D], squared)
    assert np.isfinite(out).all()
    assert np.linalg.norm(out) <= math.sqrt(squared**2 - 1.0) * (1 + 1e-12)


def test_a_site_is_clipped_exactly_where_its_row_is_longer_than_the_bound():
    x, y = np.array([[0.5, -0.4, 0.3]]), np.array([0.2])
    squared = 1.0 + float((x**2).sum() + y[0] ** 2)
    free = release.clipped_site_sum(x, y, 100.0)
    assert np.linalg.norm(free) == pytest.approx(math.sqrt(squared**2 - 1.0), rel=1e-12)
    np.testing.assert_allclose(release.clipped_site_sum(x, y, squared * (1 + 1e-12)), free, rtol=1e-12)
    assert np.linalg.norm(release.clipped_site_sum(x, y, 1.1)) == pytest.approx(math.sqrt(1.1**2 - 1.0), rel=1e-12)


def test_the_bound_follows_the_noise_between_the_typical_row_and_the_corner():
    public = PublicKnowledge(1000, ((-1.0, 1.0), None, None), None)
    typical = 1 / 3 + 3 / 9  # one documented column of four
    rule = adassp.ClipRule(1.5, 0.003)
    assert release.squared_bound(rule, public, 1e9) == pytest.approx(1 + 1.5 * typical, rel=1e-12)
    allowed = 0.02 * 1000 * typical / 4  # noise x bound at most a fiftieth of n mean squares
    assert release.squared_bound(adassp.ClipRule(1.0, 0.02), public, 1.0) == pytest.approx(allowed, rel=1e-12)
    assert release.squared_bound(adassp.ClipRule(1.0, 0.003), public, 1.0, unit=1.0) == pytest.approx(3.0, rel=1e-12)
    assert release.squared_bound(rule, public, 1e-9) == 5.0


def test_a_release_of_noise_alone_still_gives_a_proper_posterior():
    """Moments of 30 rows under noise of 100: indefinite; lifted to the level of the noise."""
    rng = np.random.default_rng(0)
    summed = release.clipped_site_sum(some_task(30).x, some_task(30).y, 5.0)
    gram = release.gram_of_sites(summed + rng.normal(0, 100.0, summed.shape), D, 30)
    assert np.linalg.eigvalsh(gram)[0] < 0
    found = adassp.read(adassp.Moments(gram, 100.0), 0.02)
    assert np.linalg.eigvalsh(found.matrix)[0] == pytest.approx(100 * math.sqrt(2 * (D + 1)), rel=1e-9)
    q = release.posterior(BoundedLinearRegression().inner, found, 30)
    assert np.isfinite(q.sample(5, rng)).all()
    assert q.scale > 0.02


@pytest.mark.parametrize("p", [5, 17])
def test_the_floor_is_where_the_norm_of_the_noise_is(p):
    """200 matrices of noise: their mean norm is below noise x sqrt(2 p) by the edge's correction, less than 25 %."""
    rng, upper = np.random.default_rng(1), len(np.triu_indices(p)[0])
    norms = [np.abs(np.linalg.eigvalsh(adassp.unpacked(rng.standard_normal(upper), p))).max() for _ in range(200)]
    assert 0.75 < np.mean(norms) / math.sqrt(2 * p) < 1.05


# ------------------------------------------------------------------------------------------------------- the descents


def oracle_sum(x1, y, rows, mean, squares, v, weights, clips, most, centre):
    """One row after the other, from the formulas."""
    p = len(mean)
    out = np.zeros(2 * p)
    for i in rows:
        r = y[i] - mean @ x1[i]
        parts = [
            r / math.sqrt(v) * x1[i],
            weights[0] * x1[i, :-1] ** 2,
            np.array([weights[1] * 0.5 * (min((r**2 + squares @ x1[i] ** 2) / v, most) - centre)]),
        ]
        if np.isfinite(np.concatenate(parts)).all():
            out += np.concatenate(
                [a * min(1.0, c / max(np.linalg.norm(a), 1e-300)) for a, c in zip(parts, clips, strict=True)]
            )
    return out


@pytest.mark.parametrize("clip", [0.1, 10.0])
def test_the_kernel_is_its_formula(clip):
    task, rng = some_task(40), np.random.default_rng(2)
    x1 = np.column_stack([task.x, np.ones(40)])
    x1[7, 0] = np.nan
    y, rows, mean, squares = task.y, np.arange(0, 40, 3), rng.normal(0, 0.3, 4), rng.uniform(0, 0.1, 4)
    rest = (0.05, np.array([0.7, 0.2]), np.array([clip, 0.4, 0.3]), 9.0, 0.97)
    norms = kernel.norms_of(x1)
    found = kernel.clipped_sum(x1, norms, y, rows, mean, squares, *rest, True)
    np.testing.assert_allclose(found, oracle_sum(x1, y, rows, mean, squares, *rest), rtol=1e-12, atol=1e-14)
    point = kernel.clipped_sum(x1, norms, y, rows, mean, 0 * squares, *rest, False)
    expected = oracle_sum(x1, y, rows, mean, 0 * squares, *rest)
    expected[4:7] = 0.0  # a point releases no squares of inputs
    np.testing.assert_allclose(point, expected, rtol=1e-12, atol=1e-14)


def test_its_parts_are_the_gradients_of_the_lower_bound():
    """Central differences of E_q[log N(y; w . x1, v)] at fixed v, times sqrt(v), v / s^2 and 1; step 1e-5: 1e-8."""
    rng = np.random.default_rng(4)
    x, y, m, s, mu = np.append(rng.uniform(-1, 1, D), 1.0), 0.3, rng.normal(0, 0.3, 4), rng.uniform(0.1, 0.3, 4), -2.0

    def bound(m, log_s, mu):
        energy = (y - m @ x) ** 2 + np.exp(2 * log_s) @ x**2
        return -0.5 * (mu + energy * math.exp(-mu))

    def slope(f, at):
        eye = 1e-5 * np.eye(len(at))
        return np.array([(f(at + e) - f(at - e)) / 2e-5 for e in eye])

    v = math.exp(mu)
    huge = np.array([1e9, 1e9, 1e9])
    norms, rows = kernel.norms_of(x[None]), np.zeros(1, dtype=np.int64)
    targets = np.full(1, y)
    targets.setflags(write=False)  # as a task's: for others the kernel compiles again
    total = kernel.clipped_sum(x[None], norms, targets, rows, m, s**2, v, np.ones(2), huge, 1e9, 1.0, True)
    log_s = np.log(s)
    np.testing.assert_allclose(total[:4], math.sqrt(v) * slope(lambda a: bound(a, log_s, mu), m), atol=1e-8)
    in_s = -slope(lambda a: bound(m, a, mu), log_s) * v / s**2
    np.testing.assert_allclose(total[4:7], in_s[:D], atol=1e-8)
    assert total[7] == pytest.approx(slope(lambda a: bound(m, log_s, a[0]), np.array([mu]))[0], abs=1e-8)


def test_the_centre_of_the_cut_residual_is_its_expectation():
    """400,000 draws: 5 standard errors, false alarm 6e-7."""
    cut = np.minimum(np.random.default_rng(0).standard_normal(400_000) ** 2, 4.0)
    assert abs(cut.mean() - descent.centre(4.0)) < 5 * cut.std() / math.sqrt(len(cut))
    assert descent.centre(1e9) == pytest.approx(1.0, rel=1e-9)


def test_the_schedule_keeps_the_noise_to_its_path_and_takes_no_data():
    """Oracle: the sum of the variances of all steps, learning rate falling to 0."""
    public = PublicKnowledge(2000, (None,) * 4, None)
    s = descent.Settings()
    plan = descent.schedule(public, s, 30.0, bayes=True)
    rates = plan.rate * (1 - np.arange(s.steps) / s.steps)
    path = math.sqrt((rates**2).sum()) * plan.sensitivity * 30.0 / (s.sampling_rate * 2000)
    assert path == pytest.approx(s.travel, rel=2e-3)  # a sum against its integral over 1000 steps
    quiet = descent.schedule(public, s, 1e-9, bayes=True)
    assert quiet.rate == pytest.approx(s.max_rate / (1 + 4 / 9), rel=1e-12)
    assert quiet.clips[0] == pytest.approx(descent.LARGEST * plan.clips[0], rel=1e-12)


def test_the_posterior_of_dp_vi_has_the_moments_of_its_draws():
    """20,000 draws; 5 standard errors of 5 numbers: false alarm 3e-6."""
    q = fit("dp_vi_vinaroz_corrected", some_task(200), steps=50).posterior.posterior
    theta = q.sample(20_000, np.random.default_rng(3))
    np.testing.assert_array_less(np.abs(theta[:, :-1].mean(axis=0) - q.mean), 5 * q.sd / math.sqrt(20_000))
    log_v = np.log(np.log1p(np.exp(theta[:, -1])))
    assert abs(log_v.mean() - q.log_variance) < 5 * q.log_variance_sd / math.sqrt(20_000)


# ------------------------------------------------------------------------------------------ where they go without noise


HUGE = BudgetSpec(epsilon=1e6, delta=1e-5, mode="enforce")


def in_sds(mean, exact):
    """Largest error of a weight in standard deviations of the exact posterior."""
    covariance = np.linalg.inv(exact.factor @ exact.factor.T) * exact.scale / exact.shape
    return float(np.max(np.abs(mean - exact.mean) / np.sqrt(np.diag(covariance))))


@pytest.fixture(scope="module")
def exact():
    return fit("exact_posterior", some_task(2000), BudgetSpec()).posterior.posterior


def test_at_epsilon_a_million_dp_sep_is_the_exact_posterior(exact):
    """Noise multiplier .0007 on moments of 2000 rows, sensitivity 5: means within .01 standard deviations."""
    q = fit("sufficient_statistics_perturbation", some_task(2000), HUGE).posterior.posterior
    assert in_sds(q.mean, exact) < 0.01
    np.testing.assert_allclose(q.factor, exact.factor, rtol=1e-4, atol=1e-2)
    assert (q.shape, q.scale) == pytest.approx((exact.shape, exact.scale), rel=2e-3)


def test_at_epsilon_a_million_dp_linear_regression_is_ridge_with_the_prior(exact):
    point = fit("adassp", some_task(2000), HUGE).posterior.posterior
    assert in_sds(point.weights, exact) < 0.01
    assert point.covariance is None
    assert point.noise_variance == pytest.approx(exact.scale / exact.shape, rel=5e-3)  # n + 2 shape against n


@pytest.mark.parametrize("name", DESCENTS)
def test_at_epsilon_a_million_the_descent_comes_to_the_posterior_mean(name, exact):
    """What is left is the sampling of batches in the average (q = .1, 500 steps) and cut residuals: half a standard
    deviation in the means, 5 % in the noise variance (its own relative standard deviation is 3 %)."""
    q = fit(name, some_task(2000), HUGE).posterior.posterior
    mean, variance = (
        (q.mean, math.exp(q.log_variance)) if name == "dp_vi_vinaroz_corrected" else (q.weights, q.noise_variance)
    )
    assert in_sds(mean, exact) < 0.5
    assert variance == pytest.approx(exact.scale / exact.shape, rel=0.05)


@pytest.mark.parametrize("name", DESCENTS)
def test_with_whole_batches_the_descent_ends_at_the_posterior_mean(name, exact):
    """Nothing is sampled, next to no noise: a hundredth of a standard deviation. DP-SGD has no prior, which is worth
    0.02 of 2,000 rows. A near-miss far outside: the same descent with a fifth of the clip."""

    def error(**change) -> float:
        q = fit(name, some_task(2000), HUGE, sampling_rate=1.0, **change).posterior.posterior
        return in_sds(q.mean if name == "dp_vi_vinaroz_corrected" else q.weights, exact)

    assert error() < 0.01
    assert error(clip=0.2) > 0.1


def test_at_epsilon_a_million_dp_vi_has_the_spread_of_a_diagonal_q(exact):
    """Oracle: 1 / s_j^2 = (X'X + precision I)_jj / v, the best Gaussian with independent weights; as above, 5 %."""
    q = fit("dp_vi_vinaroz_corrected", some_task(2000), HUGE).posterior.posterior
    m = naturals.moments(some_task(2000).x, some_task(2000).y)
    best = np.sqrt(exact.scale / exact.shape / (np.diag(m.xx) + 0.02))
    np.testing.assert_allclose(q.sd, best, rtol=0.05)


# ------------------------------------------------------------------------------------------------- what all must do


@pytest.mark.parametrize("name", NAMES)
def test_at_epsilon_one_it_learns_the_line_and_a_thousand_times_the_noise_destroys_it(name):
    """The noise has standard deviation .1, the line .29."""
    task, test = some_task(3000), some_task(500, seed=9)
    good = fit(name, task)
    assert rmse(good, test) < 0.13
    bad = fit(name, task, BudgetSpec(noise_multiplier=1000 * good.diagnostics["noise_multiplier"]))
    assert rmse(bad, test) > 0.2


@pytest.mark.parametrize(
    ("name", "change"),
    [("sufficient_statistics_perturbation", {"margin": 0.0}), ("adassp", {"noise_part": math.inf}),
     ("dp_vi_vinaroz_corrected", {"steps": 0}),
     ("dp_vi_vinaroz_corrected", {"sampling_rate": 1.5}), ("dp_sgd", {"clip": -1.0}), ("dp_sgd", {"travel": 0.0})],
)  # fmt: skip
def test_settings_out_of_range_are_refused_by_name(name, change):
    with pytest.raises(ValueError, match=next(iter(change))):
        contract.get(name, KIND).Settings(**change)


@pytest.mark.parametrize("name", NAMES)
def test_a_budget_that_states_nothing_is_refused_and_a_task_without_rows_is_fitted(name):
    """Whether all rows are empty may follow from one row."""
    with pytest.raises(ValueError, match="noise_multiplier"):
        fit(name, some_task(30), BudgetSpec())
    task = some_task(30)
    found = fit(name, replace(task, x=task.x[:0], y=task.y[:0]))
    assert all(np.isfinite(v).all() for v in found.posterior.parameters().values())
