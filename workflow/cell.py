"""Fit the cells of one job, split by split, and resume where an interrupted run stopped.

A job holds all cells of an experiment and a data set that read the runs of one method. The cells of a family are fitted
together, because they share rows or a run: one method at many budgets, or many ways to read one run. All other cells
are fitted one after the other. Each cell has its own files, and can be run alone.

    python -m workflow.cell --config papers/K/experiments/X.yaml --scale full --job NAME --data results/data/D.npz
    python -m workflow.cell --config papers/K/experiments/X.yaml --scale full --cell ID --data results/data/D.npz

With ``--chunk K`` only a range of splits is fitted, and its rows are left for the job, which takes them over.

A job skips cells whose files are intact and were made by this code from these data. So after a kill, a lost file or a
new budget, only the cells concerned are fitted.

Each row is appended to ``results/partial/<cell or family>.jsonl`` with its checksum. Snakemake deletes declared outputs
of a killed job, so this file is not one of them. A torn or edited line is dropped, and its split is fitted again. When
all splits are there, ``results/fits/<cell>.json`` and ``.npz`` are written. If a cell has splits without a score, its
rows are kept, and the next call tries those splits again (``workflow.store``). A fault of the machine is not a row: it
stops the job (``workflow.faults``). A finished job lists its cells in ``results/done/<job>.fits``.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from datasets.files import locked, write_text
from datasets.store import Damaged
from workflow import environment, faults, on_demand
from workflow.experiments import Cell, cells, families, jobs, units
from workflow.store import (
    RETRIED,
    begin,
    drop,
    empty_record,
    keep_row,
    kept_parameters,
    lost,
    partial_of,
    read_partial,
    record_of,
    say,
    write_attempt,
    write_cell,
)
from workflow.worker import Worker, adopt_orphans, end_below


def find(config: str, scale: str, name: str) -> list[Cell]:
    """The cell with this id, or the cells of the family with this name."""
    known = cells(config, scale)
    if matches := [c for c in known if c.id == name] or families(known).get(name):
        return matches
    raise SystemExit(f"{config} at scale {scale} has no cell and no family '{name}'; `./bench -n` lists them")


def cells_of(config: str, scale: str, job: str) -> list[Cell]:
    """The cells of a job. Exits with the reason if there is no such job."""
    if of_job := jobs(cells(config, scale)).get(job):
        return of_job
    raise SystemExit(f"{config} at scale {scale} has no job '{job}'; `./bench -n` lists them")


def run(
    group: Sequence[Cell],
    data_path: str,
    results: Path,
    reuse: Path | None = None,
    retry: str = "timeout",
    keep: bool = False,
    chunk: int = 0,
) -> list[dict]:
    """Fit what is missing of one cell or family, and write ``results/fits/<cell>.{json,npz}``.

    Returns the rows, also those of an interrupted run. ``retry``: which splits without a score are tried again
    (``workflow.store``). ``keep``: skip cells that are :func:`finished`. ``chunk``: fit only this range of splits, and
    write no cell.
    """
    import datasets

    name = group[0].id if len(group) == 1 else group[0].family
    with locked(results / "partial" / f"{name}{f'.chunk{chunk}' if chunk else ''}.lock", name):
        data = datasets.load(data_path)
        if chunk and (data.status != "ok" or not group[0].chunk(chunk)):
            return []
        if data.status != "ok":
            for cell in group:
                finish(cell, head_of(cell, data), [empty_record(cell, None, "no_data", data.reason)], {}, results)
            return []
        if keep and not partial_of(results, name).exists() and all(finished(c, data, results, retry) for c in group):
            say(name, "is there")
            return []
        known = {} if reuse is None else {c.id: reference_rows(c, data.data_hash, reuse) for c in group}
        for cell in group:
            if rows := known.get(cell.id):
                whole = len(splits_in(rows)) == cell.splits or "" in {r["split"] for r in rows}
                say(cell.id, f"restored {len(rows)} rows from the committed reference" + ("" if whole else "; goes on"))
                if whole:
                    if not chunk:
                        finish(cell, head_of(cell, data), [], {}, results, reused=rows)
                    group = [c for c in group if c is not cell]
        return fit_group(group, name, data_path, data, results, known, retry, chunk) if group else []


def recorded(cell: Cell, results: Path) -> dict | None:
    """The record of a cell; None if its files are missing or damaged."""
    try:
        return record_of(cell, results / "fits")
    except (FileNotFoundError, Damaged):
        return None


def finished(cell: Cell, data, results: Path, retry: str) -> bool:
    """Whether the files of a cell are intact, belong to this code, data and noise, and need no retry."""
    if (record := recorded(cell, results)) is None:
        return False
    now = {"noise": None, **head_of(cell, data)}
    again = [r for r in record["splits"] if r["status"] in RETRIED[retry]]
    return not again and all(record.get(k) == v for k, v in now.items())


def of_reference(cell: Cell, results: Path) -> bool:
    """Whether the files of a cell hold rows of the committed reference."""
    return bool((recorded(cell, results) or {}).get("reused"))


def head_of(cell: Cell, data) -> dict:
    """The facts that identify the rows of a cell. Rows of other code or data are not used."""
    secret = {"noise": environment.SECRET} if environment.noise_of_run() == environment.SECRET else {}
    return {"cell": cell.id, "code_hash": cell.code_hash, "data_hash": data.data_hash, **secret}


def splits_in(rows: Sequence[dict]) -> set[int]:
    """The splits that score rows name."""
    return {int(r["split"]) for r in rows if r["split"] != ""}


def fit_group(
    group: Sequence[Cell],
    name: str,
    data_path: str,
    data,
    results: Path,
    known: dict[str, list[dict]] | None = None,
    retry: str = "timeout",
    chunk: int = 0,
) -> list[dict]:
    """Fit the splits that neither an interrupted run nor the reference has, and then write each cell.

    Returns the rows of these splits. ``known``: committed score rows of some splits, by cell (:func:`reference_rows`).
    """
    known = known or {}
    partial = partial_of(results, f"{name}.chunk{chunk}" if chunk else name)
    head = {"group": [head_of(c, data) for c in group]}
    done = read_partial(partial, head, RETRIED[retry])
    if not chunk:
        take_over(results, name, group[0].chunks, head, done)
    splits = group[0].chunk(chunk) if chunk else range(group[0].splits)
    restored = {c.id: splits_in(known.get(c.id, ())) for c in group}
    todo = [k for k in splits if any((c.id, k) not in done and k not in restored[c.id] for c in group)]
    if done and todo:
        say(name, f"resumes: {len(splits) - len(todo)} of {len(splits)} splits are there")
    if todo:
        fit_missing(group, name, data_path, partial, head, done, todo)
    if chunk:
        return list(done.values())
    for cell in group:
        rows = {k: row for (c, k), row in done.items() if c == cell.id and k not in restored[cell.id]}
        parameters = kept_parameters(partial, rows, cell)
        fitted = [rows[k] for k in sorted(rows)]
        if missing := set(splits) - set(rows) - restored[cell.id]:
            raise RuntimeError(f"{cell.id}: no row of split {min(missing)}; run the same command again")
        finish(cell, head_of(cell, data), fitted, parameters, results, reused=known.get(cell.id))
    if not lost(done.values()):
        drop(partial)
    return list(done.values())


def take_over(results: Path, name: str, chunks: int, head: dict, done: dict) -> None:
    """Move the rows of a job's chunks to the rows of the job, and add them to ``done``."""
    partial = partial_of(results, name)
    for chunk in [partial_of(results, f"{name}.chunk{k}") for k in range(1, chunks + 1)] if chunks > 1 else []:
        for (cell_id, k), row in read_partial(chunk, head).items():
            if (cell_id, k) in done:
                continue
            begin(partial, head)
            keep_row(partial, cell_id, row, chunk.with_suffix(""))
            done[cell_id, k] = row
        drop(chunk)


