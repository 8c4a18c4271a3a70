import math
from dataclasses import replace

import numpy as np
import pytest

from methods import contract
from methods.sufficient_statistics import whitened_ssp
from models import kind
from models.task import PublicKnowledge
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec

KIND = "bounded_linear_regression"
METHOD = contract.get("whitened_ssp", KIND)
N, D = 6000, 6


def task(condition: float, seed: int, n: int = N):
    """Rows whose inputs have a covariance of this condition number; every eigendirection predicts alike."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(D, D)))[0]
    factors = rng.normal(size=(n, D))
    x = factors * np.geomspace(1.0, 1.0 / math.sqrt(condition), D) @ directions
    y = 0.5 * factors @ np.ones(D) / math.sqrt(D) + 0.15 * rng.normal(size=n)
    made = next(iter(kind.kind(KIND).tiny.values()))(4, 1)
    ranges = tuple((-float(b), float(b)) for b in 6.0 * np.geomspace(1, 1, D))
    return replace(made, x=x, y=y, public=PublicKnowledge(n, ranges, (-3.0, 3.0), "the law that draws these rows"))


def fit(name: str, made, epsilon: float, seed: int = 0):
    method = contract.get(name, KIND)
    budget = BudgetSpec(epsilon=epsilon, delta=1e-5).open(np.random.default_rng(seed))
    return method.fit(made, method.Settings(), budget, np.random.default_rng(seed))


def weights(fitted) -> np.ndarray:
    inner = fitted.posterior.posterior
    return inner.mean if inner.kind == "normal_inverse_gamma" else inner.weights


def covariance(fitted) -> np.ndarray:
    """Of the weights, box units, at the mean of the noise variance."""
    q = fitted.posterior.posterior
    return np.linalg.inv(q.factor @ q.factor.T) * q.scale / (q.shape - 1)


def excess(fitted, made) -> float:
    """Mean square of what the weights predict beside the least squares, over the mean square of its residuals."""
    exact = weights(fit("exact_posterior", made, 1.0))
    frame = fitted.posterior.frame
    u = np.column_stack([frame.x(made.x), np.ones(len(made.y))])
    residual = (made.y - frame.y_shift) / frame.y_scale - u @ exact
    return float(np.mean((u @ (weights(fitted) - exact)) ** 2) / np.mean(residual**2))


def test_next_to_no_noise_gives_the_exact_posterior():
    made = task(100.0, 1)
    ours, exact = fit("whitened_ssp", made, 1e6), fit("exact_posterior", made, 1.0)
    apart = weights(ours) - weights(exact)
    assert (
        apart @ np.linalg.solve(covariance(exact), apart) < 0.01**2
    )  # in posterior standard deviations, all directions
    assert covariance(ours) == pytest.approx(covariance(exact), rel=0.01, abs=1e-3 * covariance(exact).max())


@pytest.mark.parametrize("condition", [1.0, 1e4])
def test_collinear_columns_do_not_drown(condition):
    """Ten data sets and noises each."""
    ours, plain = [], []
    for seed in range(10):
        made = task(condition, seed)
        ours.append(excess(fit("whitened_ssp", made, 1.0, seed), made))
        plain.append(excess(fit("adassp", made, 1.0, seed), made))
    assert max(ours) < 0.05
    if condition > 1:
        assert min(plain) > 10 * max(ours)


def test_the_covariance_tells_what_the_noise_does():
    """300 noises on the same rows, epsilon = .5: variance of the weights over the noise beside what is added for it.

    Along the eigenvectors of the stated covariance the ratio of variances has a standard deviation of .08 a direction
    (chi-square, 300), so [.6, 1.6] leaves five of them for the first-order form; a covariance without the noise, or
    with twice its standard deviation, is outside by a factor.
    """
    made = task(100.0, 3)
    fits = [fit("whitened_ssp", made, 0.5, seed) for seed in range(300)]
    drawn = np.array([weights(f) for f in fits])
    added = np.mean([covariance(f) for f in fits], axis=0) - covariance(fit("exact_posterior", made, 1.0))
    along = np.linalg.eigh(added)[1]
    ratio = (drawn @ along).var(axis=0) / np.diag(along.T @ added @ along)
    assert np.all((ratio > 0.6) & (ratio < 1.6)), ratio


def test_it_spends_its_budget_in_six_releases():
    made = fit("whitened_ssp", task(1.0, 5, 500), 1.0)
    assert sum(event.steps for event in made.ledger) == 6
    assert 0.995 <= epsilon_of(made.ledger, 1e-5).epsilon <= 1.0


def test_every_round_is_clipped_at_the_norm_that_it_states():
    """The rows of a round that is released are within its sensitivity, also after whitening with noise."""
    made, seen = task(1e4, 2, 800), []
    budget = BudgetSpec(epsilon=1.0, delta=1e-5).open(np.random.default_rng(0))
    rows = np.column_stack([made.x, np.ones(800), made.y])
    found = whitened_ssp.whitened(rows, np.eye(D + 2), 800, METHOD.Settings(), 4.0, budget)
    for event in budget.ledger:
        seen.append(event.sensitivity)
    z = rows @ found.transform.T
    clipped = z * np.minimum(1.0, math.sqrt(found.squared) / np.linalg.norm(z, axis=1))[:, None]
    assert seen[-1] == pytest.approx(found.squared)
    assert (clipped**2).sum(axis=1).max() <= found.squared * (1 + 1e-12)
    assert (z**2).sum(axis=1).max() > found.squared  # so that the clip is at work


def test_what_the_clip_keeps():
    """Against 400,000 normal rows: standard error of the mean of a square 1.414 / sqrt(400,000 x 5) = .001."""
    rng = np.random.default_rng(4)
    rows = np.column_stack([rng.normal(size=(400_000, 5)), np.ones(400_000)])
    for squared in (3.0, 6.6, 20.0):
        factor = np.minimum(1.0, squared / (rows**2).sum(axis=1))
        assert whitened_ssp.kept(6, squared) == pytest.approx((factor[:, None] * rows[:, :5] ** 2).mean(), abs=0.005)
    assert whitened_ssp.kept(6, 1e6) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"rounds": 1.5}, {"last": 0.0}, {"last": 1.0}, {"margin": 0.0}, {"lift": math.nan}]
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        METHOD.Settings(**wrong)
