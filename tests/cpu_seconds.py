"""CPU seconds of every test, its children included: a plugin of pytest, and the tables of docs/tests.md.

PYTHONPATH=tests ./bench test -p cpu_seconds     writes tests.csv (or what DPBAYES_TEST_CSV names)
python tests/cpu_seconds.py tests.csv             prints the tables
"""

from __future__ import annotations

import csv
import os
import resource
import time

import pytest

FILE = os.environ.get("DPBAYES_TEST_CSV", "tests.csv")
PHASES = ("setup", "call", "teardown")


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
            self.write(report.nodeid, report.when, report.cpu, node.gateway.id if node else "main")

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
