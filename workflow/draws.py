"""Draws of posteriors for scores that need many of them: coverage fractions, or predicted probabilities.

    python -m workflow.draws --config X.yaml --scale full --job NAME --data results/data/D.npz

Drawing costs more than the fits of some cells. So the result is kept in ``results/draws/<cell>.npz``, and a new score
repeats neither fits nor draws. The file has an array "k" for every split k with status ok. The record of the cell's
kind of model says what it holds (``draws`` of ``models.kind.Kind``, ``evaluation.drawn``). If a posterior gives a
number that is not finite, its split has the reason as text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

import datasets
from datasets.files import write_npz
from evaluation.case import Case
from models import posteriors
from models.kind import resolve
from workflow import faults
from workflow.cell import cells_of, job_parser, write_done
from workflow.experiments import Cell
from workflow.imports import code_hash
from workflow.store import KEY, RAISED, append, parameters_of, record_of, say, whole, write_attempt


def case_of(cell, k: int, data, posterior=None, drawn=None):
    """The input of the kind of model's scorer for split ``k``, with the random numbers of its prediction."""
    return Case(
        posterior=posterior,
        model=cell.build_model(),
        data=data,
        split=partial(cell.split_rows, data, k),
        rng=np.random.default_rng(cell.seed(k, "predict")),
        as_programmed=datasets.get(cell.dataset).as_programmed,
        intervals=cell.intervals,
        rare_class=cell.rare_class,
        drawn=drawn,
    )


def of_split(cell, k: int, kind: str, parameters: dict, data):
    """The array of one split (see the module). Raises ValueError if a number is not finite."""
    case = case_of(cell, k, data, posterior=posteriors.load(kind, parameters))
    with np.errstate(all="ignore"):  # a posterior far outside the range of floating-point numbers is a result
        return resolve(cell.about.draws)(case)


def of_cell(cell, fits: Path, data) -> dict:
    """Split -> array of one cell, or the reason why there is none."""
    record, out = record_of(cell, fits), {}
    with np.load(fits / f"{cell.id}.npz") as store:
        for row in [r for r in record["splits"] if r["status"] == "ok"]:
            k = row["split"]
            try:
                make = partial(of_split, cell, k, row["posterior_kind"], parameters_of(store, k), data)
                out[str(k)] = faults.thrice(cell.id, make, fits, cell.mem_mb)
            except (ValueError, FloatingPointError) as e:
                out[str(k)] = np.array(faults.clean(str(e)))
            except Exception as e:  # of one method: the others keep their scores
                if fault := faults.fault_of(e):
                    raise fault from e
                out[str(k)] = np.array(f"its draws {RAISED} {faults.said(e)}")
            if (k + 1) % 100 == 0:
                say(cell.id, f"draws of split {k + 1} of {cell.splits}")
    return out


def of_job(job: str, group: Sequence[Cell], results: Path, data) -> None:
    """Write the draws of the cells of a job. Draws that an interrupted call made of the same fits and code are kept."""
    made = results / "partial" / f"draws_{job}.jsonl"
    there = made.read_text(encoding="utf-8").splitlines() if made.exists() else []
    for cell in group:
        path, fit = results / "draws" / f"{cell.id}.npz", record_of(cell, results / "fits").get(KEY)
        row = {"cell": cell.id, "fit": fit, "code": code_hash("workflow.draws", *cell.about.modules)}
        if json.dumps(row, sort_keys=True) in there and whole(path):
            continue
        write_npz(path, of_cell(cell, results / "fits", data))
        made.parent.mkdir(parents=True, exist_ok=True)
        append(made, row)
    made.unlink(missing_ok=True)


@faults.one_error()
def main() -> None:
    parser = job_parser("Coverage fractions or predicted probabilities of the cells of a job.")
    parser.add_argument("--job", required=True, help="name of the job")
    parser.add_argument("--attempt", default=0, type=int, help="number of this attempt, see workflow.store")
    args = parser.parse_args()
    data = datasets.load(args.data)
    group = cells_of(args.config, args.scale, args.job)
    of_job(args.job, group, args.results, data)
    write_attempt(args.results, f"draws_{args.job}", args.attempt)
    write_done(args.results, args.job, "draws", [group])


if __name__ == "__main__":
    main()
