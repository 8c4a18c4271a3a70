"""The adapters of Bayes by backprop: ledgers, what the note claims and what holds, and that they learn."""

import math

import numpy as np
import pytest

from methods import contract
from methods._shared.bayes_by_backprop import training
from methods._shared.bayes_by_backprop.settings import PRIORS
from models.bnn_classification import BNNClassification
from models.task import PublicKnowledge, Task
from privacy.accountants import epsilon_of, gdp_epsilon, renyi_curve
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling

DELTA = 1e-5
PRIVATE = ("dp_sgd", "dp_bayes_by_backprop_corrected", "dp_bayes_by_backprop")


def clusters(n: int = 400, seed: int = 0, labels=None) -> Task:
    """Three Gaussian clusters at the corners of a triangle of side 2, standard deviation 0.3: one in a thousand lies
    nearer to another corner."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n).astype(float)
    corners = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, math.sqrt(3.0)]])
    x = corners[y.astype(int)] + 0.3 * rng.standard_normal((n, 2))
    public = PublicKnowledge(n, (), (0.0, 2.0), "the law that draws these rows")
    return Task("clusters", BNNClassification(20, 1, 3, 1.0), x, y if labels is None else labels, public)


def fit(name: str, task: Task, spec: BudgetSpec | None = None, **settings):
    method = contract.get(name)
    budget = (spec or BudgetSpec(noise_multiplier=1.0)).open(np.random.default_rng(1))
    return method.fit(task, method.Settings(**settings), budget, np.random.default_rng(2))


def error(posterior, task: Task) -> float:
    p = posterior.predictive(task.x, np.random.default_rng(0)).log_probabilities
    return float(np.mean(np.argmax(p, axis=1) != task.y))


# -------------------------------------------------------------------------------------------------- accounting

#: lot, sigma, epochs, steps, epsilon by the classic and by the sharp conversion of Renyi orders 2 to 256, published
PUBLISHED = [
    (256, 1.12, 60, 14062, 2.9222, 2.5215, 2.92),  # TF-Privacy
    (256, 1.2, 10, 2344, 1.1984, 0.9318, 1.20),  # TF-Privacy
    (256, 0.6, 30, 7031, 9.7734, 8.8186, 9.74),  # TF-Privacy, fractional orders
    (256, 1.1, 60, 14062, 3.0091, 2.5970, 3.01),  # Opacus
    (256, 1.3, 15, 3516, 1.1923, 0.9546, 1.19),  # Opacus
    (256, 0.7, 45, 10547, 7.1229, 6.3732, 7.10),  # Opacus
    (256, 1.3, 20, 4688, 1.3498, 1.1066, 1.34),  # Bu et al. 2020
    (600, 4.0, 100, 10000, 1.2586, 1.0355, 1.26),  # Abadi et al. 2016
]
#: of each source that has whole orders one row
BY_DAY = [PUBLISHED[0], PUBLISHED[3], PUBLISHED[7]]


@pytest.mark.fine_grid
@pytest.mark.parametrize(
    ("lot", "sigma", "epochs", "steps", "classic", "sharp", "published"),
    [pytest.param(*row, marks=() if row in BY_DAY else pytest.mark.nightly) for row in PUBLISHED],
)
def test_published_accountant_values(lot, sigma, epochs, steps, classic, sharp, published):
    """Both libraries' curves at integer orders; the published ones within 0.04 (other orders, two digits)."""
    plan = training.poisson_plan(60_000, lot, epochs)
    assert plan.steps == steps
    event = Event("g", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 1.0, sigma, plan.sampling, plan.rate, plan.steps)
    orders = np.arange(2, 257)
    curves = renyi_curve(event, orders)
    assert set(curves) == {"autodp", "dp_accounting"}
    for curve in curves.values():
        tail = math.log(1 / DELTA) / (orders - 1)
        assert np.min(curve + tail) == pytest.approx(classic, abs=6e-5)
        better = curve + np.log1p(-1 / orders) + tail - np.log(orders) / (orders - 1)
        assert np.min(better) == pytest.approx(sharp, abs=6e-5)
        assert np.min(curve + tail) == pytest.approx(published, abs=0.04)
    assert epsilon_of(Ledger([event]), DELTA).epsilon < sharp


