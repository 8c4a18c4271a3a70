"""NA-DPVI's adapters: exact draws against NUTS, readings of one run, DPVIm's averages."""

import math

import numpy as np
import pytest

from methods import contract
from methods.engines.noise_aware import aligned
from models.conjugate_simulators import ConjugateSimulator
from models.noise_aware import optimum_moments
from models.task import Task
from models.unconstrained import softplus
from privacy.budget import BudgetSpec

READINGS = ("dpvi", "dpvi_last_iterate", "dpvi_trace_average", "na_dpvi", "na_dpvi_laplace")


def task_of(family, seed=0, n=5000):
    rng, model = np.random.default_rng(seed), ConjugateSimulator(family)
    return Task(family, model, model.simulate(model.sample_prior(1, rng)[0], n, rng))


def fit(name, task, seed=1, sigma=37.8125, **settings):
    method = contract.get(name)
    budget = BudgetSpec(noise_multiplier=sigma).open(np.random.default_rng([seed, 1]))
    return method.fit(task, method.Settings(**settings), budget, np.random.default_rng([seed, 2]))


@pytest.mark.parametrize("family", ["beta_bernoulli", "dirichlet_categorical"])
def test_nuts_and_exact_draws_agree(family):
    """2 chains of 2000 draws a data set, full runs of 10,000 steps, 3 data sets.

    Means within 6 Monte Carlo standard errors and 0.15 standard deviations, deviations within 15 %: what 2000 effective
    draws of a posterior with a heavy tail (slope near 0) can tell. R-hat below 1.03.
    """
    scale = {"beta_bernoulli": {}, "dirichlet_categorical": {"clip": math.sqrt(2), "deviation_scale": 100.0}}[family]
    for seed in range(3):
        found = fit("na_dpvi_nuts", task_of(family, seed), seed, num_warmup=500, num_samples=2000, **scale)
        told = found.diagnostics
        assert told["rhat_max"] < 1.03
        assert told["ess_min"] > 300
        assert told["mean_gap_errors"] < 6
        assert told["mean_gap_max"] < 0.15
        assert told["sd_log_ratio_max"] < 0.15
        assert found.posterior.phi.shape == (1000, 2 * found.posterior.centre.size)


def test_readings_of_one_seed_are_of_one_run():
    task = task_of("dirichlet_categorical", n=400)
    fits = {name: fit(name, task, steps=200).posterior for name in READINGS}
    for name in READINGS:
        np.testing.assert_array_equal(fits[name].trace.phi, fits["dpvi"].trace.phi)
        np.testing.assert_array_equal(fits[name].last, fits["dpvi"].last)
    assert {p.reading for p in fits.values()} == {
        "trace_mean", "last_iterate", "trace_average", "noise_aware", "laplace"
    }  # fmt: skip


def test_noise_aware_posterior_widens_with_the_noise():
    """Ten times the privacy noise: its standard deviation grows by more than 3."""
    task = task_of("beta_bernoulli")
    sds = []
    for sigma in (37.8125, 378.125):
        posterior = fit("na_dpvi", task, sigma=sigma).posterior
        sds.append(math.sqrt(optimum_moments(*posterior.coordinate(0), posterior.rate, posterior.priors)[1]))
    assert sds[1] > 3 * sds[0]


def test_priors_reach_the_posterior():
    posterior = fit(
        "na_dpvi", task_of("beta_bernoulli", n=300), steps=100, optimum_sd=0.3, slope_widening=3.0
    ).posterior
    assert (posterior.priors.optimum_sd, posterior.priors.slope_widening) == (0.3, 3.0)
    laplace = fit("na_dpvi_laplace", task_of("beta_bernoulli", n=300), steps=100, extra_term=False).posterior
    assert not laplace.extra_term


