"""The committed reference as tidy tables: reads the text files of one folder into typed data frames, by pandas only.

``home`` is the root of a checkout, or the folder of the same layout inside a wheel. ``columns.csv`` next to this file
lists the columns of each frame with their types and units. A frame has exactly these columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
#: name of the row of a ledger with the total of all events of a fit.
TOTAL = "(total)"
#: patterns of all files that the tables are read from, relative to the root. A wheel has copies of them.
FILES = (
    "common_tasks/reference/scores/*.csv.gz",
    "common_tasks/reference/posteriors/*",
    "papers/*/reference/scores/*.csv.gz",
    "papers/*/reference/verdicts.csv.gz",
    "papers/*/published.csv",
    "common_tasks/reference/ledgers/*.csv.gz",
    "papers/*/reference/ledgers/*.csv.gz",
    "reports/reference/manifest.json",
    "reports/reference/verdicts.csv",
    "papers/*/reference/posteriors/*",
)


@cache
def units() -> dict[str, str]:
    """Metric -> unit of its values, as in the suite (``evaluation.metrics`` writes ``metrics.csv``)."""
    told = pd.read_csv(HERE / "metrics.csv", dtype=str, keep_default_na=False)
    return dict(zip(told["metric"], told["unit"], strict=True))


@cache
def dictionary() -> pd.DataFrame:
    """One row per column of every table: table, column, type (text, category, number or integer), unit, meaning."""
    return pd.read_csv(HERE / "columns.csv", dtype=str, keep_default_na=False)


def typed(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    """The columns of ``table`` in the order and with the types of the dictionary. Missing columns are empty.

    Text stays text ("" if it is missing), "category" is text with few values, numbers become float64 (NaN), integers
    Int64 (<NA>). Raises ValueError for a column that the dictionary does not know, or a text that is not a number.
    """
    told = dictionary()
    told = told[told["table"] == table]
    if unknown := sorted(set(frame.columns) - set(told["column"])):
        raise ValueError(f"{table}: no line for the column '{unknown[0]}' in {HERE / 'columns.csv'}")
    out = {}
    for column, kind in zip(told["column"], told["type"], strict=True):
        values = frame[column] if column in frame else pd.Series("", index=frame.index)
        if kind in ("text", "category"):
            words = values.astype(object).where(values.notna(), "").astype(str)
            out[column] = words if kind == "text" else words.astype("category")
        else:
            numbers = pd.to_numeric(values.replace("", None))
            out[column] = numbers.astype("Int64" if kind == "integer" else "float64")
    return pd.DataFrame(out)


def text(path: Path) -> pd.DataFrame:
    """A CSV file with every column as text. Raises FileNotFoundError with the remedy."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; check it out again, or install the package anew")
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def score_files(home: Path) -> list[Path]:
    """All committed score files, by paper and name; the common tasks last."""
    found = [*sorted(home.glob(FILES[2])), *sorted(home.glob(FILES[0]))]
    if not found:
        raise FileNotFoundError(f"{home}: no committed scores; check the reference out again")
    return found


def paper_of(path: Path) -> str:
    """The name of the folder that a file of ``reference/`` belongs to."""
    parts = path.parts
    return parts[len(parts) - 1 - parts[::-1].index("reference") - 1]


def epsilon_asked(setting: pd.Series) -> pd.Series:
    """The epsilon in each setting (``epsilon=1``, ``epsilon~0.9;clip=1``, ``epsilon=e^-2``), or NaN without one."""
    named = setting.str.extract(r"(?:^|;)epsilon[=~](e\^)?([^;]+)")
    numbers = pd.to_numeric(named[1]).astype("float64")
    return numbers.where(named[0].isna(), np.exp(numbers.where(named[0].notna())))


def scores(home: Path) -> pd.DataFrame:
    """Every score of every paper and common task, one row per number, with the columns of :func:`dictionary`."""
    return typed_scores([scores_of(path) for path in score_files(home)])


