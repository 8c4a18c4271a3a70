"""Score the fits of one data set of one experiment: tidy rows, one a number. Re-runs no fit.

What is scored depends on the kind of model: regression, classification, a mixture of Gaussians, trials held out,
coverage of simulated true parameters (a number of all data sets together: its row names no split).

python -m workflow.score --config X.yaml --scale full --dataset wine --data results/data/wine.npz --out scores.csv
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
from pathlib import Path

from workflow.record import seed_text
from workflow.stored import parameters_of

COLUMNS = (
    *("cell", "experiment", "dataset", "protocol", "method", "setting", "split", "seed", "metric", "value", "unit"),
    *("status", "reason", "epsilon", "delta", "relation", "accountant", "seconds", "compile_seconds", "peak_mb"),
    *("code_hash", "data_hash", "scale"),
)

#: experiments of other kinds whose predictive intervals are scored too.
INTERVALS = ("common_network",)
#: digits of the data's fingerprint in a score row.
DATA_HASH = 16


def rows_of(cell, fits: Path, data, draws: Path | None = None, exact=None) -> list[dict]:
    """All score rows of one cell; ``draws``: folder of ``workflow.draws``, for cells whose scores need it.

    ``exact``: split -> frame and moments of the exact posterior, or None (``workflow.exact``).
    """
    import numpy as np

    from evaluation.metrics import DIAGNOSTICS

    record = json.loads((fits / f"{cell.id}.json").read_text())
    if record["reused"]:
        return [{**r, "scale": cell.scale} for r in record["reused"]]
    base = {k: record[k] for k in ("cell", "experiment", "dataset", "protocol", "method", "setting")}
    base |= {"code_hash": record["code_hash"], "data_hash": record["data_hash"][:DATA_HASH], "scale": cell.scale}
    out: list[dict] = []
    drawn = load_draws(draws / f"{cell.id}.npz") if cell.drawn else {}
    with np.load(fits / f"{cell.id}.npz") as store:
        for row in record["splits"]:
            common = {
                **base,
                "split": "" if row["split"] is None else row["split"],
                "seed": seed_text(row["seed"]),
                "status": row["status"],
                "reason": row["reason"],
                **_cost(cell, row["ledger"]),
                **{k: _number(row[k], 4) for k in ("seconds", "compile_seconds", "peak_mb")},
            }
            if row["status"] != "ok":
                out.append({**common, "metric": "", "value": "", "unit": ""})
                continue
            k = row["split"]
            try:
                if cell.drawn:
                    scores = score_draws(cell, k, drawn[k], data)
                else:
                    parameters = parameters_of(store, k)
                    scores = score_split(cell, k, row["posterior_kind"], parameters, data)
                    scores |= posterior_scores(cell, k, row["posterior_kind"], parameters, exact)
            except (ValueError, FloatingPointError) as e:
                out.append({**common, "status": "diverged", "reason": str(e), "metric": "", "value": "", "unit": ""})
                continue
            told = {m: (row["diagnostics"][m], u) for m, u in DIAGNOSTICS.items() if m in row["diagnostics"]}
            scores |= told if cell.kind != "bnn_regression" else {}
            out.extend({**common, "metric": m, "value": _number(v), "unit": u} for m, (v, u) in scores.items())
    if cell.protocol == "simulated_truth" and len(record["splits"]) == cell.splits:
        out += whole_cell(cell, drawn, next((r for r in out if r["status"] == "ok"), None))
    return out


def load_draws(path: Path) -> dict:
    """Split -> array or, as a text, why there is none."""
    import numpy as np

    with np.load(path) as store:
        return {int(k): store[k] for k in store.files}


def score_draws(cell, k: int, found, data) -> dict[str, tuple[float, str]]:
    """Scores of one split from its draws (``workflow.draws``). Raises ValueError with the reason that stands there."""
    import numpy as np

    from evaluation.coverage import calibration_scores
    from evaluation.metrics import classification_scores

    if found.dtype.kind == "U":
        raise ValueError(str(found))
    if cell.protocol == "simulated_truth":
        return {"tarp_fraction": (float(np.mean(found)), "share")}
    _, test = cell.split_rows(data, k)
    p, y = np.clip(found.astype(np.float64), 1e-12, 1 - 1e-12), data.y[test]
    scores = classification_scores(np.log(p / (1 - p)), np.where(y == 1, np.log(p), np.log1p(-p)), y)
    return scores | calibration_scores(found.astype(np.float64), y)


def whole_cell(cell, drawn: dict, like: dict | None) -> list[dict]:
    """Rows of a simulated cell as a whole: coverage over its data sets. ``like``: a row of one of its splits."""
    import numpy as np

    from evaluation.coverage import coverage_scores

    fractions = [f for f in drawn.values() if f.dtype.kind != "U"]
    if like is None or not fractions:
        return []
    scores = coverage_scores(np.stack(fractions), np.random.default_rng(cell.seed(0, "coverage")))
    base = {**like, "split": "", "seed": "", "seconds": "", "compile_seconds": "", "peak_mb": ""}
    return [{**base, "metric": m, "value": _number(v), "unit": u} for m, (v, u) in scores.items()]


def score_split(cell, k: int, kind: str, parameters: dict, data) -> dict[str, tuple[float, str]]:
    """metric -> (value, unit) on the test rows of split ``k``. Raises ValueError where a prediction is not finite."""
    import numpy as np

    from evaluation.intervals import coverage_scores
    from evaluation.metrics import (
        categorical_scores,
        class_probability_scores,
        classification_scores,
        regression_scores,
    )
    from evaluation.mixture import density_scores
    from evaluation.posterior_sampling import heldout_scores
    from models import posteriors

    train, test = cell.split_rows(data, k)
    posterior = posteriors.load(kind, parameters)
    # A predictive far outside the range of floating-point numbers is a result, not a warning.
    with np.errstate(all="ignore"):
        if cell.kind == "mixture_of_gaussians":
            return mixture_scores(cell.build_model(), posterior, data, train, test)
        if cell.kind == "logistic_regression":
            p = posterior.predictive(data.x[test])
            return classification_scores(p.margins, p.log_density(data.y[test]), data.y[test])
        if cell.kind == "exponential_family":
            return heldout_scores(posterior.log_density(data.x[test]))
        if cell.kind == "bounded_mixture":
            return density_scores(posterior.log_density(data.x[test]))
        rng = np.random.default_rng(cell.seed(k, "predict"))
        predictive = posterior.predictive(data.x[test], rng)
        if cell.kind == "bnn_classification":
            return categorical_scores(predictive.log_probabilities, data.y[test])
        if cell.kind == "bounded_logistic_regression":
            return class_probability_scores(np.asarray(predictive.mean), data.y[test])
        scores = regression_scores(predictive, data.y[test])
        if cell.kind == "bounded_linear_regression" or cell.experiment in INTERVALS:
            scores |= coverage_scores(predictive, data.y[test])
        return scores


def posterior_scores(cell, k: int, kind: str, parameters: dict, exact) -> dict[str, tuple[float, str]]:
    """Distance of a regression's posterior to the exact one; nothing for a point estimate or another model.

    A reference posterior tells its own moments instead, from which those of the others are measured.
    """
    import numpy as np

    from evaluation.posterior_distance import DRAWS, distance_scores, in_frame, moments
    from models import posteriors

    if exact is None or kind != "framed":
        return {}
    posterior = posteriors.load(kind, parameters)
    if not hasattr(posterior.posterior, "sample"):
        return {}
    with np.errstate(all="ignore"):
        theta = posterior.sample(DRAWS, np.random.default_rng(cell.seed(k, "posterior")))
        if exact.is_reference(cell):
            return exact.told(moments(theta))
        if (truth := exact.of(k)) is None:
            return {}
        frame, reference = truth
        found = moments(in_frame(theta, posterior.frame, frame, cell.kind == "bounded_linear_regression"))
    return distance_scores(found, reference)


def mixture_scores(model, posterior, data, train, test) -> dict[str, tuple[float, str]]:
    """Density of the test rows; where the noise is known (simulated data), distance to the exact posterior instead.

    Which distance follows from the law of the data: on that of the released program the one that the program computes,
    on the printed law the one that the paper prints, with the density beside it (``evaluation.mixture``).

    Raises ValueError where a number is not finite or a covariance is not positive definite.
    """
    import numpy as np

    from evaluation import mixture
    from models.mixture_of_gaussians import posterior_given_labels

    try:
        density = mixture.density_scores(posterior.log_density(data.x[test]))
        if model.noise_sd is None:
            return density
        x, labels = data.x[train], data.y[train]
        truth = posterior_given_labels(model, x, labels)
        # The program hands the prior's covariance to a sampler that takes a precision.
        program_truth = posterior_given_labels(model, x, labels, prior_precision=model.prior_variance)
        found = mixture.posterior_scores(truth, program_truth, posterior)
        as_printed = not data.name.endswith("_released")
        found = {m: v for m, v in found.items() if m not in (mixture.PROGRAM if as_printed else mixture.PRINTED)}
        found |= density if as_printed else {}
        order = mixture.match(truth.means, posterior.means)
        error = mixture.label_error(posterior.responsibilities(data.x[test]), data.y[test], order)
    except np.linalg.LinAlgError as e:
        raise ValueError(f"a covariance of the fit is not positive definite ({e})") from e
    return {**found, "label_error": (error, "share")}


def _cost(cell, ledger_rows: list[dict]) -> dict:
    """What the run really cost, from its ledger; empty for a method that makes no claim and keeps no ledger."""
    from privacy.accountants import epsilon_of
    from privacy.ledger import Ledger

    if not ledger_rows:
        return {"epsilon": "", "delta": "", "relation": "", "accountant": ""}
    ledger = Ledger.from_json([{**r, "sensitivity": float(r["sensitivity"])} for r in ledger_rows])
    delta = dict(cell.budget).get("delta") or 1e-5
    cost = epsilon_of(ledger, delta)
    return {
        "epsilon": _number(cost.epsilon),
        "delta": repr(delta),
        "relation": str(cost.relation),
        "accountant": cost.accountant,
    }


def _number(v, digits: int = 13) -> str:
    """Thirteen digits say all that rounding leaves, and keep tens of thousands of rows small."""
    if v is None:
        return ""
    return "inf" if math.isinf(v) else f"{float(v):.{digits}g}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Score the fits of one data set; re-runs no fit.")
    parser.add_argument("--config", required=True)
    parser.add_argument("--scale", required=True)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--fits", default="results/fits", type=Path)
    parser.add_argument("--draws", default="results/draws", type=Path)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()

    import datasets
    from workflow.exact import exact_posteriors
    from workflow.experiments import cells
    from workflow.files import write_text

    data = datasets.load(args.data)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    mine = [c for c in cells(args.config, args.scale) if c.dataset == args.dataset]
    exact = exact_posteriors(mine, args.fits, data)
    for cell in mine:
        writer.writerows(rows_of(cell, args.fits, data, args.draws, exact))
    write_text(args.out, buffer.getvalue())


if __name__ == "__main__":
    main()
