"""NA-DPVI's adapters: exact draws against NUTS, readings of one run, DPVIm's averages."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from methods import contract
from methods.dpvi._noise_aware import aligned
from methods.sufficient_statistics._bernstein_sheldon import families
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


@pytest.mark.parametrize("family", ["beta_bernoulli", pytest.param("dirichlet_categorical", marks=pytest.mark.nightly)])
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


def test_rates_of_deviations_are_a_multiple_of_those_of_locations(monkeypatch):
    """``location_step`` over sqrt(D steps) sigma C, D parameters; half of it for rho with a ratio of 0.5."""
    rates, advance = [], aligned.kernels.advance_aligned
    monkeypatch.setattr(aligned.kernels, "advance_aligned", lambda *a: rates.append(a[11].copy()) or advance(*a))
    task = task_of("dirichlet_categorical", n=400)
    fit("dpvim", task, sigma=2.0, steps=10, clip=3.0, optimiser="sgd", location_step=0.6, deviation_ratio=0.5)
    of_location = 0.6 / (math.sqrt(2 * 2 * 10) * 2.0 * 3.0)
    np.testing.assert_allclose(rates[0], np.repeat([of_location, 0.5 * of_location], 2), rtol=1e-12)


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
        ("bernstein_sheldon_2018_authors", {"burn_in_sweeps": -1}, "burn_in_sweeps = -1"),
        ("bernstein_sheldon_2019_corrected", {"input_bound": 0.0}, "input_bound"),
        ("bernstein_sheldon_2019_authors", {"burn_in_sweeps": -1}, "burn_in_sweeps"),
    ],
)
def test_bad_settings_are_refused(name, more, message):
    with pytest.raises(ValueError, match=message):
        contract.get(name).Settings(**more)


def test_nuts_refuses_a_flat_prior():
    with pytest.raises(ValueError, match="slope_widening"):
        fit("na_dpvi_nuts", task_of("beta_bernoulli", n=100), steps=20, slope_widening=math.inf)


def bernstein_sheldon_2018(name, task, epsilon, seed):
    """A fit with two sweeps, and the noise of its statistics, (K - 1,), found in what reaches the sampler."""
    seen, method = {}, contract.get(name)
    gibbs = families.gibbs

    def listening(model, z, b, *more):
        seen["z"] = z
        return gibbs(model, z, b, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(families, "gibbs", listening)
        budget = BudgetSpec(epsilon=epsilon).open(np.random.default_rng(seed))
        made = method.fit(task, method.Settings(burn_in_sweeps=1, sweeps=2), budget, np.random.default_rng(1))
    own = families.section(task.model, task.x if name.endswith("authors") else None)
    return made, seen["z"] - families.release_of(task.model, task.x, own)[0]


def test_the_released_program_gives_all_counts_one_number_of_noise():
    """Oracle: perfectly correlated in the program, which the corrected method, the planted near-miss, is not."""
    task, epsilon = task_of("dirichlet_categorical", n=200), 0.5
    released, corrected = (
        np.array([bernstein_sheldon_2018(f"bernstein_sheldon_2018{s}", task, epsilon, k)[1] for k in range(400)])
        for s in ("_authors", "")
    )
    np.testing.assert_allclose(released[:, 1], released[:, 0], rtol=0, atol=1e-12)  # rounding of counts below 200
    assert np.abs(np.corrcoef(corrected.T)[0, 1]) < 4 / math.sqrt(400)  # independent: false alarm 6e-5
    # Laplace of the program's scale 1 / epsilon, and of the proven one, 2 / epsilon; false alarm 1e-4 each
    assert stats.kstest(released[:, 0], stats.laplace(scale=1 / epsilon).cdf).pvalue > 1e-4
    assert stats.kstest(corrected.ravel(), stats.laplace(scale=2 / epsilon).cdf).pvalue > 1e-4
    assert stats.kstest(released[:, 0], stats.laplace(scale=2 / epsilon).cdf).pvalue < 1e-4


def test_a_difference_of_counts_tells_neighbours_apart_in_the_released_program():
    """What the sharing means: two neighbours have disjoint sets of possible releases, so no epsilon holds."""
    x = np.repeat([0.0, 1.0, 2.0], [80, 70, 50])[:, None]
    task = replace(task_of("dirichlet_categorical", n=200), x=x)
    other = replace(task, x=np.vstack([x[1:], [[1.0]]]))  # one row changed: 79 and 71
    told = set()
    for t, gap in ((task, 10), (other, 8)):
        value = families.release_of(t.model, t.x, None)[0]
        for seed in range(5):
            z = value + bernstein_sheldon_2018("bernstein_sheldon_2018_authors", t, 0.1, seed)[1]
            assert z[0] - z[1] == pytest.approx(gap, abs=1e-9)
            told.add((gap, round(z[0] - z[1])))
    assert told == {(10, 10), (8, 8)}


@pytest.mark.parametrize("family", ["beta_bernoulli", "dirichlet_categorical", "gamma_exponential"])
def test_what_the_released_program_costs_stands_in_the_ledger(family):
    """No epsilon where counts share their noise; the gamma-exponential's section is wider than it is said to be."""
    from privacy.accountants import epsilon_of

    task = task_of(family, n=200)
    released, corrected = (
        bernstein_sheldon_2018(f"bernstein_sheldon_2018{s}", task, 0.5, 0)[0].ledger for s in ("_authors", "")
    )
    low, high = families.section(task.model, task.x) or (0.0, 1.0)
    cost = math.inf if family == "dirichlet_categorical" else 0.5 * high / (high - low)
    assert epsilon_of(corrected, 1e-5).epsilon == pytest.approx(0.5, abs=1e-4)  # delta is worth the rest
    assert epsilon_of(released, 1e-5).epsilon == pytest.approx(cost, abs=1e-4)
    assert len(released) == (2 if family == "dirichlet_categorical" else 1)
