"""What scoring needs many draws of a posterior for: coverage fractions, or predicted probabilities. Re-runs no fit.

    python -m workflow.draws --config X.yaml --scale full --cell ID --data results/data/D.npz

It costs more than the fits of some cells, so it is kept in ``results/draws/<cell>.npz``: a new score re-runs no draw.
For every split k whose fit is ok the file has an array "k". Simulated data sets: (redraws,), share of draws nearer to
a reference than the true parameter (``evaluation.coverage``). Logistic regression: (test rows,), predicted
probabilities. A split whose posterior gives a number that is not finite has the reason, a text, instead.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from workflow.stored import parameters_of

#: draws of theta that a prediction averages over, as the published program does.
PREDICTIVE_DRAWS = 20_000
#: nodes of the integral over a Gaussian margin, and how many standard deviations they reach to either side.
NODES, NODE_REACH = 801, 8.0
#: rows x draws whose margins are held at a time (64 MB).
_AT_ONCE = 16_000_000


def gaussian_of(posterior):
    """Mean and standard deviation (D,) of a posterior that is one Gaussian with independent coordinates, else None."""
    if posterior.kind == "unconstrained_gaussian":
        return posterior.mean, posterior.sd
    if posterior.kind == "trace_posterior" and posterior.reading != "noise_aware":
        return posterior.gaussian()
    return None


def probabilities(posterior, x, rng):
    """P(y = 1) of rows x (n, d), original units; (n,).

    The margin of a row under a Gaussian posterior is Gaussian: one integral, by the trapezoidal rule, exact to 1e-6
    for a standard deviation of the margin up to 50. Else the mean over ``PREDICTIVE_DRAWS`` draws of theta, in single
    precision: that costs 1e-6, so few draws 1e-3.
    """
    import numpy as np
    from scipy.special import expit

    design = posterior.likelihood.design(x, own=True)
    found = gaussian_of(posterior)
    if found is not None:
        mean, sd = design @ found[0], np.sqrt(design**2 @ found[1] ** 2)
        z = np.linspace(-NODE_REACH, NODE_REACH, NODES)
        weight = np.exp(-0.5 * z**2)
        return sum(w * expit(mean + sd * t) for w, t in zip(weight / weight.sum(), z, strict=True))
    theta, design = posterior.sample(PREDICTIVE_DRAWS, rng).astype(np.float32), design.astype(np.float32)
    out = np.empty(len(design))
    step = max(1, _AT_ONCE // len(theta))
    for i in range(0, len(design), step):
        out[i : i + step] = expit(design[i : i + step] @ theta.T).mean(axis=1, dtype=np.float64)
    return out


def of_split(cell, k: int, kind: str, parameters: dict, data):
    """The array of one split (see the module). Raises ValueError where a number is not finite."""
    import numpy as np

    from evaluation.coverage import tarp_fractions
    from models import posteriors

    _, test = cell.split_rows(data, k)
    posterior = posteriors.load(kind, parameters)
    rng = np.random.default_rng(cell.seed(k, "predict"))
    with np.errstate(all="ignore"):  # a posterior far outside the range of floating-point numbers is a result
        if cell.protocol == "simulated_truth":
            return tarp_fractions(posterior, data.y[test], rng)
        p = probabilities(posterior, data.x[test], rng)
    if not np.isfinite(p).all():
        raise ValueError("a predicted probability is not finite: the fit has diverged")
    return p


def of_cell(cell, fits: Path, data) -> dict:
    """Split -> array of one cell, or why there is none."""
    import numpy as np

    from workflow.cell import say

    record, out = json.loads((fits / f"{cell.id}.json").read_text()), {}
    with np.load(fits / f"{cell.id}.npz") as store:
        for row in [r for r in record["splits"] if r["status"] == "ok"]:
            k = row["split"]
            try:
                out[str(k)] = of_split(cell, k, row["posterior_kind"], parameters_of(store, k), data)
            except (ValueError, FloatingPointError) as e:
                out[str(k)] = np.array(str(e))
            if (k + 1) % 100 == 0:
                say(cell.id, f"draws of split {k + 1} of {cell.splits}")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage fractions or predicted probabilities of a cell or family.")
    parser.add_argument("--config", required=True, help="the experiment's YAML file")
    parser.add_argument("--scale", required=True, help="full, quick or tiny")
    parser.add_argument("--cell", required=True, help="id of the cell, or name of the family")
    parser.add_argument("--data", required=True, help="the data set's npz file")
    parser.add_argument("--results", default="results", type=Path)
    args = parser.parse_args()

    import datasets
    from workflow.cell import find
    from workflow.files import write_npz

    data = datasets.load(args.data)
    for cell in find(args.config, args.scale, args.cell):
        write_npz(args.results / "draws" / f"{cell.id}.npz", of_cell(cell, args.results / "fits", data))


if __name__ == "__main__":
    main()
