"""What the process that fits says of a fit that raised."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from methods.contract import Diverged, MethodError
from workflow import worker
from workflow.experiments import cells
from workflow.papers import experiments

PYTHON = sys.executable


class Seen(Exception):
    """Ends a fit whose streams were looked at."""


class LeftTheRange(Diverged):
    """A method's own."""


Impostor = type("Diverged", (RuntimeError,), {})


@pytest.mark.parametrize(
    ("error", "status"),
    [(Diverged("x"), "diverged"), (LeftTheRange("x"), "diverged"), (FloatingPointError("x"), "diverged"),
     (MethodError("x"), "failed"), (Impostor("x"), "failed")],
)  # fmt: skip
def test_the_contract_says_what_diverged_and_no_name(error, status):
    cell = cells(experiments()["common_network"], "tiny")[0]
    record = worker.failure(cell, 0, error)
    assert (record["status"], record["reason"]) == (status, f"{type(error).__name__}: x")


def test_fit_and_noise_have_streams_of_their_own(tmp_path):
    """One stream for both would make what a method draws for itself depend on its noise."""
    cell = next(c for c in cells(experiments()["dpsep_uci"], "tiny") if c.method == "adassp")
    streams = {}

    class Spy:
        privacy = None

        def fit(self, task, settings, budget, rng):
            streams.update(fit=rng, noise=budget._rng)
            raise Seen

    with pytest.raises(Seen):
        worker.fit(Spy(), [(cell, 0)], {0: None}, None, 0.0, tmp_path)
    for role, stream in streams.items():
        assert stream.bit_generator.state == np.random.default_rng(cell.seed(0, role)).bit_generator.state
    assert streams["fit"].random() != streams["noise"].random()


def test_a_fit_reads_paths_as_utf_8_in_every_locale(tmp_path, monkeypatch):
    """JAX refuses a path that Python has read as ASCII: NUTS failed below a folder ü."""
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONUTF8", "0")
    code = "import os, sys; print(sys.flags.utf8_mode, os.getcwd().encode('utf-8') == os.getcwdb())"
    monkeypatch.setattr(worker.sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").write_text(f'#!/bin/sh\n{PYTHON} -c "{code}" >"$3/said"; echo >"$3/answer0"\n')
    (tmp_path / "python").chmod(0o755)
    (tmp_path / "ü").mkdir()
    monkeypatch.chdir(tmp_path / "ü")
    with worker.Worker([], tmp_path / "data.npz", tmp_path / "ü") as one:
        one._start()
    assert (tmp_path / "ü/said").read_text() == "1 True\n"


#: starts a child and waits for it; "deaf": neither ends on SIGTERM, for what is ignored is handed down.
TREE = """
import signal, subprocess, sys
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(3600)"]).wait()
"""


@pytest.mark.parametrize("manner", ["polite", "deaf"])
def test_a_tree_is_ended_whole(manner):
    root = subprocess.Popen([sys.executable, "-c", TREE, manner], stdout=subprocess.PIPE)
    assert root.stdout.read(1) == b"1"  # both are there
    tree = worker.processes_of(root.pid)[1:]
    assert len(tree) == 1
    # From a process of its own, below which there is nothing else; that of the test runner has more.
    code = "import sys; from workflow import worker; worker.end_below(int(sys.argv[1]), 1.0)"
    subprocess.run([sys.executable, "-c", code, str(root.pid)], check=True)
    assert root.wait() == 0  # its child is gone, so that it has nothing to wait for
    assert not tree[0].is_running()
    root.stdout.close()


def test_memory_of_a_process():
    assert worker.memory_mb(os.getpid()) > 10
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert worker.memory_mb(done.pid) == 0.0
    assert worker.processes_of(done.pid) == []


def test_a_group_ends_with_whoever_has_started_it():
    """Also if that is killed: the other end of the guard's input closes with it."""
    guard = subprocess.Popen(worker.GUARD, stdin=subprocess.PIPE, process_group=0)
    member = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], process_group=guard.pid)
    guard.stdin.close()
    assert (member.wait(60), guard.wait(60)) == (-signal.SIGKILL, -signal.SIGKILL)


def test_memory_and_time_of_children_count():
    code = "import time; taken = bytearray(b'x' * 10**8); print(1, flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    child.stdout.read(1)
    assert worker.memory_mb(os.getpid()) - worker.memory_mb(child.pid) > 10  # this one, without its child
    assert worker.memory_mb(os.getpid()) > 10**8 / 2**20
    assert worker.cpu_seconds(os.getpid()) > worker.cpu_seconds(child.pid) > 0
    child.kill()
    child.wait()
    child.stdout.close()
    assert worker.cpu_seconds(child.pid) == 0.0
