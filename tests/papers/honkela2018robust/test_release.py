"""What one row can change, the noise for it, and what is fitted to the corrected release."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.honkela2018robust import release
from papers.honkela2018robust.data import Moments
from privacy.accountants import epsilon_of
from privacy.audit.replays import Recorder
from privacy.budget import BudgetSpec

OMEGA = (0.1, 0.5)


def change(x, y, x2, y2):
    """Changes of the three releases when a row is replaced, L1, upper triangle."""
    a, b = Moments.of(x[None], np.array([y])), Moments.of(x2[None], np.array([y2]))
    parts = ((release.triangle(m.gram), m.cross, np.array([m.square])) for m in (a, b))
    return np.array([np.abs(p - q).sum() for p, q in zip(*parts, strict=True)])


@pytest.mark.parametrize(
    ("split", "expected"),
    [((0.35, 0.60, 0.05), 0.603571428571), ((0.30, 0.65, 0.05), 0.65), ((2 / 7, 4 / 7, 1 / 7), 0.571428571429),
     ((0.9, 0.05, 0.05), 0.525), ((1 / 3, 1 / 3, 1 / 3), 2 / 3)],
)  # fmt: skip
def test_what_the_authors_scales_cost_with_public_bounds(split, expected):
    assert release.cost(split) == pytest.approx(expected, abs=1e-6)  # of the grid over t and q


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_the_sensitivity_of_the_upper_triangle_alone(d):
    """d (d + 1) / 2, half of what the source uses, at t = 1/2."""
    assert release.changes(d, 0.5, 0.0)[0] == d * (d + 1) / 2


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 1.0]))
def test_no_pair_of_rows_changes_more_than_the_bound(d, seed, corner):
    """Random rows, with a share of their entries moved to the bounds."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, (2, d + 1))
    rows = np.where(rng.random(rows.shape) < corner, np.sign(rows), rows)
    (*x, y), (*x2, y2) = rows
    found = change(np.array(x), y, np.array(x2), y2)
    t, q = np.abs(np.array(x) - x2).mean() / 2, abs(y - y2) / 2
    assert (found <= np.array(release.changes(d, t, q)) * (1 + 1e-12) + 1e-12).all()
    assert (found / release.corrected_scales(d, (1.0, 1.0))).sum() <= 1 + 1e-12


@pytest.mark.parametrize(("t", "q"), [(0.5, 0.5), (13 / 14, 0.0), (0.3, 0.7), (1.0, 0.0)])
def test_one_pair_attains_the_three_bounds(t, q):
    d = 10
    found = change(np.ones(d), 1.0, np.full(d, 1 - 2 * t), 1 - 2 * q)
    assert found == pytest.approx(np.array(release.changes(d, t, q)), abs=1e-12)
    share = (found / release.corrected_scales(d, (1.0, 1.0))).sum()
    assert share == pytest.approx(1 - (1 - t - q) ** 2, abs=1e-12)


def neighbours(fold):
    """The fold with two other first rows of the pool: a pair that attains the sensitivity (t = 1, q = 0)."""
    x, y = fold.x_pool.copy(), fold.y_pool.copy()
    x[0], y[0] = 1.0, 1e3
    x2 = x.copy()
    x2[0] = -1.0
    return replace(fold, x_pool=x, y_pool=y), replace(fold, x_pool=x2, y_pool=y)


@pytest.mark.parametrize(("factor", "expected"), [(1.0, 1.0), (0.5, 2.0)])
def test_the_audit_of_the_corrected_release(fold, monkeypatch, factor, expected):
    """Recorded on one table, replayed on its neighbour: all that is released changes by the sensitivity of the event
    and by no more. A mutant with half the scales changes by twice as much."""
    scales = release.corrected_scales
    monkeypatch.setattr(release, "corrected_scales", lambda d, b: tuple(factor * s for s in scales(d, b)))
    one, other = (release.corrected(f, 100, OMEGA) for f in neighbours(fold))
    first = Recorder()
    made = release.corrected_release(one, 1.0, BudgetSpec(epsilon=1.0).open(np.random.default_rng(0), first))
    second = Recorder(outputs=first.outputs, expected=first.events)
    again = release.corrected_release(other, 1.0, BudgetSpec(epsilon=1.0).open(np.random.default_rng(1), second))
    assert first.events == second.events
    (a,), (b,) = first.values, second.values
    assert np.abs(a - b).sum() / first.events[0].sensitivity == pytest.approx(expected, rel=1e-9)
    # nothing else of the private rows enters
    assert (made.gram == again.gram).all()
    assert (made.cross == again.cross).all()
    beta = [release.linear_bayes(m, f.bounds, OMEGA[0], 1.0) for m, f in ((made, one), (again, other))]
    assert (beta[0] == beta[1]).all()