def fit_missing(
    group: Sequence[Cell], name: str, data_path: str, partial: Path, head: dict, done: dict, todo: list[int]
) -> None:
    keep = begin(partial, head)
    requests = requests_of(group[0].adapter(), len({c.method for c in group}) < len(group), todo)
    with (
        tempfile.TemporaryDirectory(dir=keep, ignore_cleanup_errors=True) as scratch,
        Worker(group, data_path, Path(scratch)) as worker,
    ):
        for request in requests:
            rows = worker.fit([(c, k) for k in request for c in group])
            for cell_id, row in rows:
                keep_row(partial, cell_id, row, worker.scratch)
                done[cell_id, row["split"]] = row
            for k in request:
                mine = [row for _, row in rows if row["split"] == k]
                say(name, f"split {k + 1} of {group[0].splits}: {summary(mine)}")


def requests_of(method, budgets: bool, todo: list[int]) -> list[list[int]]:
    """Group the splits ``todo`` into the requests that a worker gets.

    A request has one split, or as many as the method states in ``splits_at_once``. A family of ``budgets`` is fitted
    one split at a time, because ``fit_many`` then takes all budgets of a split.
    """
    size = 1 if budgets or method.splits_at_once is None else method.splits_at_once
    return [todo[i : i + size] for i in range(0, len(todo), size)]


