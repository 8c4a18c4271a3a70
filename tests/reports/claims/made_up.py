"""Made-up scores and one claim on them."""

import numpy as np
import pandas as pd

from reports.claims import Claim, evaluate
from reports.verdicts import FINDING_COLUMNS

NO_FINDINGS = pd.DataFrame(columns=FINDING_COLUMNS)


def claim(test, experiment="dpsep_uci", **more):
    """One claim that is tested so; ``more``: other fields."""
    words = {"id": "x", "source": "vinaroz2023dpsep", "place": "p", "quote": "q", "statement": "s"}
    return Claim(**words | {"test": test, "experiment": experiment} | more)


def run(config, scores, test, source="vinaroz2023dpsep", findings=NO_FINDINGS, proof=""):
    """The row of the table of claims for one claim on these scores."""
    one = claim(test, config["experiment"], source=source, proof=proof)
    return evaluate(config, scores, [one], findings=findings).iloc[0]


def shift(scores, method, dataset, by, metric="rmse"):
    hit = (scores["method"] == method) & (scores["dataset"] == dataset) & (scores["metric"] == metric)
    assert hit.any()
    scores.loc[hit, "value"] = [repr(float(v) + by) for v in scores.loc[hit, "value"]]


def lose(scores, method, dataset, status="diverged"):
    hit = (scores["method"] == method) & (scores["dataset"] == dataset)
    scores.loc[hit, ["metric", "value", "unit"]] = ""
    scores.loc[hit, "status"] = status
    return scores.drop_duplicates()


def noise(scores, seed, mean=1.0):
    """All scores drawn from one law: no method differs from another."""
    rng = np.random.default_rng(seed)
    scores = scores.copy()
    scores["value"] = [repr(float(v)) for v in mean + rng.normal(size=len(scores))]
    return scores


def small_noise(scores, seed=0, sd=1e-3):
    rng = np.random.default_rng(seed)
    scores = scores.copy()
    scores["value"] = [repr(float(v)) for v in 1 + sd * rng.normal(size=len(scores))]
    return scores


MIXTURE = {
    "experiment": "dpsep_mixture",
    "title": "mixture",
    "sources": ["vinaroz2023dpsep"],
    "datasets": ["mixture_of_gaussians"],
    "protocols": {"replicates": {"splits": 40}},
    "arms": [],
    "answers": [
        {"source": "vinaroz2023dpsep", "tables": ["1"], "method": m, "setting": s,
         "readings": {"printed": {"method": m, "label": label, "protocol": "replicates"},
                      "authors": {"method": m, "label": label, "protocol": "replicates", "dataset": "other",
                                   "metrics": {"fnorm_average": "squared"}}}}
        for m, s, label in [("sep", "", "")] + [
            ("dp_sep", f"epsilon={e};delta=1e-5;clip=1", f"epsilon={e}") for e in (1, 5, 50)]
    ],
}  # fmt: skip


def mixture_scores(levels, dataset="mixture_of_gaussians", metric="fnorm_average", n=40):
    """Heavy-tailed scores, one median a label; the same data sets for all."""
    rng = np.random.default_rng(0)
    base = np.exp(rng.standard_cauchy(n).clip(-8, 8))
    rows = []
    for label, level in levels.items():
        method = "dp_sep" if label else "sep"
        rows += [
            {"experiment": "dpsep_mixture", "cell": f"{dataset}{method}{label}", "dataset": dataset,
             "protocol": "replicates", "method": method, "setting": label, "split": str(k), "metric": metric,
             "value": repr(float(level * v)), "status": "ok", "scale": "full"}
            for k, v in enumerate(base)
        ]  # fmt: skip
    return pd.DataFrame(rows)


FALLING = {"": 1.0, "epsilon=1": 8.0, "epsilon=5": 4.0, "epsilon=50": 2.0}
