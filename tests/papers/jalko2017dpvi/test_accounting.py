"""The program's rules give the printed budgets back; bounds against closed forms, libraries and each other."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from papers.jalko2017dpvi import accounting, run
from privacy.accountants import epsilon_of, gdp_delta, gdp_epsilon
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling

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
    """Without replacement below with replacement (more multiplicities); the realised pair below the bound."""
    a = np.linspace(0, 5, 101)
    for sigma, batch, n in ((2.0, 33, 3341), (0.4, 26, 26048), (1.2, 167, 3341)):
        bound = accounting.with_replacement(sigma, batch, n)(a)
        forward, backward = accounting.realised(sigma, batch, n)
        assert (forward(a) <= bound + 1e-9).all()
        assert (backward(a) <= bound + 1e-9).all()
        assert (np.diff(bound) <= 1e-12).all()
        assert bound[0] <= 1


def test_one_row_a_batch_is_both_samplings():
    a = np.linspace(0, 3, 31)
    one = accounting.with_replacement(0.7, 1, 50)(a)
    assert one == pytest.approx(accounting.without_replacement(0.7, 1, 50)(a), abs=1e-12)


def test_the_realised_pair_by_integration():
    sigma, batch, n = 0.8, 5, 40
    p, _ = accounting.times(batch, n)
    z = np.linspace(-15, 25, 400_001)
    above = sum(p[m] * norm.pdf(z, m, sigma) for m in range(len(p)))
    below = norm.pdf(z, 0, sigma)
    forward, backward = accounting.realised(sigma, batch, n)
    for a in (-0.5, -0.05, 0.0, 0.05, 0.4, 2.0):
        assert forward(np.array([a]))[0] == pytest.approx(
            np.trapezoid(np.maximum(0, above - math.exp(a) * below), z), abs=1e-7
        )
        assert backward(np.array([a]))[0] == pytest.approx(
            np.trapezoid(np.maximum(0, below - math.exp(a) * above), z), abs=1e-7
        )


def test_the_grid_against_the_librarys_poisson_distributions():
    """The pair of Poisson sampling, both directions, by this module's grid and by dp-accounting's own: within 1 %."""
    sigma, rate, steps = 1.5, 0.02, 300

    def forward(a):
        a = np.asarray(a)
        cut = np.log1p(-rate)
        with np.errstate(invalid="ignore", divide="ignore"):
            own = np.log((np.exp(a) - (1 - rate)) / rate)
        inside = rate * accounting.gaussian_curve(1 / sigma, np.where(a > cut, own, 0.0))
        return np.where(a > cut, inside, 1 - np.exp(a))

    def backward(a):
        return 1 - np.exp(a) * (1 - forward(-np.asarray(a)))

    def bounded(a):
        return np.where(a < -np.log1p(-rate), np.maximum(backward(np.minimum(a, 1.0)), 0.0), 0.0)

    pairs = ((forward, bounded), (bounded, forward))
    found = max(accounting.epsilons(c, steps, (1e-4,), o, points=3000)[0] for c, o in pairs)
    event = Event("sum", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 1.0, sigma, Sampling.POISSON, rate, steps)
    library = epsilon_of(Ledger([event]), 1e-4, ("dp_accounting_pld",)).epsilon
    assert found == pytest.approx(library, rel=0.01)


def test_the_gaussian_curve_is_that_of_the_accountants():
    for mu in (0.01, 1.0, 4.0):
        for a in (0.0, 0.3, 2.0):
            assert accounting.gaussian_curve(mu, np.array([a]))[0] == pytest.approx(gdp_delta(mu, a), abs=1e-14)