def summary(rows: list[dict]) -> str:
    """The log line of one split."""
    counts = Counter(row["status"] for row in rows)
    status = ", ".join(s if len(rows) == 1 else f"{n} {s}" for s, n in counts.items())
    reasons = dict.fromkeys(row["reason"] for row in rows if row["reason"])
    return "; ".join([f"{status}, {sum(row['seconds'] or 0.0 for row in rows):.1f} s", *reasons])


def reference_rows(cell: Cell, data_hash: str, reference: Path) -> list[dict]:
    """Committed score rows of this cell on these data, each with the ``commit`` of its whole run.

    Empty if there are none. A cell's id contains all its settings. This function does not check that the present code
    still gives the committed numbers: ``workflow.gates`` and the weekly whole run recompute them. Rows of the same cell
    with fewer splits are used too, because splits are independent, and the other splits are fitted. This does not hold
    if scores are computed from the draws of all splits together.
    """
    from workflow import committed

    if cell.experiment not in committed.experiments(reference):
        return []
    run = committed.runs(reference).get((cell.experiment, cell.method))
    if run is None:
        say(cell.id, f"its committed scores have no row in {committed.RUNS}; it is run")
        return []
    scores = committed.read(reference, cell.experiment)
    then = committed.as_committed(cell, committed.splits_of(scores[scores["dataset"] == cell.dataset]))
    mine = scores[scores["cell"] == then.id].to_dict("records")
    return [{**r, "commit": run["commit"]} for r in mine if r["data_hash"] and data_hash.startswith(r["data_hash"])]


def finish(cell: Cell, head: dict, rows: list[dict], parameters: dict, results: Path, reused: list | None = None):
    """Write the files of a cell."""
    record = {**cell.values, **head, "scale": cell.scale, "splits": rows, "n_splits": cell.splits}
    write_cell(results / "fits", {**record, "reused": reused or []}, parameters)


def job_parser(description: str) -> argparse.ArgumentParser:
    """The options of every job of an experiment."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--config", required=True, help="the experiment's YAML file")
    parser.add_argument("--scale", required=True, help="full, quick or tiny")
    parser.add_argument("--data", required=True, help="the data set's npz file")
    parser.add_argument("--results", default="results", type=Path)
    return parser


def main() -> None:
    parser = job_parser("Fit the cells of a job, or one of them, over all splits; resumes.")
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--job", help="name of the job")
    chosen.add_argument("--cell", help="id of a cell, or name of a family, which is fitted also if it is there")
    parser.add_argument("--chunk", default=0, type=int, help="with --job: number of a range of splits, from 1")
    parser.add_argument("--anew", action="store_true", help="with --job: fit also the cells that are there")
    parser.add_argument("--reuse", default=None, type=Path, help="folder of committed reference scores to restore from")
    parser.add_argument("--refit", default=[], nargs="*", metavar="METHOD", help="methods that are fitted all the same")
    parser.add_argument("--retry", default="timeout", choices=list(RETRIED), help="lost splits to try again")
    parser.add_argument("--attempt", default=0, type=int, help="number of this attempt, see workflow.store")
    args = parser.parse_args()
    signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(128 + number)
    )  # process 1 of a container would not end
    adopt_orphans()
    try:
        with faults.one_error():
            fit_all(args)
    finally:
        end_below(os.getpid(), 0.0)  # what a fit has started may have left its group


def fit_all(args: argparse.Namespace) -> None:
    """Fit the cells that the command line names."""
    if args.cell:
        groups = [find(args.config, args.scale, args.cell)]
    else:
        groups = list(units(cells_of(args.config, args.scale, args.job)).values())
    on_demand.for_cells([c for group in groups for c in group])
    rows = []
    for group in groups:
        refit = {c.method for c in group} & set(args.refit)
        anew = args.cell or args.anew or (refit and any(of_reference(c, args.results) for c in group))
        reuse = None if refit else args.reuse
        rows += run(group, args.data, args.results, reuse, args.retry, not anew, args.chunk)
    if args.chunk:
        write_done(args.results, args.job, f"chunk{args.chunk}", groups)
        return
    write_attempt(args.results, args.cell or args.job, args.attempt, rows)
    if args.job:
        write_done(args.results, args.job, "fits", groups)


def write_done(results: Path, job: str, what: str, groups: Iterable[Sequence[Cell]]) -> None:
    """List the cells of a finished job, for Snakemake. ``what``: fits, draws or a chunk."""
    write_text(results / "done" / f"{job}.{what}", "".join(f"{c.id}\n" for group in groups for c in group))


if __name__ == "__main__":
    main()
