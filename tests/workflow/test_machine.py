"""What the machine does is no result: which errors and signals count as its own, and what they say to do."""

import errno
import signal
import sys

import pytest
from project import place_data

import datasets
from datasets.store import Damaged
from workflow import machine, worker
from workflow.experiments import cells
from workflow.papers import experiments as files

OF_THE_MACHINE = {
    "full disk": OSError(errno.ENOSPC, "No space left on device"),
    "quota": OSError(errno.EDQUOT, "Disk quota exceeded"),
    "lost mount": OSError(errno.ESTALE, "Stale file handle"),
    "broken disk": OSError(errno.EIO, "Input/output error"),
    "read-only": OSError(errno.EROFS, "Read-only file system"),
    "no memory": MemoryError(),
    "no memory for XLA": RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes"),
    "no memory for torch": RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    "damaged table": Damaged("x.npz is damaged; run the same command again"),
}
OF_THE_METHOD = [ValueError("x"), OSError("odd"), FileNotFoundError(errno.ENOENT, "none"), KeyError("k")]


@pytest.mark.parametrize("what", OF_THE_MACHINE)
def test_its_faults_say_what_to_do(what):
    fault = machine.fault_of(OF_THE_MACHINE[what])
    assert "the same command again" in str(fault)
    assert machine.fault_of(fault) is fault


@pytest.mark.parametrize("error", OF_THE_METHOD, ids=repr)
def test_the_faults_of_a_method_are_not_its_own(error):
    assert machine.fault_of(error) is None


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGBUS"])
def test_a_process_that_was_killed(name):
    assert name in str(machine.killed(-getattr(signal, name)))


@pytest.mark.parametrize("code", [0, 1, 3, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGFPE])
def test_a_process_that_ended_by_itself(code):
    assert machine.killed(code) is None


def test_one_line_and_no_traceback(capsys):
    with pytest.raises(SystemExit) as stop, machine.one_error():
        raise OF_THE_MACHINE["full disk"]
    assert stop.value.code == 1
    assert capsys.readouterr().err == (
        "error: [Errno 28] No space left on device; free some space, then run the same command again: it goes on where "
        "it was\n"
    )
    with pytest.raises(ValueError, match="mine"), machine.one_error():
        raise ValueError("mine")


def test_the_line_is_told_where_the_log_is_on_the_full_disk(monkeypatch, capsys):
    class Full:
        def write(self, text):
            raise OF_THE_MACHINE["full disk"]

        def flush(self):
            raise OF_THE_MACHINE["full disk"]

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Full())
        with pytest.raises(SystemExit), machine.one_error():
            raise OF_THE_MACHINE["full disk"]
    assert "free some space" in capsys.readouterr().out


@pytest.mark.parametrize("what", OF_THE_MACHINE)
def test_no_record_of_a_fit_that_the_machine_stopped(what, tmp_path, monkeypatch):
    """The write of a posterior, stubbed: a full disk was a row with status `failed`."""
    (cell, *_) = [c for c in cells(files()["dpsep_uci"], "tiny") if c.method == "predict_mean"]
    place_data(tmp_path, "wine")
    path = str(tmp_path / "results/data/wine.npz")

    def broken(*args, **kwargs):
        raise OF_THE_MACHINE[what]

    with monkeypatch.context() as patch:
        patch.setattr(worker.np, "savez", broken)
        with pytest.raises(machine.MachineFault):
            worker.respond([cell], [0], path, tmp_path, True)
    assert datasets.load(path).ok
    ((_, row),) = worker.respond([cell], [0], path, tmp_path, True)
    assert row["status"] == "ok"
