"""The committed reference: scores, verdicts, claims and ledger of the last full run, and the check against them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from datasets.files import csv_text, stacked, write_bytes, write_csv, write_text
from evaluation.summary import CELL, COLUMNS
from methods import contract
from reports import claims, comparisons, ledger, verdicts
from reports.config import ReportError
from workflow import committed, papers
from workflow.committed import Entry
from workflow.experiments import by_dataset
from workflow.experiments import load as load_config

FOLDER = papers.REFERENCE
#: largest size of the whole folder.
LIMIT_BYTES = 20_000_000
CLAIM_COLUMNS = ["id", "verdict", "quote", "margin", "figure", "finding", "same_as"]
#: relative difference between a recomputed number and its committed text: quantiles of the t distribution and sums
#: may differ in their last digits between builds of SciPy, and 1e-9 is far below any digit that is shown.
TOLERANCE = 1e-9


def check_full(config: dict[str, Any], scores: pd.DataFrame, fits: Path | None = None) -> None:
    """Raise :class:`ReportError` unless these are the scores of a full run of that config.

    Every arm of the config must have all its splits on every data set and protocol, and every row must say scale full.
    If the fits are given, epochs, all other settings and the sizes of the model must be those of the config.
    """
    name = config["experiment"]
    wrong = scores[scores["scale"] != "full"]
    if len(wrong):
        raise ReportError(
            f"{name}: cell {wrong['cell'].iloc[0]} has scale '{wrong['scale'].iloc[0]}'; the reference takes "
            "scale full only: run `./bench full` first"
        )
    groups = {key: group for key, group in scores.groupby(CELL, sort=False)}
    for arm in config["arms"]:
        for dataset in arm.get("datasets", config["datasets"]):
            for protocol in arm["protocols"]:
                key = (name, dataset, protocol, arm["method"], arm.get("label", ""))
                if key not in groups:
                    raise ReportError(f"{name}: no scores for the cell {key[1:]}; the full run is not complete")
                _check_cell(config, arm, key, groups[key], fits)


def _check_cell(config, arm, key: tuple, rows: pd.DataFrame, fits: Path | None) -> None:
    _, dataset, protocol, _, _ = key
    if set(rows["status"]) <= {"no_data", "not_supported"}:
        return
    wanted = int(by_dataset(arm.get("splits", config["protocols"][protocol]["splits"]), dataset, arm["method"]))
    found = rows.loc[rows["split"] != "", "split"].nunique()
    if found != wanted:
        raise ReportError(f"{key[0]}: cell {key[1:]} has {found} splits, the config says {wanted}")
    path = None if fits is None else fits / f"{rows['cell'].iloc[0]}.json"
    if path is None or not path.is_file():
        return
    record = json.loads(path.read_text(encoding="utf-8"))
    for part, given in (("settings", arm.get("settings", {})), ("model", config.get("model", {}))):
        for k, v in given.items():
            v = by_dataset(v, dataset, arm["method"])
            if record.get(part, {}).get(k) not in (v, [v]):  # one number may be stored as a list of one
                raise ReportError(
                    f"{key[0]}: cell {key[1:]} ran with {part}.{k} = {record.get(part, {}).get(k)}, the config says {v}"
                )


def sorted_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores in a stable order: by cell key, then split as a number, then metric."""
    order = scores["split"].map(lambda s: int(s) if s else -1)
    return (
        scores.assign(_split=order)
        .sort_values([*CELL, "_split", "metric"], kind="stable", ignore_index=True)
        .drop(columns="_split")[COLUMNS]
    )


