"""Gaussian-mixture regression in the box: against least squares, budgets, sensitivities, the twin without noise."""

from __future__ import annotations

import numpy as np
import pytest

from methods import contract
from methods.em.dp_em_corrected import LARGEST_EDGE, edge, size, with_ridge
from models.bounded import BoundedLinearRegression
from models.mixture_of_gaussians import MixtureParameters
from models.task import PublicKnowledge, Task
from privacy import audit
from privacy.accountants import epsilon_of
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Relation

KIND = "bounded_linear_regression"
ONE = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
HUGE = BudgetSpec(epsilon=1e6, delta=1e-5, mode=Mode.ENFORCE)
BOUNDS = ((-3.0, 3.0), (-30.0, 30.0))


def rows(n: int, seed: int = 0, kink: float = 0.0):
    rng = np.random.default_rng(seed)
    x = np.clip(rng.standard_normal((n, 2)) * [1.0, 10.0], [-3, -30], [3, 30])
    return x, 5.0 + 2.0 * x[:, 0] - 0.1 * x[:, 1] + kink * np.abs(x[:, 0]) + 0.5 * rng.standard_normal(n)


def some_task(n: int = 500, bounds: bool = True, kink: float = 0.0) -> Task:
    known = (BOUNDS, (-5.0, 15.0), "the law that draws these rows") if bounds else ()
    return Task("line", BoundedLinearRegression(), *rows(n, kink=kink), PublicKnowledge(n, *known))


def fit(name: str, task: Task, spec: BudgetSpec = ONE, seed: int = 1, **settings):
    method = contract.get(name, KIND)
    return audit.run(method, task, method.Settings(**settings), spec, seed)


def predict(fitted, x):
    return fitted.posterior.predictive(x, np.random.default_rng(0))


def least_squares(task: Task, x: np.ndarray) -> np.ndarray:
    one = np.column_stack([task.x, np.ones(task.n)])
    return np.column_stack([x, np.ones(len(x))]) @ np.linalg.lstsq(one, task.y, rcond=None)[0]


def test_one_component_is_least_squares():
    """MAP EM with one component; its prior is worth about one row of 500, and predictions span 15 units."""
    task, new = some_task(), rows(200, 9)
    p = predict(fit("em", task, BudgetSpec(), components=1), new[0])
    np.testing.assert_allclose(p.mean, least_squares(task, new[0]), atol=0.1)
    np.testing.assert_allclose(np.sqrt(p.variance), 0.5, atol=0.06)  # 0.5 / sqrt(1000) = 0.016, times 4
    assert np.isfinite(p.log_density(new[1])).all()


def test_three_components_follow_a_kink():
    """|x| has no linear part; the conditional means of a mixture bend."""
    task, new = some_task(3000, kink=2.0), rows(2000, 9, kink=2.0)
    error = np.sqrt(np.mean((predict(fit("em", task, BudgetSpec()), new[0]).mean - new[1]) ** 2))
    linear = np.sqrt(np.mean((least_squares(task, new[0]) - new[1]) ** 2))
    assert error < 0.8 * linear


