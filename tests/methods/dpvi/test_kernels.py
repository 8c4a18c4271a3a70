"""Compiled DPVI against the models' own gradients, the law of the batches, and the statistics of the trace."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import csr_array

from methods.dpvi._noise_aware import kernels, training
from methods.dpvi._noise_aware.settings import DPVISettings
from models.conjugate_simulators import ConjugateSimulator
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise
from models.logistic_regression_normal_prior import LogisticRegressionNormalPrior
from models.noise_aware import statistics
from models.task import PublicKnowledge, Task
from models.unconstrained import Likelihood, softplus
from privacy.audit import Recorder
from privacy.budget import BudgetSpec
from privacy.ledger import Relation

MODELS = {
    "gamma_exponential": ConjugateSimulator("gamma_exponential"),
    "beta_bernoulli": ConjugateSimulator("beta_bernoulli", (3.0, 5.0)),
    "dirichlet_categorical": ConjugateSimulator("dirichlet_categorical", (5.0, 2.0, 4.0, 3.0)),
    "linear": LinearRegressionUnknownNoise(),
    "logistic": LogisticRegressionNormalPrior(2.0),
}
SPEC = BudgetSpec(noise_multiplier=2.0)


def make_task(name, n=300, seed=0, inputs=3):
    rng, model = np.random.default_rng(seed), MODELS[name]
    if name == "linear":
        return Task(name, model, *model.simulate(model.sample_prior(1, rng, inputs)[0], n, rng))
    if name == "logistic":
        x = rng.standard_normal((n, inputs)) * (rng.random((n, inputs)) < 0.5)
        return Task(name, model, x, (rng.random(n) < 0.3).astype(float))
    return Task(name, model, model.simulate(model.sample_prior(1, rng)[0], n, rng))


def by_rows(task, phi, e, scale, clip, n_public):
    """Clipped scaled gradients of every row, (n, 2 D), from the model's functions."""
    model, d = task.model, e.shape[1]
    s, slope = softplus(phi[d:]), 1 / (1 + np.exp(-phi[d:]))
    theta = phi[:d] + s * e
    h = model.likelihood.gradient(theta, model.likelihood.design(task.x), task.y)
    h = h + model.prior_gradient(theta) / n_public  # (n, K, D)
    g = np.concatenate([h.mean(axis=1), slope * (h * e).mean(axis=1) - slope / (s * n_public)], axis=1) * scale
    norms = np.linalg.norm(g, axis=1, keepdims=True)
    return g * np.minimum(1, clip / norms), norms[:, 0]


#: (model, draws, whether the gradient in rho takes part). DPVIm has one draw and no rho; logistic rows have 8 lanes.
CASES = [(name, 10, True) for name in MODELS]
CASES += [("logistic", *shape) for shape in ((1, False), (7, True), (8, True), (8, False), (16, True))]


@pytest.mark.parametrize(("name", "draws", "rho"), CASES)
@pytest.mark.parametrize("clip", [0.05, 1e6])
def test_clipped_sum_is_that_of_the_models_gradients(name, draws, rho, clip):
    """Full batch, with about every row clipped and with none; relative error 1e-10 (order of summation)."""
    task = make_task(name)
    d = task.model.dimension(task.x.shape[1])
    rng = np.random.default_rng(3)
    phi = np.concatenate([0.5 * rng.standard_normal(d), rng.uniform(-3, -1, d)])
    e, scale = rng.standard_normal((draws, d)), np.concatenate([np.ones(d), rng.uniform(5, 20, d) * rho])
    g, norms = by_rows(task, phi, e, scale, clip, 250.0)
    assert (norms > clip).mean() > 0.5 if clip == 0.05 else (norms < clip).all()
    rows = training.prepare_rows(task, task.model.likelihood, 1.0)
    key = np.uint64(1)  # as a fit's: another type compiles all kernels again
    found = kernels.clipped_sum(rows, training.prior_numbers(task.model), 250.0, phi, e, scale, clip, 1.0, key, 0)
    np.testing.assert_allclose(found, g.sum(axis=0), rtol=1e-10, atol=1e-10 * np.abs(g).sum())


