"""The program's rules give the printed budgets back; bounds against closed forms, libraries and each other."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from papers.jalko2017dpvi import accounting, run
from privacy.accountants import gdp_delta, gdp_epsilon
from privacy.accountants.lower import repeated

STATED = pd.read_csv(Path(run.__file__).parent / "epsilons.csv")
#: six digits are stated, of the noises as well
DIGITS = 2e-5


@pytest.mark.parametrize("row", STATED.to_dict("records"), ids=lambda r: f"{r['table']}-{r['sigma']}-{r['kappa']}")
def test_the_rules_of_the_program_give_the_printed_budgets(row):
    sigma, kappa, steps = row["sigma"], row["kappa"], row["T"]
    if row["rule"].startswith("ma(sigma, delta), orders 1-99"):
        found = accounting.moments(sigma, 1e-3, kappa, steps)
    elif row["rule"].startswith("ma(sigma, delta/2), orders 1-159"):
        found = accounting.moments(sigma, 5e-4, kappa, steps, 159)
    else:
        assert row["rule"] == "2 act(2 sigma, delta/2, 4e-5)"
        found = 2 * accounting.advanced_composition(2 * sigma, 5e-4, 4e-5, kappa, steps)
    assert found == pytest.approx(row["epsilon_by_program"], rel=DIGITS)


def test_a_log_moment_by_quadrature():
    z = np.linspace(-60, 60, 400_001)
    for order, sigma, kappa in ((1, 2.0, 0.01), (5, 1.2, 0.05), (20, 4.0, 0.3)):
        ratio = (1 - kappa) + kappa * np.exp((2 * z - 1) / (2 * sigma**2))
        direct = math.log(np.trapezoid(norm.pdf(z, scale=sigma) * ratio ** (order + 1), z))
        assert accounting.log_moment(order, sigma, kappa) == pytest.approx(direct, rel=1e-6, abs=1e-12)


def test_no_sampling_composes_to_the_gaussian():
    """rate 1: mu = sqrt(T) / sigma, exactly; the grid rounds up, by less than 1 % here."""
    sigma, steps = 20.0, 50
    curve = accounting.exchangeable(accounting.without_replacement(sigma, 1, 1))
    for d, found in zip((1e-3, 1e-5), accounting.epsilons(curve, steps, (1e-3, 1e-5), points=3000), strict=True):
        exact = gdp_epsilon(math.sqrt(steps) / sigma, d)
        assert exact <= found <= 1.01 * exact


def test_the_curves_are_ordered():
    """The bound of a step falls; what a pair realises over all steps is below the bound."""
    a = np.linspace(0, 5, 101)
    for sigma, batch, n in ((2.0, 33, 3341), (0.4, 26, 26048), (1.2, 167, 3341)):
        bound = accounting.with_replacement(sigma, batch, n)(a)
        assert (np.diff(bound) <= 1e-12).all()
        assert bound[0] <= 1
        times, _ = accounting.times(batch, n)
        whole = accounting.exchangeable(accounting.with_replacement(sigma, batch, n))
        assert 0 < repeated(sigma, times, 200, 1e-3) <= accounting.epsilons(whole, 200, (1e-3,))[0]


def test_one_row_a_batch_is_both_samplings():
    a = np.linspace(0, 3, 31)
    one = accounting.with_replacement(0.7, 1, 50)(a)
    assert one == pytest.approx(accounting.without_replacement(0.7, 1, 50)(a), abs=1e-12)


def test_the_gaussian_curve_is_that_of_the_accountants():
    for mu in (0.01, 1.0, 4.0):
        for a in (0.0, 0.3, 2.0):
            assert accounting.gaussian_curve(mu, np.array([a]))[0] == pytest.approx(gdp_delta(mu, a), abs=1e-14)
