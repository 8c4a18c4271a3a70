"""Ending a tree of processes, and the memory of one."""

import os
import subprocess
import sys

import pytest

from workflow import processes

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
    tree = processes.below(root.pid)
    assert len(tree) == 1
    # From a process of its own, below which there is nothing else; that of the test runner has more.
    code = "import sys; from workflow import processes; processes.end_below(int(sys.argv[1]), 1.0)"
    subprocess.run([sys.executable, "-c", code, str(root.pid)], check=True)
    assert root.wait() == 0  # its child is gone, so that it has nothing to wait for
    assert not tree[0].is_running()
    root.stdout.close()


def test_memory_of_a_process():
    assert processes.resident_mb(os.getpid()) > 10
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert processes.resident_mb(done.pid) == 0.0
    assert processes.below(done.pid) == []
