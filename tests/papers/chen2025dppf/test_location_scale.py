"""The exact posterior of location-scale. Compiling it takes more CPU time than its runs, so what runs it is nightly."""

import numpy as np
import pytest

from papers.chen2025dppf import location_scale, published

SMALL = {"variance": (0.359, 0.714, 1.699, 0.418), "standard deviation": (0.355, 0.699, 1.624, 0.402)}
EXACT = {
    (0.1, 300): (1.71, 0.97, 1.08), (0.5, 300): (1.175, 1.05, 1.19), (1, 300): (1.096, 1.08, 1.15),
    (2, 300): (1.063, 1.042, 1.077),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("reading", SMALL)
def test_one_row(reading):
    """Quartiles of theta2, median of mu, by millions of draws of the prior; 49,000 effective draws here."""
    *quartiles, mu = SMALL[reading]
    draws, w = location_scale.posterior(np.array([0.4, 0.2]), 1, 3.0, reading, np.random.default_rng(1))
    assert 1 / (w**2).sum() > 40_000
    for level, q in zip((0.25, 0.5, 0.75), quartiles, strict=True):
        assert w @ (draws[:, 1] <= q) == pytest.approx(level, abs=0.012)
    assert w @ (draws[:, 0] <= mu) == pytest.approx(0.5, abs=0.012)


@pytest.mark.nightly
@pytest.mark.parametrize(("epsilon", "n"), EXACT)
def test_releases(epsilon, n):
    """Mean of mu and median of theta2 by another program."""
    mu, sd, variance = EXACT[epsilon, n]
    s = published.release("chen_ls", epsilon, n)
    for reading, median in (("standard deviation", sd), ("variance", variance)):
        draws, w = location_scale.posterior(s, n, 3 / epsilon, reading, np.random.default_rng(2), 30_000)
        assert w @ draws[:, 0] == pytest.approx(mu, abs=0.03 if epsilon < 0.5 else 0.01)
        assert location_scale.quantiles(draws[:, 1], w, 0.5) == pytest.approx(
            median, abs=0.03 if epsilon < 0.5 else 0.02
        )


def test_quantiles_of_weighted_draws():
    found = location_scale.quantiles(np.array([3.0, 1, 2]), np.array([0.2, 0.5, 0.3]), [0.4, 0.6, 1.0])
    assert found.tolist() == [1, 2, 3]
