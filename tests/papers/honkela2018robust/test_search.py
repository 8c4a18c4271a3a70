"""The searches on simulated rows."""

import numpy as np
import pytest

from papers.honkela2018robust import published, search


def test_splits_of_the_grid():
    splits = search.splits()
    assert len(splits) == 171
    assert all(abs(sum(s) - 1) < 1e-12 and min(s) >= 0.03 for s in splits)
    told = [published.fields(r["setting"]) for r in published.splits()]
    assert [(round(p1, 2), round(p2, 2)) for p1, p2, _ in splits] == [(t["p1"], t["p2"]) for t in told]


def test_the_search_on_a_small_set_by_hand():
    """One data set and one noise, one fit after the other."""
    found = search.average_scores(40, 2, 1.0, repeats=1)
    rng = np.random.RandomState(search.SEED)
    x = rng.normal(0, 1, (40, 2))
    x = x - x.mean(axis=0)
    x /= np.linalg.norm(x, axis=1)[:, None]
    y = rng.normal(x @ rng.normal(0, 1, 2), 1)
    y -= y.mean()
    u = rng.laplace(scale=6 / 0.35, size=3)
    v = rng.laplace(scale=4 / 0.6, size=2)
    for i, j in ((0, 0), (3, 19), (19, 7)):
        bx, by = search.GRID[i] * x.std(ddof=1), search.GRID[j] * y.std(ddof=1)
        xc, yc = np.clip(x, -bx, bx), np.clip(y, -by, by)
        gram = xc.T @ xc + np.array([[u[0], u[1]], [u[1], u[2]]]) * bx**2
        b = np.linalg.solve(gram + np.eye(2), xc.T @ yc + v * bx * by)
        ranks = [np.argsort(np.argsort(a)) for a in (x @ b, y)]
        assert found[i, j] == pytest.approx(np.corrcoef(ranks)[0, 1], abs=1e-12)


def test_a_split_by_its_numbers():
    """The multiples of a split and the centre of its 25 fits."""
    omega, found = search.split_scores(search.splits()[0])
    assert omega == (pytest.approx(0.4), pytest.approx(2.0))
    assert found.shape == (25, 3)
    assert found.mean() == pytest.approx(0.1311834, abs=5e-8)
    assert np.sqrt(found.var(axis=1).sum()) / 25 == pytest.approx(7.55e-4, abs=5e-6)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("n", "epsilon", "best", "pair"),
    [(500, 0.1, 0.02539, (0.1, 0.1)), (500, 1.0, 0.15643, (0.1, 0.5)), (500, 10.0, 0.66224, (0.1, 1.1)),
     (800, 2.0, 0.57170, (0.1, 0.6))],
)  # fmt: skip
def test_searches_for_multiples(n, epsilon, best, pair):
    assert search.average_scores(n, 10, epsilon).max() == pytest.approx(best, abs=5e-6)
    assert search.multiples(n, 10, epsilon) == pytest.approx(pair)
