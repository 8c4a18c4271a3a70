"""Samples of cells that stand for a pair (experiment, method), and their recomputation by the code of a whole run.

A sample is fitted, drawn and scored by the functions that a run calls (``workflow.worker``, ``draws``, ``score``), its
cells together where a run fits them together.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from datasets.files import ROOT, write_json
from evaluation.arms import ABLATION
from workflow import tracing
from workflow.experiments import Cell, cells, experiment_files, load

#: a cell that costs at most this many seconds in all is recomputed in full where it has numbers of all splits together.
WHOLE_SECONDS = 5.0


@dataclass(frozen=True)
class Sample:
    """Cells of one data set that are fitted together, and the splits that are recomputed.

    ``short``: caps of their settings (one epoch, a few draws) for a fit that is too dear to repeat; empty for a whole
    fit. ``seconds``: what the fits took when they were committed.
    """

    experiment: str
    dataset: str
    cells: tuple[str, ...]
    methods: tuple[str, ...]
    splits: tuple[int, ...]
    short: tuple[tuple[str, int], ...]
    seconds: float

    @property
    def label(self) -> str:
        what = "short run of " if self.short else ""
        return f"{what}{self.experiment} {self.dataset} {' '.join(self.methods)}, {len(self.cells)} cells"


@dataclass(frozen=True)
class Found:
    """What a sample gave: score rows, events (cell, split, facts), executed lines by file, CPU seconds, output."""

    sample: Sample
    rows: list[dict]
    events: list[tuple[str, int, list[dict]]]
    executed: dict[str, set[int]]
    seconds: float
    output: str

    def write(self, path: Path) -> None:
        """Keep it, so that a check that was interrupted goes on."""
        told = {k: getattr(self, k) for k in ("rows", "events", "seconds", "output")}
        write_json(path, told | {"executed": {name: sorted(lines) for name, lines in self.executed.items()}})

    @classmethod
    def read(cls, path: Path, sample: Sample) -> Found:
        told = json.loads(path.read_text(encoding="utf-8"))
        executed = {name: set(lines) for name, lines in told.pop("executed").items()}
        return cls(sample=sample, executed=executed, **told)


def size(cell: Cell) -> tuple[float, float]:
    """Orders cells by their budget, smallest first: epsilon (of Renyi, too), or noise multiplier, largest first."""
    budget = dict(cell.budget)
    epsilon = budget.get("epsilon") or (budget["renyi"][1] if budget.get("renyi") else 0.0)
    return float(epsilon), -float(budget.get("noise_multiplier") or 0.0)


def choices(cell: Cell) -> frozenset[tuple[str, object]]:
    """Settings of it and of its model that are words, switches or left open: they choose which code runs.

    Numbers rarely do.
    """
    return frozenset((k, v) for k, v in (*cell.settings, *cell.model) if v is None or isinstance(v, bool | str))


def shortened(cell: Cell, caps: Mapping[str, int]) -> Cell:
    """The cell with the named settings capped; the cell itself where it has none above its cap."""
    settings = tuple((k, min(v, caps[k]) if k in caps and v is not None else v) for k, v in cell.settings)
    return cell if settings == cell.settings else dataclasses.replace(cell, settings=settings)


def choose(
    mine: Sequence[Cell],
    family: Mapping[str, Sequence[Cell]],
    seconds: Mapping[str, float],
    data: Collection[str],
    caps: Mapping[str, int],
    short: bool | float,
    rotating: int | None,
) -> list[Sample]:
    """The samples that stand for the cells ``mine`` of one pair.

    The cheapest data set of those in ``data``, by the committed ``seconds`` a split; its cells of smallest and largest
    budget, each with those of its ``family`` that read the same run; first, last and one ``rotating`` split; and the
    first split of the cheapest cell of every other choice of settings (:func:`choices`). With ``rotating`` None the
    first split at the smallest budget alone. ``short``: True for a short run, or the seconds a
    split from which a fit is too dear to be repeated in full.
    """
    plain = [c for c in mine if c.dataset in data and c.id in seconds] or [c for c in mine if c.dataset in data]
    kept = [c for c in plain if not c.setting.startswith((ABLATION, "tuned"))] or plain
    if not kept:
        return []
    where: dict[tuple[str, str], list[float]] = {}
    for cell in kept:
        where.setdefault((cell.dataset, cell.protocol), []).append(seconds.get(cell.id, 0.0))
    dataset, protocol = min(where, key=lambda key: sum(where[key]) / len(where[key]))
    here = [c for c in kept if (c.dataset, c.protocol) == (dataset, protocol)]
    chosen = [min(here, key=size)]
    if rotating is not None and (largest := max(here, key=size)) is not chosen[0]:
        chosen.append(largest)
    met, others = {choices(c) for c in chosen}, []
    if rotating is not None:
        for cell in sorted(plain, key=lambda c: seconds.get(c.id, 0.0)):
            if choices(cell) not in met:
                met.add(choices(cell))
                others.append(cell)
    groups: list[list[Cell]] = []
    for cell in [*chosen, *others]:
        relatives = [c for c in family.get(cell.family, ()) if c.method != cell.method and c.budget == cell.budget]
        if relatives:
            groups.append([c for c in family[cell.family] if c.budget == cell.budget])
        elif cell not in others and groups and cell.family and groups[0][0].family == cell.family:
            groups[0].append(cell)  # budgets of one family are fitted in one go
        else:
            groups.append([cell])
    out = []
    for group in groups:
        cost = max(seconds.get(c.id, 0.0) for c in group)
        dear = short if isinstance(short, bool) else cost > short
        n = group[0].splits
        if dear and out:
            continue  # of a dear method the smallest budget
        if dear and shortened(group[0], caps) is not group[0]:
            group = [c for c in group if c.budget == group[0].budget]
            splits, cut = (0,), tuple(sorted(caps.items()))
        elif dear or group[0] in others:
            splits, cut = (0,), ()
        elif group[0].protocol == "simulated_truth" and cost * n <= WHOLE_SECONDS:
            splits, cut = tuple(range(n)), ()
        else:
            splits, cut = tuple(sorted({0} if rotating is None else {0, rotating % n, n - 1})), ()
        names = tuple(dict.fromkeys(c.method for c in group))
        ids = tuple(c.id for c in group)
        out.append(Sample(group[0].experiment, group[0].dataset, ids, names, splits, cut, cost * len(splits)))
    return out


REFERENCE = ROOT / "reports/reference"


@cache
def _splits_of(experiment: str) -> dict:
    from workflow import committed as reference

    known = experiment in reference.experiments(REFERENCE)
    return reference.splits_of(reference.read(REFERENCE, experiment)) if known else {}


def as_committed(cell: Cell) -> Cell:
    """The cell, or the one with fewer splits that is committed in its place (``workflow.committed.as_committed``)."""
    from workflow import committed as reference

    return reference.as_committed(cell, _splits_of(cell.experiment))


def config_of(experiment: str) -> str:
    """The file of an experiment. Raises KeyError for an unknown name."""
    return {load(path)["experiment"]: path for path in experiment_files()}[experiment]


def recompute(sample: Sample, data_path: str, exact_rows: Sequence[dict] = (), results: Path | None = None) -> Found:
    """Fit and score a sample. ``exact_rows``: committed rows of the reference posterior that its scores need.

    ``results``: where its sidecars stay; None for nowhere.
    """
    tracing.begin(sample.label)
    start, captured = time.process_time(), io.StringIO()
    with contextlib.redirect_stderr(captured), tempfile.TemporaryDirectory() as folder:
        rows, events = _scored(sample, data_path, results or Path(folder), exact_rows)
    executed = tracing.executed(sample.label)
    return Found(sample, rows, events, executed, time.process_time() - start, captured.getvalue())


def _scored(sample: Sample, data_path: str, results: Path, exact_rows: Sequence[dict]) -> tuple[list, list]:
    import datasets
    from datasets.files import write_npz
    from workflow.cell import finish, head_of, parameters_of, requests_of
    from workflow.draws import of_cell
    from workflow.exact import exact_posteriors
    from workflow.score import rows_of
    from workflow.worker import respond

    every = {c.id: c for c in map(as_committed, cells(config_of(sample.experiment), "full"))}
    group = [shortened(every[name], dict(sample.short)) for name in sample.cells]
    data = datasets.load(data_path)
    scratch = results / "partial" / "sample"
    scratch.mkdir(parents=True, exist_ok=True)
    done: dict[tuple[str, int], dict] = {}
    for request in requests_of(group[0].adapter(), len({c.method for c in group}) < len(group), list(sample.splits)):
        for name, row in respond(group, request, data_path, scratch, not done):
            done[name, row["split"]] = row
    for cell in group:
        mine = {k: row for (name, k), row in done.items() if name == cell.id}
        parameters = parameters_of(scratch.with_suffix(".jsonl"), mine, cell)
        finish(cell, head_of(cell, data), list(mine.values()), parameters, results)
        if cell.drawn:
            write_npz(results / "draws" / f"{cell.id}.npz", of_cell(cell, results / "fits", data))
    here = {c.id for c in group}
    for name in {r["cell"] for r in exact_rows} - here:
        given = [r for r in exact_rows if r["cell"] == name]
        finish(every[name], head_of(every[name], data), [], {}, results, reused=given)
    # The moments of an exact posterior take the seed of the first cell of the data set, as in a whole run.
    cut = dict(zip(sample.cells, group, strict=True))
    exact = exact_posteriors(
        [cut.get(c.id, c) for c in every.values() if c.dataset == sample.dataset], results / "fits", data
    )
    rows = [r for cell in group for r in rows_of(cell, results / "fits", data, results / "draws", exact)]
    return rows, [(name, k, row["ledger"]) for (name, k), row in done.items()]


#: what an event says; the place of its proof and the description of the generator are documentation.
FACTS = ("what", "mechanism", "relation", "sensitivity", "noise_scale", "sampling", "sampling_rate", "steps")


def events_digest(events: Sequence[tuple[str, int, list[dict]]]) -> str:
    """Digest of the cells and splits, and of the facts of all their events, nine digits each; empty without events.

    Two of the same first part can be compared: the ledgers of other splits are other ledgers.
    """

    def fact(value):
        return f"{float(value):.9g}" if isinstance(value, float) or value == "inf" else str(value)

    told, of = [], sorted({(cell, split) for cell, split, rows in events if rows})
    for cell, split, rows in sorted(events, key=lambda e: (e[0], e[1])):
        for row in rows:
            curve = [(fact(float(a)), fact(float(b))) for a, b in row.get("renyi_curve", ())]
            told.append([cell, split, *(fact(row[k]) for k in FACTS), curve])
    if not told:
        return ""
    return "-".join(hashlib.sha256(json.dumps(one).encode()).hexdigest()[:16] for one in (of, told))