def test_a_scale_that_is_charged_to_the_budget(fold):
    """Recorded on one table and replayed on its neighbour: eight releases within epsilon, each count moved by at most
    one and some by one, and nothing but the releases enters the fit."""
    y = fold.y_pool.copy()
    y[0] = 1e-3  # below every threshold that is asked for, where the first of the two is above them
    one, other = neighbours(fold)[0], replace(fold, y_pool=y, x_pool=neighbours(fold)[1].x_pool)
    found, recorders = [], []
    for f in (one, other):
        first = recorders[0] if recorders else None
        recorders.append(Recorder(outputs=first.outputs, expected=first.events) if first else Recorder())
        budget = BudgetSpec(epsilon=1.0).open(np.random.default_rng(len(recorders)), recorders[-1])
        clipped = release.charged(f, 100, OMEGA, 0.1, budget)
        made = release.corrected_release(clipped, 0.9, budget)
        found.append((clipped.bounds, release.linear_bayes(made, clipped.bounds, OMEGA[0], 0.9)))
        assert epsilon_of(budget.ledger, 1e-9).epsilon == pytest.approx(1.0, rel=1e-5)
    assert found[0][0] == found[1][0]
    assert (found[0][1] == found[1][1]).all()
    moved = [np.abs(a - b).sum() for a, b in zip(*(r.values for r in recorders), strict=True)]
    assert len(moved) == release.COMPARISONS + 1
    assert max(moved[:-1]) == 1.0
    assert moved[-1] <= 1.0 + 1e-12


def test_a_median_without_noise_is_the_next_threshold():
    """Also at the ends of the thresholds."""
    values = np.abs(np.random.default_rng(0).standard_normal(999)) * 3
    for scale in (1.0, 50.0, 1e-9, 1e9):
        budget = BudgetSpec(epsilon=1e9).open(np.random.default_rng(0))
        found = release.median(scale * values, 1e9, budget)
        above = release.THRESHOLDS[scale * np.median(values) <= release.THRESHOLDS]
        assert found == (above[0] if len(above) else release.THRESHOLDS[-1])


def test_no_private_row_moves_the_frame(fold):
    one, other = neighbours(fold)
    assert release.corrected(one, 100, OMEGA).bounds == release.corrected(other, 100, OMEGA).bounds
    # as published, a row of the pool moves them
    assert release.as_published(one, 100, OMEGA).bounds != release.as_published(fold, 100, OMEGA).bounds


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_ledger_of_the_corrected_release(fold, epsilon):
    budget = BudgetSpec(epsilon=epsilon).open(np.random.default_rng(0))
    release.corrected_release(release.corrected(fold, 100, OMEGA), epsilon, budget)
    assert len(budget.ledger) == 1
    assert epsilon_of(budget.ledger, 1e-9).epsilon == pytest.approx(epsilon, rel=1e-6)


def test_the_non_private_limit_is_clipped_least_squares(fold):
    found = release.corrected(fold, 500, OMEGA)
    epsilon = 1e9
    released = release.corrected_release(found, epsilon, BudgetSpec(epsilon=epsilon).open(np.random.default_rng(0)))
    both = found.private + found.public
    b = release.linear_bayes(released, found.bounds, OMEGA[0], epsilon)
    assert b == pytest.approx(np.linalg.solve(both.gram, both.cross), rel=1e-4)


def test_the_noise_of_the_corrected_release(fold):
    """Mean absolute deviations of 4,000 releases are the scales, within five standard errors of them."""
    found = release.corrected(fold, 100, OMEGA)
    rng = np.random.default_rng(3)
    made = [release.corrected_release(found, 2.0, BudgetSpec(epsilon=2.0).open(rng)) for _ in range(1000)]
    both = found.private + found.public
    off = [
        (np.abs(release.triangle(m.gram - both.gram)).mean(), np.abs(m.cross - both.cross).mean(),
         abs(m.square - both.square)) for m in made
    ]  # fmt: skip
    scales = np.array(release.corrected_scales(10, found.bounds)) / 2.0
    errors = 5 * scales / np.sqrt(1000 * np.array([55, 10, 1]))
    assert (np.abs(np.mean(off, axis=0) - scales) < errors).all()


def test_the_mean_square_of_a_clipped_entry():
    assert release.clipped_square(0.1) == pytest.approx(0.946861, abs=1e-6)
    assert release.clipped_square(0.2) == pytest.approx(0.894039, abs=1e-6)
    z = np.random.default_rng(0).standard_normal(400_000)
    assert release.clipped_square(0.7) == pytest.approx(np.mean(np.minimum(np.abs(z), 0.7) ** 2) / 0.49, abs=3e-3)


def test_a_symmetric_matrix_of_its_triangle():
    assert release.symmetric(np.arange(6.0)).tolist() == [[0, 1, 2], [1, 3, 4], [2, 4, 5]]
    assert release.triangle(release.symmetric(np.arange(6.0))).tolist() == list(range(6))