@pytest.mark.parametrize("name", ["gamma_exponential", "linear", "logistic"])
def test_a_batch_holds_the_rows_that_it_says(name):
    task = make_task(name)
    d = task.model.dimension(task.x.shape[1])
    rng = np.random.default_rng(4)
    phi, e = np.concatenate([np.zeros(d), np.full(d, -3.0)]), rng.standard_normal((10, d))
    scale = np.ones(2 * d)
    g, _ = by_rows(task, phi, e, scale, 0.3, 300.0)
    rows, prior, key = training.prepare_rows(task, task.model.likelihood, 0.2), training.prior_numbers(task.model), 11
    for step in (0, 7):
        batch = kernels.poisson_batch(task.n, 0.2, np.uint64(key), step)
        found = kernels.clipped_sum(rows, prior, 300.0, phi, e, scale, 0.3, 0.2, np.uint64(key), step)
        np.testing.assert_allclose(found, g[batch].sum(axis=0), atol=1e-9)


def test_batches_are_poisson():
    """Sizes: chi-square against Binomial; each row's rate; independence of neighbours. False-alarm rate 1e-4 each."""
    n, rate, steps = 40, 0.1, 20_000
    hits = np.zeros((steps, n), bool)
    for t in range(steps):
        hits[t, kernels.poisson_batch(n, rate, np.uint64(5), t)] = True
    sizes = np.bincount(hits.sum(axis=1), minlength=12)[:12]
    expected = steps * stats.binom.pmf(np.arange(12), n, rate)
    assert stats.chisquare(sizes, expected * sizes.sum() / expected.sum()).pvalue > 1e-4
    z = (hits.mean(axis=0) - rate) / math.sqrt(rate * (1 - rate) / steps)
    assert stats.chi2.sf(z @ z, n) > 1e-4
    both = (hits[:, 1:] & hits[:, :-1]).mean(axis=0)
    w = (both - rate**2) / math.sqrt(rate**2 * (1 - rate**2) / steps)
    assert np.abs(w).max() < stats.norm.isf(0.5e-4 / (n - 1))
    lag = (hits[1:, 0] & hits[:-1, 0]).mean()
    assert abs(lag - rate**2) < 4 * math.sqrt(rate**2 / steps)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.floats(0.01, 0.99), st.integers(0, 2**62), st.integers(0, 10_000))
def test_a_rows_selection_does_not_depend_on_rows_behind_it(n, rate, key, step):
    all_rows = kernels.poisson_batch(n, rate, np.uint64(key), step)
    assert (np.diff(all_rows) > 0).all()
    assert ((all_rows >= 0) & (all_rows < n)).all()
    fewer = kernels.poisson_batch(max(n - 1, 0), rate, np.uint64(key), step)
    np.testing.assert_array_equal(fewer, all_rows[all_rows < n - 1])


def test_counts_of_a_value_are_binomial_and_coupled():
    """Chi-square, false-alarm rate 1e-4; one row more or less moves a count by one at most, at the sampling rate."""
    model, rate, steps = MODELS["beta_bernoulli"], 0.3, 4000
    x = np.repeat([0.0, 1.0], [25, 15])[:, None]
    tasks = [Task("b", model, x), Task("b", model, x[:-1], public=PublicKnowledge(40))]
    rows = [training.prepare_rows(t, model.likelihood, rate) for t in tasks]
    counts = np.array([[kernels._batch_counts(r, rate, np.uint64(9), t) for t in range(steps)] for r in rows])
    for v, size in enumerate((25, 15)):
        seen = np.bincount(counts[0, :, v].astype(int), minlength=size + 1)
        expected = steps * stats.binom.pmf(np.arange(size + 1), size, rate)
        keep = expected > 5
        assert stats.chisquare(seen[keep], expected[keep] * seen[keep].sum() / expected[keep].sum()).pvalue > 1e-4
    np.testing.assert_array_equal(counts[0, :, 0], counts[1, :, 0])
    moved = counts[0, :, 1] - counts[1, :, 1]
    assert set(np.unique(moved)) == {0, 1}
    assert stats.binomtest(int(moved.sum()), steps, rate).pvalue > 1e-4


