"""Seconds and memory of one fit as the number of rows grows: private methods, and the same model in scikit-learn.

    python -m benchmarks.rows [results/benchmarks/rows.csv] [--rows 1000 10000 100000 1000000] [--columns 10 100]
                              [--methods NAME ...] [--limit 120]

Tables are synthetic with public ranges, and inputs and target in [-1, 1]. Settings are the defaults at epsilon = 1 and
delta = 1e-5. Every fit has its own process, on one thread. scikit-learn's ridge and logistic regression are not
private. The table is written after each fit. A second call with the same file repeats only fits that failed or that
have another limit. Columns:

* seconds: CPU seconds of the fit only.
* copies: peak memory of the process minus its memory before the fit, divided by the size of the table. It is given for
  tables from ``LEAST_MB``, because the allocator can add or save a megabyte.
* ratio: seconds divided by those of scikit-learn on the same table.
* status: "ok", "given up" (not finished after ``--limit`` CPU seconds), "not supported" or "failed".
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

from workflow import environment

KINDS = {"regression": "bounded_linear_regression", "classification": "bounded_logistic_regression"}
MODEL = {"regression": {}, "classification": {"prior_sd": 1.0}}
BUDGET = {"epsilon": 1.0, "delta": 1e-5, "mode": "enforce"}
BASE = "scikit-learn"
LEAST_MB = 5.0
KEY = ["task", "rows", "columns", "method"]
COLUMNS = [*KEY, "seconds", "copies", "ratio", "status", "reason"]


def held_mb() -> float:
    """Peak memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)


def private_fit(task: str, name: str, x, y) -> Callable[[], object]:
    """A function that does one fit, after its kernels are compiled.

    Raises ValueError, with the reason, if the method does not support the task.
    """
    import numpy as np

    from methods import contract
    from models import kind
    from models.task import PublicKnowledge, Task
    from privacy.budget import BudgetSpec

    bounds = ((-1.0, 1.0),) * x.shape[1]
    target = (-1.0, 1.0) if task == "regression" else (0.0, 1.0)
    model = kind.kind(KINDS[task]).model(**MODEL[task])
    method = contract.get(name, KINDS[task])

    def of(rows: int) -> tuple:
        public = PublicKnowledge(rows, bounds, target, "made up")
        return Task("rows", model, x[:rows], y[:rows], public), BudgetSpec(**BUDGET).open(np.random.default_rng(1))

    settings = method.Settings()
    whole, budget = of(len(x))
    if why := method.supports(whole):
        raise ValueError(why)
    method.prepare(whole, settings)
    small, other = of(min(200, len(x)))
    method.fit(
        small, settings, other, np.random.default_rng(2)
    )  # for imports, and kernels that are compiled at the first fit
    return lambda: method.fit(whole, settings, budget, np.random.default_rng(2))


def other_fit(task: str, x, y) -> Callable[[], object]:
    """A function that does one fit by scikit-learn."""
    from sklearn.linear_model import LogisticRegression, Ridge

    return lambda: (Ridge() if task == "regression" else LogisticRegression()).fit(x, y)


def one(task: str, name: str, n: int, d: int, limit: float, answer) -> None:
    """Do one fit in its own process and put its cost into the pipe ``answer``.

    SIGPROF ends the process when the fit has used ``limit`` CPU seconds of all its threads.
    """
    import numpy as np

    from privacy.budget import BudgetExceeded

    warnings.simplefilter("ignore")
    x, y = made_up(task, n, d)
    try:
        fit = other_fit(task, x, y) if name == BASE else private_fit(task, name, x, y)
    except (ValueError, BudgetExceeded) as error:
        answer.send({"status": "not supported", "reason": str(error)})
        return
    ballast = np.empty(0)
    if (free := held_mb() - now_mb()) > 0:  # fill memory that was freed, so the rise of the peak is due to the fit
        ballast = np.ones(int(free * 2**17))
    before, start = held_mb(), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        fit()
    except Exception as error:  # a benchmark reports what fails and continues
        answer.send({"status": "failed", "reason": f"{type(error).__name__}: {error}"})
        return
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    seconds = time.process_time() - start
    more, size = max(0.0, held_mb() - before), (x.nbytes + y.nbytes) / 2**20
    del ballast
    answer.send({"status": "ok", "seconds": seconds, "copies": more / size if size >= LEAST_MB else ""})


