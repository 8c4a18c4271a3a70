"""A run of whole pairs (experiment, method) against the committed reference: every score row and every ledger row.

Scores agree within the bands of config/gates.yaml, status and cost as ``workflow.compare`` has them; rows of the ledger
have the same events, accountants and facts, and the same epsilon to the digits that the search for its noise keeps. A
pair of which every committed cell was run, none restored, and agrees, gets the run's commit in ``verified.csv``
(``full_run``); so a run may be made in parts, on several days. What its fits cost can replace what is committed
(:func:`costs`): the numbers are the same, and times of one run can be set beside one another.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from datasets.files import write_bytes
from reports import ledger, reference
from reports.config import ReportError
from workflow import closure, committed, compare, sample, verified
from workflow.experiments import Cell
from workflow.score import MEASURED

#: what tells two rows of the ledger apart.
_KEY = ["cell", "event", "accountant"]
#: columns that say the same in other words.
_WORDS = {"reason"}


def agree(
    experiment: str,
    scores: pd.DataFrame,
    fits: Path,
    manifest: Mapping[str, Any],
    folder: Path = reference.FOLDER,
    epsilon_of: ledger.Accountant | None = None,
) -> tuple[list[str], list[str]]:
    """Compare the pairs of an experiment of which ``scores`` has rows, and note those that agree in ``verified.csv``.

    Returns (names of the pairs that agree, a sentence for all that differs or is not complete). Raises
    :class:`ReportError` for a run at another scale than full, with secret noise, or of files that are no commit.
    """
    scale, noise = manifest.get("scale"), manifest.get("noise")
    if (scale, noise) != ("full", "public"):
        raise ReportError(f"the run has scale '{scale}' and noise '{noise}'; compare one at scale full, noise public")
    commit = str(manifest.get("commit", ""))
    if not commit or " " in commit:
        raise ReportError(f"the run is of commit '{commit}'; make it in a clone without changes")
    rows = verified.read(folder / verified.NAME)
    noted = pd.read_csv(folder / "ledger.csv", dtype=str, keep_default_na=False)
    by_cell = {str(name): group.to_dict("records") for name, group in scores.groupby("cell", sort=False)}
    good, wrong = [], []
    for pair, of in closure.pairs().items():
        cells = tuple(map(sample.as_committed, of))
        if pair[0] != experiment or not any(c.id in by_cell for c in cells):
            continue
        said = _differences(pair, cells, by_cell, fits)
        if not said:
            said = _of_ledger({c.id for c in cells}, fits, noted, epsilon_of)
        if not said:
            good.append("/".join(pair))
            rows[pair] = rows[pair] | {"full_run": commit}
        wrong += said
    verified.write(rows, folder / verified.NAME)
    return good, wrong


def costs(experiment: str, scores: pd.DataFrame, methods: Collection[str], folder: Path = reference.FOLDER) -> int:
    """Put what the fits of these methods took in a run (seconds, peak memory) into the committed rows of the same fits.

    Returns the number of rows. Only for pairs that agree (:func:`agree`).
    """
    old = committed.read(folder, experiment)
    took = {(r["cell"], r["split"]): r for r in scores[scores["seconds"] != ""].to_dict("records")}
    mine = old["method"].isin(methods) & (old["seconds"] != "")
    found = [
        took.get(key) if m else None for key, m in zip(zip(old["cell"], old["split"], strict=True), mine, strict=True)
    ]
    for column in MEASURED:
        old[column] = [was if r is None else r[column] for r, was in zip(found, old[column], strict=True)]
    write_bytes(committed.path_of(folder, experiment), committed.encoded(old))
    return sum(r is not None for r in found)


def _differences(
    pair: verified.Pair, cells: tuple[Cell, ...], by_cell: Mapping[str, list[dict]], fits: Path
) -> list[str]:
    """What is missing of a pair, or which of its score rows differ."""
    name, lost = "/".join(pair), [c.id for c in cells if c.id not in by_cell]
    if lost:
        return [f"{name}: {len(cells) - len(lost)} of {len(cells)} cells were run; {lost[0]} was not"]
    if restored := [c.id for c in cells if _restored(fits / f"{c.id}.json")]:
        return [f"{name}: {restored[0]} was restored from the reference; run it without reuse"]
    about = compare.Outcome(pair)
    for cell in cells:
        old = compare.committed(cell.experiment).get(cell.id, [])
        splits = {str(r["split"]) for r in (*old, *by_cell[cell.id]) if r["split"] != ""}
        compare.compare_cell(about, cell, by_cell[cell.id], old, splits, cell.splits)
    if not about.compared and not about.wrong:
        return [f"{name}: nothing was compared"]
    return about.wrong


def _restored(path: Path) -> bool:
    return bool(json.loads(path.read_text(encoding="utf-8")).get("reused"))


def _of_ledger(cells: set[str], fits: Path, noted: pd.DataFrame, epsilon_of: ledger.Accountant | None) -> list[str]:
    """Rows of the ledger of these cells that differ from the committed ones."""
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
    if here == was or column in ("relation", "sampling"):
        return here == was
    try:
        return compare.same_cost("epsilon", repr(float(here)), repr(float(was)))
    except ValueError:
        return False