@pytest.mark.parametrize(
    ("epochs", "sigma", "zero_out", "replace"), [(15, 1.3, 18.73, 46.34), (60, 1.1, 58.58, 166.75)]
)
def test_composition_over_epochs_alone(epochs, sigma, zero_out, replace):
    """T plain Gaussian releases by zero-concentrated DP, rho + 2 sqrt(rho ln(1/delta)); the exact curve lies below."""
    for distance, expected in ((1.0, zero_out), (2.0, replace)):
        rho = epochs * distance**2 / (2 * sigma**2)
        loose = rho + 2 * math.sqrt(rho * math.log(1 / DELTA))
        assert loose == pytest.approx(expected, abs=0.006)
        event = Event(
            "g", Mechanism.GAUSSIAN, Relation.REPLACE_ONE, distance, sigma, Sampling.FIXED_PARTITION, 1.0, epochs
        )
        exact = epsilon_of(Ledger([event]), DELTA).epsilon
        assert exact == pytest.approx(gdp_epsilon(distance * math.sqrt(epochs) / sigma, DELTA), rel=1e-9)
        assert 0.85 * loose < exact < loose


def test_the_private_point_estimate_and_posterior_have_one_ledger():
    """Nothing is paid for rho: it is post-processing."""
    spec = BudgetSpec(epsilon=2.0, delta=DELTA, mode=Mode.ENFORCE)
    ledgers = [fit(n, clusters(), spec, epochs=2, batch_size=40).ledger for n in PRIVATE[:2]]
    assert ledgers[0].to_json() == ledgers[1].to_json()
    (event,) = ledgers[0]
    assert (event.sampling, event.sampling_rate, event.steps) == (Sampling.POISSON, 0.1, 20)
    assert event.sensitivity == 1.5
    assert 1.9 < epsilon_of(ledgers[0], DELTA).epsilon <= 2.0


def test_the_notes_claim_and_what_holds():
    """Noise of DP-SGD at the budget (the claim), a ledger of T plain releases of sensitivity 2 C: far above it."""
    spec = BudgetSpec(epsilon=2.0, delta=DELTA)
    settings = {"epochs": 3, "batch_size": 40}
    (event,) = fit("dp_bayes_by_backprop", clusters(), spec, **settings).ledger
    (claim,) = fit("dp_sgd", clusters(), spec, **settings).ledger
    assert (event.sampling, event.steps, event.sensitivity) == (Sampling.FIXED_PARTITION, 3, 3.0)
    assert event.relation is Relation.REPLACE_ONE
    assert event.noise_scale == pytest.approx(claim.noise_scale, rel=1e-12)
    sigma = claim.noise_multiplier
    true = epsilon_of(Ledger([event]), DELTA).epsilon
    assert true == pytest.approx(gdp_epsilon(2 * math.sqrt(3) / sigma, DELTA), rel=1e-9)
    assert true > 5 * epsilon_of(Ledger([claim]), DELTA).epsilon
    with pytest.raises(BudgetExceeded):
        fit("dp_bayes_by_backprop", clusters(), BudgetSpec(2.0, DELTA, mode=Mode.ENFORCE), **settings)


def test_partition_uses_each_row_once_an_epoch():
    parts = training.partition(103, 25, np.random.default_rng(0))
    assert [len(p) for p in parts] == [25, 25, 25, 25, 3]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(103))


def test_lots_larger_than_the_data_are_full_batches():
    plan = training.poisson_plan(10, 256, 3)
    assert (plan.rate, plan.steps, plan.expected, plan.sampling) == (1.0, 3, 10.0, Sampling.FULL_BATCH)


# ---------------------------------------------------------------------------------------------------- learning


@pytest.mark.parametrize("name", ["bayes_by_backprop", "classifier_sgd"])
def test_without_noise_the_clusters_are_learnt(name):
    """Chance is 67 % wrong, the best rule 0.2 %."""
    assert error(fit(name, clusters(), epochs=40, batch_size=20).posterior, clusters(seed=1)) < 0.03


@pytest.mark.parametrize("prior", PRIORS)
def test_both_priors_and_optimisers_train(prior):
    task = clusters()
    for optimiser, rate in (("adam", 3e-3), ("sgd", 0.02)):
        found = fit(
            "bayes_by_backprop", task, prior=prior, optimiser=optimiser, learning_rate=rate, epochs=40, batch_size=20
        )
        assert error(found.posterior, task) < 0.05
        assert found.diagnostics["training_loss"] < 0.5  # chance: log 3 = 1.1


@pytest.mark.parametrize("name", PRIVATE[:2])
def test_with_noise_the_clusters_are_learnt(name):
    """sigma = 1 at lot 40 of 400: signal well above the noise after 30 epochs."""
    assert error(fit(name, clusters(), epochs=30, batch_size=40).posterior, clusters(seed=1)) < 0.05


