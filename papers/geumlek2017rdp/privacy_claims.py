"""The privacy claims of Geumlek, Song & Chaudhuri (2017): Renyi divergences of one posterior draw."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from reports.privacy_claims import PrivacyClaim
from workflow import committed, papers

#: our method -> its name in the paper.
METHODS = {
    "posterior_sampling_glm_concentrated": "algorithm 5",
    "posterior_sampling_glm_diffused": "algorithm 6",
}


def bound_at(curve: list[list[float]], order: float) -> float:
    """The written bound at an order. Below the first order of the curve it is proportional to the order.

    The bound of theorem 16 is the order times a constant. Raises ValueError if the curve is not.
    """
    if order >= curve[0][0]:
        return next(bound for at, bound in curve if at >= order - 1e-9)
    rates = [bound / at for at, bound in curve[:3]]
    if max(rates) > min(rates) * (1 + 1e-9):
        raise ValueError(f"the curve has no order {order}, and is not proportional to the order")
    return rates[0] * order


def _rows() -> Iterator[PrivacyClaim]:
    ledger = committed.ledgers().groupby("cell")
    scores = committed.read(papers.REFERENCE, "rdp_logistic")
    mine = scores[scores["method"].isin(METHODS) & scores["setting"].str.startswith("order=")]
    for row in mine.drop_duplicates("cell").sort_values("cell").to_dict("records"):
        named = dict(part.split("=", 1) for part in row["setting"].split(";"))
        order, claimed = float(named["order"]), math.exp(float(named["epsilon"].removeprefix("e^")))
        of_cell = ledger.get_group(row["cell"])
        curves = {c for c in of_cell["renyi_curve"] if c}
        upper = max(bound_at(json.loads(curve), order) for curve in curves)
        yield PrivacyClaim(
            "geumlek2017rdp", METHODS[row["method"]], "printed", row["dataset"], row["setting"], claimed, math.nan,
            row["relation"], "one posterior draw", upper=upper, accountants=f"theorem 16: {upper:.4g}", order=order,
            ours=row["method"],
        )  # fmt: skip


def claims() -> list[PrivacyClaim]:
    """One claim per method, data set, order and epsilon of figures 3 and 6. They are for exact draws."""
    return list(_rows())
