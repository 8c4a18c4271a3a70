"""The process that fits. It can be killed at any time: it writes only temporary files that its parent renames.

The parent (``workflow.cell``) sends split numbers, the worker answers with one record a cell and split. A compiled loop
that hangs cannot be interrupted from inside, so the parent watches the clock and kills the worker.
"""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

from methods.contract import Diverged
from workflow import machine, returned
from workflow.noise import generator
from workflow.record import empty_record, parameter_file


def die_with_parent() -> None:
    """A worker whose parent is gone reports to nobody: the system ends it (Linux), else the closed pipe does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() == 1:
            os._exit(1)


def main(connection, group, data_path: str, scratch: str) -> None:
    """Loop over requests until the parent closes the pipe: split numbers in, pairs (cell id, record) out.

    A fault of the machine is answered by itself, and ends the worker.
    """
    die_with_parent()
    fresh = True
    while True:
        try:
            wanted = connection.recv()
        except EOFError:
            return
        try:
            rows = respond(group, wanted, data_path, Path(scratch), fresh)
        except machine.MachineFault as fault:
            connection.send(fault)
            return
        fresh = fresh and not any(row["status"] == "ok" for _, row in rows)
        connection.send(rows)


def respond(group, wanted: list[int], data_path: str, scratch: Path, fresh: bool) -> list[tuple[str, dict]]:
    """Fit splits ``wanted`` of all cells of the group: pairs (cell id, record). What raises becomes a record.

    Raises MachineFault where no method is to blame. The parameters of each posterior are in ``scratch`` under
    :func:`workflow.record.parameter_file`. ``fresh``: nothing was prepared yet in this process; what it costs is
    counted once.
    """
    import datasets

    pairs = [(cell, k) for k in wanted for cell in group]
    try:
        method = group[0].adapter()
        # Loaded anew for each request and dropped before the fit: at the shape of Year a table is 400 MB, and EP's
        # sites need all there is.
        data = datasets.load(data_path)
        tasks = {k: make_task(group[0], data, k) for k in wanted}
        del data
        settings = group[0].build_settings()
        reason = method.supports(tasks[wanted[0]])
        if reason is not None:
            return [(c.id, empty_record(c, k, "not_supported", reason)) for c, k in pairs]
        compile_seconds = 0.0
        if fresh:
            start = time.process_time()
            method.prepare(tasks[wanted[0]], settings)
            compile_seconds = time.process_time() - start
        return attempt(method, pairs, tasks, settings, compile_seconds, scratch)
    except Exception as e:
        traceback.print_exc()
        return [(c.id, failure(c, k, e)) for c, k in pairs]


def attempt(method, pairs, tasks, settings, compile_seconds, scratch: Path) -> list[tuple[str, dict]]:
    """:func:`fit`; where that raises for many fits, each by itself, so that one takes no other with it."""
    try:
        return fit(method, pairs, tasks, settings, compile_seconds, scratch)
    except Exception:
        if len(pairs) == 1:
            raise
        traceback.print_exc()
    out = []
    for cell, k in pairs:
        try:
            out += fit(method, [(cell, k)], tasks, settings, compile_seconds, scratch)
        except Exception as e:
            traceback.print_exc()
            out.append((cell.id, failure(cell, k, e)))
    return out


def failure(cell, split: int, error: Exception) -> dict:
    """The record of a split whose fit raised. Raises MachineFault where the machine is to blame."""
    if fault := machine.fault_of(error):
        raise fault from error
    status = "diverged" if isinstance(error, Diverged | FloatingPointError) else "failed"
    return empty_record(cell, split, status, f"{type(error).__name__}: {error}")


def make_task(cell, data, split: int):
    """The training rows of one split, and what is public about them.

    The test rows stay behind, and so does the target of a set for density estimation (a label, say).
    """
    import datasets
    from models.task import PublicKnowledge, Task

    train, _ = cell.split_rows(data, split)
    about = datasets.get(cell.dataset)
    public = PublicKnowledge(
        n=len(train), x_bounds=tuple(about.x_bounds), y_bounds=about.y_bounds, citation=about.bounds_citation
    )
    y = None if about.task == "density" or cell.about.target == "density" else data.y[train]
    return Task(cell.dataset, cell.build_model(), data.x[train], y, public)


def fit(method, pairs, tasks, settings, compile_seconds, scratch: Path) -> list[tuple[str, dict]]:
    """Fit pairs (cell, split) and leave each posterior's parameters in ``scratch``; gives pairs (cell id, record).

    ``tasks``: split -> task. Raises what the method raises.
    """
    specs = [cell.build_budget() for cell, _ in pairs]
    if method.privacy is not None:
        from privacy.calibration import check_delta

        for delta, n in {(s.delta, tasks[k].public.n) for s, (_, k) in zip(specs, pairs, strict=True) if s.delta}:
            check_delta(delta, n)  # warns, in the cell's log, where delta is not below 1/n
    noise = [generator(cell, k, "noise") for cell, k in pairs]
    budgets = [spec.open(rng) for spec, rng in zip(specs, noise, strict=True)]
    rngs = [generator(cell, k, "fit") for cell, k in pairs]
    if len({cell.method for cell, _ in pairs}) > 1:
        fits, costs = readings(pairs, tasks, budgets, rngs)
    else:
        start = clocks()
        if len(pairs) == 1:
            fits = [method.fit(tasks[pairs[0][1]], settings, budgets[0], rngs[0])]
        else:
            fits = method.fit_many([tasks[k] for _, k in pairs], settings, budgets, rngs)
        costs = [(clocks() - start) / len(pairs)] * len(pairs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    out = []
    for (cell, k), one, took in zip(pairs, fits, costs, strict=True):
        parameters = returned.parameters_of(cell.adapter(), tasks[k], one)
        bad = returned.not_finite(parameters)
        facts = {
            "seconds": float(took[0]),
            "cpu_seconds": float(took[1]),
            "compile_seconds": compile_seconds,
            "peak_mb": round(peak, 1),
            "diagnostics": {k: float(v) for k, v in one.diagnostics.items() if np.isfinite(v)},
            "ledger": one.ledger.to_json(),
            "posterior_kind": one.posterior.kind,
        }
        for event in facts["ledger"]:  # JSON has no infinity
            event["sensitivity"] = event["sensitivity"] if np.isfinite(event["sensitivity"]) else "inf"
        if bad:
            reason = f"NaN or infinity in the posterior's {bad}"
            out.append((cell.id, empty_record(cell, k, "diverged", reason, **facts)))
            continue
        np.savez(scratch / parameter_file(cell.id, k), **parameters)
        out.append((cell.id, empty_record(cell, k, "ok", "", **facts)))
        compile_seconds = 0.0
    return out


def clocks() -> np.ndarray:
    """Seconds of the clock, and CPU seconds of this process, its threads and those of its children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return np.array([time.perf_counter(), time.process_time() + ended.ru_utime + ended.ru_stime])


def readings(pairs, tasks, budgets, rngs) -> tuple[list, list[np.ndarray]]:
    """Fits of pairs (cell, split) whose methods read one run, made once a split; and what each cost (:func:`clocks`).

    That is its reading and its share of the run, so that the costs add up to what was spent. The run is that of the
    method that they all name in ``run_of``, under the budget and random numbers of the first pair of its split: all
    pairs of a split have the same.
    """
    from methods import contract

    runs: dict[int, tuple] = {}
    readers = Counter(k for _, k in pairs)
    fits, costs = [], []
    for (cell, k), budget, rng in zip(pairs, budgets, rngs, strict=True):
        if k not in runs:
            maker, given = contract.get(cell.run_of, cell.kind), dict(cell.settings)
            names = (f.name for f in dataclasses.fields(maker.Settings))
            start = clocks()
            run = maker.fit(tasks[k], maker.Settings(**{name: given[name] for name in names}), budget, rng)
            runs[k] = run, rng, (clocks() - start) / readers[k]
        run, after, share = runs[k]
        start = clocks()
        fits.append(cell.adapter().read(run, cell.build_settings(), copy.deepcopy(after)))
        costs.append(share + clocks() - start)
    return fits, costs
