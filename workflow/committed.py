"""The committed scores, the whole runs that made them, and the short runs of expensive fits.

``scores/<experiment>.csv.gz``: one compressed file per experiment, with all columns. Cells repeat most columns in every
row, so compression takes 60 MB of text down to 3.

``ledgers/<experiment>.csv.gz``: what the fit of each private cell released, and its epsilon by each accountant
(``reports.ledger``).

``runs.csv``: one row per method in an experiment. Its commit is that of the last run of all cells that gave the
committed scores, or agrees with all of them (``reports.whole_run``). The row also has the date of that commit, and the
public versions of Python and of the libraries that compute numbers.

``short_runs.csv``: the numbers after one epoch or a few draws, for fits that the gate does not repeat in full.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from datasets.files import csv_text, write_bytes, write_csv
from evaluation.summary import OPTIONAL, read_scores
from workflow import imports, papers
from workflow.environment import LIBRARIES
from workflow.experiments import Cell, cells, experiment_files, families, jobs

SUFFIX = ".csv.gz"
#: columns of a ledger. Those after ``reason`` hold what the epsilon of an event follows from. A file in which no event
#: states a contribution has no such column, and it is read as empty.
LEDGER_COLUMNS = [
    *("cell", "method", "event", "accountant", "epsilon_claimed", "epsilon", "delta", "relation", "sampling", "steps"),
    *("reason", "mechanism", "noise_multiplier", "sampling_rate", "renyi_curve", "contribution"),
]
RUNS = "runs.csv"
RUN_COLUMNS = ("experiment", "method", "commit", "versions", "date")

SHORT_RUNS = "short_runs.csv"
SHORT_COLUMNS = ["experiment", "method", "cell", "metric", "value"]

#: an experiment, and one of its methods.
Entry = tuple[str, str]
#: experiment, method, cell and metric of a number of a short run.
ShortKey = tuple[str, str, str, str]


def path_of(folder: Path, experiment: str, what: str = "scores") -> Path:
    """The path of the scores (or ``ledgers``) of an experiment below the reference ``folder``; it need not exist."""
    name = f"{what}/{experiment}{SUFFIX}"  # found by its own name: its YAML may have been taken out
    return papers.find(name, folder) or papers.place(experiment, folder) / name


def experiments(folder: Path) -> list[str]:
    """Names of the experiments that have committed scores below ``folder``."""
    return sorted(p.name.removesuffix(SUFFIX) for home in papers.homes(folder) for p in home.glob(f"scores/*{SUFFIX}"))


def read(folder: Path, experiment: str) -> pd.DataFrame:
    """The committed scores of one experiment, as text, with the columns ``evaluation.summary.COLUMNS``.

    Raises FileNotFoundError if there are none, ValueError for a damaged file, a missing column or an unknown status.
    """
    path = path_of(folder, experiment)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; a full run and `reports.build reference` make it")
    try:
        return read_scores(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise ValueError(f"{path} is damaged ({e}); check it out again") from e


def ledgers(folder: Path = papers.REFERENCE) -> pd.DataFrame:
    """The committed ledgers of all experiments below ``folder``, as text, with the columns ``LEDGER_COLUMNS``."""
    paths = {p.name: p for home in papers.homes(folder) for p in home.glob(f"ledgers/*{SUFFIX}")}
    frames = [pd.read_csv(paths[name], dtype=str, keep_default_na=False) for name in sorted(paths)]
    frame = pd.concat(frames, ignore_index=True).fillna("") if frames else pd.DataFrame(dtype=str)
    return frame.reindex(columns=LEDGER_COLUMNS, fill_value="")


def write_ledger(folder: Path, experiment: str, rows: pd.DataFrame) -> None:
    """Write the ledger of one experiment. The same rows give the same bytes (with the same zlib)."""
    rows = rows[LEDGER_COLUMNS].sort_values(["cell", "event", "accountant"], kind="stable")
    if rows["contribution"].isin(["", None, math.nan]).all():
        rows = rows.drop(columns="contribution")
    path = path_of(folder, experiment, "ledgers")
    write_bytes(path, gzip.compress(csv_text(rows).encode("utf-8"), mtime=0))


def splits_of(scores: pd.DataFrame) -> dict[tuple[str, ...], tuple[str, int]]:
    """(data set, protocol, method, setting) -> id of the committed cell and its number of splits.

    The number is 0 if the cell has a row over all its splits, because that row needs all of them.
    """
    axes = ["dataset", "protocol", "method", "setting"]
    found: dict[tuple[str, ...], tuple[str, set[str]]] = {}
    for *key, cell, split in scores[[*axes, "cell", "split"]].drop_duplicates().itertuples(index=False):
        found.setdefault(tuple(key), (cell, set()))[1].add(split)
    return {key: (cell, 0 if "" in splits else len(splits)) for key, (cell, splits) in found.items()}


def as_committed(cell, known: dict[tuple[str, ...], tuple[str, int]]):
    """The cell as it is committed: itself, or the same cell with fewer splits, which are independent of one another.

    ``known``: the result of :func:`splits_of`. The cell itself if neither is committed, or if its scores are computed
    from the draws of all splits together.
    """
    then, splits = known.get((cell.dataset, cell.protocol, cell.method, cell.setting), ("", 0))
    if then == cell.id or cell.drawn or not 0 < splits < cell.splits:
        return cell
    fewer = replace(cell, splits=splits)
    return fewer if fewer.id == then else cell


def whole_cells(chosen: Iterable[Cell], folder: Path = papers.REFERENCE) -> set[str]:
    """Ids of the cells of which a whole run committed all splits."""
    known, out = runs(folder), set()
    there = set(experiments(folder))
    by_experiment: dict[str, list[Cell]] = {}
    for cell in chosen:
        by_experiment.setdefault(cell.experiment, []).append(cell)
    for experiment, group in by_experiment.items():
        if experiment not in there:
            continue
        splits = dict(splits_of(read(folder, experiment)).values())
        out |= {c.id for c in group if splits.get(c.id) in (0, c.splits) and (experiment, c.method) in known}
    return out


def restored_jobs(chosen: Iterable[Cell], refit: Collection[str], folder: Path = papers.REFERENCE) -> set[str]:
    """Jobs whose cells are all committed (:func:`whole_cells`), except those of methods that must be fitted.

    These jobs fit nothing: ``workflow.score`` writes the fits of their cells from the reference.
    """
    by_job = jobs(chosen)
    whole = whole_cells([c for group in by_job.values() for c in group], folder)
    return {name for name, group in by_job.items() if all(c.id in whole and c.method not in refit for c in group)}


def encoded(scores: pd.DataFrame) -> bytes:
    """The content of the file of these scores. The same scores give the same bytes (with the same zlib).

    A column that older rows lack is left out until a row has it.
    """
    unused = [c for c in OPTIONAL if c in scores and (scores[c] == "").all()]
    return gzip.compress(csv_text(scores.drop(columns=unused)).encode("utf-8"), mtime=0)


def runs(folder: Path = papers.REFERENCE) -> dict[Entry, dict[str, str]]:
    """The whole run of each method in an experiment, sorted, with the columns ``RUN_COLUMNS``.

    Raises ValueError for a file with other columns.
    """
    rows = {}
    for path in (home / RUNS for home in papers.homes(folder)):
        if not path.is_file():
            continue
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        if tuple(frame) != RUN_COLUMNS:
            raise ValueError(f"{path}: columns {', '.join(frame)}; they must be {', '.join(RUN_COLUMNS)}")
        rows |= {(row["experiment"], row["method"]): row for row in frame.to_dict("records")}
    return dict(sorted(rows.items()))


def run_of(entry: Entry, manifest: Mapping) -> dict[str, str]:
    """The row of ``runs.csv`` for a run with this manifest (``workflow.environment``)."""
    commit, made = str(manifest.get("commit", "")), manifest.get("versions", {})
    return {
        "experiment": entry[0],
        "method": entry[1],
        "commit": commit,
        "versions": versions_text(str(manifest.get("python", "")), made),
        "date": (imports.git("show", "-s", "--format=%cs", commit) or "").strip() if commit else "",
    }


def versions_text(python: str, versions: Mapping[str, str]) -> str:
    """Public versions of Python and of ``LIBRARIES`` in one line, without local parts such as "+cpu"."""
    words = [f"python {'.'.join(python.split('.')[:2])}"] if python else []
    return ", ".join(
        [*words, *(f"{name} {versions[name].partition('+')[0]}" for name in LIBRARIES if name in versions)]
    )


def write_runs(rows: Mapping[Entry, Mapping[str, str]], folder: Path = papers.REFERENCE) -> None:
    """Write all rows, sorted, into the folders of their experiments' papers."""
    by_path: dict[Path, list[Mapping[str, str]]] = {}
    for entry in sorted(rows):
        by_path.setdefault(papers.place(entry[0], folder) / RUNS, []).append(rows[entry])
    for path, mine in by_path.items():
        write_csv(path, pd.DataFrame(mine, columns=RUN_COLUMNS))


