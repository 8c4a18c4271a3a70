"""How far the coverage of NA-DPVI hangs on the priors of its noise-aware model, and what a coverage error can see.

    python -m workflow.noise_aware_checks --config X.yaml --scale full --dataset D --data results/data/D.npz

Two tables of one simulated data set, made from stored fits (none is run again; where cells were restored from the
committed scores, their committed tables are restored too):

``na_dpvi_priors_<dataset>.csv``    the traces of one cell of ``na_dpvi`` read under other priors (``extra_settings`` of
                                    the config: ``priors_of`` names the cell's setting, ``priors`` the variants)
``na_dpvi_controls_<dataset>.csv``  the exact posterior with its standard deviations multiplied (``control_widths``)
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ("dataset", "setting", "rmse", "sd", "low", "high", "floor", "floor_upper", "n", "scale")


@dataclass(frozen=True)
class Widened:
    """A posterior whose draws are ``width`` times as far from their mean."""

    posterior: object
    width: float

    def sample(self, n, rng):
        """n draws, (n, D)."""
        theta = self.posterior.sample(n, rng)
        mean = theta.mean(axis=0)
        return mean + self.width * (theta - mean)


def fits_of(cell, fits: Path) -> Iterator[tuple[int, object]]:
    """(split, posterior) of every split of a cell whose fit is ok."""
    import numpy as np

    from models import posteriors

    record = json.loads((fits / f"{cell.id}.json").read_text())
    with np.load(fits / f"{cell.id}.npz") as store:
        for row in [r for r in record["splits"] if r["status"] == "ok"]:
            prefix = f"{row['split']}/"
            parameters = {n[len(prefix) :]: store[n] for n in store.files if n.startswith(prefix)}
            yield row["split"], posteriors.load(row["posterior_kind"], parameters)


def coverage_row(cell, posteriors, data, change: Callable) -> dict[str, float]:
    """Coverage error of ``change(posterior)`` over the splits; the random numbers are those of the cell's own score."""
    import numpy as np

    from evaluation.coverage import coverage_scores, tarp_fractions

    fractions = []
    for k, posterior in posteriors:
        _, test = cell.split_rows(data, k)
        rng = np.random.default_rng(cell.seed(k, "predict"))
        fractions.append(tarp_fractions(change(posterior), data.y[test], rng))
    scores = coverage_scores(np.stack(fractions), np.random.default_rng(cell.seed(0, "coverage")))
    name = "tarp_coverage_rmse"
    keys = {"rmse": name, **{k: f"{name}_{k}" for k in ("sd", "low", "high", "floor", "floor_upper")}}
    return {k: scores[m][0] for k, m in keys.items()} | {"n": len(fractions)}


def one_cell(config: str, scale: str, dataset: str, method: str, setting: str):
    """The cell of that data set, method and setting. Raises ValueError that lists the settings there are."""
    from workflow.experiments import cells

    mine = [c for c in cells(config, scale) if c.dataset == dataset and c.method == method]
    found = [c for c in mine if c.setting == setting]
    if len(found) != 1:
        there = ", ".join(f"'{c.setting}'" for c in mine)
        raise ValueError(
            f"{config}: {method} on {dataset} has no setting '{setting}' at scale {scale}; there is {there}"
        )
    return found[0]


def text_of(rows: list[dict], key: str) -> str:
    """CSV with the column ``key`` after ``setting``; thirteen digits."""
    columns = (*COLUMNS[:2], key, *COLUMNS[2:])
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: f"{v:.13g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Prior dependence of NA-DPVI, and controls of its coverage error.")
    parser.add_argument("--config", required=True, help="the experiment's YAML file")
    parser.add_argument("--scale", required=True, help="full, quick or tiny")
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--data", required=True, help="the data set's npz file")
    parser.add_argument("--results", default="results", type=Path)
    parser.add_argument("--reuse", default=Path("reports/reference"), type=Path, help="folder of the committed tables")
    args = parser.parse_args()

    import datasets
    from models.noise_aware import Priors
    from workflow.cell import say
    from workflow.experiments import load
    from workflow.files import write_text

    data, asked = datasets.load(args.data), load(args.config)["extra_settings"]
    out, fits = args.results / "extra", args.results / "fits"
    cell = one_cell(args.config, args.scale, args.dataset, "na_dpvi", asked["priors_of"])
    exact = one_cell(args.config, args.scale, args.dataset, "exact_posterior", "")
    names = [f"na_dpvi_{what}_{args.dataset}.csv" for what in ("priors", "controls")]
    if any(json.loads((fits / f"{c.id}.json").read_text())["reused"] for c in (cell, exact)):
        for name in names:
            write_text(out / name, (args.reuse / name).read_text(encoding="utf-8"))
        return

    posteriors, rows = list(fits_of(cell, fits)), []
    for variant, changes in asked["priors"].items():
        say(args.dataset, f"priors: {variant}")
        found = coverage_row(cell, posteriors, data, lambda p, c=changes: p.read("noise_aware", priors=Priors(**c)))
        about = {"dataset": args.dataset, "setting": cell.setting, "variant": variant, "scale": args.scale}
        rows.append(about | found)
    write_text(out / names[0], text_of(rows, "variant"))

    posteriors, rows = list(fits_of(exact, fits)), []
    for width in asked["control_widths"]:
        found = coverage_row(exact, posteriors, data, lambda p, w=width: Widened(p, w))
        rows.append({"dataset": args.dataset, "setting": "", "width": width, "scale": args.scale} | found)
    write_text(out / names[1], text_of(rows, "width"))


if __name__ == "__main__":
    main()
