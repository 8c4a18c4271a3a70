"""An epsilon of this suite is that of ONE fit whose noise is secret; the stored files together keep nothing secret.

Seeds are public, and settings of one method share their random numbers on purpose: two posteriors of one split at two
budgets hold the same standard normals at two scales, which both ledgers state. Two equations, two unknowns.
"""

from __future__ import annotations

import numpy as np

from methods import contract
from models.bounded import BoundedLinearRegression
from models.task import PublicKnowledge, Task
from privacy.budget import BudgetSpec

N, D = 200, 3
METHOD = contract.get("dp_sep_honest", "bounded_linear_regression")


def rows(n=N):
    """Rows well inside their documented ranges, so that no budget clips one."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-0.3, 0.3, (n, D))
    return x, np.clip(x @ [0.5, -0.4, 0.2] + 0.05 * rng.standard_normal(n), -0.4, 0.4)


def stored(x, y, epsilon, seed=11):
    """What the files of one fit hold: posterior and ledger. Another budget, the same seed: the law of ``Cell.seed``."""
    public = PublicKnowledge(N, ((-1.0, 1.0),) * D, (-1.0, 1.0), "documented")
    task = Task("made up", BoundedLinearRegression(), x, y, public)
    budget = BudgetSpec(epsilon=epsilon, delta=1e-5, mode="enforce").open(np.random.default_rng(seed))
    fit = METHOD.fit(task, METHOD.Settings(), budget, np.random.default_rng(seed + 1))
    (event,) = fit.ledger.events
    return fit.posterior.posterior, event.noise_scale


def noisy_products(posterior):
    """(X, 1)'y plus its noise, from a stored posterior: its precision matrix times its mean."""
    return posterior.factor @ (posterior.factor.T @ posterior.mean)


def reconstructed(x, y):
    """(X, 1)'y from two stored posteriors and their ledgers alone."""
    (one, s1), (eight, s8) = (stored(x, y, epsilon) for epsilon in (1.0, 8.0))
    return (s1 * noisy_products(eight) - s8 * noisy_products(one)) / (s1 - s8)


def exact(x, y):
    return np.append(x, np.ones((len(x), 1)), axis=1).T @ y


def test_one_file_hides_the_products_and_two_give_them_back():
    x, y = rows()
    truth = exact(x, y)
    posterior, scale = stored(x, y, 1.0)
    assert np.abs(noisy_products(posterior) - truth).max() > 0.1 * scale  # one fit: behind its noise
    np.testing.assert_allclose(reconstructed(x, y), truth, rtol=0, atol=1e-10 * np.abs(truth).max() * scale)


def test_on_the_neighbour_they_give_the_removed_row():
    x, y = rows()
    removed = reconstructed(x, y) - reconstructed(x[:-1], y[:-1])
    np.testing.assert_allclose(removed, np.append(x[-1], 1.0) * y[-1], rtol=0, atol=1e-9)


def test_with_noise_of_its_own_for_each_budget_they_do_not():
    """What ``noise: secret`` is for: then the two equations have three unknowns."""
    x, y = rows()
    (one, s1), (eight, s8) = stored(x, y, 1.0, seed=11), stored(x, y, 8.0, seed=12)
    found = (s1 * noisy_products(eight) - s8 * noisy_products(one)) / (s1 - s8)
    assert np.abs(found - exact(x, y)).max() > 0.1 * s8
