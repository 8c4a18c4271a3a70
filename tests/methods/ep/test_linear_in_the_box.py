"""EP, SEP, clipped SEP, VI and yardsticks of linear regression in the box, against slow and obvious forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from methods import contract
from methods._shared.conjugate_linear import naturals
from methods.contract import MethodError
from models.bounded import BoundedLinearRegression
from models.task import PublicKnowledge, Task
from privacy.budget import BudgetSpec

KIND = "bounded_linear_regression"
D = 3
NAMES = ("ep", "sep", "clipped_sep", "vi", "ridge", "predict_mean")


def some_task(n=60, seed=0, model=None):
    """Rows inside their documented ranges, so that box and original units are the same."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, D))
    y = np.clip(0.4 * x[:, 0] - 0.3 * x[:, 1] + 0.1 + 0.1 * rng.standard_normal(n), -1, 1)
    public = PublicKnowledge(n, ((-1.0, 1.0),) * D, (-1.0, 1.0), "the law that draws these rows")
    return Task("toy", model or BoundedLinearRegression(), x, y, public)


def fit(name, task, seed=1, **settings):
    method = contract.get(name, KIND)
    budget = BudgetSpec().open(np.random.default_rng(0))
    return method.fit(task, method.Settings(**settings), budget, np.random.default_rng(seed))


def same(a, b, rtol=1e-9):
    a, b = a.parameters(), b.parameters()
    assert a.keys() == b.keys()
    for key in a:
        if key != "inner_kind":
            np.testing.assert_allclose(a[key], b[key], rtol=rtol, atol=1e-12, err_msg=key)


def naturals_of(posterior):
    """(precision, mean natural, b + m'Pm / 2, a) of a normal-inverse-gamma posterior."""
    precision = posterior.factor @ posterior.factor.T
    return (
        precision,
        precision @ posterior.mean,
        posterior.scale + 0.5 * posterior.mean @ precision @ posterior.mean,
        (posterior.shape),
    )


def row_site(x, y):
    x1 = np.append(x, 1.0)
    return np.outer(x1, x1), x1 * y, 0.5 * y * y, 0.5


def norm(site):
    return math.sqrt(sum(float(np.sum(np.square(part))) for part in site))


