"""The committed ledger can be computed again from its rows alone, with dp-accounting and nothing of this suite.

What is read are the columns relation, sampling, steps, mechanism, noise_multiplier, sampling_rate and renyi_curve.
"""

import json
import math
from fractions import Fraction

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant, rdp_privacy_accountant

from reports import ledger, reference
from workflow import committed

#: columns in which two events are of one kind; besides these they differ in numbers only.
KIND = ["mechanism", "relation", "sampling"]


@pytest.fixture(scope="module")
def rows():
    return committed.ledgers(reference.FOLDER)


def events(rows, accountant="dp_accounting_rdp"):
    return rows[(rows["event"] != ledger.TOTAL) & (rows["accountant"] == accountant)]


def event_of(row):
    """The event of dp-accounting, once."""
    sigma, rate = float(row["noise_multiplier"]), float(row["sampling_rate"])
    if row["mechanism"] == "laplace":
        return dpa.LaplaceDpEvent(sigma)
    one = dpa.GaussianDpEvent(sigma)
    if row["sampling"] == "poisson" and row["relation"] == "add_remove":
        return dpa.PoissonSampledDpEvent(rate, one)
    if row["sampling"] == "without_replacement" and row["relation"] == "replace_one":
        share = Fraction(rate).limit_denominator(10**9)
        return dpa.SampledWithoutReplacementDpEvent(share.denominator, share.numerator, one)
    return one


def epsilon(part, delta):
    """Epsilon of these events together, by Renyi composition; infinite if one has no multiplier."""
    if any(r["noise_multiplier"] and float(r["noise_multiplier"]) == 0 for r in part):
        return math.inf
    assert len({r["relation"] for r in part}) == 1
    written = [dict(json.loads(r["renyi_curve"])) for r in part if r["mechanism"] == "written_bound"]
    if not written:
        neighbours = dpa.NeighboringRelation
        replaced = any(r["sampling"] == "without_replacement" for r in part)
        accountant = RdpAccountant(None, neighbours.REPLACE_ONE if replaced else neighbours.ADD_OR_REMOVE_ONE)
        for row in part:
            accountant.compose(event_of(row), int(row["steps"]))
        return accountant.get_epsilon(delta)
    orders = sorted(a for a in set.intersection(*map(set, written)) if a > 1.01)
    total = np.zeros(len(orders))
    for row in part:
        if row["mechanism"] == "written_bound":
            curve = dict(json.loads(row["renyi_curve"]))
            total += int(row["steps"]) * np.array([curve[a] for a in orders])
        else:  # Gaussian releases of all rows: order / (2 sigma^2) each
            assert (row["mechanism"], row["sampling"]) == ("gaussian", "full_batch")
            total += int(row["steps"]) * np.array(orders) / (2 * float(row["noise_multiplier"]) ** 2)
    return rdp_privacy_accountant.compute_epsilon(np.array(orders), total, delta)[0]


def spread(group, several=5):
    """Some of the rows, from the least steps to the most."""
    group = group.assign(order=group["steps"].astype(int)).sort_values("order", kind="stable")
    return group.iloc[np.unique(np.linspace(0, len(group) - 1, several).astype(int))].to_dict("records")


def test_every_event_has_what_its_epsilon_follows_from(rows):
    every = rows[rows["event"] != ledger.TOTAL]
    written = every["mechanism"] == "written_bound"
    assert set(every["mechanism"]) == {"gaussian", "laplace", "no_noise", "written_bound"}
    assert (pd.to_numeric(every.loc[~written, "noise_multiplier"]) >= 0).all()
    assert (pd.to_numeric(every["sampling_rate"]).between(0, 1, inclusive="right")).all()
    assert ((every["renyi_curve"] != "") == written).all()
    # a scheme without amplification has the rate 1; Poisson batches have a smaller one
    assert (pd.to_numeric(every.loc[every["sampling"] == "full_batch", "sampling_rate"]) == 1).all()
    assert (pd.to_numeric(every.loc[every["sampling"] == "poisson", "sampling_rate"]) < 1).all()


def test_epsilon_of_every_kind_of_event_is_computed_from_its_row(rows):
    groups = dict(list(events(rows).groupby(KIND)))
    assert len(groups) >= 8  # kinds that are committed
    for kind, group in groups.items():
        for row in spread(group):
            again = epsilon([row], float(row["delta"]))
            assert again == pytest.approx(float(row["epsilon"]), rel=1e-9), (kind, row["cell"], row["event"])


def test_the_total_of_every_kind_of_ledger_is_computed_from_its_events(rows):
    total = (rows["event"] == ledger.TOTAL) & (rows["accountant"] == "dp_accounting_rdp")
    totals = rows[total & (rows["epsilon"] != "")]
    by_cell = {cell: group.to_dict("records") for cell, group in events(rows).groupby("cell")}
    kinds = {}
    for row in totals.to_dict("records"):
        made_of = tuple(sorted({tuple(e[c] for c in KIND) for e in by_cell[row["cell"]]}))
        kinds.setdefault((row["method"], made_of), row)
    assert len(kinds) >= 40  # of method and kinds of event
    for (_, made_of), row in kinds.items():
        again = epsilon(by_cell[row["cell"]], float(row["delta"]))
        assert again == pytest.approx(float(row["epsilon"]), rel=1e-9), (row["cell"], made_of)


def test_loss_distributions_agree_too(rows):
    """dp-accounting's own grid is coarser than the suite's, so the two upper bounds agree to a percent."""
    compared = 0
    for kind, group in events(rows, "dp_accounting_pld").groupby(KIND):
        finite = group[(group["epsilon"] != "") & ~group["epsilon"].isin(["inf"]) & (group["steps"].astype(int) <= 200)]
        finite = finite[pd.to_numeric(finite["epsilon"]).between(0.1, 20)]
        for row in spread(finite, 1) if len(finite) else []:
            accountant = PLDAccountant(dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
            accountant.compose(event_of(row), int(row["steps"]))
            assert accountant.get_epsilon(float(row["delta"])) == pytest.approx(float(row["epsilon"]), rel=0.01), kind
            compared += 1
    assert compared >= 4