def now_mb() -> float:
    """Memory of this process now, in megabytes, if the system reports it (Linux), else its peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return held_mb()
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measured(task: str, name: str, n: int, d: int, limit: float) -> dict:
    """A row of the table without its ratio."""
    row = dict.fromkeys(COLUMNS, "") | {"task": task, "rows": n, "columns": d, "method": name}
    ours, theirs = mp.get_context("spawn").Pipe(duplex=False)
    process = mp.get_context("spawn").Process(target=one, args=(task, name, n, d, limit, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        answer = ours.recv()
    except EOFError:
        process.join()
        answer = {"status": "failed", "reason": "the process was ended (out of memory?)"}
        if process.exitcode == -signal.SIGPROF:
            answer = {"status": "given up", "reason": given_up(limit)}
    process.join()
    return row | answer


def given_up(limit: float) -> str:
    return f"after {limit:g} CPU s"


def methods_of(task: str) -> list[str]:
    """The private methods of a kind of model."""
    from methods import contract

    kind = KINDS[task]
    known = [n for n in contract.names(kind) if not contract.left_out(n, kind)]
    return [n for n in known if contract.get(n, kind).privacy is not None]


def made_up(task: str, n: int, d: int):
    """A synthetic table: x (n, d) uniform on [-1, 1], and y (n,) a function of x with noise.

    y is the tanh of a linear function of x plus noise of similar size. In classification, it is 1 if that is positive,
    else 0.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, (n, d))
    y = np.tanh(x @ rng.standard_normal(d) / d**0.5 + 0.5 * rng.standard_normal(n))
    return x, y if task == "regression" else (y > 0).astype(float)


def table(rows: Sequence[int], columns: Sequence[int], wanted: Sequence[str], limit: float, out: Path) -> pd.DataFrame:
    """Every method on every size, stored in ``out``, with a line of progress per fit.

    A method that was given up is not tried on more rows.
    """
    kept = pd.read_csv(out, keep_default_na=False).to_dict("records") if out.is_file() else []
    done = {tuple(r[k] for k in KEY): r for r in kept if r["status"] != "failed"}
    todo = [(task, n, d) for task in KINDS for d in columns for n in sorted(rows)]
    dropped: set[tuple] = set()
    for task, n, d in todo:
        names = [k for k in (BASE, *methods_of(task)) if not wanted or k in (*wanted, BASE)]
        for name in (k for k in names if (task, d, k) not in dropped):
            found = done.get((task, n, d, name))
            if found is None or (found["status"] == "given up" and found["reason"] != given_up(limit)):
                found = measured(task, name, n, d, limit)
                base = done.get((task, n, d, BASE), found)
                if found["status"] == base["status"] == "ok":
                    found["ratio"] = float(found["seconds"]) / max(float(base["seconds"]), 1e-9)
                done[task, n, d, name] = found
                written(done.values(), out)
                print(json.dumps({k: v for k, v in found.items() if v != ""}), file=sys.stderr, flush=True)
            if found["status"] != "ok":
                dropped.add((task, d, name))
    return written(done.values(), out)


def written(found: Iterable[dict], out: Path) -> pd.DataFrame:
    """Write the table with three digits, replacing the file ``out`` as a whole. Returns it with the ratios."""
    shown = pd.DataFrame(found, columns=COLUMNS)
    for name in ("seconds", "copies", "ratio"):
        shown[name] = [f"{float(v):.3g}" if v != "" else "" for v in shown[name]]
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f"{out.name}.partial")
    shown.to_csv(partial, index=False)
    partial.replace(out)
    return shown


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=Path("results/benchmarks/rows.csv"))
    parser.add_argument("--rows", nargs="+", type=int, default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--columns", nargs="+", type=int, default=[10, 100])
    parser.add_argument("--methods", nargs="+", default=[], help="only these, and scikit-learn")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds after which a fit is given up")
    args = parser.parse_args(argv)
    os.environ.update(environment.variables())
    found = table(args.rows, args.columns, args.methods, args.limit, args.out)
    print(found.drop(columns="reason").to_string(index=False))


if __name__ == "__main__":
    main()