def test_a_wide_posterior_learns_its_width():
    """Non-private, many epochs: weights that matter end narrower than the prior, and all wider than they began."""
    found = fit("bayes_by_backprop", clusters(), epochs=150, batch_size=40, learning_rate=0.01, prior_sd=0.5).posterior
    start = math.log1p(math.exp(-5.0))
    assert np.median(found.sd) > 3 * start
    assert found.sd.min() < 0.5 * 0.5
    assert error(found, clusters(seed=1)) < 0.05


def test_without_kl_term_and_spread_it_is_dp_sgd():
    """kl_weight 0, and a posterior so narrow that the draw does not matter; start, batches and noise are equal."""
    task, settings = clusters(), {"epochs": 2, "batch_size": 40}
    bayes = fit("dp_bayes_by_backprop_corrected", task, rho_start=-40.0, kl_weight=0.0, **settings).posterior
    point = fit("dp_sgd", task, **settings).posterior
    np.testing.assert_allclose(bayes.mean, point.weights, atol=1e-6)  # stored in single precision


@pytest.mark.parametrize("name", [*PRIVATE, "bayes_by_backprop", "classifier_sgd"])
def test_snapshots_change_nothing_and_end_where_the_fit_ends(name):
    """Half precision keeps eleven bits; epochs beyond the last are left out."""
    task, settings = clusters(), {"epochs": 3, "batch_size": 40}
    bare = fit(name, task, **settings).posterior.parameters()
    kept = fit(name, task, snapshots=(1, 3, 9), **settings).posterior
    told = kept.parameters()
    for key, value in bare.items():
        np.testing.assert_array_equal(told[key], value)
    assert list(kept.snapshots.epochs) == [1, 3]
    final = told["mean" if "mean" in told else "weights"]
    np.testing.assert_allclose(kept.snapshots.weights[1], final, rtol=2**-11, atol=1e-7)
    assert np.abs(kept.snapshots.weights[0] - final).max() > 1e-3


# ---------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("name", ["bayes_by_backprop", "classifier_sgd"])
def test_a_label_that_is_no_class_is_refused_where_nothing_is_promised(name):
    labels = np.zeros(400)
    labels[7] = 3.0
    with pytest.raises(ValueError, match="y = 3 in row 7 is no class"):
        fit(name, clusters(labels=labels))


@pytest.mark.parametrize("name", PRIVATE)
def test_a_private_fit_does_not_stop_for_one_row(name):
    """Else the error would tell about it; what is public is still checked."""
    labels = np.array(clusters().y)
    labels[-1] = 1e6
    task = clusters(labels=labels)
    assert np.isfinite(next(iter(fit(name, task, epochs=1, batch_size=40).posterior.parameters().values()))).all()
    beyond = Task(task.name, task.model, task.x, task.y, PublicKnowledge(task.n, (), (1.0, 10.0), "documented"))
    with pytest.raises(ValueError, match="documented from 1 to 10"):
        fit(name, beyond, epochs=1)


@pytest.mark.parametrize("name", PRIVATE)
def test_a_budget_without_noise_is_refused(name):
    with pytest.raises(ValueError, match="no noise_multiplier above 0"):
        fit(name, clusters(), BudgetSpec(), epochs=1)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("dp_sgd", {"clip": 0.0}, r"clip = 0\.0"),
        ("dp_sgd", {"epochs": 1.5}, r"epochs = 1\.5"),
        ("dp_sgd", {"learning_rate": math.nan}, "learning_rate = nan"),
        ("dp_bayes_by_backprop_corrected", {"prior": "laplace"}, "give one of gaussian, scale_mixture"),
        ("dp_bayes_by_backprop_corrected", {"prior_sd": -1.0}, r"prior_sd = -1\.0"),
        ("dp_bayes_by_backprop", {"prior": "scale_mixture", "prior_share": 2.0}, r"share = 2\.0"),
        ("bayes_by_backprop", {"optimiser": "lbfgs"}, "give one of sgd, adam"),
        ("bayes_by_backprop", {"momentum": 1.0}, r"momentum = 1\.0"),
        ("dp_bayes_by_backprop_corrected", {"predictive_draws": 0}, "predictive_draws = 0"),
        ("dp_sgd", {"snapshots": (1, 0)}, r"snapshots = \(1, 0\)"),
    ],
)
def test_a_setting_out_of_range_is_refused(name, settings, message):
    with pytest.raises(ValueError, match=message):
        contract.get(name).Settings(**settings)


def test_a_fit_that_runs_away_is_called_diverged():
    with pytest.raises(contract.Diverged, match="lower learning_rate"):
        fit("dp_bayes_by_backprop", clusters(), BudgetSpec(noise_multiplier=1.0), epochs=3, learning_rate=1e300)
