"""Densities in the box: clusters in original units, budgets, sensitivities, twins without noise."""

from __future__ import annotations

from dataclasses import replace

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from methods import contract
from methods._shared.framed_mixture import RADIUS, passes, typical_site_norm
from methods.baselines import dp_single_gaussian
from methods.contract import MethodError
from methods.em import _em as em_engine
from methods.em.dp_em_corrected import clipped
from methods.ep._mixture import corrected
from models.bounded import BoundedMixture
from models.mixture_of_gaussians import MixtureParameters
from models.task import PublicKnowledge, Task
from privacy import audit
from privacy.accountants import epsilon_of
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Relation, Sampling

KIND = "bounded_mixture"
PRIVATE = ("dp_em_corrected", "dp_sep_corrected", "dp_single_gaussian")
MEANS = ("ep", "sep", "clipped_sep", "vi")
CENTRES = np.array([[30.0, 0.5], [10.0, 0.6], [12.0, 0.1]])
BOUNDS = ((0.0, 40.0), (-0.25, 0.95))
ONE = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
HUGE = BudgetSpec(epsilon=1e6, delta=1e-5, mode=Mode.ENFORCE)


def rows(n: int, seed: int = 0) -> np.ndarray:
    """Three clusters, columns of unlike sizes."""
    rng = np.random.default_rng(seed)
    return CENTRES[rng.integers(0, 3, n)] + rng.standard_normal((n, 2)) * [2.0, 0.05]


def some_task(n: int = 600, bounds=BOUNDS, noise_sd: float | None = 0.3) -> Task:
    public = PublicKnowledge(n, bounds or (), None, "the law that draws these rows" if bounds else "")
    return Task("clusters", BoundedMixture(3, noise_sd), rows(n), None, public)


def fit(name: str, task: Task, spec: BudgetSpec = ONE, seed: int = 1, **settings):
    method = contract.get(name, KIND)
    return audit.run(method, task, method.Settings(**settings), spec, seed)


def centres_of(fitted) -> np.ndarray:
    """The component mean nearest to each of CENTRES, original units."""
    f = fitted.posterior.frame
    means = fitted.posterior.posterior.means / f.stretch * f.x_scale + f.x_shift
    distance = np.square((means[:, None] - CENTRES) / [2.0, 0.05]).sum(axis=2)
    return means[distance.argmin(axis=0)]


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["em", *MEANS])
@pytest.mark.parametrize("bounds", [BOUNDS, None], ids=["documented", "own moments"])
def test_without_privacy_the_clusters_are_found(name, bounds):
    """200 rows a cluster: a mean has a standard error of sd / 14, and half an sd is 7 of these (chance below 1e-10)."""
    fitted = fit(name, some_task(bounds=bounds), BudgetSpec())
    np.testing.assert_allclose((centres_of(fitted) - CENTRES) / [2.0, 0.05], 0.0, atol=0.5)
    assert len(fitted.ledger) == 0
    new = rows(500, 9)
    one = fit("single_gaussian", some_task(bounds=bounds))
    assert fitted.posterior.log_density(new).mean() > one.posterior.log_density(new).mean()