def test_tails_start_where_the_slope_is_flat():
    t = np.linspace(0, 1, 1000)
    flat, falls, settles = np.zeros(1000), -3 * t, np.where(t < 0.35, 1 - t / 0.35, 0.0)
    noisy = settles + 0.3 * np.random.default_rng(0).standard_normal(1000)
    columns = (flat, falls, settles, noisy)
    expected = []
    for column in columns:
        slopes = {k: np.polyfit(np.linspace(0, 1, 1000 - k), column[k:], 1)[0] for k in range(0, 1000, 100)}
        expected.append(next((k for k, slope in slopes.items() if abs(slope) < 0.05), 900))
    np.testing.assert_array_equal(aligned.tail_start(np.column_stack(columns)), expected)
    assert expected[:2] == [0, 900]
    assert 0 < expected[2] < 400


def test_average_adds_the_variance_of_the_iterates():
    rng = np.random.default_rng(0)
    trace = np.column_stack([rng.normal(2.0, 0.5, 4000), rng.normal(-1.0, 0.1, 4000)])
    mean, sd = aligned.average(trace, np.array([1000, 0]), with_variance=True)
    assert mean[0] == trace[1000:, 0].mean()
    assert sd[0] ** 2 == pytest.approx(softplus(trace[:, 1].mean()) ** 2 + trace[1000:, 0].var())
    assert aligned.average(trace, np.array([1000, 0]), False)[1][0] == pytest.approx(softplus(trace[:, 1].mean()))


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_aligned_gradients_find_the_mean(optimiser):
    """Little noise: the averaged mean is within 0.5 posterior standard deviations of the exact one."""
    task = task_of("beta_bernoulli", n=2000)
    more = {"location_step": 0.02, "deviation_ratio": 0.1} if optimiser == "sgd" else {"adam_rate": 1e-3}
    posterior = fit(
        "dpvim", task, sigma=0.01, steps=4000, clip=50.0, optimiser=optimiser, start_deviation=-3.0, **more
    ).posterior
    exact = task.model.exact_posterior(task.x).sample(20_000, np.random.default_rng(0))
    assert abs(posterior.mean[0] - exact.mean()) < 0.5 * exact.std()


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("dpvim", {"optimiser": "lbfgs"}, "optimiser = 'lbfgs'"),
        ("dpvim", {"average_from": "end"}, "average_from"),
        ("dpvim", {"deviation_ratio": 0.0}, "deviation_ratio"),
        ("na_dpvi", {"optimum_sd": -1.0}, "optimum_sd"),
        ("na_dpvi_nuts", {"num_samples": 2}, "num_samples"),
        ("na_dpvi_nuts", {"target_accept": 1.0}, "target_accept"),
        ("bernstein_sheldon_2018", {"sweeps": 0}, "sweeps = 0"),
        ("bernstein_sheldon_2018", {"calibration": "tight"}, "calibration"),
        ("bernstein_sheldon_2018", {"section_from": "truth"}, "section_from"),
        ("bernstein_sheldon_2019", {"input_bound": 0.0}, "input_bound"),
        ("bernstein_sheldon_2019_released", {"burn_in_sweeps": -1}, "burn_in_sweeps"),
    ],
)
def test_bad_settings_are_refused(name, more, message):
    with pytest.raises(ValueError, match=message):
        contract.get(name).Settings(**more)


def test_nuts_refuses_a_flat_prior():
    with pytest.raises(ValueError, match="slope_widening"):
        fit("na_dpvi_nuts", task_of("beta_bernoulli", n=100), steps=20, slope_widening=math.inf)


def test_released_calibration_shows_in_the_ledger():
    """Noise for sensitivity 1 where it is 2: the ledger's epsilon is twice the budget's."""
    from privacy.accountants import epsilon_of

    task, method = task_of("dirichlet_categorical", n=200), contract.get("bernstein_sheldon_2018")
    for calibration, cost in (("corrected", 0.5), ("released", 1.0)):
        budget = BudgetSpec(epsilon=0.5).open(np.random.default_rng(0))
        s = method.Settings(calibration=calibration, burn_in_sweeps=2, sweeps=2)
        ledger = method.fit(task, s, budget, np.random.default_rng(1)).ledger
        assert epsilon_of(ledger, 1e-5).epsilon == pytest.approx(cost, abs=1e-4)  # delta is worth the rest
