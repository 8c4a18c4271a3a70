"""The privacy claims of Vinaroz & Park (2021, 2023): DP-SEP, DP-VI and DP-EM at delta = 1e-5."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from reports.privacy_claims import PrivacyClaim, of_experiment

SOURCE = "vinaroz2023dpsep"
#: proposition 2: "the final natural parameters are (epsilon, delta)-DP". Appendix D: "the approximate posterior".
PARAMETERS, POSTERIOR = "final natural parameters", "final posterior"
#: given the start, the posterior is a function of rows and order that is not constant in any target. Each pair of
#: orders agrees on a set of targets of measure 0, and there are finitely many pairs.
NO_NOISE = (
    "no noise reaches the posterior: for a given start, as in the paper's proof, it takes one value per order of the "
    "rows, and for almost all values of one target these are others on a neighbour"
)
UNBOUNDED = "targets without bound: a step moves by a multiple of the target, and its noise does not grow"
SKIPPED = (
    "an update that would leave a precision not positive definite is skipped without noise: on one table all updates "
    "are, so that the prior is released, and on its neighbour noise is added"
)


def of_final_state(case: str, dataset: str, claimed: float) -> dict:
    """The evidence of ``final_state.csv`` on one claim."""
    table = pd.read_csv(Path(__file__).parent / "reference" / "final_state.csv")
    (row,) = table[(table["case"] == case) & (table["claimed"] == claimed)].to_dict("records")
    fits = f"{row['fits']} fits per table"
    if case == "skipped updates":
        if (row["with_event"], row["with_event_neighbour"]) != (row["fits"], 0):
            raise ValueError(
                f"final_state.csv, {case}, epsilon = {claimed}: the pair does not show what its proof says"
            )
        # the ledger has the noise of the updates that are made, and no bound covers the others
        return {
            "upper": math.inf,
            "accountants": "",
            "proof": SKIPPED,
            "pair": "all updates skipped, and all but one",
            "evidence": fits,
        }
    return {
        "lower": row["epsilon_at_least"],
        "pair": "one row a million times as long as all others",
        "evidence": f"{fits}, {row['confidence']:.0%} confidence",
    }


def claims() -> list[PrivacyClaim]:
    """All claims, as printed and by the authors' code."""
    network = partial(of_experiment, "dpsep_uci", source=SOURCE)
    mixture = partial(of_experiment, "dpsep_mixture", source=SOURCE)
    norm: Callable[[str, float], dict] = partial(of_final_state, "other rows vanish")
    skipped: Callable[[str, float], dict] = partial(of_final_state, "skipped updates")
    return [
        *network("dp_sep", method="dp_sep", reading="printed", released=PARAMETERS),
        *network("dp_sep_authors", method="dp_sep", reading="authors", released=PARAMETERS, proof=NO_NOISE),
        *network("dp_vi_vinaroz", method="dp_vi", reading="printed", released=POSTERIOR),
        *network(
            "dp_vi_vinaroz_authors", method="dp_vi", reading="authors", released=POSTERIOR,
            evidence=lambda dataset, claimed: {"all_steps": math.inf, "all_steps_pair": UNBOUNDED},
        ),
        *mixture("dp_sep", method="dp_sep", reading="printed", released=PARAMETERS),
        *mixture("dp_sep_authors", method="dp_sep", reading="authors", released=PARAMETERS, evidence=skipped),
        *mixture(
            "dp_em_authors", method="dp_em", reading="authors",
            released="final means and covariances of the code that the saved results point to",
            setting=lambda name: name.endswith(";not scaled back"), evidence=norm,
        ),
    ]  # fmt: skip