@pytest.mark.parametrize("name", ["em", *MEANS])
def test_without_privacy_the_means_are_those_of_the_clusters(name):
    """Closed form: ten standard deviations apart, so each row's cluster is sure, and a mean is that of its rows but for
    the prior, worth less than a row (EM's: one row of 200 and a factor, 0.03 sd), and SEP's weights, which are uneven
    by some e^-4. A twentieth of an sd: the mean of another 200 rows of the same cluster is not taken for it.
    """
    x = rows(600)
    part = np.square((x[:, None] - CENTRES) / [2.0, 0.05]).sum(axis=2).argmin(axis=1)
    found = centres_of(fit(name, some_task(), BudgetSpec()))
    own = np.array([x[part == k].mean(axis=0) for k in range(3)])
    assert np.abs((found - own) / [2.0, 0.05]).max() < 0.05
    other = rows(600, seed=3)
    part = np.square((other[:, None] - CENTRES) / [2.0, 0.05]).sum(axis=2).argmin(axis=1)
    near = np.array([other[part == k].mean(axis=0) for k in range(3)])
    assert np.abs((found - near) / [2.0, 0.05]).max() > 0.1


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("bounds", [BOUNDS, None], ids=["documented", "bought"])
@pytest.mark.parametrize("epsilon", [0.1, 8.0])
def test_the_budget_is_kept_and_used(name, bounds, epsilon):
    fitted = fit(name, some_task(bounds=bounds), BudgetSpec(epsilon=epsilon, delta=1e-5, mode=Mode.ENFORCE))
    assert 0.999 * epsilon < epsilon_of(fitted.ledger, 1e-5).epsilon <= epsilon * (1 + 1e-9)
    assert len(fitted.ledger) == (1 if bounds else 3)
    assert {e.relation for e in fitted.ledger} == {Relation.ADD_REMOVE}


def test_small_batches_keep_the_budget_too():
    """Poisson batches: the calibration is a search that ends within 0.1 % of the noise."""
    fitted = fit("dp_sep_corrected", some_task(bounds=None), batch_rows=150, steps=20)
    assert 0.99 < epsilon_of(fitted.ledger, 1e-5).epsilon <= 1.0
    last = fitted.ledger.events[-1]
    assert (last.sampling, last.sampling_rate) == (Sampling.POISSON, 0.25)


def test_a_loose_clip_would_be_caught(monkeypatch):
    """The audit has power on this kind: rows clipped to twice the ball are found out."""
    true = dp_single_gaussian.in_ball
    monkeypatch.setattr(dp_single_gaussian, "in_ball", lambda rows: 2.0 * true(rows / 2.0))
    method = contract.get("dp_single_gaussian", KIND)
    found = audit.checks(method, some_task(12), method.Settings(radius=0.5), ONE, 1)
    assert "sensitivity" in found["sensitivity"]


def test_without_noise_one_gaussian_is_one_gaussian():
    """Epsilon 1e6, n = 5000; noise of about 2e-3 rows in sums of 5000: 1e-5. No row lies outside of the ball."""
    task = some_task(5000)
    private = fit("dp_single_gaussian", task, HUGE, radius=3.0).posterior
    plain = fit("single_gaussian", task).posterior
    for what in ("means", "covariances"):
        np.testing.assert_allclose(getattr(private.posterior, what), getattr(plain.posterior, what), atol=1e-4)


def test_without_noise_the_joint_release_is_em():
    """Oracle: EM by maximum likelihood from the same start on the same clipped rows. Epsilon 1e6, ten M-steps.

    Weights have one more row a component (that of the repaired step): 1 / 5000.
    """
    task, seed = some_task(5000), 3
    found = fit("dp_em_corrected", task, HUGE, seed).posterior
    radius = RADIUS * np.sqrt(2.0)
    u = clipped(found.frame.task(task).x / radius, 1.0)
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    start = em_engine.initial(2, 3, rng)
    start = MixtureParameters(start.weights, start.means, 0.1 * start.covariances)
    step = lambda g, _: em_engine.map_m_step(em_engine.moments(u, g), None)  # noqa: E731
    plain, _ = em_engine.iterate(u, start, step, 10, 0.0, None)
    np.testing.assert_allclose(found.posterior.means / radius, plain.means, atol=1e-3)
    np.testing.assert_allclose(found.posterior.covariances / radius**2, plain.covariances, atol=1e-3)
    np.testing.assert_allclose(found.posterior.weights, plain.weights, atol=1e-3)


def test_without_noise_the_corrected_sites_are_those_of_sep():
    """Epsilon 1e6, no site clipped: means to a tenth of a cluster's sd. (240 parallel steps against 40 passes.)"""
    task = some_task(2000)
    found, plain = fit("dp_sep_corrected", task, HUGE, clip=1e3), fit("sep", task)
    np.testing.assert_allclose((centres_of(found) - centres_of(plain)) / [2.0, 0.05], 0.0, atol=0.1)


