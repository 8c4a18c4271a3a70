"""``./bench doubt CELL``: recomputes one cell from raw data at full settings, next to committed and published.

CELL is the id of a cell, the key of a published number (source/table/dataset/method/setting/metric), or any part that
only one cell has. ``./bench doubt --list WORDS`` prints the keys and ids that contain all the words.
"""

from __future__ import annotations

import difflib
import math
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import pandas as pd

from datasets.files import ROOT
from workflow import faults, on_demand, papers, recompute
from workflow.committed import Reference
from workflow.compare import DIFFERS, NOT_RUN, Row
from workflow.experiments import load
from workflow.published import KEY
from workflow.quickcheck import Steps, tables_for
from workflow.recompute import Tables

#: the largest number of keys that are listed.
MOST = 40
#: the cost of a cell above this many CPU seconds is printed first.
EXPENSIVE_S = 30.0


@dataclass(frozen=True)
class Published:
    """A published number in one reading, its committed verdict, and our cell, which is empty if there is none."""

    key: str
    cell: str
    verdict: dict[str, str]


def published() -> list[Published]:
    """All published numbers with a committed verdict."""
    out = [_published(row, row["cell"]) for row in _read(papers.REFERENCE / "verdicts.csv")]
    for key, (paper, _) in papers.programs().items():
        rows = _read(paper.reference / "verdicts.csv.gz")
        out += [_published(row, recompute.own_id(key, row)) for row in rows]
    return out


def _published(row: dict[str, str], cell: str) -> Published:
    return Published("/".join(row[k] for k in KEY), cell, row)


def _read(path: Path) -> list[dict[str, str]]:
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")


class Unknown(LookupError):
    """No cell or several cells fit. The message names the nearest."""


def find(words: str, ids: Iterable[str], numbers: Sequence[Published]) -> tuple[list[str], list[Published]]:
    """The cells that ``words`` name, and the published numbers that they answer. Raises Unknown."""
    ids = set(ids)
    if words in ids:
        return [words], [p for p in numbers if p.cell == words]
    mine = [p for p in numbers if p.key == words]
    if not mine:
        text = words.lower().split()
        cells = sorted(i for i in ids if all(w in i.lower() for w in text))
        keys = sorted({p.key for p in numbers if all(w in p.key.lower() for w in text)})
        if len(cells) == 1 and not keys:
            return find(cells[0], ids, numbers)
        if len(keys) == 1 and set(cells) <= {p.cell for p in numbers if p.key == keys[0]}:
            return find(keys[0], ids, numbers)
        matches = [*keys, *cells]
        if matches:
            some = "\n  ".join(map(shlex.quote, matches[:6]))
            raise Unknown(f"'{words}' is part of {len(matches)} keys and cells; `--list` shows all:\n  {some}")
        near = difflib.get_close_matches(words, [*{p.key for p in numbers}, *ids], n=3, cutoff=0.0)
        raise Unknown(
            f"no cell and no published number '{words}'; the nearest:\n  " + "\n  ".join(map(shlex.quote, near))
        )
    answered = list(dict.fromkeys(p.cell for p in mine if p.cell))
    if not answered:
        raise Unknown(
            f"{words}: no cell of ours answers it ({mine[0].verdict['reason'] or mine[0].verdict['verdict']})"
        )
    return answered, mine


def listed(words: Sequence[str], ids: Iterable[str], numbers: Sequence[Published]) -> list[str]:
    """Keys and ids that contain all the words."""
    text = [w.lower() for w in words]
    return [t for t in dict.fromkeys([*(p.key for p in numbers), *ids]) if all(w in t.lower() for w in text)]


def rerun(reference: Reference, name: str, tables: Tables, results: Path) -> list[Row]:
    """The numbers of a cell, computed here and committed, over all its splits. Its files stay below ``results``."""
    data, exact = "", []
    if cell := reference.cells.get(name):
        group = recompute.together(cell, reference.families)
        unit = recompute.unit_of(group, range(cell.splits), 0.0)
        data = tables.get(cell.dataset)
        if isinstance(data, str):
            return [Row(name, "", cell.method, cell.dataset, "", "", "", NOT_RUN, data)]
        exact = recompute.exact_rows(reference, unit)
        on_demand.for_cells(group)
    else:
        paper = next(key for key in papers.programs() if name in recompute.own_cells(key))
        unit = recompute.own_unit(paper, [name])
    result = recompute.recompute_unit(unit, str(data), str(tables.raw), str(reference.folder), exact, results)
    rows = recompute.reader_rows(reference, unit, result)
    return [r for r in rows if r.cell == name] if cell else rows


def number(text: str) -> str:
    """A number with seven digits."""
    try:
        return f"{float(text):.7g}"
    except ValueError:
        return text


