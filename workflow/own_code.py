"""Recompute and compare the score rows of papers with their own code, which have no experiments."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from datasets.files import ROOT
from dpbayes_bench.tables import own_cell
from workflow import papers
from workflow.compare import DIFFERS, EQUAL, NOT_RUN, Number, own_tolerance, word
from workflow.program import CPU_SECONDS
from workflow.sample import Unit


@dataclass(frozen=True)
class OwnCell:
    """The committed score rows of one cell, and the name of their file."""

    file: str
    rows: tuple[dict[str, str], ...]


@cache
def own_cells(paper: str) -> dict[str, OwnCell]:
    """Id of each committed cell of a paper -> the cell. The ids are those of ``dpbayes_bench.scores()``."""
    out: dict[str, OwnCell] = {}
    for path in sorted(papers.programs()[paper][0].reference.glob("scores/*.csv.gz")):
        found: dict[str, list[dict]] = {}
        for row in pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records"):
            found.setdefault(own_cell(row, paper), []).append(row)
        out |= {i: OwnCell(path.name.removesuffix(".csv.gz"), tuple(rows)) for i, rows in found.items()}
    return out


def own_id(paper: str, verdict: Mapping[str, str]) -> str:
    """The id of the cell that a committed verdict judges; empty for a number without runs.

    Some score rows have an epsilon and no setting. It is then the first part of the verdict's setting.
    """
    known = own_cells(paper)
    row = next(iter(known.values())).rows[0]
    named = {k: v for k, v in verdict.items() if k in row}
    if "setting" not in row:
        named["epsilon"] = verdict["setting"].partition(";")[0].removeprefix("epsilon=")
    name = own_cell(named, paper)
    return name if name in known else ""


def own_unit(paper: str, ids: Sequence[str], seconds: float = 0.0) -> Unit:
    """The unit of some cells of one score file."""
    first = own_cells(paper)[ids[0]].rows[0]
    module = papers.programs()[paper][1].rows.partition(":")[0]
    return Unit(paper, first["dataset"], tuple(ids), (f"{paper}/{first['method']}",), (), (), seconds, module)


def own_units() -> list[Unit]:
    """The units that ``Program.samples`` of all papers select: one per score file, method and reading."""
    out = []
    for paper, (_, program) in papers.programs().items():
        for pattern, seconds in program.samples.items():
            groups: dict[tuple[str, ...], list[str]] = {}
            for i, cell in own_cells(paper).items():
                if fnmatch.fnmatchcase(i, pattern):
                    groups.setdefault((cell.file, *(cell.rows[0][k] for k in ("method", "reading"))), []).append(i)
            out += [own_unit(paper, ids, seconds) for ids in groups.values()]
    return out


def recompute_own(paper: str, ids: Sequence[str], mirror: str | None, raw: str) -> list[Number]:
    """The numbers of cells of one score file of such a paper, computed here and committed."""
    program, known = papers.programs()[paper][1], own_cells(paper)
    (file,) = {known[i].file for i in ids}
    made: dict[str, list[dict]] = {i: [] for i in ids}

    def wanted(row: Mapping[str, str]) -> bool:
        return own_cell(row, paper) in made

    for row in papers.resolve(program.rows)(file, "full", mirror, raw, wanted):
        made[own_cell(row, paper)].append(row)
    pairs = [(i, was, now) for i in ids for was, now in zip(known[i].rows, made[i], strict=True)]
    return [n for i, was, now in pairs for n in own_numbers(program.measures, i, was, now)]


def own_numbers(measures: Mapping[str, str], i: str, was: Mapping[str, str], now: Mapping) -> Iterator[Number]:
    """The committed measures of one score row of the cell ``i``, next to those that were computed here."""
    if now["status"] != was["status"]:
        verdict = NOT_RUN if now["status"] == "no_data" else DIFFERS
        yield Number(i, "", "status", was["status"], str(now["status"]), math.nan, verdict, str(now["reason"]))
        return
    if was["status"] == "no_data":
        yield Number(i, "", "status", was["status"], "", math.nan, NOT_RUN, str(now["reason"]))
    for measure, column in measures.items():
        name = column.removeprefix("1 - ")
        old, new = was[name], str(now[name])
        if not old:
            continue
        if name != column:
            old, new = str(1 - float(old)), str(1 - float(new))
        allowed, how = own_tolerance(float(old))
        verdict = EQUAL if old == new else word(float(new), float(old), allowed)
        delta = was.get("delta") or fields(was.get("setting", "")).get("delta")
        why = f"delta {delta}" if column == "ledger_epsilon" and delta else f"{was['repeats']} repetitions"
        how = "" if verdict == EQUAL else f"; {how}"
        yield Number(i, "", measure.format(metric=was["metric"]), old, new, allowed, verdict, why + how)


def fields(setting: str) -> dict[str, str]:
    """The parts of a setting such as ``epsilon=1;delta=1e-6``."""
    return {k: v for k, sign, v in (part.partition("=") for part in setting.split(";")) if sign}


def compare_program(paper: str, folder: Path) -> list[Number]:
    """All score files of a paper in ``folder``, compared value by value with the committed files.

    A value may be a list of numbers that are separated by spaces. CPU seconds are not compared.
    """
    out = []
    for path in sorted((ROOT / "papers" / paper / "reference" / "scores").glob("*.csv.gz")):
        if not (folder / path.name).is_file():
            out.append(Number(path.name, "", "file", "", "", math.nan, DIFFERS, "it is committed only"))
            continue
        was, now = (
            pd.read_csv(p, dtype=str, keep_default_na=False).drop(columns=CPU_SECONDS, errors="ignore")
            for p in (path, folder / path.name)
        )
        if was.shape != now.shape or list(was) != list(now):
            why = f"{now.shape} rows and columns, committed {was.shape}"
            out.append(Number(path.name, "", "shape", "", "", math.nan, DIFFERS, why))
            continue
        for column in was:
            for row, (old, new) in enumerate(zip(was[column], now[column], strict=True)):
                out += _values(f"{path.name}, row {row + 1}", column, old, new)
    return out


def _values(where: str, column: str, old: str, new: str) -> list[Number]:
    """The numbers of one value, or the text as a whole."""
    parts = list(zip(old.split(), new.split(), strict=False))
    try:
        pairs = [(a, b, float(a), float(b)) for a, b in parts]
    except ValueError:
        pairs = []
    if not pairs or len(old.split()) != len(new.split()):
        verdict = EQUAL if old == new else DIFFERS
        return [Number(where, "", column, old, new, math.nan, verdict, "text")] if old or new else []
    judged = [(a, b, was, now, *own_tolerance(was)) for a, b, was, now in pairs]
    return [
        Number(where, "", column, a, b, allowed, word(now, was, allowed), how)
        for a, b, was, now, allowed, how in judged
    ]
