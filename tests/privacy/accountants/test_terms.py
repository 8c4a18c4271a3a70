"""The pairs of distributions that stand for sampled releases, against every neighbour of small tables.

All divergences are sums over a grid of width h. Where P - a R changes sign, a sum errs by h^2 / 8 of the slope there.
The slopes are below 10 on a line. In the plane, the allowance is that of pairs whose value on a line is known.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import norm

from privacy.accountants import epsilon_of
from privacy.ledger import Relation
from tests.privacy.accountants.ledgers import event, ledger

ORDERS = (0.0, 0.2, 0.7, 0.97, 1.0, 1.03, 1.5, 4.0, 20.0)
X = np.linspace(-14.0, 14.0, 20_001)
ERROR = 3e-6


def divergences(p, r, cell):
    """H_a(P, R) for each order, from densities on a grid with cells of that size."""
    return np.array([np.maximum(p - a * r, 0.0).sum() * cell for a in ORDERS])


def line(weights, means, sigma=1.0):
    """The density of a mixture of normals on the grid X."""
    return norm.pdf(X[:, None], np.asarray(means, float), sigma) @ np.asarray(weights, float)


def on_line(one, other):
    return divergences(line(*one), line(*other), X[1] - X[0])


def replaced(q, v, w):
    """The divergences of the mixtures for a row that adds v, and for its replacement that adds w."""
    return on_line(([1 - q, q], [0, v]), ([1 - q, q], [0, w]))


# ------------------------------------------------------------------------------------ Poisson batches, one row replaced
@pytest.mark.parametrize(("q", "c"), [(0.03, 1.7), (0.5, 0.4), (0.95, 1.7)])
def test_opposite_contributions_dominate_all_in_the_plane(q, c):
    grid = np.linspace(-c - 6.5, c + 6.5, 401)
    error = 3e-4
    cell, side = (grid[1] - grid[0]) ** 2, norm.pdf(grid[:, None], 0, 1)

    def density(at):
        return (1 - q) * side * side.T + q * np.outer(norm.pdf(grid, at[0]), norm.pdf(grid, at[1]))

    bound = replaced(q, c, -c)
    rng = np.random.default_rng(0)
    pairs = [(c * np.array([1, 0]), c * np.array([np.cos(t), np.sin(t)])) for t in (0.5, 2.0, 3.0)]
    pairs += [tuple(rng.uniform(-c, c, (2, 2)) / np.sqrt(2)) for _ in range(6)]
    for v, w in pairs:
        for one, other in ((v, w), (w, v)):
            assert (divergences(density(one), density(other), cell) <= bound + error).all()
    # attained, so that half of c bounds nothing
    attained = divergences(density((c, 0.0)), density((-c, 0.0)), cell)
    np.testing.assert_allclose(attained, bound, atol=error)
    assert (attained > replaced(q, c / 2, -c / 2) + error)[ORDERS.index(1.0)]


@pytest.mark.parametrize("q", [0.1, 0.6])
def test_a_release_that_is_no_sum_is_dominated_too(q):
    """f of every batch of two other rows is arbitrary. The row moves it by at most 1, by another amount per batch."""
    bound, rng = replaced(q, 1.0, -1.0), np.random.default_rng(1)
    batches = list(product((0, 1), repeat=2))
    chances = [np.prod([q if inside else 1 - q for inside in b]) for b in batches]
    for _ in range(40):
        f = rng.uniform(-3, 3, len(batches))
        row, other = rng.choice([-1.0, 1.0, 0.3], (2, len(batches)))
        mixtures = [
            (np.concatenate([np.multiply(chances, 1 - q), np.multiply(chances, q)]), np.concatenate([f, f + moves]))
            for moves in (row, other)
        ]
        assert (on_line(*mixtures) <= bound + ERROR).all()


def test_two_steps_are_the_integral_of_two_numbers():
    q, sigma, every = 0.2, 2.0, 20
    p, r = line([1 - q, q], [0, 1], sigma)[::every], line([1 - q, q], [0, -1], sigma)[::every]
    p2, r2, cell = np.outer(p, p), np.outer(r, r), (every * (X[1] - X[0])) ** 2

    def delta(epsilon):
        return float(np.maximum(p2 - np.exp(epsilon) * r2, 0.0).sum() * cell)

    # noise sigma, contribution 1 and sensitivity 2
    one = event(sigma / 2, q, 2, relation=Relation.REPLACE_ONE, contribution=0.5)
    epsilon = epsilon_of(ledger(one), 1e-3, only=("dp_accounting_pld",)).epsilon
    assert delta(epsilon) <= 1e-3 * (1 + 1e-4) < delta(epsilon / 1.005)


# -------------------------------------------------------------------- batches of a fixed size, one row added or removed
def batches_of(rows, m):
    """The mixture of the sums of all batches of m rows."""
    sums = [sum(b) for b in combinations(rows, m)]
    return np.full(len(sums), 1 / len(sums)), sums


def removed(q, distance):
    """The divergences of Poisson sampling, for a removed and for an added row."""
    pair = ([1 - q, q], [0, distance]), ([1.0], [0])
    return on_line(*pair), on_line(*pair[::-1])


@pytest.mark.parametrize(("n", "m"), [(3, 1), (3, 2), (5, 2), (6, 4)])
def test_a_row_removed_from_batches_of_a_fixed_size_is_dominated(n, m):
    bounds, rng = removed(m / n, 2.0), np.random.default_rng(2)
    tables = [rng.choice([-1.0, 1.0, 0.2], n) for _ in range(20)] + [rng.uniform(-1, 1, n) for _ in range(20)]
    for rows in tables:
        larger, smaller = batches_of(rows, m), batches_of(rows[:-1], m)
        assert (on_line(larger, smaller) <= bounds[0] + ERROR).all()
        assert (on_line(smaller, larger) <= bounds[1] + ERROR).all()


def test_the_worst_table_attains_the_bound():
    rows = [-1.0, -1.0, -1.0, -1.0, 1.0]
    larger, smaller = batches_of(rows, 2), batches_of(rows[:-1], 2)
    both = on_line(larger, smaller), on_line(smaller, larger)
    for found, bound in zip(both, removed(2 / 5, 2.0), strict=True):
        np.testing.assert_allclose(found, bound, atol=ERROR)
    middle = ORDERS.index(1.5)
    for q, distance in ((2 / 5, 1.0), (1 / 5, 2.0)):  # neither the distance of one row, nor a smaller rate, is enough
        assert both[0][middle] > removed(q, distance)[0][middle] + ERROR