def write(
    config: dict[str, Any],
    scores: pd.DataFrame,
    results: Path,
    scale: str,
    manifest: dict[str, Any],
    folder: Path = FOLDER,
) -> None:
    """Write the scores, ledger and tables of one experiment. Those of other experiments do not change.

    ``results`` is the folder of the run. The tables that the config names under ``extra`` are copied. Short runs of the
    methods that were run are deleted, so the gate asks for new ones. Derived tables are written by :func:`derive`.
    Raises :class:`ReportError` for another scale than full, an incomplete run, a method of which some cells were
    restored and others fitted, a run without a manifest, or more than 20 MB.
    """
    if scale != "full":
        raise ReportError(f"scale is '{scale}'; only a full run becomes the reference: run `./bench full` first")
    if manifest.get("noise", "public") != "public":
        raise ReportError(
            "the run's noise is secret: nobody can repeat it; only a run with noise=public becomes the reference"
        )
    if not manifest.get("commit"):
        raise ReportError(
            "the run has no manifest.json that names its commit; `./bench full results/manifest.json` writes it"
        )
    fits, extra = results / "fits", results / "extra"
    mine = scores[scores["experiment"] == config["experiment"]]
    check_full(config, mine, fits)
    ours = {n for n in contract.names() if contract.is_ours(n)}
    if strange := sorted(set(mine["method"]) - ours):
        raise ReportError(
            f"{config['experiment']}: '{strange[0]}' is no method of methods/; a reference has no method from outside: "
            "run without it, or add its file"
        )
    path, scored = committed.path_of(folder, config["experiment"]), committed.encoded(sorted_scores(mine))
    _check_size(folder, path, scored)
    costs = ledger.build(fits, set(mine["cell"]), known=committed.ledgers(folder))
    tables = {}
    for name in [*config.get("extra", []), *config.get("extra_full", [])]:
        if not (extra / name).is_file():
            raise ReportError(f"{config['experiment']}: no {name} in {extra}; run `./bench full` first")
        tables[name] = (extra / name).read_text(encoding="utf-8")
    before = committed.runs(folder)
    rows = whole_runs(config["experiment"], mine, fits, manifest, before)
    write_bytes(path, scored)
    committed.write_runs(rows, folder)
    committed.drop_short_runs({entry for entry, row in rows.items() if row != before.get(entry)}, folder)
    committed.write_ledger(folder, config["experiment"], costs)
    for name, text in tables.items():
        write_text(papers.place(config["experiment"], folder) / name, text)
    write_text(
        folder / "manifest.json",
        json.dumps(manifest, indent=1, sort_keys=True) + "\n",
    )


def derive(configs: Mapping[str, Path], folder: Path = FOLDER) -> None:
    """Write verdicts, claims and everything else that follows from committed scores. ``configs``: by experiment."""
    for path, frame in recompute(configs, folder).items():
        write_csv(path, frame)


def whole_runs(
    experiment: str, scores: pd.DataFrame, fits: Path, manifest: Mapping[str, Any], known: Mapping[Entry, dict]
) -> dict[Entry, dict]:
    """The rows of ``runs.csv`` after a full run of an experiment. Those of other experiments do not change.

    A method gets the run's commit if every cell was fitted, and keeps its row if every cell was restored. Raises
    :class:`ReportError` for a method with cells of both kinds, because only a whole run becomes reference.
    """
    out = {entry: row for entry, row in known.items() if entry[0] != experiment}
    for method, rows in scores.groupby("method", sort=True):
        entry, name = (experiment, method), f"{experiment}/{method}"
        restored = {_restored(fits / f"{cell}.json") for cell in rows["cell"].unique()}
        if restored == {False}:
            out[entry] = committed.run_of(entry, manifest)
        elif restored == {True} and entry in known and not _fitted_too(rows, fits):
            out[entry] = known[entry]
        else:
            raise ReportError(
                f"{name}: some of its cells were restored from the committed reference and others fitted; only a whole "
                f"run becomes reference: run it with --config reuse=none, or reuse=reference refit={method}"
            )
    return out


def _fitted_too(rows: pd.DataFrame, fits: Path) -> bool:
    """Whether splits of restored cells were fitted, because the committed cells have fewer splits."""
    return any(
        json.loads((fits / f"{cell}.json").read_text(encoding="utf-8"))["splits"] for cell in rows["cell"].unique()
    )


def _restored(path: Path) -> bool:
    return path.is_file() and bool(json.loads(path.read_text(encoding="utf-8")).get("reused"))


def files_of(folder: Path = FOLDER) -> list[Path]:
    """All files of a reference."""
    return [p for home in papers.homes(folder) for p in sorted(home.rglob("*")) if p.is_file()]


def _check_size(folder: Path, path: Path, content: bytes) -> None:
    """Raise :class:`ReportError` if ``folder`` with this file would exceed the limit."""
    size = len(content) + sum(p.stat().st_size for p in files_of(folder) if p != path)
    if size > LIMIT_BYTES:
        raise ReportError(
            f"{path.parent.name}/{path.name} would make the reference {size / 1e6:.1f} MB; "
            f"the limit is {LIMIT_BYTES / 1e6:g} MB: store fewer metrics or splits"
        )


def experiments(folder: Path = FOLDER) -> list[str]:
    return committed.experiments(folder)


