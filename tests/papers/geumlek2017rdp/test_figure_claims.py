"""Each sentence of RDP posterior sampling can fail: tables that contradict it say so."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from papers.geumlek2017rdp import figure_claims as rdp_claims
from papers.geumlek2017rdp.figure_claims import CONCENTRATED, DIFFUSED, GAUSSIAN

PRIOR, N, SUCCESSES = (6.0, 18.0), 100, 38
#: KL(Beta(44, 74) || Beta(6, 12)), to the digits of an independent computation.
TO_PRIOR = 0.611674273236768


@pytest.fixture
def curves():
    rows = [(p, w) for p in ("diffused", "concentrated") for w in (0.1, 0.5, 1.0)]
    return pd.DataFrame(rows, columns=["panel", "r_or_m"])


def kl_table(changes=()):
    rows = {}
    for order in (2.0, 15.0):
        rest = 0.0 if order == 2 else 0.05
        for epsilon in (0.0, 0.01, 1.0, math.inf):
            far = epsilon < 1
            rows[order, DIFFUSED, epsilon] = {0.0: TO_PRIOR, 0.01: 0.3}.get(epsilon, rest)
            rows[order, CONCENTRATED, epsilon] = {0.0: math.inf, 0.01: 9.0}.get(epsilon, rest)
            rows[order, GAUSSIAN, epsilon] = 5.0 if far else 0.0
    rows |= dict(changes)
    return pd.DataFrame([(*k, v) for k, v in rows.items()], columns=["order", "method", "epsilon", "kl"])


def suprema(**changes):
    rows = [
        {"check": "corollary_2", "order": 1.0, "stated": 0.11, "exact": 0.10, "brute_force": 0.10, "ratio": 1.1},
        {"check": "corollary_2", "order": 3.0, "stated": 0.30, "exact": 0.30, "brute_force": 0.30, "ratio": 1.0},
        {"check": "corollary_2", "order": 1.5, "stated": math.inf, "exact": 1.2, "brute_force": 1.2, "ratio": math.inf},
        {"check": "theorem_16", "order": 2.0, "tau2": 1.0, "stated": 4.0, "exact": 0.83, "ratio": 4.8},
    ]
    rows[0] |= changes
    return pd.DataFrame(rows)


def said(row):
    return row["holds"] == "yes"


def test_asymptotes_come_from_the_guarantee_and_fail_where_the_prior_is_another(curves):
    assert said(rdp_claims.asymptotes(curves, PRIOR, N))
    assert "6 of 6 curves" in rdp_claims.asymptotes(curves, PRIOR, N)["figure"]


def test_reach_zero():
    assert said(rdp_claims.reach_zero(kl_table()))
    assert not said(rdp_claims.reach_zero(kl_table({(2.0, DIFFUSED, 1.0): 0.01})))


def test_stay_away():
    row = rdp_claims.stay_away(kl_table())
    assert said(row)
    assert "algorithm 2 0.05" in row["figure"]
    assert not said(rdp_claims.stay_away(kl_table({(15.0, CONCENTRATED, math.inf): 0.0})))
    assert not said(rdp_claims.stay_away(kl_table({(15.0, GAUSSIAN, math.inf): 0.2})))


def test_small_epsilon():
    diverges, to_prior = rdp_claims.small_epsilon(kl_table(), PRIOR, N, SUCCESSES)
    assert said(diverges)
    assert said(to_prior)
    diverges, to_prior = rdp_claims.small_epsilon(
        kl_table({(2.0, CONCENTRATED, 0.0): 12.0, (15.0, DIFFUSED, 0.0): 0.7}), PRIOR, N, SUCCESSES
    )
    assert not said(diverges)
    assert not said(to_prior)


def test_corollary_2_in_both_readings():
    """The corollary says "equivalent": a maximum that is too large does not equal the supremum, though it covers it."""
    printed, corrected = rdp_claims.corollary_2(suprema())
    assert not said(printed)
    assert said(corrected)
    assert "equal in 1 of 3 cases, no smaller in 3" in printed["figure"]
    assert "infinite in 1 cases" in printed["figure"]
    right = suprema(stated=0.10)
    assert said(rdp_claims.corollary_2(right[right["order"] != 1.5])[0])
    printed, corrected = rdp_claims.corollary_2(suprema(stated=0.09, brute_force=0.12))
    assert not said(printed)
    assert not said(corrected)


def test_theorems_16_and_18():
    assert said(rdp_claims.theorem_16(suprema()))
    assert said(rdp_claims.theorem_18(suprema()))
    table = suprema()
    table.loc[table["check"] == "theorem_16", "exact"] = 4.5
    assert not said(rdp_claims.theorem_16(table))
    table.loc[table["check"] == "theorem_16", "exact"] = 0.4  # tau^2 (order - 1) / 2 is 0.5
    assert not said(rdp_claims.theorem_18(table))


def test_the_guarantees_cross_where_the_paper_says_but_for_the_charge_of_ops():
    """2 c^2 rho^2 lambda / (n beta) = 4 c^2 rho / beta at lambda = 2 n / rho; at half the charge at n / rho."""
    printed, corrected = rdp_claims.crossing()
    assert said(printed)
    assert "lambda = 2 n / rho in 9 cases" in printed["figure"]
    assert not said(corrected)
    assert "lambda = 1 n / rho in 9 cases" in corrected["figure"]


def test_a_table_without_its_limit_is_refused():
    table = kl_table()
    with pytest.raises(ValueError, match="no row of posterior_sampling_diffused at order 15 with epsilon = inf"):
        rdp_claims.stay_away(table[~((table["order"] == 15) & (table["epsilon"] == math.inf))])