def close(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


# ------------------------------------------------------------------------------------------------------- EP and SEP


def test_ep_ends_at_the_exact_posterior():
    """What is left of the start, 0.6^40 = 1.3e-9, times condition: 1e-6 is far above it."""
    task = some_task()
    same(fit("ep", task).posterior, fit("exact_posterior", task).posterior, rtol=1e-6)


def test_few_damped_epochs_of_ep_are_the_recursion_row_by_row():
    task = some_task(20)
    sites = [[0.0 * np.asarray(part) for part in row_site(x, y)] for x, y in zip(task.x, task.y, strict=True)]
    for _ in range(3):
        for i, (x, y) in enumerate(zip(task.x, task.y, strict=True)):
            sites[i] = [0.7 * old + 0.3 * np.asarray(new) for old, new in zip(sites[i], row_site(x, y), strict=True)]
    total = [sum(s[k] for s in sites) for k in range(4)]
    model = task.model.inner
    prior = (model.precision * np.eye(D + 1), np.zeros(D + 1), model.scale, model.shape)
    expected = [a + b for a, b in zip(prior, total, strict=True)]
    close(naturals_of(fit("ep", task, epochs=3, damping=0.3).posterior.posterior), expected)


def by_steps(task, epochs, coefficient, seed, clip=math.inf):
    """theta_f of SEP or of algorithm 3, one row after the other, with every clipping that is printed."""
    n, rng = task.n, np.random.default_rng(seed)
    f = [0.0 * np.asarray(part) for part in row_site(task.x[0], task.y[0])]
    for _ in range(epochs):
        for i in rng.permutation(n):
            site = row_site(task.x[i], task.y[i])
            factor = min(1.0, clip / norm(site))
            f = [b + coefficient / n * (factor * np.asarray(a) - b) for a, b in zip(site, f, strict=True)]
            f = [min(1.0, clip / max(norm(f), 1e-300)) * part for part in f]
    return [n * part for part in f]


@pytest.mark.parametrize(("epochs", "damping"), [(1, 1.0), (4, 1.0), (3, 0.3)])
def test_sep_is_its_recursion_row_by_row(epochs, damping):
    task, model = some_task(30), some_task().model.inner
    prior = (model.precision * np.eye(D + 1), np.zeros(D + 1), model.scale, model.shape)
    expected = [a + b for a, b in zip(prior, by_steps(task, epochs, damping, seed=1), strict=True)]
    found = fit("sep", task, epochs=epochs, damping=damping)
    close(naturals_of(found.posterior.posterior), expected)
    assert found.diagnostics["fraction_absorbed"] == pytest.approx(1 - (1 - damping / 30) ** (epochs * 30), rel=1e-12)


@pytest.mark.parametrize(("clip", "gamma"), [(1.0, 1.0), (0.4, 25.0), (100.0, 900.0)])
def test_clipped_sep_is_algorithm_3_row_by_row(clip, gamma):
    """All three clippings printed are made in the oracle; that of theta_f is shown to change nothing."""
    task, model = some_task(30), some_task().model.inner
    theta_0 = [model.precision * np.eye(D + 1), np.zeros(D + 1), model.scale, model.shape - 1.0]
    factor = min(1.0, clip / norm(theta_0))
    expected = [factor * a + b for a, b in zip(theta_0, by_steps(task, 2, gamma / 30, 1, clip), strict=True)]
    expected[3] += 1.0
    close(naturals_of(fit("clipped_sep", task, epochs=2, clip=clip, gamma=gamma).posterior.posterior), expected)


def test_clipped_sep_as_printed_hardly_leaves_its_prior():
    """gamma E / N of the data, from clipped rows."""
    found = fit("clipped_sep", some_task(500))
    assert found.diagnostics["fraction_absorbed"] == pytest.approx(40 / 500, rel=0.05)  # 1 - exp(-x) against x
    assert found.posterior.posterior.shape < 2 + 0.5 * 40


def test_slow_sep_comes_near_to_the_exact_posterior():
    """Weights of the rows within 5 % of one another: means within .2 posterior standard deviations."""
    task = some_task(200)
    slow, exact = fit("sep", task, damping=0.05, epochs=400).posterior.posterior, fit("exact_posterior", task)
    exact = exact.posterior.posterior
    sd = np.sqrt(np.diag(np.linalg.inv(exact.factor @ exact.factor.T)) * exact.scale / exact.shape)
    assert np.max(np.abs(slow.mean - exact.mean) / sd) < 0.2


# --------------------------------------------------------------------------------------------------------------- VI


def test_vi_is_where_coordinate_ascent_ends():
    task = some_task(40)
    m = naturals.moments(task.x, task.y)
    model, p = task.model.inner, D + 1
    a_matrix = m.xx + model.precision * np.eye(p)
    mean = np.linalg.solve(a_matrix, m.xy)
    precision = 1.0
    shape = model.shape + 0.5 * (m.count + p)
    for _ in range(200):  # contracts by p / (2 shape), about 1/12, a round
        covariance = np.linalg.inv(precision * a_matrix)
        energy = m.yy - 2 * mean @ m.xy + np.trace(a_matrix @ (covariance + np.outer(mean, mean)))
        precision = shape / (model.scale + 0.5 * energy)
    q = fit("vi", task).posterior.posterior
    np.testing.assert_allclose(q.mean, mean, rtol=1e-9)
    np.testing.assert_allclose(q.factor @ q.factor.T, precision * a_matrix, rtol=1e-9)
    assert (q.shape, q.shape / q.scale) == pytest.approx((shape, precision), rel=1e-9)


@pytest.mark.parametrize("name", ["vi", "ep"])
def test_draws_have_the_moments_of_the_posterior(name):
    """20,000 draws; 5 standard errors of a mean of 4 numbers: false alarm 2e-6."""
    q = fit(name, some_task(40)).posterior.posterior
    theta = q.sample(20_000, np.random.default_rng(3))
    sd = theta[:, :-1].std(axis=0)
    assert np.all(np.abs(theta[:, :-1].mean(axis=0) - q.mean) < 5 * sd / math.sqrt(20_000))
    variance = np.log1p(np.exp(theta[:, -1]))
    expected = q.scale / (q.shape - 1)
    assert abs(variance.mean() - expected) < 5 * variance.std() / math.sqrt(20_000)


# ------------------------------------------------------------------------------------------------- what all must do


@pytest.mark.parametrize("name", [n for n in NAMES if n != "predict_mean"])
def test_all_but_the_negative_control_learn_the_line(name):
    """The noise has standard deviation .1, the line .29. The prior is weak: clipped SEP learns from a tenth of it."""
    test = some_task(200, seed=9)
    mean = fit(name, some_task(400)).posterior.predictive(test.x, np.random.default_rng(0)).mean
    assert float(np.sqrt(np.mean((mean - test.y) ** 2))) < 0.12


@pytest.mark.parametrize(
    ("name", "change"),
    [("ep", {"epochs": 0}), ("ep", {"damping": 1.5}), ("sep", {"damping": -1.0}), ("sep", {"epochs": 1.5}),
     ("clipped_sep", {"clip": 0.0}), ("clipped_sep", {"gamma": math.inf})],
)  # fmt: skip
def test_settings_out_of_range_are_refused_by_name(name, change):
    with pytest.raises(ValueError, match=next(iter(change))):
        contract.get(name, KIND).Settings(**change)


def test_steps_that_would_turn_weights_negative_are_refused():
    with pytest.raises(ValueError, match="damping"):
        fit("sep", some_task(10), damping=11.0)
    with pytest.raises(ValueError, match="gamma"):
        fit("clipped_sep", some_task(10), gamma=101.0)


def test_clipped_sep_refuses_a_prior_that_it_cannot_scale():
    task = some_task(10, model=BoundedLinearRegression(shape=0.5))
    assert "shape" in contract.get("clipped_sep", KIND).supports(task)
    with pytest.raises(MethodError, match="shape"):
        fit("clipped_sep", task)
