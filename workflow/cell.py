"""Run one cell: fit a method on all splits of a data set, split by split, and resume where it was.

    python -m workflow.cell --config config/experiments/X.yaml --scale full --cell ID --data results/data/D.npz

Rows are appended to ``results/partial/<cell>.jsonl`` as they come (Snakemake deletes declared outputs of a killed
job, so they are kept outside them); the last line of a killed run may be torn and is dropped. When all splits are
there, ``results/fits/<cell>.json`` and ``.npz`` are written whole.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import shutil
import sys
import tempfile
from pathlib import Path

from workflow.experiments import Cell, cells
from workflow.files import locked, write_json
from workflow.record import empty_record, seed_text


def find(config: str, scale: str, cell_id: str) -> Cell:
    for cell in cells(config, scale):
        if cell.id == cell_id:
            return cell
    raise SystemExit(f"{config} at scale {scale} has no cell '{cell_id}'; `./bench -n` lists them")


def run(cell: Cell, data_path: str, results: Path, reuse: Path | None = None) -> None:
    """Fit what is missing and write ``results/fits/<cell>.{json,npz}``."""
    import datasets

    partial = results / "partial" / f"{cell.id}.jsonl"
    with locked(results / "partial" / f"{cell.id}.lock", cell.id):
        data = datasets.load(data_path)
        head = {"cell": cell.id, "code_hash": cell.code_hash, "data_hash": data.data_hash}
        if data.status != "ok":
            finish(cell, head, [empty_record(cell, None, "no_data", data.reason)], {}, results)
            return
        if reuse is not None and (rows := reference_rows(cell, head, reuse)):
            finish(cell, head, [], {}, results, reused=rows)
            say(cell, f"restored {len(rows)} rows from the committed reference")
            return
        done = read_partial(partial, head)
        todo = [k for k in range(cell.splits) if k not in done]
        if done and todo:
            say(cell, f"resumes: {len(done)} of {cell.splits} splits are there")
        if todo:
            fit_missing(cell, data_path, partial, head, done, todo)
        finish(cell, head, [done[k] for k in sorted(done)], parameters_of(partial, done), results)
        shutil.rmtree(partial.with_suffix(""), ignore_errors=True)
        partial.unlink(missing_ok=True)


def fit_missing(cell: Cell, data_path: str, partial: Path, head: dict, done: dict, todo: list[int]) -> None:
    from methods import contract

    keep = partial.with_suffix("")
    keep.mkdir(parents=True, exist_ok=True)
    if not partial.exists():
        append(partial, head)
    method = contract.get(cell.method)
    together = type(method).fit_many is not contract.Method.fit_many and len(todo) > 1
    requests = [todo] if together else [[k] for k in todo]
    # The worker is started afresh ("spawn"): no inherited locks, no inherited threads.
    context = mp.get_context("spawn")
    with tempfile.TemporaryDirectory(dir=keep) as scratch:
        worker = pipe = None
        for request in requests:
            if worker is None:
                worker, pipe = start(context, cell, data_path, scratch)
            limit = cell.timeout_s * len(request)
            pipe.send(request)
            rows = None
            try:
                if pipe.poll(limit):
                    rows = pipe.recv()
                else:
                    reason = f"no answer within {limit:g} s; raise timeout_s in the experiment's config"
                    rows = [empty_record(cell, k, "timeout", reason) for k in request]
                    stop(worker)
                    worker = None
            except (EOFError, ConnectionResetError):
                worker.join()
                reason = f"the fit's process ended with code {worker.exitcode} (killed, or out of memory)"
                rows = [empty_record(cell, k, "failed", reason) for k in request]
                worker = None
            for row in rows:
                produced = Path(scratch) / f"{row['split']}.npz"
                if produced.exists():
                    os.replace(produced, keep / produced.name)  # the posterior first, then the row that names it
                append(partial, row)
                done[row["split"]] = row
                took = f"{row['seconds']:.1f} s" if row["seconds"] is not None else row["reason"]
                say(cell, f"split {row['split'] + 1} of {cell.splits}: {row['status']}, {took}")
        if worker is not None:
            pipe.close()
            worker.join(10)
            stop(worker)


def start(context, cell, data_path, scratch):
    from workflow.worker import main

    ours, theirs = context.Pipe()
    worker = context.Process(target=main, args=(theirs, cell, data_path, scratch), daemon=True)
    worker.start()
    theirs.close()
    return worker, ours


def stop(worker) -> None:
    if worker.is_alive():
        worker.kill()
    worker.join()


def append(path: Path, row: dict) -> None:
    with open(path, "a", encoding="utf-8") as f:
        f.write(json.dumps(row, sort_keys=True) + "\n")
        f.flush()
        os.fsync(f.fileno())


def read_partial(path: Path, head: dict) -> dict[int, dict]:
    """Rows of an interrupted run of the SAME code and data, by split. Others, and a torn last line, are dropped."""
    if not path.exists():
        return {}
    rows: list[dict] = []
    whole = 0
    with open(path, "rb") as f:
        for line in f:
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break
            if not line.endswith(b"\n"):
                rows.pop()
                break
            whole += len(line)
    if not rows or rows[0] != head:
        path.unlink()
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        return {}
    os.truncate(path, whole)
    keep = path.with_suffix("")
    return {r["split"]: r for r in rows[1:] if r["status"] != "ok" or (keep / f"{r['split']}.npz").exists()}


def parameters_of(partial: Path, done: dict[int, dict]) -> dict:
    import numpy as np

    out = {}
    for k, row in done.items():
        if row["status"] == "ok":
            with np.load(partial.with_suffix("") / f"{k}.npz") as z:
                out.update({f"{k}/{name}": z[name] for name in z.files})
    return out


def reference_rows(cell: Cell, head: dict, reference: Path) -> list[dict]:
    """Score rows of the committed reference for this very cell, code and data; empty if there are none."""
    from reports import compact

    if cell.experiment not in compact.experiments(reference):
        return []
    scores = compact.read(reference, cell.experiment)
    mine = scores[(scores["cell"] == head["cell"]) & (scores["code_hash"] == head["code_hash"])]
    rows = [r for r in mine.to_dict("records") if r["data_hash"] and head["data_hash"].startswith(r["data_hash"])]
    return [r | {"seed": seed_text(cell.seed(int(r["split"]), "fit") if r["split"] else None)} for r in rows]


def finish(cell: Cell, head: dict, rows: list[dict], parameters: dict, results: Path, reused: list | None = None):
    import numpy as np

    fits = results / "fits"
    fits.mkdir(parents=True, exist_ok=True)
    temporary = fits / f".{cell.id}.{os.getpid()}.npz"
    with open(temporary, "wb") as f:
        np.savez(f, **parameters)
    os.replace(temporary, fits / f"{cell.id}.npz")
    write_json(
        fits / f"{cell.id}.json",
        {**cell.values, **head, "scale": cell.scale, "splits": rows, "n_splits": cell.splits, "reused": reused or []},
    )


def say(cell: Cell, text: str) -> None:
    print(f"{cell.id}: {text}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit one cell over all its splits; resumes where it was.")
    parser.add_argument("--config", required=True, help="the experiment's YAML file")
    parser.add_argument("--scale", required=True, help="full, quick or tiny")
    parser.add_argument("--cell", required=True, help="id of the cell")
    parser.add_argument("--data", required=True, help="the data set's npz file")
    parser.add_argument("--results", default="results", type=Path)
    parser.add_argument("--reuse", default=None, type=Path, help="folder of committed reference scores to restore from")
    args = parser.parse_args()
    run(find(args.config, args.scale, args.cell), args.data, args.results, args.reuse)


if __name__ == "__main__":
    main()