def table(rows: Sequence[Row], answers: Sequence[Published]) -> list[list[str]]:
    """Header and lines of the output: one line per measure, repeated for each published number that it answers.

    A compatible number has the smallest shift that would have been refuted.
    """
    head = ["measure", "ours, here", "ours, committed", "here is"]
    lines = [[*head, "reading", "published", "difference", "verdict", "refuted from"]]
    for row in rows:
        mine = [p.verdict for p in answers if p.cell == row.cell and row.measure in _ours(p.verdict)]
        for v in mine or [{}]:
            shown = v.get("published_mean", "") + (f" +- {v['published_std']}" if v.get("published_std") else "")
            gap = ""
            if v and row.here and _same_unit(row, v):
                gap = f"{float(row.here) - float(v['published_mean']):+.4g}"
            entries = [v.get("reading", ""), shown, gap, v.get("verdict", ""), _refutable(v)]
            lines.append([row.measure, number(row.here), number(row.committed), row.verdict, *entries])
    return lines


def _refutable(verdict: dict[str, str]) -> str:
    """The smallest shift that would have been refuted, of a compatible number; otherwise ""."""
    least = verdict.get("detectable", "") if verdict.get("verdict") == "compatible" else ""
    return "no shift" if least == "inf" else f"{float(least):.2g}" if least else ""


@cache
def _renamed() -> dict[tuple[str, str, str], set[str]]:
    """(source, table, published metric) -> names of our metrics."""
    out: dict[tuple[str, str, str], set[str]] = {}
    for path in papers.experiments().values():
        for answer in load(path)["answers"]:
            for reading in [*answer["readings"].values(), *answer.get("also", [])]:
                for theirs, ours in reading.get("metrics", {}).items():
                    for place in answer["tables"]:
                        out.setdefault((answer["source"], place, theirs), set()).add(ours)
    return out


def _ours(verdict: dict[str, str]) -> set[str]:
    """Names of our measures for a published number."""
    return _renamed().get((verdict["source"], verdict["table"], verdict["metric"]), set()) | {verdict["metric"]}


def _same_unit(row: Row, verdict: dict[str, str]) -> bool:
    """Whether the verdict judges the committed number of the row. Accuracies are judged as errors."""
    ours = verdict[verdict.get("statistic") or "mean"]  # a box plot's number is a median
    if not ours:
        return False
    was, judged = float(row.committed), float(ours)
    return any(math.isclose(was, v, rel_tol=1e-6, abs_tol=1e-9) for v in (judged, 1 - judged))


def show(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="CELL", help="a cell, a published number's key, or a part")
@click.option("--list", is_flag=True, help="print the keys and ids that hold all the words")
@click.option("--results", type=click.Path(path_type=Path), default=ROOT / "results", help="folder of the run")
def command(words: tuple[str, ...], list: bool, results: Path) -> int:
    """Recompute one cell alone, at full settings, from its raw data: ours here, ours committed, published."""
    reference, numbers = Reference(), published()
    own = [i for paper in papers.programs() for i in recompute.own_cells(paper)]
    ids = [*reference.cells, *own]
    if list:
        found = listed(words, ids, numbers)
        if not found:
            print(f"bench: no key and no id holds {' and '.join(words)}; try fewer letters", file=sys.stderr)
            return 2
        # quoted for a shell, because keys have semicolons
        print(
            "\n".join(map(shlex.quote, found[:MOST])) + (f"\n... and {len(found) - MOST} more" if found[MOST:] else "")
        )
        return 0
    try:
        names, answers = find(" ".join(words), ids, numbers)
    except Unknown as e:
        print(f"bench: {e}", file=sys.stderr)
        return 2
    here = results / "here"
    tables, wrong = tables_for(results, Steps(here / "log.txt")), False
    for name in names:
        cell = reference.cells.get(name)
        if cell is not None:
            cost = reference.seconds(cell.experiment).get(name, 0.0) * cell.splits
            if cost > EXPENSIVE_S:
                print(f"bench: {name}: about {cost / 60:.1f} CPU minutes (Ctrl-C ends it)", flush=True)
        with faults.one_error():
            rows = rerun(reference, name, tables, here)
        print(f"\n{name}")
        if answers:
            print(f"published: {', '.join(dict.fromkeys(p.key for p in answers if p.cell == name))}")
        print(show(table(rows, answers)))
        for row in rows:
            if row.measure == "epsilon" and row.verdict != DIFFERS:
                print(f"epsilon of one fit, from its ledger: {row.here} at {row.why}")
            if row.verdict in (DIFFERS, NOT_RUN):
                print(f"{row.measure or name}: {row.verdict}: {row.why}")
        if cell is not None and (side := here / "fits" / f"{name}.json").is_file():
            print(f"settings, seeds and ledger: {side}")
        wrong |= any(r.verdict == DIFFERS for r in rows)
    print("The verdicts are of the committed numbers; they hold here where 'here' says equal or within.")
    return 1 if wrong else 0
