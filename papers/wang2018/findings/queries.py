"""Functions and values that the texts of these findings may use."""

from papers.wang2018 import PAPER, data, run
from papers.wang2018.tables import METHODS, RULES, SHOWN
from papers.wang2018.verdicts import uniform


def shared(rows) -> dict[str, object]:
    """Names that all texts may use."""
    return {
        "METHODS": METHODS,
        "RULES": RULES,
        "EPSILONS": run.config()["epsilons"],
        "SHOWN": SHOWN,
        "family": PAPER.family,
        "WHY": {name: recipe.why for name, recipe in data.RECIPES.items() if recipe.why},
    }


#: non-private methods.
FREE = ("trivial", "non_private")


def wang2018_reproduction(rows) -> dict[str, object]:
    """Counts of published numbers compared with the published error of the trivial predictor of the same table.

    ``worse`` and ``near`` of ``private`` count numbers of private methods above that error, and within 10 % of it.
    ``reproduced`` counts numbers that the authors' code reproduces, ``reproduced_near`` those of them within 10 % of
    it.

    ``without_one``: by version, p-values of the joint test over all methods without each table. ``by_table``: tables
    with the p-value of the authors' code on this table only, smallest first.
    """
    noisy = {r: v[v["rank"] != ""] for r in ("authors", "printed") for v in [rows("verdicts", reading=r)]}
    without_one = {r: [uniform(v[v["dataset"] != d]).pvalue for d in v["dataset"].unique()] for r, v in noisy.items()}
    by_table = sorted(
        ((d, uniform(v).pvalue) for d, v in noisy["authors"].groupby("dataset")), key=lambda pair: pair[1]
    )
    authors = rows("verdicts", reading="authors", metric="mse")
    printed = authors["published_mean"].astype(float)
    of_mean = authors["dataset"].map(printed[authors["our_method"] == "trivial"].groupby(authors["dataset"]).first())
    private, near = ~authors["our_method"].isin(FREE), (printed - of_mean).abs() <= 0.1 * of_mean
    same = authors["verdict"] == "reproduced"
    counts = {"private": private, "worse": private & (printed > of_mean), "near": private & near}
    counts |= {"reproduced": same & private, "reproduced_near": same & private & near}
    trivial = {name: f"{int(of.sum()):,}" for name, of in counts.items()}
    return {"trivial": trivial, "without_one": without_one, "by_table": by_table}
