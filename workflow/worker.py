"""The process that fits, its requests and answers, and its limits.

A compiled loop that hangs cannot be interrupted from inside. So splits are fitted by another process in its own process
group, and :class:`Worker` ends that group as a whole. The process may be killed at any time, because it writes only
temporary files. The process that asked checks these files and renames them.

A request is a file ``request<n>`` with the numbers of cells and splits. The answer is a JSON file ``answer<n>``, with
one npz file per posterior. Nothing that comes from the worker is unpickled. The pipes only wake the other process up:
their content is ignored, so a fit that prints into them does no harm.
"""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import json
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np
import psutil

from datasets.files import ROOT
from methods.contract import Diverged
from workflow import faults
from workflow.environment import generator
from workflow.store import empty_record, parameter_file

#: seconds between two checks of the limits of a worker, and seconds that a worker gets to end by itself.
LOOK, FAREWELL = 0.5, 10.0
#: the limit of wall time of a fit, as a multiple of its limit of CPU time.
BY_THE_CLOCK = 5
#: exit code of a worker that could not write its answer.
NO_ANSWER = 74
#: ends its process group when the other end of its input is closed, however the parent has ended.
GUARD = ("/bin/sh", "-c", "read _; kill -9 0")


class Lost(Exception):
    """A request has no answer. The message becomes the reason in its rows."""

    def __init__(self, status: str, reason: str):
        super().__init__(reason)
        self.status, self.reason = status, reason