def test_moments_of_one_gaussian_are_read_back():
    """Without noise mean and covariance come back; noise raises what it hides."""
    x = dp_single_gaussian.in_ball(np.random.default_rng(0).standard_normal((50, 3)) * [0.5, 0.3, 0.01])
    moments = dp_single_gaussian.moment_sums(x) / 50
    mean, covariance = dp_single_gaussian.gaussian(moments, 0.0, 1e-12)
    np.testing.assert_allclose(mean, x.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(covariance, np.cov(x.T, bias=True), atol=1e-12)
    _, raised = dp_single_gaussian.gaussian(moments, 0.01, 1e-12)
    assert np.linalg.eigvalsh(raised)[0] == pytest.approx(0.01 * np.sqrt(6.0), rel=1e-9)


@hypothesis.settings(deadline=None, max_examples=100)
@given(d=st.integers(1, 6), size=st.sampled_from([0.0, 0.3, 1.0, 1e8]), seed=st.integers(0, 10_000))
def test_one_row_moves_the_moments_by_no_more_than_declared(d, size, seed):
    u = dp_single_gaussian.in_ball(size * np.random.default_rng(seed).standard_normal((4, d)))
    change = np.linalg.norm(dp_single_gaussian.moment_sums(u) - dp_single_gaussian.moment_sums(u[:-1]))
    assert change <= np.sqrt(2.0 - 1.0 / d) * (1 + 1e-9)  # rounding of sums of four terms
    r = float(u[-1] @ u[-1])
    assert change == pytest.approx(np.sqrt(r + r * r - 2 * r / d + 1 / d), abs=1e-7)


def test_dp_sep_is_refused_with_its_reason():
    method = contract.get("dp_sep", KIND)
    task = some_task(20)
    assert "add/remove" in method.supports(task)
    with pytest.raises(MethodError, match="add/remove"):
        fit("dp_sep", task)


@pytest.mark.parametrize("name", [*MEANS, "dp_sep_corrected"])
def test_an_unknown_noise_is_refused_by_those_that_need_it(name):
    assert "unknown" in contract.get(name, KIND).supports(some_task(20, noise_sd=None))


def test_the_released_program_runs_in_mode_record_alone_and_costs_infinity():
    task = some_task(200)
    for epsilon in (0.1, 8.0):
        fitted = fit("dp_em_authors", task, BudgetSpec(epsilon=epsilon, delta=1e-5))
        assert epsilon_of(fitted.ledger, 1e-5).epsilon == np.inf
    with pytest.raises(BudgetExceeded):
        fit("dp_em_authors", task)


@pytest.mark.parametrize("name", PRIVATE)
def test_a_budget_that_states_nothing_is_refused(name):
    with pytest.raises(ValueError, match="epsilon"):
        fit(name, some_task(30), BudgetSpec())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("dp_em_corrected", {"iterations": 0}),
        ("dp_em_corrected", {"radius": 0.0}),
        ("dp_single_gaussian", {"radius": np.inf}),
        ("single_gaussian", {"eigenvalue_floor": 0.0}),
        ("vi", {"iterations": 0}),
    ],
)
def test_settings_out_of_range_are_refused_by_name(name, change):
    with pytest.raises(ValueError, match=next(iter(change))):
        contract.get(name, KIND).Settings(**change)


def test_formulas_of_sizes():
    assert [passes(n) for n in (0, 1000, 10_000, 10**6)] == [40, 40, 20, 5]
    model = BoundedMixture(3, 0.7).inner
    loud = corrected.schedule(120, 1.0, 1e-9, 1000, 4, model)  # almost no noise: the typical norm is the bound
    assert typical_site_norm(model, 4) == pytest.approx(loud.clip, rel=1e-12)


def test_the_number_of_rows_is_public():
    """Noise and clip do not change where a row is removed."""
    task = some_task(60)
    fewer = replace(task, x=task.x[:-1])
    for name in PRIVATE:
        assert fit(name, task).ledger.to_json() == fit(name, fewer).ledger.to_json()
