"""The benchmark of yardsticks: its bounds fall with the budget as noise does; one does not see collinear columns."""

import pytest

from benchmarks import least_squares_yardsticks as bench
from benchmarks.adassp_clip import Design
from privacy.accountants import gdp_mu

PLAIN, COLLINEAR = (Design("normal", s, 8, 2000, 0.0, 0.95) for s in (1.0, 0.01))


def test_a_bound_is_noise_alone():
    """On the same rows and noise: the square of the ratio of budgets."""
    tight, loose = (bench.excesses(PLAIN, e, 0, bench.BOUNDS) for e in (8.0, 1.0))
    ratio = (gdp_mu(8.0, bench.DELTA) / gdp_mu(1.0, bench.DELTA)) ** 2
    for name in bench.BOUNDS:
        assert loose[name] / tight[name] == pytest.approx(ratio, rel=1e-9)


def test_collinear_columns_cost_noise_of_one_size_and_not_noise_in_the_metric():
    plain, mixed = (bench.excesses(d, 1.0, 0, bench.BOUNDS) for d in (PLAIN, COLLINEAR))
    isotropic, metric = bench.BOUNDS
    assert mixed[isotropic] > 5 * plain[isotropic]
    assert mixed[metric] < 2 * plain[metric]