def three_parts(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a mixture of three Gaussians of (x1, x2, y), and their conditional means by Bayes' rule.

    In each part y = a + b x1 + N(0, 0.5^2), with x1 ~ N(m1, 0.4^2) and x2 ~ N(m2, 4^2) independent.
    """
    rng = np.random.default_rng(seed)
    weight, m1, m2 = np.array([0.5, 0.3, 0.2]), np.array([-1.2, 1.2, 1.0]), np.array([10.0, -12.0, 12.0])
    a, b = np.array([1.0, 4.0, 2.0]), np.array([1.0, -1.0, 2.0])
    part = rng.choice(3, n, p=weight)
    x = np.column_stack([m1[part] + 0.4 * rng.standard_normal(n), m2[part] + 4.0 * rng.standard_normal(n)])
    y = a[part] + b[part] * x[:, 0] + 0.5 * rng.standard_normal(n)
    log_r = np.log(weight) - 0.5 * ((x[:, :1] - m1) / 0.4) ** 2 - 0.5 * ((x[:, 1:] - m2) / 4.0) ** 2
    r = np.exp(log_r - log_r.max(axis=1, keepdims=True))
    return x, y, (r * (a + b * x[:, :1])).sum(axis=1) / r.sum(axis=1)


def test_three_components_have_the_conditional_means_of_their_mixture():
    """20,000 rows of a law that the model holds: 30 parameters, each known to about a hundredth of its spread.

    So the conditional means differ from the true ones by a root mean square of some 0.5 x sqrt(30 / 20,000) = 0.02;
    0.05 is twice that and more. Near-misses far outside: two components, and one (least squares).
    """
    x, y, _ = three_parts(20_000, 1)
    task = Task("parts", BoundedLinearRegression(), x, y, PublicKnowledge(20_000, BOUNDS, (-5.0, 15.0), "the law"))
    new, _, truth = three_parts(4000, 2)

    def gap(components: int) -> float:
        fits = [fit("em", task, BudgetSpec(), seed, components=components, iterations=300) for seed in range(3)]
        best = max(fits, key=lambda f: f.diagnostics["log_posterior"])
        return float(np.sqrt(np.mean((predict(best, new).mean - truth) ** 2)))

    assert gap(3) < 0.05
    assert gap(2) > 0.15
    assert gap(1) > 0.15


def test_without_noise_the_joint_release_is_least_squares():
    """Epsilon 1e6, one component, one release, a ball that holds the box: 1e-3 of predictions of size 10."""
    task, x = some_task(2000), rows(50, 9)[0]
    p = predict(fit("dp_em_corrected", task, HUGE, components=1, iterations=1, radius=3.0), x)
    np.testing.assert_allclose(p.mean, least_squares(task, x), atol=0.02)


def test_without_noise_three_components_are_those_of_em():
    """Epsilon 1e6: error of prediction within 10 % of EM's (another start and prior, the same number of components)."""
    task, new = some_task(3000, kink=2.0), rows(2000, 9, kink=2.0)
    errors = [
        np.sqrt(np.mean((predict(f, new[0]).mean - new[1]) ** 2))
        for f in (
            fit("dp_em_corrected", task, HUGE, components=3, iterations=60),
            fit("em", task, BudgetSpec()),
        )
    ]
    assert errors[0] < 1.1 * errors[1]


@pytest.mark.parametrize("bounds", [True, False], ids=["documented", "bought"])
@pytest.mark.parametrize("epsilon", [0.1, 8.0])
def test_the_budget_is_kept_and_used(bounds, epsilon):
    spec = BudgetSpec(epsilon=epsilon, delta=1e-5, mode=Mode.ENFORCE)
    fitted = fit("dp_em_corrected", some_task(bounds=bounds), spec)
    assert 0.999 * epsilon < epsilon_of(fitted.ledger, 1e-5).epsilon <= epsilon * (1 + 1e-9)
    assert len(fitted.ledger) == (1 if bounds else 3)
    assert {e.relation for e in fitted.ledger} == {Relation.ADD_REMOVE}


@pytest.mark.parametrize("change", [{}, {"components": 3, "iterations": 3}], ids=["one", "three"])
def test_the_audit_finds_nothing(change):
    """Record and replay over hard pairs, the noise's law (false-alarm rate 1e-6), counts of releases."""
    method = contract.get("dp_em_corrected", KIND)
    found = audit.checks(method, some_task(12), method.Settings(**change), ONE, 1)
    assert {k: v for k, v in found.items() if v} == {}


def test_a_bound_that_is_too_small_would_be_caught(monkeypatch):
    """The audit has power on this kind."""
    from methods.em import dp_em_corrected

    true = dp_em_corrected.joint_sensitivity
    monkeypatch.setattr(dp_em_corrected, "joint_sensitivity", lambda d, k: 0.5 * true(d, k))
    method = contract.get("dp_em_corrected", KIND)
    assert "sensitivity" in audit.checks(method, some_task(12), method.Settings(radius=0.3), ONE, 1)["sensitivity"]


def test_the_size_follows_the_noise_alone():
    """Three components where the noise is small beside a column's variance of 1."""
    sizes = [size(n, 8, z, 1.5) for n in (500, 50_000) for z in (0.5, 50.0)]
    assert sizes == [(1, 1), (1, 1), (3, 10), (1, 1)]
    noise = np.sqrt(10.0) * 0.5 * np.sqrt(3.0 - 1 / 9 - 1 / 3)
    assert edge(50_000 / 3, 8, noise, 4.5) < LARGEST_EDGE < edge(500 / 3, 8, noise, 4.5)


def test_the_edge_is_the_largest_eigenvalue_of_the_noise():
    """Mean of 200 symmetric Gaussian matrices of 40 columns; the finite size takes off some 5 %."""
    rng, d = np.random.default_rng(0), 39
    g = rng.standard_normal((200, d + 1, d + 1)) * np.sqrt(0.5)
    noise = (g + g.transpose(0, 2, 1)) / np.sqrt(2.0)  # variances 1 (diagonal) and 1/2
    beside = noise[(slice(None), *np.triu_indices(d + 1, 1))]  # 156,000 numbers: five standard errors of a variance
    assert beside.var() == pytest.approx(0.5, rel=5 * np.sqrt(2 / beside.size))
    assert np.linalg.eigvalsh(noise)[:, -1].mean() == pytest.approx(edge(1, d, 1.0, 1.0), rel=0.1)


def test_the_ridge_is_of_the_inputs_and_falls_with_the_noise():
    p = MixtureParameters(np.array([0.3, 0.7]), np.zeros((2, 3)), np.repeat(np.eye(3)[None], 2, axis=0))
    np.testing.assert_array_equal(with_ridge(p, 100, 0.0, 2.0, 1.0).covariances, p.covariances)
    added = with_ridge(p, 100, 0.5, 2.0, 0.3).covariances - p.covariances
    np.testing.assert_allclose(np.diag(added[0]), [0.3 * edge(30, 2, 0.5, 2.0)] * 2 + [0.0], rtol=1e-9)
    assert np.trace(added[1]) < np.trace(added[0])  # more rows, less noise


def test_the_released_program_costs_infinity():
    assert (
        epsilon_of(fit("dp_em_authors", some_task(200), BudgetSpec(epsilon=1.0, delta=1e-5)).ledger, 1e-5).epsilon
        == np.inf
    )
    with pytest.raises(BudgetExceeded):
        fit("dp_em_authors", some_task(200))


def test_a_budget_that_states_nothing_is_refused():
    with pytest.raises(ValueError, match="epsilon"):
        fit("dp_em_corrected", some_task(30), BudgetSpec())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("em", {"components": 0}),
        ("dp_em_authors", {"components": 1.5}),
        ("dp_em_corrected", {"components": 0}),
        ("dp_em_corrected", {"iterations": 0}),
        ("dp_em_corrected", {"ridge": -1.0}),
        ("dp_em_corrected", {"radius": np.nan}),
    ],
)
def test_settings_out_of_range_are_refused_by_name(name, change):
    with pytest.raises(ValueError, match=next(iter(change))):
        contract.get(name, KIND).Settings(**change)