def typed_scores(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One typed frame of several of :func:`scores_of`."""
    return typed(pd.concat(frames, ignore_index=True), "scores")


def scores_of(path: Path) -> pd.DataFrame:
    """The rows of one score file, with values as in the file and columns named as in the dictionary.

    A file with a column ``runs`` comes from a paper's own code: each of its rows holds all runs of a number.
    """
    frame, paper = text(path), paper_of(path)
    if "runs" in frame:
        return runs_of(frame, paper, protocol_of(path.parent.parent))
    frame = frame.rename(columns={"metric": "measure"})
    return frame.assign(paper=paper, epsilon_asked=epsilon_asked(frame["setting"]))


def protocol_of(reference: Path) -> str:
    """The split protocol of a paper with its own score files, which have only one."""
    (protocol,) = text(reference / "verdicts.csv.gz")["protocol"].unique()
    return str(protocol)


def own_cell(row: Mapping[str, str], paper: str) -> str:
    """The id of the cell of a score row of a paper with its own code. All runs of a cell share it."""
    words = [row[c] for c in ("table", "dataset", "method", "reading") if c in row]
    epsilon = f"epsilon={row['epsilon']}" if row.get("epsilon") else ""
    return "-".join([paper, *words, row.get("setting", epsilon)])


def own_cells(frame: pd.DataFrame, paper: str) -> pd.DataFrame:
    """The score rows of a paper with its own code, with setting and cell, and columns named as in all papers."""
    frame = frame.copy()
    frame["cell"] = [own_cell(row, paper) for row in frame.to_dict("records")]
    if "setting" not in frame:
        frame["setting"] = frame["epsilon"].where(frame["epsilon"] == "", "epsilon=" + frame["epsilon"])
    if "delta" not in frame:
        frame["delta"] = frame["setting"].str.extract(r"(?:^|;)delta=([^;]+)")[0].fillna("")
    return frame.assign(paper=paper, experiment=paper, epsilon_asked=epsilon_asked(frame["setting"]))


def runs_of(frame: pd.DataFrame, paper: str, protocol: str) -> pd.DataFrame:
    """One row per repetition, from rows that hold all of them (``runs``, separated by spaces).

    With ``n_test`` a run is the number of test rows that were right, and the value is the share that was wrong. A row
    without runs has its mean as its only value. The epsilon is that of the row's ledger.
    """
    frame = own_cells(frame, paper).assign(protocol=protocol)
    frame["epsilon"] = frame["ledger_epsilon"]
    # those of a row are of all its runs
    frame = frame.drop(columns="cpu_seconds", errors="ignore")
    rows = frame.assign(value=frame["runs"].str.split()).explode("value", ignore_index=True)
    rows["split"] = rows.groupby("cell", sort=False).cumcount().astype(str)
    alone = rows["value"].isna()
    if "n_test" in rows:
        rows["value"] = 1 - pd.to_numeric(rows["value"]) / pd.to_numeric(rows["n_test"])
    rows["value"] = rows["value"].astype(object).where(~alone, rows["mean"])
    rows["split"] = rows["split"].where(~alone, "")
    parts = [rows.rename(columns={"metric": "measure"})]
    if "log_likelihood" in frame:  # a mean over the repetitions
        ok = frame[frame["log_likelihood"] != ""]
        parts.append(ok.assign(value=ok["log_likelihood"], measure="test_log_likelihood", split=""))
    both = pd.concat(parts, ignore_index=True)
    both["unit"] = both["measure"].map(units())
    known = set(dictionary().query("table == 'scores'")["column"])
    return both[[c for c in both if c in known]]


def sources(home: Path) -> dict[str, str]:
    """Source of published numbers -> the paper's folder."""
    found = {}
    for path in sorted(home.glob(FILES[4])):
        found |= dict.fromkeys(text(path)["source"].unique(), path.parent.name)
    return found


def verdicts(home: Path, own: Path | None = None) -> pd.DataFrame:
    """Published numbers, ours and verdicts: one row per number, reading and protocol; columns of :func:`dictionary`.

    ``own``: the verdicts file of a user's own run, in place of the committed one.
    """
    frames = [text(own or home / "reports/reference/verdicts.csv")]
    frames += [text(path) for path in sorted(home.glob(FILES[3]))]
    frame = pd.concat(frames, ignore_index=True)
    return typed(frame.assign(paper=frame["source"].map(sources(home))), "verdicts")


def ledger(home: Path, own: Path | None = None) -> pd.DataFrame:
    """The releases of each cell's fit and their cost: one row per event or total, and accountant.

    ``own``: the ledger of a user's own run, in place of the committed one.
    """
    committed = sorted([*home.glob(FILES[5]), *home.glob(FILES[6])], key=lambda path: path.name)
    frame = pd.concat([text(path) for path in ([own] if own else committed)], ignore_index=True)
    frame["experiment"] = frame["cell"].str.partition("-")[0]
    at = {path.name.removesuffix(".csv.gz"): paper_of(path) for path in score_files(home)}
    frame["paper"] = frame["experiment"].map(at).fillna("")
    frames = [frame]
    for path in score_files(home):
        rows = text(path)
        if "ledger" in rows:
            frames.append(events_of(rows, paper_of(path)))
    return typed(pd.concat(frames, ignore_index=True), "ledger")


def events_of(frame: pd.DataFrame, paper: str) -> pd.DataFrame:
    """The ledgers in the score rows of a paper with its own code: a total per cell, and its events."""
    frame = own_cells(frame, paper)
    frame = frame[frame["ledger"] != ""]
    shared = {"paper": paper, "experiment": paper}
    out = []
    for row in frame.to_dict("records"):
        same = shared | {k: row[k] for k in ("cell", "method")} | {"epsilon_claimed": row["epsilon_asked"]}
        events = json.loads(row["ledger"])
        relation = " + ".join(dict.fromkeys(e["relation"] for e in events))
        total = {"event": TOTAL, "epsilon": row["ledger_epsilon"], "delta": row["delta"], "relation": relation}
        out.append(same | total)
        for event in events:
            facts = {k: str(v) for k, v in event.items() if k != "what"}
            out.append(same | {"event": event["what"]} | facts)
    return pd.DataFrame(out)
