"""The comparison of a run of whole methods with the committed reference: every score row and every ledger row.

Scores must agree within the tolerances of config/gates.yaml, and status and cost as in ``workflow.compare``. Rows of
the ledger must have the same events, accountants and facts, and the same epsilon up to the accuracy of the search for
its noise. If every committed cell of a method in an experiment was run, none was restored and all agree, its row of
``runs.csv`` gets the run's commit. So a run can be made in parts, on several days. The costs of its fits can replace
the committed ones (:func:`costs`), because the numbers are the same and times of one run are comparable.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from datasets.files import write_bytes
from reports import ledger, reference
from reports.config import ReportError
from workflow import committed, compare
from workflow.committed import Entry, Reference
from workflow.compare import DIFFERS, Number
from workflow.score import MEASURED

#: relative difference above which a number counts as far, whatever its tolerance is.
SMALL = 1e-6
#: columns that identify a row of the ledger.
_KEY = ["cell", "event", "accountant"]
#: columns that are not compared: words, and the curve of a written bound, because its epsilon is compared.
_WORDS = {"reason", "renyi_curve"}


@dataclass
class Agreement:
    """The result of a comparison: ``good``, methods in experiments that agree; ``wrong``, a sentence per difference.

    ``numbers`` were compared. ``far`` of them differ by more than ``SMALL`` from the committed ones, relative to those
    above 1. ``alarms`` of them are outside their tolerance.
    """

    good: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    numbers: int = 0
    far: int = 0
    alarms: int = 0

    def count(self, numbers: Collection[Number]) -> None:
        self.numbers += len(numbers)
        self.far += sum(n.far(SMALL) for n in numbers)
        self.alarms += sum(n.verdict == DIFFERS for n in numbers)


def agree(
    experiment: str,
    scores: pd.DataFrame,
    fits: Path,
    manifest: Mapping[str, Any],
    known: Reference,
    epsilon_of: ledger.Accountant | None = None,
) -> Agreement:
    """Compare the methods of an experiment with rows in ``scores``, and note those that agree in ``runs.csv``.

    A machine whose numerical kernels differ from those of the committed scores has wider tolerances, so nothing is
    noted. ``known`` is the committed reference. Raises :class:`ReportError` for a run at another scale than full, with
    secret noise, or of files that are not those of a commit.
    """
    scale, noise = manifest.get("scale"), manifest.get("noise")
    if (scale, noise) != ("full", "public"):
        raise ReportError(f"the run has scale '{scale}' and noise '{noise}'; compare one at scale full, noise public")
    commit = str(manifest.get("commit", ""))
    if not commit or " " in commit:
        raise ReportError(f"the run is of commit '{commit}'; make it in a clone without changes")
    runs = committed.runs(known.folder)
    noted = committed.ledgers(known.folder)
    by_cell = {str(name): group.to_dict("records") for name, group in scores.groupby("cell", sort=False)}
    out = Agreement()
    for entry, cells in known.entries.items():
        if entry[0] != experiment or not any(c.id in by_cell for c in cells):
            continue
        said = _differences(entry, known, by_cell, fits, out)
        if not said:
            said = _of_ledger({c.id for c in cells}, fits, noted, epsilon_of)
        if not said:
            out.good.append("/".join(entry))
            if compare.same_kernels():
                runs[entry] = committed.run_of(entry, manifest)
        out.wrong += said
    committed.write_runs(runs, known.folder)
    return out


def costs(experiment: str, scores: pd.DataFrame, methods: Collection[str], folder: Path = reference.FOLDER) -> int:
    """Write the costs of these methods' fits in a run (seconds, peak memory) into the committed rows of the same fits.

    Returns the number of rows. It is only for methods in experiments that agree (:func:`agree`).
    """
    old = committed.read(folder, experiment)
    took = {(r["cell"], r["split"]): r for r in scores[scores["seconds"] != ""].to_dict("records")}
    mine = old["method"].isin(methods) & (old["seconds"] != "")
    rows = [
        took.get(key) if m else None for key, m in zip(zip(old["cell"], old["split"], strict=True), mine, strict=True)
    ]
    for column in MEASURED:
        old[column] = [was if r is None else r[column] for r, was in zip(rows, old[column], strict=True)]
    write_bytes(committed.path_of(folder, experiment), committed.encoded(old))
    return sum(r is not None for r in rows)


def _differences(
    entry: Entry, known: Reference, by_cell: Mapping[str, list[dict]], fits: Path, out: Agreement
) -> list[str]:
    """What a method in an experiment lacks, or which of its rows differ. Its numbers are counted in ``out``."""
    name, cells = "/".join(entry), known.entries[entry]
    if missing := [c.id for c in cells if c.id not in by_cell]:
        return [f"{name}: {len(cells) - len(missing)} of {len(cells)} cells were run; {missing[0]} was not"]
    if restored := [c.id for c in cells if _restored(fits / f"{c.id}.json")]:
        return [f"{name}: {restored[0]} was restored from the reference; run it without reuse"]
    numbers = [n for c in cells for n in compare.compare(c, by_cell[c.id], known.rows_of(c), range(c.splits))]
    out.count(numbers)
    if not any(n.metric for n in numbers):
        return [f"{name}: nothing was compared"]
    where = compare.shown(committed.path_of(known.folder, entry[0]))
    return [compare.sentence(n, where) for n in numbers if n.verdict == DIFFERS]


def _restored(path: Path) -> bool:
    return bool(json.loads(path.read_text(encoding="utf-8")).get("reused"))


def _of_ledger(cells: set[str], fits: Path, noted: pd.DataFrame, epsilon_of: ledger.Accountant | None) -> list[str]:
    """The rows of the ledger of these cells that differ from the committed ones."""
    fresh = ledger.build(fits, cells, epsilon_of).astype(object).fillna("").astype(str)
    mine = {tuple(r[k] for k in _KEY): r for r in fresh.to_dict("records")}
    theirs = {tuple(r[k] for k in _KEY): r for r in noted[noted["cell"].isin(cells)].to_dict("records")}
    out = [
        f"{', '.join(key)}: in the ledger of {'this run' if key in mine else 'the reference'} alone"
        for key in sorted(mine.keys() ^ theirs.keys())
    ]
    for key in sorted(mine.keys() & theirs.keys()):
        for column in set(ledger.COLUMNS) - set(_KEY) - _WORDS:
            here, was = mine[key][column], theirs[key][column]
            if not _same(column, here, was):
                out.append(f"{', '.join(key)}: {column} is '{here}' in the ledger, was '{was}'")
    return out


def _same(column: str, here: str, was: str) -> bool:
    if here == was or column in ("relation", "sampling", "mechanism"):
        return here == was
    try:
        return compare.same_cost("epsilon", repr(float(here)), repr(float(was)))
    except ValueError:
        return False
