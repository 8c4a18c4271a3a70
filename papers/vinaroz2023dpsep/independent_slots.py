"""DP-SEP's noise if each row had a slot of its own per epoch, independently of all others: a comparison, not a bound.

    pip install random-allocation==1.0.5 pandas
    python papers/vinaroz2023dpsep/independent_slots.py

writes ``reference/independent_slots.csv`` from the committed ledgers. Algorithm 3 takes a permutation, and it is not
proved that a permutation costs at most as much as independent slots. The package is not needed for anything else, and
does not declare that it needs pandas. ``epsilon`` is its Renyi bound for random allocation (Feldman & Shenfeld 2025),
whose sensitivity is the distance between the two contributions of a row.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pandas as pd

HOME = Path(__file__).parent / "reference"


def main() -> None:
    structs = import_module("random_allocation.comparisons.structs")
    bound = import_module("random_allocation.random_allocation_scheme.RDP_DCO").allocation_epsilon_RDP_DCO

    ledger = pd.read_csv(HOME / "ledgers" / "dpsep_uci.csv.gz")
    ledger = ledger[(ledger["method"] == "dp_sep") & (ledger["sampling"] == "shuffled_epochs")]
    ledger = ledger[ledger["noise_multiplier"].notna() & ~ledger["cell"].str.contains("-literature-")]
    ledger["noise_multiplier"] = ledger["noise_multiplier"].round(12)
    ledger["dataset"] = ledger["cell"].str.split("-").str[1]
    keys = ["dataset", "epsilon_claimed", "delta", "noise_multiplier", "sampling_rate", "steps"]
    rows = []
    for row in ledger[keys].drop_duplicates().to_dict("records"):
        given = structs.PrivacyParams(
            sigma=row["noise_multiplier"], num_steps=round(1 / row["sampling_rate"]), num_selected=1,
            num_epochs=int(row["steps"]), delta=row["delta"],
        )  # fmt: skip
        epsilon = float(bound(given, structs.SchemeConfig(), structs.Direction.BOTH))
        rows.append({k: row[k] for k in keys} | {"epsilon": f"{epsilon:.6g}", "version": version("random-allocation")})
    pd.DataFrame(rows).to_csv(HOME / "independent_slots.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
