"""CPU seconds of every test, its children included: a plugin of pytest, and the tables of docs/tests.md.

``PYTHONPATH=tests ./bench test -p cpu_seconds`` writes tests.csv, or the file that DPBAYES_TEST_CSV names: a line per
phase of a test, and for each process what imports and collection took and what all took.
``python tests/cpu_seconds.py a.csv b.csv`` prints the tables, with two columns for each of these files.
"""

from __future__ import annotations

import csv
import os
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

FILE = os.environ.get("DPBAYES_TEST_CSV", "tests.csv")
#: kind of test -> how the paths of its files below tests/ begin; the first that fits counts.
KINDS = {
    "every method keeps the contract": ("methods/test_conformance",),
    "every private method passes the audit": ("audit/test_private_methods",),
    "numerics and guarantees": ("audit", "datasets", "evaluation", "methods", "models", "privacy"),
    "published numbers and claims": ("papers",),
    "pages, tables, comparisons": ("reports", "common_tasks"),
    "commands and workflow": ("workflow", "test_commands", "test_packaging", "dpbayes_bench", "slurm", "container"),
    "benchmarks": ("benchmarks",),
    "rules of the source": ("",),
}
SIZES = {"below 0.01 s": 0.01, "0.01 to 1 s": 1.0, "1 to 5 s": 5.0, "5 s and more": float("inf")}


def cpu_seconds() -> float:
    """Of this process and of those of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Recorder:
    """In each process of the run; the first of them writes the file, a line for each phase of a test."""

    def __init__(self, config) -> None:
        self.config = config
        self.worker = hasattr(config, "workerinput")
        self.file = None
        self.collected = None  # with workers, the first process collects nothing
        if not self.worker:
            self.file = open(FILE, "w", newline="")  # noqa: SIM115, closed at the end of the session
            self.rows = csv.writer(self.file)
            self.rows.writerow(["nodeid", "phase", "cpu", "worker"])

    def write(self, *row) -> None:
        self.rows.writerow(row)
        self.file.flush()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        now = cpu_seconds()
        report.cpu = round(now - self.last, 4)
        self.last = now
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid, location):
        self.last = cpu_seconds()

    def pytest_runtest_logreport(self, report):
        if self.file is not None:
            node = getattr(report, "node", None)
            self.write(report.nodeid, report.when, getattr(report, "cpu", ""), node.gateway.id if node else "main")

    def pytest_collection_finish(self, session):
        self.collected = cpu_seconds()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        if self.worker:
            self.config.workeroutput["cpu"] = {"imports and collection": self.collected, "all": cpu_seconds()}
            return
        if self.collected is not None:
            self.write("", "imports and collection", round(self.collected, 2), "main")
        self.write("", "all", round(time.process_time() if self.collected is None else cpu_seconds(), 2), "main")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        for what, seconds in getattr(node, "workeroutput", {}).get("cpu", {}).items():
            self.write("", what, round(seconds, 2), node.gateway.id)

    def pytest_unconfigure(self):
        if self.file is not None:
            self.file.close()


def pytest_configure(config):
    config.pluginmanager.register(Recorder(config))


def read(path: Path) -> tuple[Counter, list[tuple[str, str, float]]]:
    """CPU seconds of each test of a file, and (process, what, CPU seconds) of the processes."""
    tests, processes = Counter(), []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["nodeid"]:
                tests[re.sub(r"@(?:tests/|test_)[^@]*$", "", row["nodeid"])] += float(row["cpu"] or 0)  # xdist
            else:
                processes.append((row["worker"], row["phase"], float(row["cpu"])))
    return tests, processes


def kind(nodeid: str) -> str:
    place = nodeid.removeprefix("tests/")
    return next(name for name, begins in KINDS.items() if place.startswith(begins))


def folder(nodeid: str) -> str:
    parts = nodeid.partition("::")[0].split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else "tests"


def table(head: str, groups: Sequence[str], group_of: Callable[[str, float], str], runs: dict[str, Counter]) -> str:
    """A line per group, with the number of cases and their CPU seconds in each run."""
    lines = [f"| {head} |" + "".join(f" {run}: cases | CPU s |" for run in runs), "|---|" + "--:|--:|" * len(runs)]
    told = {g: [[v for t, v in tests.items() if group_of(t, v) == g] for tests in runs.values()] for g in groups}
    told["all"] = [list(tests.values()) for tests in runs.values()]
    for name, found in told.items():
        lines.append(f"| {name} |" + "".join(f" {len(values)} | {sum(values):.0f} |" for values in found))
    return "\n".join(lines)


def main(paths: Sequence[str]) -> None:
    found = {Path(path).stem: read(Path(path)) for path in paths}
    runs = {name: tests for name, (tests, _) in found.items()}
    folders = sorted({folder(test) for tests in runs.values() for test in tests})
    print(table("folder", folders, lambda test, _: folder(test), runs), end="\n\n")
    print(table("kind of test", list(KINDS), lambda test, _: kind(test), runs), end="\n\n")
    print(table("CPU of a case", list(SIZES), lambda _, v: next(s for s, most in SIZES.items() if v < most), runs))
    for name, (_, processes) in found.items():
        for process, what, seconds in processes:
            print(f"{name}, {process}, {what}: {seconds:.1f} CPU s")


if __name__ == "__main__":
    main(sys.argv[1:])