class Worker:
    """A process that fits splits of a group of cells within a ``with`` block. ``scratch``: a folder for its files.

    It starts with the first request, and again after it was lost.
    """

    def __init__(self, group: Sequence, data_path: str | Path, scratch: Path):
        self.group, self.scratch, self.asked = list(group), Path(scratch).resolve(), 0
        self._data_path = os.path.abspath(data_path)
        self._guard: subprocess.Popen | None = None
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error) -> None:
        if self._process is not None and error == (None, None, None):
            worker, (asks, _) = self._running()
            asks.close()
            with suppress(subprocess.TimeoutExpired):
                worker.wait(FAREWELL)
        self.stop()

    def fit(self, pairs: Sequence[tuple]) -> list[tuple[str, dict]]:
        """Fit pairs (cell, split). Returns one pair (cell id, record) for each. Raises MachineFault.

        If there is no answer about several methods, each method is asked for alone. The same is done with fits that end
        their process.
        """
        try:
            name, mem_mb = pairs[0][0].id, max(c.mem_mb for c, _ in pairs)
            return faults.thrice(name, lambda: self._ask(pairs), self.scratch, mem_mb)
        except Lost as error:
            lost, each = error, error.status != "timeout"
        except faults.MethodError as error:  # repeated, or no answer that can be used
            lost, each = Lost("failed", str(error)), True
        parts: dict[object, list[tuple]] = {}
        for cell, k in pairs:
            parts.setdefault((cell.id, k) if each else cell.method, []).append((cell, k))
        if len(parts) > 1:
            return [row for part in parts.values() for row in self.fit(part)]
        return [(c.id, empty_record(c, k, lost.status, lost.reason)) for c, k in pairs]

    def stop(self) -> None:
        """End the worker and all processes of its group."""
        if self._guard is None:
            return
        if self._process is not None:
            end_below(self._process.pid, 0.0)  # also those that have left the group
        with suppress(ProcessLookupError):
            os.killpg(self._guard.pid, signal.SIGKILL)  # the group is there as long as its guard was not waited for
        for process in filter(None, (self._process, self._guard)):
            process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                pipe.close()
        self._guard = self._process = None

    def _ask(self, pairs: Sequence[tuple]) -> list[tuple[str, dict]]:
        try:
            if self._process is None:
                self._start()
            answer = self._answer(pairs)
            rows = faults.rows_of(answer, pairs, self.scratch)
            answer.unlink()
            return rows
        except FileNotFoundError as error:
            self.stop()
            raise Lost("failed", f"a file of the fit's process is gone: {faults.said(error)}") from error
        except BaseException as error:
            self.stop()
            if isinstance(error, faults.MachineFault):  # whatever a fit says, it is known here if the table is gone
                error.certain = not os.path.isfile(self._data_path)
            if isinstance(error, OSError) and (fault := faults.fault_of(error)):
                fault.certain = True  # it is ours, not the fit's
                raise fault from error
            raise

    def _start(self) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "TMPDIR": str(self.scratch / "tmp"),
            "PYTHONUTF8": "1",  # JAX takes no path that is not UTF-8
        }
        (self.scratch / "tmp").mkdir(parents=True, exist_ok=True)  # a fit may have removed it
        (self.scratch / "cells").write_bytes(pickle.dumps((self.group, self._data_path)))  # for one that trusts us
        (self.scratch / "answer0").unlink(missing_ok=True)
        self._guard = subprocess.Popen(GUARD, stdin=subprocess.PIPE, bufsize=0, process_group=0)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "workflow.worker", str(self.scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment,
            process_group=self._guard.pid,
        )
        try:
            while not self._heard(self.scratch / "answer0"):
                pass  # a start takes as long as the machine lets it
        except Lost as error:
            raise faults.MachineFault(f"{error} when it was started; look at its log, {faults.AGAIN}") from error

    def _running(self) -> tuple[subprocess.Popen, tuple[IO, IO]]:
        """The worker and the pipes to and from it. They exist only between :meth:`_start` and :meth:`stop`."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        return process, (process.stdin, process.stdout)

    def _heard(self, answer: Path) -> bool:
        """Whether there is an answer, after a short wait. Raises Lost or MachineFault if the worker has ended."""
        worker, (_, bell) = self._running()
        if select.select([bell], [], [], LOOK)[0] and not os.read(bell.fileno(), 4096):
            with suppress(subprocess.TimeoutExpired):  # it ends, or has closed its end of the pipe
                worker.wait(LOOK)
        code = worker.poll()
        if answer.exists():
            return True
        if code == NO_ANSWER:
            raise faults.MachineFault(f"the fit's process could not write its answer; free some space, {faults.AGAIN}")
        if code is not None:
            raise faults.killed(code) or Lost("failed", f"the fit's process ended with code {code}")
        return False

    def _answer(self, pairs: Sequence[tuple]) -> Path:
        """The file with an answer. Raises Lost or MachineFault if there will be none."""
        cell, one = pairs[0][0], len(pairs) == 1
        key = "timeout_s" if one else "request_timeout_s"
        limit, mem_mb = getattr(cell, key), max(c.mem_mb for c, _ in pairs)
        self.asked += 1
        answer = self.scratch / f"answer{self.asked}"
        numbers = {c.id: i for i, c in enumerate(self.group)}
        request = [[numbers[c.id], k] for c, k in pairs]
        (self.scratch / f"request{self.asked}").write_text(json.dumps(request), encoding="utf-8")
        worker, (asks, _) = self._running()
        begin = time.monotonic()
        before = cpu_seconds(worker.pid, below=False)  # it has no child between two requests
        with suppress(BrokenPipeError):  # it has ended, as the next look says
            asks.write(b"%d\n" % self.asked)
        while not self._heard(answer):
            used, passed = cpu_seconds(worker.pid) - before, time.monotonic() - begin
            if (taken := memory_mb(worker.pid, mem_mb)) > mem_mb:
                raise faults.MachineFault(
                    f"the fit's processes take {taken:.0f} MB, more than mem_mb = {mem_mb:g}; raise it in the "
                    f"experiment's config, {faults.AGAIN}"
                )
            if used > limit or passed > BY_THE_CLOCK * limit:
                spent = f"{limit:g} s of CPU time" if used > limit else f"{BY_THE_CLOCK * limit:g} s by the clock"
                raise Lost("timeout", f"no answer within {spent}; raise {key} in the experiment's config")
        return answer


def processes_of(pid: int, below: bool = True) -> list[psutil.Process]:
    """A process and all its present descendants."""
    try:
        root = psutil.Process(pid)
        return [root, *(root.children(recursive=True) if below else ())]
    except psutil.NoSuchProcess:
        return []


def cpu_seconds(pid: int, below: bool = True) -> float:
    """CPU seconds of a process and of its descendants that have ended and were waited for.

    ``below``: count descendants that still run, too.
    """
    total = 0.0
    for process in processes_of(pid, below):
        try:
            total += sum(process.cpu_times()[:4])  # user, system, and both of the children that have ended
        except psutil.Error:
            continue
    return total


def memory_mb(pid: int, enough: float = 0.0) -> float:
    """Memory of a process and its descendants in megabytes.

    Shared pages are counted once if the plain sum is above ``enough``. That takes longer to find out.
    """
    found = processes_of(pid)

    def total(of) -> float:
        taken = 0.0
        for process in found:
            try:
                taken += of(process)
            except psutil.Error:
                continue
        return taken / 2**20

    resident = total(lambda process: process.memory_info().rss)
    if resident <= enough or len(found) == 1 or sys.platform != "linux":
        return resident
    return total(lambda process: process.memory_full_info().pss)


def end_below(pid: int, grace: float = 20.0) -> None:
    """End all descendants of ``pid``: first by SIGTERM, which also reaches those that start meanwhile, then by SIGKILL.

    ``grace``: seconds that they get to end by themselves.
    """
    asked: set[psutil.Process] = set()
    end = time.monotonic() + grace
    while (found := _alive(processes_of(pid)[1:])) and time.monotonic() < end:
        for process in set(found) - asked:
            _send(process.terminate)
        asked |= set(found)
        time.sleep(0.05)
    # A process whose parent has ended is no longer our descendant, but got its signal while it was.
    end = time.monotonic() + LOOK
    while (found := _alive({*asked, *processes_of(pid)[1:]})) and time.monotonic() < end:
        for process in found:
            _send(process.kill)
        time.sleep(0.001)


def _alive(processes) -> list[psutil.Process]:
    out = []
    for process in processes:
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                out.append(process)
        except psutil.NoSuchProcess:
            continue
    return out


def _send(signal) -> None:
    try:
        signal()
    except psutil.Error:
        return  # it has ended by itself


def adopt_orphans() -> None:
    """Let descendants of this process remain its descendants after their parent has ended (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


# ---------------------------------------------------------------------------------------------- in the process itself


def main(scratch: Path) -> None:
    """Answer requests until the other end is closed. Exits with ``NO_ANSWER`` if an answer cannot be written."""
    bells_in, bells_out, null = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # what a fit prints goes to the log
    adopt_orphans()
    import datasets  # noqa: F401 - before the clock starts
    from methods import contract

    group, data_path = pickle.loads((scratch / "cells").read_bytes())
    contract.names()
    mask = os.umask(0o077)
    os.umask(mask)
    me, here, variables = os.getpid(), os.getcwd(), dict(os.environ)
    fresh = True

    def answer(number: str, value: object) -> None:
        if os.getpid() != me:  # a copy that a fit has made of this process
            os._exit(1)
        try:
            half = scratch / f"half{number}"
            half.write_text(json.dumps(value), encoding="utf-8")
            half.replace(scratch / f"answer{number}")
        except OSError:
            traceback.print_exc()
            os._exit(NO_ANSWER)
        try:
            os.write(bells_out, b"\n")
        except OSError:
            return  # the answer is found without it

    answer("0", [])
    for bell in os.fdopen(bells_in):
        number = bell.strip()
        request = scratch / f"request{number}"
        pairs = [(group[i], k) for i, k in json.loads(request.read_text(encoding="utf-8"))]
        request.unlink()
        try:
            rows = respond(pairs, data_path, scratch, fresh)
        except faults.MachineFault as fault:
            answer(number, {"fault": str(fault)})
            continue
        finally:  # what a fit leaves behind is not there in the next
            if os.getpid() == me:
                end_children()
            os.chdir(here)
            os.umask(mask)
            if dict(os.environ) != variables:
                os.environ.clear()
                os.environ.update(variables)
        fresh = fresh and not any(row["status"] == "ok" for _, row in rows)
        answer(number, [(name, row["split"], row) for name, row in rows])


def end_children() -> None:
    """End the processes that a fit has left."""
    while True:
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # the cheapest way to ask if there is a child
        except ChildProcessError:
            return
        end_below(os.getpid(), 0.0)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def respond(pairs: Sequence[tuple], data_path: str, scratch: Path, fresh: bool) -> list[tuple[str, dict]]:
    """Fit pairs (cell, split) of one group. Returns pairs (cell id, record), also for fits that raise.

    Raises MachineFault if the machine is to blame. The parameters of each posterior are stored in ``scratch`` under
    :func:`workflow.store.parameter_file`. ``fresh``: this is the first fit of the process, so the record of a method
    that prepares something once contains that cost.
    """
    import datasets

    results = Path(data_path).resolve().parents[1]
    first = pairs[0][0]
    try:
        method = first.adapter()
        # Loaded for each request and dropped before the fit: the table of Year has 400 MB, and the sites of EP need
        # all the memory that is left.
        data = datasets.load(data_path)
        tasks = {k: make_task(first, data, k) for k in dict.fromkeys(k for _, k in pairs)}
        del data
        settings = first.build_settings()
        reason = method.supports(tasks[pairs[0][1]])
        if reason is not None:
            return [(c.id, empty_record(c, k, "not_supported", faults.clean(str(reason)))) for c, k in pairs]
        compile_seconds = 0.0
        if fresh:
            start = time.process_time()
            method.prepare(tasks[pairs[0][1]], settings)
            compile_seconds = time.process_time() - start
        return attempt(pairs, tasks, compile_seconds, scratch, results)
    except BaseException as e:  # also what only ends a program
        if of_the_user(e):
            raise
        traceback.print_exc()
        return [(c.id, failure(c, k, e, results)) for c, k in pairs]


def attempt(pairs, tasks, compile_seconds, scratch: Path, results: Path) -> list[tuple[str, dict]]:
    """Call :func:`fit`. If it raises for several fits, fit each one alone, so that one error costs no other fit."""
    first = pairs[0][0]
    try:
        return fit(first.adapter(), pairs, tasks, first.build_settings(), compile_seconds, scratch)
    except BaseException as e:
        if len(pairs) == 1 or of_the_user(e):
            raise
        traceback.print_exc()
    out = []
    for cell, k in pairs:
        try:
            out += fit(cell.adapter(), [(cell, k)], tasks, cell.build_settings(), compile_seconds, scratch)
        except BaseException as e:
            if of_the_user(e):
                raise
            traceback.print_exc()
            out.append((cell.id, failure(cell, k, e, results)))
    return out


def of_the_user(error: BaseException) -> bool:
    """Whether an error is a Ctrl-C. A worker has no terminal, so an interrupt there comes from the method."""
    return isinstance(error, KeyboardInterrupt) and getattr(sys.modules["__main__"], "IS_WORKER", False) is False


def failure(cell, split: int, error: BaseException, results: Path | None = None) -> dict:
    """The record of a split whose fit raised. Raises MachineFault if the machine is to blame."""
    if fault := faults.fault_of(error, results):
        raise fault from error
    status = "diverged" if isinstance(error, Diverged | FloatingPointError) else "failed"
    return empty_record(cell, split, status, faults.said(error))


def make_task(cell, data, split: int):
    """The training rows of one split and the public facts about them.

    The task has no test rows. For density estimation it has no target either (a label, for example).
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
    """Fit pairs (cell, split), and store each posterior's parameters in ``scratch``. Returns pairs (cell id, record).

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
        given, parameters = faults.facts_of(cell.adapter(), tasks[k], one, dict(cell.budget).get("delta"))
        bad = faults.not_finite(parameters)
        facts = {
            "seconds": float(took[0]),
            "cpu_seconds": float(took[1]),
            "compile_seconds": compile_seconds,
            "peak_mb": round(peak, 1),
            **given,
        }
        if bad:
            reason = f"NaN or infinity in the posterior's {bad}"
            out.append((cell.id, empty_record(cell, k, "diverged", reason, **facts)))
            continue
        np.savez(scratch / parameter_file(cell.id, k), **parameters)
        out.append((cell.id, empty_record(cell, k, "ok", "", **facts)))
        compile_seconds = 0.0
    return out


def clocks() -> np.ndarray:
    """Wall seconds, and CPU seconds of this process, its threads and its children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return np.array([time.perf_counter(), time.process_time() + ended.ru_utime + ended.ru_stime])


def readings(pairs, tasks, budgets, rngs) -> tuple[list, list[np.ndarray]]:
    """Fits of pairs (cell, split) whose methods read one run per split, with the :func:`clocks` of each.

    The cost of a fit is that of reading the run plus an equal share of the run, so that the costs add up. All these
    methods name the method of the run in ``run_of``. The run uses the budget and random numbers of the first pair of
    its split, which all pairs of the split share.
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


if __name__ == "__main__":
    IS_WORKER = True
    from workflow.worker import main as answer_requests  # under its own name, which cells are pickled with

    answer_requests(Path(sys.argv[1]))