def recompute(configs: Mapping[str, Path], folder: Path = FOLDER) -> dict[Path, pd.DataFrame]:
    """The tables that follow from the committed scores and the configs of their experiments: file -> table.

    These are ``verdicts.csv``, ``claims.csv``, ``comparisons.csv``, and the derived tables of papers
    (``Paper.derived``).
    """
    judged, said, known = [], [], {}
    costs = committed.ledgers(folder)
    of_paper: dict[str, list[tuple[dict[str, Any], pd.DataFrame]]] = {}
    for name in experiments(folder):
        config = load_config(configs[name])
        scores = known[name] = committed.read(folder, name)
        judged.append(verdicts.build(config, scores, "full"))
        tables = papers.place(name, folder)
        said.append(claims.evaluate(config, scores, extra=tables, ledger=costs)[CLAIM_COLUMNS])
        if (paper := papers.paper_of(name)) and paper.derived:
            of_paper.setdefault(paper.key, []).append((config, scores))
    if not judged:
        raise ReportError(f"no committed scores in {folder / 'scores'}; `reference` writes them after a full run")
    found = {
        folder / "verdicts.csv": stacked(judged),
        folder / "claims.csv": stacked(said),
        folder / comparisons.NAME: comparisons.build(known),
    }
    for paper in papers.papers():
        if pairs := of_paper.get(paper.key):
            home = papers.place(pairs[0][0]["experiment"], folder)
            found |= {home / name: frame for name, frame in papers.resolve(paper.derived)(pairs).items()}
    return found


def check(configs: Mapping[str, Path], folder: Path = FOLDER) -> dict[str, int]:
    """Recompute everything from the committed scores and compare it with the committed verdicts.

    This is the gate "against the papers". Returns the number of compared verdicts per source. Raises
    :class:`ReportError` with the first one that differs, if there is none, or if a cell says ``no_data`` although its
    data exist.
    """
    fresh = recompute(configs, folder)
    for path, frame in fresh.items():
        again = pd.read_csv(_text(frame), dtype=str, keep_default_na=False)
        _compare(path.name, _read(path), again)
    frame = fresh[folder / "verdicts.csv"]
    if frame.empty:
        raise ReportError("the gate compared no verdict: the committed scores hold none")
    with_data = set(frame.loc[frame["n"] > 0, "dataset"])
    lost = frame[(frame["verdict"] == "no_data") & frame["dataset"].isin(with_data)]
    if len(lost):
        row = lost.iloc[0]
        raise ReportError(f"verdicts.csv: {_where(row)} says no_data, yet other cells on {row['dataset']} have scores")
    return {str(source): len(rows) for source, rows in frame.groupby("source", sort=False)}


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise ReportError(f"{path.name} is not committed; `reference` writes it after a full run")
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _text(frame: pd.DataFrame):
    import io

    return io.StringIO(csv_text(frame))


def _compare(name: str, committed: pd.DataFrame, again: pd.DataFrame) -> None:
    if list(committed.columns) != list(again.columns):
        raise ReportError(f"{name}: columns {list(committed.columns)}, expected {list(again.columns)}")
    both = min(len(committed), len(again))
    a, b = committed.to_numpy(dtype=object)[:both], again.to_numpy(dtype=object)[:both]
    for i, j in zip(*np.nonzero(a != b), strict=True):
        column = committed.columns[j]
        if not _same(a[i, j], b[i, j], column):
            raise ReportError(
                f"{name}: {_where(committed.iloc[i])}: {column} is committed as '{a[i, j]}', the committed scores give "
                f"'{b[i, j]}'; if the change is meant, write the reference again and commit it"
            )
    if len(committed) != len(again):
        raise ReportError(f"{name}: {len(committed)} rows committed, the committed scores give {len(again)}")


def _where(row: pd.Series) -> str:
    names: Iterable[str] = ("id", "source", "table", "dataset", "method", "setting", "metric", "reading", "protocol")
    return ", ".join(f"{n} {row[n]}" for n in names if row.get(n))


_NUMBERS = {
    *("mean", "std", "difference", "low", "high", "p", "detectable", "default_mean", "default_std", "better_by"),
    *("other_mean", "margin"),
}


def _same(a: str, b: str, column: str) -> bool:
    if a == b:
        return True
    if column not in _NUMBERS or not a or not b:
        return False
    return math.isclose(float(a), float(b), rel_tol=TOLERANCE, abs_tol=1e-12)