@pytest.mark.parametrize("name", MODELS)
def test_statistics_are_those_of_the_kept_trace(name):
    """Steps replayed one by one in Python from the recorded releases; relative error 1e-9."""
    task, s = make_task(name), DPVISettings(steps=60, draws=4, clip=1.5, deviation_scale=30.0)
    d = task.model.dimension(task.x.shape[1])
    recorder = Recorder()
    posterior = training.run(
        task, s, SPEC.open(np.random.default_rng(1), recorder), np.random.default_rng(2), Relation.ADD_REMOVE
    )
    plan = training.make_plan(s, d, 2.0)
    phi, points, gradients = plan.start.copy(), [], []
    for released in recorder.outputs:
        points.append(phi.copy())
        gradients.append(released / plan.scale)
        phi = phi - plan.step * gradients[-1]
    np.testing.assert_allclose(posterior.last, phi, rtol=1e-12)
    kept = statistics(np.array(points[12:]), np.array(gradients[12:]))
    for found, expected in zip(posterior.trace, (kept.n, kept.phi, kept.g, *map(np.diag, kept[3:])), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(posterior.noise_variance, (2.0 * 1.5 / plan.scale) ** 2)
    # the privacy noise of a step moves a coordinate by v / sqrt(T 2 D)
    sd = plan.step * 2.0 * 1.5 / plan.scale
    np.testing.assert_allclose(sd, math.sqrt(2) / math.sqrt(60 * 2 * d))
    plain = training.run(task, s, SPEC.open(np.random.default_rng(1)), np.random.default_rng(2), Relation.ADD_REMOVE)
    if 60 * 2 * d < 256:  # larger blocks of noise come from another generator
        np.testing.assert_allclose(plain.last, posterior.last, rtol=1e-9)


def test_without_noise_to_speak_of_descent_finds_the_exact_posterior():
    """q converges to the posterior's mean within 0.2 and its deviation within 15 % of the exact standard deviation."""
    task = make_task("beta_bernoulli", n=2000)
    s = DPVISettings(
        steps=6000, sampling_rate=1.0, clip=50.0, deviation_scale=1.0, location_step=(0.005,), deviation_step=(0.1,),
        start_deviation=(-3.5,),
    )  # fmt: skip
    budget = BudgetSpec(noise_multiplier=1e-3).open(np.random.default_rng(1))
    posterior = training.run(task, s, budget, np.random.default_rng(2), Relation.ADD_REMOVE)
    exact = task.model.exact_posterior(task.x).sample(50_000, np.random.default_rng(0))
    mean, sd = posterior.read("trace_mean").gaussian()
    assert abs(mean[0] - exact.mean()) < 0.2 * exact.std()
    assert sd[0] == pytest.approx(exact.std(), rel=0.15)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"steps": 0}, "steps = 0"),
        ({"sampling_rate": 0.0}, "sampling_rate"),
        ({"clip": -1.0}, "clip"),
        ({"location_step": (0.0,)}, "location_step"),
        ({"start_location": ()}, "start_location"),
        ({"burn_in": 1.0}, "burn_in"),
        ({"scaling_share": 0.0}, "scaling_share"),
    ],
)
def test_bad_settings_are_refused(more, message):
    with pytest.raises(ValueError, match=message):
        DPVISettings(**more)


