"""Score the fits of one data set of one experiment: tidy rows, one per number. No fit is repeated.

With ``--reuse`` it first writes the fits of jobs whose scores are all committed. Those jobs are not planned.

The scorer is named by the record of the kind of model (``models.kind``, ``evaluation.scorers``). The coverage of
simulated true parameters is one number over all data sets, so its row names no split.

Posteriors of bounded regressions are also measured by their distance from the exact posterior of the split. The kind of
model names it (``exact`` of ``models.kind.Kind``): the conjugate posterior, which is computed here, or draws of the
No-U-Turn sampler, a cell of the same experiment. The score rows of that cell have its moments, so a cell that was
restored from the reference serves as well as a fitted one.

python -m workflow.score --config X.yaml --scale full --dataset wine --data results/data/wine.npz --out scores.csv
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

import datasets
from datasets.files import write_npz, write_sealed
from evaluation.coverage import coverage_scores
from evaluation.metrics import DIAGNOSTICS
from evaluation.posterior_distance import DRAWS, Moments, distance_scores, in_frame, moments
from methods import contract
from methods._shared.frames import make_frame
from models import posteriors
from models.bounded import Frame
from models.kind import CONJUGATE
from privacy.accountants import epsilon_of
from privacy.ledger import Ledger
from workflow import faults
from workflow.cell import job_parser, run
from workflow.draws import case_of, of_cell
from workflow.experiments import Cell, cells, jobs, units
from workflow.store import RAISED, draws_of, parameters_of, record_of, seed_text
from workflow.worker import make_task

COLUMNS = (
    *("cell", "experiment", "dataset", "protocol", "method", "setting", "split", "seed", "metric", "value", "unit"),
    *("status", "reason", "epsilon", "delta", "relation", "accountant", "seconds", "cpu_seconds"),
    *("compile_seconds", "peak_mb", "code_hash", "data_hash", "scale"),
)

#: columns that differ from run to run of the same fit.
MEASURED = ("seconds", "cpu_seconds", "compile_seconds", "peak_mb")

#: number of digits of the data's hash in a score row.
DATA_HASH = 16

#: name of a score row with a moment of an exact posterior.
_TOLD = re.compile(r"reference_(mean|sd)\[(\d+)\]")


def rows_of(cell, fits: Path, data, draws: Path | None = None, exact=None) -> list[dict]:
    """All score rows of one cell. ``draws``: folder of ``workflow.draws``, for cells whose scores need them.

    ``exact``: split -> frame and moments of the exact posterior, or None (:class:`Exact`).
    """
    record = record_of(cell, fits)
    restored = [{k: v for k, v in r.items() if k in COLUMNS} for r in record["reused"]]  # the rest says of which run
    out: list[dict] = [{**r, "cell": cell.id, "scale": cell.scale} for r in restored]
    if out and not record["splits"]:
        return out
    base = {k: record[k] for k in ("cell", "experiment", "dataset", "protocol", "method", "setting")}
    base |= {"code_hash": record["code_hash"], "data_hash": record["data_hash"][:DATA_HASH], "scale": cell.scale}
    drawn = draws_of(cell, draws, record) if cell.drawn else {}
    with np.load(fits / f"{cell.id}.npz") as store:
        for row in record["splits"]:
            common = {
                **base,
                "split": "" if row["split"] is None else row["split"],
                "seed": seed_text(row["seed"]),
                "status": row["status"],
                "reason": row["reason"],
                **dict.fromkeys(("epsilon", "delta", "relation", "accountant"), ""),
                **{k: _number(row[k], 4) for k in MEASURED},
            }
            try:
                common |= _cost(cell, row["ledger"])
            except Exception as e:
                out.append({**common, **unscored(e)})
                continue
            if row["status"] != "ok":
                out.append({**common, "metric": "", "value": "", "unit": ""})
                continue
            make = partial(scores_of, cell, row, store, drawn, data, exact)
            try:
                scores = faults.thrice(cell.id, make, fits, cell.mem_mb)
                if wrong := [m for m, (v, _) in scores.items() if not math.isfinite(v)]:
                    raise ValueError(f"{', '.join(wrong)} not finite: the fit has diverged")
            except (ValueError, FloatingPointError) as e:
                reason = faults.clean(str(e))
                out.append({**common, "status": "diverged", "reason": reason, "metric": "", "value": "", "unit": ""})
                continue
            except Exception as e:  # of one method: the others keep their scores
                out.append({**common, **unscored(e)})
                continue
            told = {m: (row["diagnostics"][m], u) for m, u in DIAGNOSTICS.items() if m in row["diagnostics"]}
            scores |= told if cell.about.diagnostics or cell.diagnostics else {}
            out.extend({**common, "metric": m, "value": _number(v), "unit": u} for m, (v, u) in scores.items())
    if cell.pooled and len(record["splits"]) == cell.splits:
        like = next((r for r in out if r["status"] == "ok"), None)
        try:
            out += whole_cell(cell, drawn, like)
        except Exception as e:
            out.append({**(like or {}), "split": "", "seed": "", **unscored(e)})
    return out


def scores_of(cell, row: dict, store, drawn: dict, data, exact) -> dict[str, tuple[float, str]]:
    """metric -> (value, unit) of one split with status ok. Raises what its posterior raises."""
    k = row["split"]
    if cell.drawn:
        return score_draws(cell, k, drawn[k], data)
    parameters = parameters_of(store, k)
    scores = score_split(cell, k, row["posterior_kind"], parameters, data)
    return scores | posterior_scores(cell, k, row["posterior_kind"], parameters, exact)


def unscored(error: Exception) -> dict:
    """The fields of a score row whose score raised. Raises MachineFault if the machine is to blame."""
    if fault := faults.fault_of(error):
        raise fault from error
    reason = str(error) if isinstance(error, NoDraws) else f"its scores {RAISED} {faults.said(error)}"
    return {"status": "failed", "reason": faults.clean(reason), "metric": "", "value": "", "unit": ""}


class NoDraws(RuntimeError):
    """The draws of a split raised an error. The message names it."""


def score_draws(cell, k: int, found, data) -> dict[str, tuple[float, str]]:
    """Scores of one split from its draws (``workflow.draws``).

    Raises ValueError with the stored reason, or NoDraws if that reason is an unexpected error.
    """
    if found.dtype.kind == "U":
        raise (NoDraws if f" {RAISED} " in str(found) else ValueError)(str(found))
    return cell.about.score(case_of(cell, k, data, drawn=found))


def whole_cell(cell, drawn: dict, like: dict | None) -> list[dict]:
    """Rows of a simulated cell over all its data sets: their coverage. ``like``: a row of one of its splits."""
    fractions = [f for f in drawn.values() if f.dtype.kind != "U"]
    if like is None or not fractions:
        return []
    scores = coverage_scores(np.stack(fractions), np.random.default_rng(cell.seed(0, "coverage")))
    base = {**like, "split": "", "seed": "", **dict.fromkeys(MEASURED, "")}
    return [{**base, "metric": m, "value": _number(v), "unit": u} for m, (v, u) in scores.items()]


def score_split(cell, k: int, kind: str, parameters: dict, data) -> dict[str, tuple[float, str]]:
    """metric -> (value, unit) on the test rows of split ``k``. Raises ValueError if a prediction is not finite."""
    case = case_of(cell, k, data, posterior=posteriors.load(kind, parameters))
    # A predictive far outside the range of floating-point numbers is a result, not a warning.
    with np.errstate(all="ignore"):
        return cell.about.score(case)


def posterior_scores(cell, k: int, kind: str, parameters: dict, exact) -> dict[str, tuple[float, str]]:
    """Distances of a regression's posterior from the exact one. Empty for point estimates and other models.

    For the exact posterior itself these are its moments, which the distances of all other methods use.
    """
    if exact is None or kind != "framed":
        return {}
    posterior = posteriors.load(kind, parameters)
    if not hasattr(posterior.posterior, "sample"):
        return {}
    with np.errstate(all="ignore"):
        theta = posterior.sample(DRAWS, np.random.default_rng(cell.seed(k, "posterior")))
        if exact.is_reference(cell):
            return exact.told(moments(theta))
        if (truth := exact.of(k)) is None:
            return {}
        frame, reference = truth
        found = moments(in_frame(theta, posterior.frame, frame, cell.about.target == "regression"))
    return distance_scores(found, reference)


def public_frame(cell, data, split: int) -> Frame:
    """The scaling of a method that is not private."""
    return make_frame(make_task(cell, data, split), None)


class Exact:
    """Moments by split, computed or read at the first use."""

    def __init__(self, cells: Sequence, fits: Path, data):
        self._cell, self._data = cells[0], data
        self._known: dict[int, tuple[Frame, Moments] | None] = {}
        self._reference = next((c for c in cells if c.method == cells[0].about.exact), None)
        self._record = None
        if self._reference is not None and (path := fits / f"{self._reference.id}.json").exists():
            self._record, self._store = record_of(self._reference, fits), path.with_suffix(".npz")

    def is_reference(self, cell) -> bool:
        return self._reference is not None and cell.id == self._reference.id

    @staticmethod
    def told(found: Moments) -> dict[str, tuple[float, str]]:
        """Score rows that :meth:`of` reads back where the reference cell is restored."""
        both = {"mean": found.mean, "sd": found.sd}
        return {f"reference_{w}[{j}]": (float(v), "theta") for w, vs in both.items() for j, v in enumerate(vs)}

    def of(self, split: int) -> tuple[Frame, Moments] | None:
        """Scaling and moments of one split; None without a reference (its fit failed, or is not there yet)."""
        if split not in self._known:
            posterior = self._linear(split) if self._cell.about.exact == CONJUGATE else self._drawn(split)
            self._known[split] = None if posterior is None else (public_frame(self._cell, self._data, split), posterior)
        return self._known[split]

    def _linear(self, split: int) -> Moments:
        task = make_task(self._cell, self._data, split)
        scaled_task = public_frame(self._cell, self._data, split).task(task)
        rng = np.random.default_rng(self._cell.seed(split, "exact"))
        return moments(scaled_task.model.exact_posterior(scaled_task.x, scaled_task.y).sample(20 * DRAWS, rng))

    def _drawn(self, split: int) -> Moments | None:
        record = self._record
        if record is None or self._reference is None:
            return None
        restored = [r for r in record["reused"] if r["split"] == str(split)]
        if restored:
            rows = {r["metric"]: float(r["value"]) for r in restored if r["status"] == "ok"}
            found: dict[str, dict[int, float]] = {"mean": {}, "sd": {}}
            for metric, value in rows.items():
                if match := _TOLD.fullmatch(metric):
                    found[match[1]][int(match[2])] = value
            size = len(found["mean"])
            return Moments(*(np.array([found[w][j] for j in range(size)]) for w in ("mean", "sd"))) if size else None
        row = next((r for r in record["splits"] if r["split"] == split and r["status"] == "ok"), None)
        if row is None:
            return None
        with np.load(self._store) as store:
            parameters = parameters_of(store, split)
        posterior = posteriors.load(row["posterior_kind"], parameters)
        return moments(posterior.sample(DRAWS, np.random.default_rng(self._reference.seed(split, "posterior"))))


def exact_posteriors(cells: Sequence, fits: Path, data) -> Exact | None:
    """The exact posteriors of the cells of one data set; None if their kind of model has none."""
    return Exact(cells, fits, data) if cells and cells[0].about.exact and data.ok else None


def _cost(cell, ledger_rows: list[dict]) -> dict:
    """The privacy cost by the ledger; empty for a method without a claim and a ledger."""
    if not ledger_rows:
        return {"epsilon": "", "delta": "", "relation": "", "accountant": ""}
    ledger = Ledger.from_json([{**r, "sensitivity": float(r["sensitivity"])} for r in ledger_rows])
    stated = dict(cell.budget).get("delta")
    delta = 1e-5 if stated is None else stated
    cost = epsilon_of(ledger, delta)
    return {
        "epsilon": _number(cost.epsilon),
        "delta": repr(delta),
        "relation": str(cost.relation),
        "accountant": cost.accountant,
    }


def _number(v, digits: int = 13) -> str:
    """A number with thirteen digits, which is the precision that rounding leaves, in a short text."""
    if v is None:
        return ""
    return "inf" if math.isinf(v) else f"{float(v):.{digits}g}"


def restore(mine: Sequence[Cell], data_path: str, results: Path, reference: Path, refit: Sequence[str]) -> None:
    """Write the fits of jobs whose scores are all committed. Cells with other data than the committed are fitted."""
    from workflow import committed  # needs pandas, which scores do not

    found = jobs(mine)
    for name in sorted(committed.restored_jobs(mine, refit, reference)):
        for group in units(found[name]).values():
            run(group, data_path, results, reference, keep=True)
        for c in [c for c in found[name] if c.drawn]:
            write_npz(results / "draws" / f"{c.id}.npz", of_cell(c, results / "fits", datasets.load(data_path)))


@faults.one_error()
def main() -> None:
    """Score one data set. Raises MachineFault if a method that was planned cannot be imported now."""
    parser = job_parser("Score the fits of one data set; re-runs no fit.")
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--reuse", default=None, type=Path, help="folder of committed reference scores to restore from")
    parser.add_argument("--refit", default=[], nargs="*", metavar="METHOD", help="methods that are not restored")
    parser.add_argument("--cells", type=int, help="number of cells that were planned (default: any)")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    data = datasets.load(args.data)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    mine = [c for c in cells(args.config, args.scale) if c.dataset == args.dataset]
    if args.cells not in (None, len(mine)):
        why = "; ".join(contract.broken()) or "an experiment or method was edited"
        raise faults.MachineFault(f"{len(mine)} of {args.cells} planned cells are there: {why}; {faults.AGAIN}")
    if args.reuse:
        restore(mine, args.data, args.results, args.reuse, args.refit)
    fits, draws = args.results / "fits", args.results / "draws"
    exact = exact_posteriors(mine, fits, data)
    for cell in mine:
        writer.writerows(rows_of(cell, fits, data, draws, exact))
    write_sealed(args.out, buffer.getvalue())


if __name__ == "__main__":
    main()
