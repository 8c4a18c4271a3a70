"""Functions and values that the texts of these findings may use."""

from papers.jalko2017dpvi import PAPER, run
from reports.frames import one
from workflow.published import KEY


def shared(rows) -> dict[str, object]:
    """Names that all texts may use."""
    return {"config": run.config(), "family": PAPER.family}


def jalko2017_dp_sgld(rows) -> dict[str, object]:
    def dpvi(reading: str, sigma: str) -> str:
        """Our accuracy for a published number of the fourth figure."""
        found = [
            r
            for r in rows("verdicts", reading=reading, table="sgld_vs_advi_abalone").to_dict("records")
            if abs(run.fields(r["setting"])["sigma"] / float(sigma) - 1) < 1e-4
        ]
        if len(found) != 1:
            raise ValueError(f"{len(found)} cells have sigma {sigma}")
        return format(1 - float(found[0]["mean"]), ".3f")

    return {"dpvi": dpvi}


def jalko2017_true_budgets(rows) -> dict[str, object]:
    def spent(delta: str) -> dict[str, list[dict[str, str]]]:
        """Counts of printed epsilons compared with the true ones at ``delta``.

        The true ones are for replace-one neighbours and batches with replacement, as in the runs.

        ``more``: the realised epsilon is above the printed one. ``less``: the bound is below it. ``open``: neither.
        """
        out = {"all": [], "more": [], "less": [], "open": []}
        for r in rows("ledger", reading="corrected").to_dict("records"):
            if not r["printed"]:
                continue
            key = {k: r[k] for k in ("dataset", "sigma", "kappa", "T")} | {"delta": delta}
            low, high = (
                float(one(rows("epsilons", rule=f"replace-one, with replacement: {kind}", **key), "epsilon"))
                for kind in ("realised", "bound")
            )
            printed = float(r["printed"])
            out["all"].append(r)
            out["more" if low > printed else "less" if high < printed else "open"].append(r)
        return out

    return {"spent": spent}


def jalko2017_reproduction(rows) -> dict[str, object]:
    def poisson() -> dict[str, float]:
        """Accuracy with Poisson batches minus that of the authors' code, over the private numbers.

        ``largest``: the largest difference. ``bound``: the end of the 95 % intervals that is farthest from 0.
        """
        judged = rows("verdicts").to_dict("records")
        cells = {(*(r[k] for k in KEY), r["reading"]): r for r in judged if r["published_std"]}
        found = []
        for key in cells:
            if key[-1] != "corrected":
                continue
            a, b = cells[key], cells[(*key[:-1], "authors")]
            variance = sum(float(r["std"]) ** 2 / float(r["n"]) for r in (a, b))
            difference = abs(float(a["mean"]) - float(b["mean"]))
            found.append((difference, difference + 1.96 * variance**0.5))
        return {"cells": len(found), "largest": max(d for d, _ in found), "bound": max(e for _, e in found)}

    return {"poisson": poisson}