def test_bad_tasks_and_budgets_are_refused():
    task, rng = make_task("beta_bernoulli"), np.random.default_rng(0)
    with pytest.raises(ValueError, match="start_location has 3 numbers"):
        training.run(task, DPVISettings(start_location=(0.0,) * 3), SPEC.open(rng), rng, Relation.ADD_REMOVE)
    with pytest.raises(ValueError, match="epsilon and delta"):
        training.run(task, DPVISettings(), BudgetSpec().open(rng), rng, Relation.ADD_REMOVE)
    with pytest.raises(ValueError, match="noise_multiplier is 0"):
        training.run(task, DPVISettings(), BudgetSpec(noise_multiplier=0.0).open(rng), rng, Relation.ADD_REMOVE)
    with pytest.raises(ValueError, match="no target"):
        training.run(
            Task("b", task.model, task.x, np.zeros(task.n)), DPVISettings(), SPEC.open(rng), rng, Relation.ADD_REMOVE
        )
    with pytest.raises(ValueError, match="keep fewer than 2"):
        training.run(task, DPVISettings(steps=1), SPEC.open(rng), rng, Relation.ADD_REMOVE)


@pytest.mark.parametrize(
    ("epsilon", "sigma", "true"), [(0.1, 360.0, 0.0841), (0.3, 117.5, 0.2858), (1.0, 37.8125, 0.9859)]
)
def test_published_noise_multipliers_cost_less_than_they_claim(epsilon, sigma, true):
    """The authors' bisection stops early: true epsilons by the specification's PRV (error 5e-4), here by PLD."""
    from privacy.accountants import epsilon_of
    from privacy.ledger import Event, Ledger, Mechanism, Sampling

    event = Event("g", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 1.0, sigma, Sampling.POISSON, 0.1, 10_000)
    cost = epsilon_of(Ledger([event]), 1e-5, ["dp_accounting_pld"]).epsilon
    assert cost == pytest.approx(true, abs=1e-3)
    assert cost < epsilon


def test_paid_scaling_is_charged_and_keeps_the_budget():
    from privacy.accountants import epsilon_of

    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(0, 10, 400), rng.uniform(-5, 5, 400), rng.integers(0, 2, 400)])
    model = LogisticRegressionNormalPrior(continuous=2, scaling="paid")
    public = PublicKnowledge(400, ((0.0, 10.0), (-5.0, 5.0), (0.0, 1.0)), None, "the law that draws these rows")
    task = Task("l", model, x, (x[:, 0] > 5).astype(float), public)
    budget = BudgetSpec(epsilon=2.0, delta=1e-5, mode="enforce").open(np.random.default_rng(1))
    posterior = training.run(task, DPVISettings(steps=50), budget, np.random.default_rng(2), Relation.ADD_REMOVE)
    assert len(budget.ledger) == 2
    assert epsilon_of(budget.ledger, 1e-5).epsilon == pytest.approx(2.0, rel=5e-3)
    # the release's noise: standard deviation of a mean in half ranges; five of them, of the variance likewise
    moments = budget.ledger.events[0]
    noise = moments.noise_scale / 400
    assert moments.what.startswith("sums of the columns")
    own = x[:, :2]
    np.testing.assert_allclose(posterior.likelihood.shift, own.mean(axis=0), rtol=0, atol=5 * 5.0 * noise)
    # the variance is that of a noisy square minus a noisy mean squared, |mean| <= 0.1 of the half range
    gap = (posterior.likelihood.scale**2 - own.var(axis=0)) / 5.0**2
    np.testing.assert_allclose(gap, 0.0, rtol=0, atol=5 * noise * math.sqrt(1 + 0.2**2) + 25 * noise**2)
    assert 5 * 5.0 * noise < 0.8  # sharper than a guess: a column that is not scaled (0 and 1) is far outside


def test_sparse_rows_are_those_of_scipy_and_never_a_second_copy():
    """Peak over what is returned: a few blocks, 1.2 MB each, where SciPy's way holds 5.5 tables."""
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (100_000, 20))
    x[::2, 3], x[5] = 0.0, 0.0
    x[7, 1] = np.nan
    likelihood = Likelihood("logistic", (), ())
    tracemalloc.start()
    start, index, entry = training.sparse_rows(x, likelihood)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    expected = csr_array(likelihood.design(x))
    np.testing.assert_array_equal(start, expected.indptr)
    np.testing.assert_array_equal(index, expected.indices)
    np.testing.assert_array_equal(entry, expected.data)
    assert peak - held < 0.5 * x.nbytes
