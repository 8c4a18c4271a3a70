"""A recomputed sample against the committed reference, within the bands of config/gates.yaml."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from datasets.files import ROOT, csv_text, write_text
from workflow import arithmetic, sample
from workflow.experiments import Cell
from workflow.sample import Found
from workflow.verified import Pair

REFERENCE = ROOT / "reports" / "reference"
SHORT_RUNS = "short_runs.csv"
SHORT_COLUMNS = ["experiment", "method", "cell", "metric", "value"]
#: columns of a score row that say what a fit cost in privacy; compared exactly, epsilon within the band ``epsilon``.
COST = ("epsilon", "delta", "relation", "accountant")


@cache
def bands() -> dict:
    """config/gates.yaml."""
    return yaml.safe_load((ROOT / "config/gates.yaml").read_text(encoding="utf-8"))


class RowsByCell(Mapping[str, list[dict]]):
    """Cell -> its score rows; made when asked for, since few of an experiment's cells are."""

    def __init__(self, scores: pd.DataFrame):
        self.scores, self._places = scores, scores.groupby("cell", sort=False).indices

    def __getitem__(self, cell: str) -> list[dict]:
        return self.scores.iloc[self._places[cell]].to_dict("records")

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@cache
def committed(experiment: str) -> RowsByCell:
    """Committed score rows by cell. Exits with the reason where they cannot be read."""
    from workflow import committed as reference

    try:
        rows = reference.read(REFERENCE, experiment)
    except (FileNotFoundError, ValueError) as e:
        raise SystemExit(f"gate: {e}") from None
    return RowsByCell(rows)


@cache
def seconds(experiment: str) -> dict[str, float]:
    """Mean seconds a split of every committed cell that has scores, by CPU where known. Exits as :func:`committed`."""
    rows = committed(experiment).scores
    spent = rows[(rows["status"] == "ok") & (rows["seconds"] != "")].drop_duplicates(["cell", "split"])
    took = spent["seconds"].where(spent["cpu_seconds"] == "", spent["cpu_seconds"])
    return pd.to_numeric(took).groupby(spent["cell"]).mean().to_dict()


@dataclass
class Outcome:
    """What the samples of one pair showed. ``wrong``: one sentence a difference."""

    pair: Pair
    wrong: list[str] = field(default_factory=list)
    compared: int = 0
    cells: set[str] = field(default_factory=set)
    splits: set[int] = field(default_factory=set)
    datasets: set[str] = field(default_factory=set)
    short: bool = False
    nearest: tuple[float, float, str] = (0.0, math.inf, "")  # relative shift, relative band, metric
    bands: list[tuple[float, str]] = field(default_factory=list)  # relative band and metric of every number
    seconds: float = 0.0
    events: list = field(default_factory=list)
    short_events: list = field(default_factory=list)

    @property
    def ledger(self) -> str:
        """Digest of the events of the first and last split; of the short run where there is no other."""
        return sample.events_digest(self.events or self.short_events)

    def compare(self, what: str, metric: str, value: float, old: float, band: float, how: str) -> None:
        """Count one number; ``band`` is absolute."""
        self.compared += 1
        scale = abs(old) or 1.0
        shift = 0.0 if value == old or (math.isnan(value) and math.isnan(old)) else abs(value - old)
        relative, allowed = shift / scale, band / scale
        self.bands.append((allowed, metric))
        if not self.nearest[2] or relative / allowed > self.nearest[0] / self.nearest[1]:
            self.nearest = relative, allowed, metric
        if not shift <= band:
            self.wrong.append(f"{what}: {metric} is {value!r}, was {old!r}; allowed {band:.3g} ({how})")

    def compare_events(self, known: str) -> None:
        """The ledgers of the first and last split against those that were verified: ``known``, a digest or empty.

        Where the verified ones are of other splits there is nothing to compare.
        """
        now = self.ledger
        same_splits = known.split("-")[0] == now.split("-")[0]
        if known and now and same_splits and known != now:
            self.wrong.append(f"{'/'.join(self.pair)}: the events of its ledgers are not those that were verified")


@cache
def same_kernels() -> bool:
    """Does this machine compute with the kernels of the committed scores?"""
    return arithmetic.runs_the_kernels()