class Reference:
    """The committed cells of all experiments at full scale, and their scores in ``folder``."""

    def __init__(self, folder: Path = papers.REFERENCE):
        self.folder = Path(folder)
        self.entries: dict[Entry, tuple[Cell, ...]] = {}
        self._scores: dict[str, pd.DataFrame] = {}
        self._places: dict[str, dict] = {}  # cell -> numbers of its rows
        self._known = set(experiments(self.folder))
        for path in experiment_files():
            for cell in self.cells_of(path):
                self.entries[cell.experiment, cell.method] = (
                    *self.entries.get((cell.experiment, cell.method), ()),
                    cell,
                )
        self.cells = {c.id: c for of in self.entries.values() for c in of}
        self.families = families(self.cells.values())

    def cells_of(self, path: str) -> list[Cell]:
        """The cells of an experiment file. A cell that is committed with fewer splits has those."""
        every = cells(path, "full")
        known = every and every[0].experiment in self._known
        splits = splits_of(self.scores(every[0].experiment)) if known else {}
        return [as_committed(cell, splits) for cell in every]

    def has(self, experiment: str) -> bool:
        """Whether an experiment has committed scores."""
        return experiment in self._known

    def scores(self, experiment: str) -> pd.DataFrame:
        """Committed scores of an experiment. Exits with the reason if they cannot be read."""
        if experiment not in self._scores:
            try:
                self._scores[experiment] = read(self.folder, experiment)
            except (FileNotFoundError, ValueError) as e:
                raise SystemExit(str(e)) from None
        return self._scores[experiment]

    def rows_of(self, cell: Cell) -> list[dict]:
        """The committed score rows of a cell, which may be none."""
        if not self.has(cell.experiment):
            return []
        scores = self.scores(cell.experiment)
        if cell.experiment not in self._places:
            self._places[cell.experiment] = scores.groupby("cell", sort=False).indices
        return scores.iloc[self._places[cell.experiment].get(cell.id, [])].to_dict("records")

    def seconds(self, experiment: str) -> dict[str, float]:
        """Mean seconds per split of every committed cell with scores: CPU seconds if they are known."""
        if not self.has(experiment):
            return {}
        rows = self.scores(experiment)
        spent = rows[(rows["status"] == "ok") & (rows["seconds"] != "")].drop_duplicates(["cell", "split"])
        took = spent["seconds"].where(spent["cpu_seconds"] == "", spent["cpu_seconds"])
        return pd.to_numeric(took).groupby(spent["cell"]).mean().to_dict()

    def short_rows(self) -> dict[ShortKey, float]:
        """The committed short runs."""
        return read_short_runs(self.folder)


def read_short_runs(folder: Path) -> dict[ShortKey, float]:
    """The short runs in a reference folder; empty if the file is missing."""
    path = Path(folder) / SHORT_RUNS
    if not path.exists():
        return {}
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).itertuples(index=False)
    return {(r.experiment, r.method, r.cell, r.metric): float(r.value) for r in rows}


def write_short_runs(rows: Mapping[ShortKey, float], folder: Path) -> None:
    """Write all short runs into a reference folder."""
    frame = pd.DataFrame([[*key, repr(rows[key])] for key in sorted(rows)], columns=SHORT_COLUMNS)
    write_csv(Path(folder) / SHORT_RUNS, frame)


def drop_short_runs(of: Collection[Entry], folder: Path) -> None:
    """Remove the short runs of methods whose committed scores were replaced, because older code made them."""
    known = read_short_runs(folder)
    remaining = {key: value for key, value in known.items() if key[:2] not in of}
    if remaining != known:
        write_short_runs(remaining, folder)
