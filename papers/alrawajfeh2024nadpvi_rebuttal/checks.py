"""The effect of priors and reference points on the coverage of NA-DPVI, and the power of a coverage error.

    python -m workflow.extra alrawajfeh2024nadpvi_rebuttal na_dpvi_priors_gamma_exponential.csv --scale full

The command writes one table of one simulated data set, ``results/extra/na_dpvi_<table>_<dataset>.csv``, from stored
fits. No fit is run again. If cells were restored from the committed scores, the committed table is restored too.
``extra_settings`` of the config has the parameters of each table:

* ``priors``: the traces of one cell of ``na_dpvi`` (setting ``priors_of``) post-processed with other priors.
* ``controls``: the exact posterior with its standard deviations multiplied (``control_widths``).
* ``references``: cells of ``references_of`` with reference points around their own centre, the mean of the prior or a
  draw from it. A posterior much narrower than its error is detected only from its own centre.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from workflow import papers
from workflow.extra import Request, text_of
from workflow.store import fits_of, record_of

COLUMNS = ("rmse", "sd", "low", "high", "floor", "floor_upper", "n", "scale")


@dataclass(frozen=True)
class Widened:
    """A posterior whose draws are ``width`` times as far from their mean."""

    posterior: object
    width: float

    def sample(self, n, rng):
        """n draws (n, D)."""
        theta = self.posterior.sample(n, rng)
        mean = theta.mean(axis=0)
        return mean + self.width * (theta - mean)


@dataclass(frozen=True)
class Recentred:
    """A posterior whose reference points lie around ``centre`` (D,)."""

    posterior: object
    centre: object

    def sample(self, n, rng):
        """n draws (n, D)."""
        return self.posterior.sample(n, rng)


def coverage_row(cell, posteriors, data, change: Callable) -> dict[str, float]:
    """Coverage error of ``change(posterior)`` over the splits, with the random numbers of the cell's own score."""
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
    """The cell of a data set, method and setting. Raises ValueError, which lists the existing settings."""
    from workflow.experiments import cells

    mine = [c for c in cells(config, scale) if c.dataset == dataset and c.method == method]
    found = [c for c in mine if c.setting == setting]
    if len(found) != 1:
        there = ", ".join(f"'{c.setting}'" for c in mine)
        raise ValueError(
            f"{config}: {method} on {dataset} has no setting '{setting}' at scale {scale}; there is {there}"
        )
    return found[0]


def priors_rows(asked: dict, find: Callable, fits: Path, data) -> Iterator[dict]:
    from models.noise_aware import Priors

    cell = find("na_dpvi", asked["priors_of"])
    posteriors = list(fits_of(cell, fits))
    for variant, changes in asked["priors"].items():
        found = coverage_row(cell, posteriors, data, lambda p, c=changes: p.read("noise_aware", priors=Priors(**c)))
        yield {"setting": cell.setting, "variant": variant} | found


def controls_rows(asked: dict, find: Callable, fits: Path, data) -> Iterator[dict]:
    cell = find("exact_posterior", "")
    posteriors = list(fits_of(cell, fits))
    for width in asked["control_widths"]:
        found = coverage_row(cell, posteriors, data, lambda p, w=width: Widened(p, w))
        yield {"setting": "", "width": width} | found


def committed_references(cell) -> list[dict]:
    """The committed rows of the table ``references`` of one cell. Raises FileNotFoundError if no table is committed."""
    name = f"na_dpvi_references_{cell.dataset}.csv"
    path = papers.find(name)
    if path is None:
        raise FileNotFoundError(f"{name} is not committed: fit {cell.method} too (refit={cell.method})")
    with path.open(encoding="utf-8", newline="") as file:
        return [r for r in csv.DictReader(file) if (r["method"], r["setting"]) == (cell.method, cell.setting)]


def references_rows(asked: dict, find: Callable, fits: Path, data) -> Iterator[dict]:
    import numpy as np

    for method, settings in asked["references_of"].items():
        for cell in [find(method, setting) for setting in settings]:
            if record_of(cell, fits)["reused"]:  # its fit does not exist, and its rows did not change
                yield from committed_references(cell)
                continue
            posteriors = list(fits_of(cell, fits))
            rng = np.random.default_rng(cell.seed(0, "references"))
            theta = cell.build_model().sample_prior(20_000, rng, data.x.shape[1])
            mean, draws = theta.mean(axis=0), iter(theta)
            centres = {
                "own": lambda p: p,
                "prior mean": lambda p, m=mean: Recentred(p, m),
                "prior draw": lambda p, d=draws: Recentred(p, next(d)),
            }
            for name, change in centres.items():
                found = coverage_row(cell, posteriors, data, change)
                yield {"method": method, "setting": cell.setting, "centre": name} | found


#: table -> (its own columns, function that makes its rows, cells that it reads)
TABLES = {
    "priors": (("setting", "variant"), priors_rows, ("na_dpvi",)),
    "controls": (("setting", "width"), controls_rows, ("exact_posterior",)),
    "references": (("method", "setting", "centre"), references_rows, ("bernstein_sheldon_2019_corrected",)),
}


def priors_table(request: Request) -> dict[str, str]:
    """The table ``priors`` of the request's data set, as text."""
    return _table("priors", request)


def controls_table(request: Request) -> dict[str, str]:
    """The table ``controls`` of the request's data set, as text."""
    return _table("controls", request)


def references_table(request: Request) -> dict[str, str]:
    """The table ``references`` of the request's data set, as text."""
    return _table("references", request)


def _table(table: str, request: Request) -> dict[str, str]:
    from workflow.cell import say
    from workflow.experiments import load

    (name,), (dataset,) = request.extra.tables, request.extra.datasets
    keys, rows_of, methods = TABLES[table]
    read = [c for c in request.cells() if c.dataset == dataset and c.method in methods]
    committed = papers.find(name)
    if committed and any(record_of(c, request.fits)["reused"] for c in read):
        return {name: committed.read_text(encoding="utf-8")}
    rows = []
    find = partial(one_cell, request.config, request.scale, dataset)
    for row in rows_of(load(request.config)["extra_settings"], find, request.fits, request.data()):
        say(name, ", ".join(str(row[k]) for k in keys))
        rows.append({"dataset": dataset} | row | {"scale": request.scale})
    return {name: text_of(("dataset", *keys, *COLUMNS), rows, 13)}