def band(cell: Cell, metric: str, old: float, rows: Sequence[dict]) -> tuple[float, str]:
    """How far a number may be from the committed one, and why. ``rows``: the committed ones of its cell."""
    config = bands()
    if cell.method in config["methods"]["closed_form"]:
        return config["bands"]["closed_form"] * max(1.0, abs(old)), "closed form"
    if same_kernels() and f"{cell.experiment}/{cell.method}" not in config["other_kernels"]:
        return config["bands"]["same_kernels"] * max(1.0, abs(old)), "same kernels"
    relative, chain = config["experiments"].get(cell.experiment), cell.method in config["methods"]["chains"]
    if relative is not None and not chain and cell.method not in config["methods"]["chaotic"]:
        return relative * max(1.0, abs(old)), "not chaotic"
    values = [float(r["value"]) for r in rows if r["metric"] == metric and r["split"] != ""]
    if not values:
        return config["bands"]["closed_form"] * max(1.0, abs(old)), "one number of all splits"
    mean = math.fsum(values) / len(values)
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1))
    least = config["bands"]["closed_form"] * max(1.0, abs(old))
    if chain:
        return max(least, config["bands"]["another_chain"] * sd), "another chain"
    return max(least, config["bands"]["standard_errors"] * sd / math.sqrt(len(values))), "half a standard error"


def same_cost(column: str, here: object, was: object) -> bool:
    """Is a cost the committed one? The last digits of epsilon are rounding of the search for its noise."""
    here, was = str(here), str(was)
    if here == was or column != "epsilon" or not (here and was):
        return here == was
    return math.isclose(float(here), float(was), rel_tol=bands()["bands"]["epsilon"])


def short_needed(cell: Cell, seconds: float) -> bool:
    """Is this cell compared after a short run: too dear or a chain, or with a wide band after whole training?"""
    config = bands()
    if cell.method in config["methods"]["chains"] or seconds > config["dear_seconds"]:
        return True
    if cell.method in config["methods"]["closed_form"]:
        return False
    chaotic = cell.method in config["methods"]["chaotic"] or cell.experiment not in config["experiments"]
    return chaotic and sample.shortened(cell, config["short"]) is not cell


def compare_cell(about: Outcome, cell: Cell, rows: list[dict], old: list[dict], splits: set[str], n: int) -> None:
    """Rows of one recomputed cell against its committed ones: numbers within bands, status and cost exactly."""
    mine = {(str(r["split"]), r["metric"]): r for r in rows}
    whole = n == cell.splits  # numbers of all splits together need all splits
    theirs = {(r["split"], r["metric"]): r for r in old if r["split"] in splits or (whole and r["split"] == "")}
    for key in sorted({*mine, *theirs}):
        split, metric = key
        what = f"{cell.id}, split {split}" if split else cell.id
        if key not in theirs or key not in mine:
            where = "the recomputation" if key in theirs else "the reference"
            about.wrong.append(f"{what}: '{metric or (theirs.get(key) or mine[key])['status']}' is not in {where}")
            continue
        new, was = mine[key], theirs[key]
        if new["status"] != was["status"]:
            about.wrong.append(f"{what}: status {new['status']} ({new['reason']}), was {was['status']}")
            continue
        for column in COST:
            if not same_cost(column, new[column], was[column]):
                about.wrong.append(f"{what}: {column} is '{new[column]}', was '{was[column]}'")
        if not metric:
            about.compared += 1
            continue
        value = float(was["value"])
        allowed, how = band(cell, metric, value, old)
        about.compare(what, metric, float(new["value"]), value, allowed, how)


#: experiment, method, cell and metric of a number of a short run.
ShortKey = tuple[str, str, str, str]


def short_values(found: Found) -> dict[ShortKey, float]:
    """The numbers of a short run; a split that failed gives its status and NaN."""
    out = {}
    for row in found.rows:
        if row["split"] != "":
            key = found.sample.experiment, row["method"], row["cell"], row["metric"] or row["status"]
            out[key] = float(row["value"]) if row["metric"] else math.nan
    return out


@cache
def short_rows() -> dict[ShortKey, float]:
    """The committed short runs."""
    return _short_rows_in(REFERENCE)


def _short_rows_in(folder: Path) -> dict[ShortKey, float]:
    path = folder / SHORT_RUNS
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf-8") as f:
        return {(r["experiment"], r["method"], r["cell"], r["metric"]): float(r["value"]) for r in csv.DictReader(f)}


def short_cells(pair: Pair) -> set[str]:
    """The shortened cells that are committed for a pair: which one is repeated must not hang on what fits cost."""
    return {cell for experiment, method, cell, _ in short_rows() if (experiment, method) == pair}


def write_short_rows(rows: Mapping[ShortKey, float], folder: Path | None = None) -> None:
    """Write the committed short runs anew (``folder``: of the reference)."""
    frame = pd.DataFrame([[*key, repr(rows[key])] for key in sorted(rows)], columns=SHORT_COLUMNS)
    write_text((folder or REFERENCE) / SHORT_RUNS, csv_text(frame))
    short_rows.cache_clear()


def drop_short_rows(pairs: Collection[Pair], folder: Path) -> None:
    """Forget the short runs of pairs whose committed scores were made anew: they were of the code before."""
    known = _short_rows_in(folder)
    kept = {key: value for key, value in known.items() if key[:2] not in pairs}
    if kept != known:
        write_short_rows(kept, folder)
