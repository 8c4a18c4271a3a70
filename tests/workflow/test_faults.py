"""Whose fault it is: the machine's faults are no rows, a method's faults are rows of that method only.

Every fault of `docs/faults.md` that a cell meets is made to happen here, in test_worker.py or by the hostile methods.
"""

import csv
import errno
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from project import HANGS, START_S, TOY, copy_project, drop_toy, environment, only_experiment, place_data, snakemake

import datasets
from datasets.store import Damaged
from methods import contract
from methods.contract import Fit
from models.kind import tiny_cases
from models.linear_regression import ConstantGaussian, LinearGaussian
from models.standardise import Standardiser
from privacy.ledger import Event, Ledger, Mechanism, Relation
from workflow import faults, worker
from workflow.experiments import cells
from workflow.papers import experiments as files
from workflow.store import parameter_file

OF_THE_MACHINE = {
    "full disk": OSError(errno.ENOSPC, "No space left on device"),
    "quota": OSError(errno.EDQUOT, "Disk quota exceeded"),
    "lost mount": OSError(errno.ESTALE, "Stale file handle"),
    "broken disk": OSError(errno.EIO, "Input/output error"),
    "read-only": OSError(errno.EROFS, "Read-only file system"),
    "no memory": MemoryError(),
    "no memory for XLA": RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes"),
    "no memory for torch": RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    "no memory for a method's file": contract.BrokenAdapter("x.py cannot be imported: MemoryError: "),
    "damaged table": Damaged("x.npz is damaged; run the same command again"),
}
OF_THE_METHOD = [ValueError("x"), OSError("odd"), FileNotFoundError(errno.ENOENT, "none"), KeyError("k")]


@pytest.mark.parametrize("what", OF_THE_MACHINE)
def test_its_faults_say_what_to_do(what):
    fault = faults.fault_of(OF_THE_MACHINE[what])
    assert "the same command again" in str(fault)
    assert faults.fault_of(fault) is fault


@pytest.mark.parametrize("name", ["EFBIG", "EXDEV", "EBUSY", "EACCES", "EMFILE", "ENXIO", "ETIMEDOUT", "EAGAIN"])
def test_a_line_says_what_to_do_for_each_word_of_the_system(name):
    fault = faults.fault_of(OSError(getattr(errno, name), "x"))
    assert str(fault) == f"[Errno {getattr(errno, name)}] x; {faults.REMEDIES[name]}, {faults.AGAIN}"


@pytest.mark.parametrize("error", OF_THE_METHOD, ids=repr)
def test_the_faults_of_a_method_are_not_its_own(error):
    assert faults.fault_of(error) is None


def test_a_file_that_is_gone_before_it_is_renamed_is_the_machines_fault_below_the_results(tmp_path):
    with pytest.raises(FileNotFoundError) as gone:
        os.replace(tmp_path / "results/a.tmp", tmp_path / "results/a")
    for results in (None, tmp_path / "results"):
        assert "a.tmp' -> " in str(faults.fault_of(gone.value, results))
    with pytest.raises(FileNotFoundError) as missing:
        (tmp_path / "results/a").read_text()
    for results in (None, tmp_path / "results"):
        assert faults.fault_of(missing.value, results) is None
    elsewhere = FileNotFoundError(errno.ENOENT, "No such file", "/elsewhere/a", None, "/elsewhere/b")
    assert faults.fault_of(elsewhere, tmp_path / "results") is None


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGBUS"])
def test_a_process_that_was_killed(name):
    assert name in str(faults.killed(-getattr(signal, name)))


@pytest.mark.parametrize("code", [0, 1, 3, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGFPE])
def test_a_process_that_ended_by_itself(code):
    assert faults.killed(code) is None


def test_one_line_and_no_traceback(capsys):
    with pytest.raises(SystemExit) as stop, faults.one_error():
        raise OF_THE_MACHINE["full disk"]
    assert stop.value.code == 1
    assert capsys.readouterr().err == (
        "error: [Errno 28] No space left on device; free some space, then run the same command again: it goes on where "
        "it was\n"
    )
    with pytest.raises(ValueError, match="mine"), faults.one_error():
        raise ValueError("mine")


def test_the_line_is_told_where_the_log_is_on_the_full_disk(monkeypatch, capsys):
    class Full:
        def write(self, text):
            raise OF_THE_MACHINE["full disk"]

        def flush(self):
            raise OF_THE_MACHINE["full disk"]

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Full())
        with pytest.raises(SystemExit), faults.one_error():
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
        with pytest.raises(faults.MachineFault):
            worker.respond([(cell, 0)], path, tmp_path, True)
    assert datasets.load(path).ok
    ((_, row),) = worker.respond([(cell, 0)], path, tmp_path, True)
    assert row["status"] == "ok"


METHOD = contract.get("predict_mean")
GOOD = ConstantGaussian(0.5, 1.0)
PLAIN = Standardiser(np.float64(0.0), np.float64(1.0), 0.0, 1.0)


@pytest.fixture(scope="module")
def task():
    return tiny_cases()["bnn_regression"](20, 0)


def posterior(kind="constant_gaussian", **parameters):
    return SimpleNamespace(kind=kind, parameters=lambda: parameters)


def test_what_the_contract_says_is_taken(task):
    _, found = faults.facts_of(METHOD, task, Fit(GOOD, Ledger(), {"steps": 3, "loss": np.float64(0.1)}))
    assert set(found) == set(GOOD.parameters())


BREACHES = {
    "no fit": (None, "where a methods.contract.Fit is due"),
    "no ledger": (Fit(GOOD, [], {}), "its ledger is a list"),
    "diagnostics that are a list": (Fit(GOOD, Ledger(), [1.0]), "its diagnostics are a list"),
    "a diagnostic that is a word": (Fit(GOOD, Ledger(), {"loss": "low"}), "diagnostic 'loss' is a str"),
    "a diagnostic that is an array": (Fit(GOOD, Ledger(), {"loss": np.ones(3)}), "diagnostic 'loss' is a ndarray"),
    "no posterior": (Fit(None, Ledger()), "its posterior is a NoneType"),
    "parameters that are no mapping": (
        Fit(SimpleNamespace(kind="constant_gaussian", parameters=lambda: [1.0]), Ledger()),
        r"parameters\(\) of its posterior gives a list",
    ),
    "an array of objects": (
        Fit(posterior(location=np.array([None]), spread=1.0), Ledger()),
        "location is an array of object",
    ),
    "an unknown kind": (
        Fit(posterior("no_such_kind", location=1.0), Ledger()),
        "unknown kind of posterior 'no_such_kind'",
    ),
    "a missing parameter": (Fit(posterior(location=1.0), Ledger()), "can be made of location"),
    "a wrong shape": (Fit(LinearGaussian(np.zeros(9), None, 1.0, PLAIN), Ledger()), "that predicts can be made of"),
}


@pytest.mark.parametrize("what", BREACHES)
def test_a_breach_names_the_method_and_what_is_wrong(what, task):
    fit, words = BREACHES[what]
    with pytest.raises(faults.BadFit, match=rf"^predict_mean.*{words}"):
        faults.facts_of(METHOD, task, fit)


def test_nan_is_a_result_and_not_a_breach(task):
    _, found = faults.facts_of(METHOD, task, Fit(ConstantGaussian(np.nan, 1.0), Ledger()))
    assert faults.not_finite(found) == "location"
    assert faults.not_finite({"words": np.array(["a"]), "n": np.arange(3)}) is None


def test_a_breach_is_a_row_of_its_method(tmp_path, monkeypatch):
    (cell, *_) = [c for c in cells(files()["dpsep_uci"], "tiny") if c.method == "predict_mean"]
    place_data(tmp_path, "wine")
    monkeypatch.setattr(type(METHOD), "fit", lambda self, *rest: Fit(posterior("no_such_kind"), Ledger()))
    ((_, row),) = worker.respond([(cell, 0)], str(tmp_path / "results/data/wine.npz"), tmp_path, True)
    assert row["status"] == "failed"
    assert "predict_mean: no 'no_such_kind'" in row["reason"]


def ledger_of(**fields):
    event = Event("x", Mechanism.GAUSSIAN, Relation.REPLACE_ONE, 1.0, 1.0)
    for name, value in fields.items():
        object.__setattr__(event, name, value)  # as a method may that makes its own
    return Ledger([event])


LEDGERS = {
    "infinite noise": {"noise_scale": np.inf},
    "no number": {"noise_scale": np.nan},
    "a curve with NaN": {"mechanism": Mechanism.WRITTEN_BOUND, "renyi_curve": ((2.0, np.nan),)},
    "an unknown mechanism": {"mechanism": "rubbish"},
    "a word": {"noise_scale": "much"},
    "a negative number of steps": {"steps": -1},
}


@pytest.mark.parametrize("what", LEDGERS)
def test_a_ledger_without_an_epsilon_is_a_breach(what, task):
    with pytest.raises(faults.BadFit, match=r"^predict_mean: no epsilon can be computed from its ledger: "):
        faults.facts_of(METHOD, task, Fit(GOOD, ledger_of(**LEDGERS[what])))


def test_a_ledger_is_stored_as_json_holds_it(task):
    facts, _ = faults.facts_of(METHOD, task, Fit(GOOD, ledger_of(sensitivity=np.inf, steps=np.int64(3))))
    (event,) = json.loads(json.dumps(facts["ledger"], allow_nan=False))
    assert (event["sensitivity"], event["steps"], event["noise_scale"]) == ("inf", 3, 1.0)


TOO_MUCH = {
    "a posterior": Fit(posterior(location=np.zeros(faults.POSTERIOR_BYTES // 8 + 1), spread=1.0), Ledger()),
    "arrays": Fit(posterior(**{f"a{k}": 1.0 for k in range(faults.ENTRIES + 1)}), Ledger()),
    "diagnostics": Fit(GOOD, Ledger(), {f"a{k}": 1.0 for k in range(faults.ENTRIES + 1)}),
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_what_is_too_much_is_a_breach(what, task):
    with pytest.raises(faults.BadFit, match="more than"):
        faults.facts_of(METHOD, task, TOO_MUCH[what])


class Mute(Exception):
    def __str__(self):
        raise SystemExit(0)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("caf\udce9 \x1b[2J \0"), "ValueError: caf\\udce9 \\x1b[2J \\x00"),
        (ValueError("two\n\tlines é"), "ValueError: two\n\tlines é"),
        (Mute(), "Mute, whose text cannot be read"),
    ],
)
def test_the_words_of_an_error_fit_into_every_file(error, words):
    assert faults.said(error) == words
    words.encode("utf-8")


def test_the_words_of_an_error_are_cut():
    for letter in ("x", "\udce9"):
        assert len(faults.said(ValueError(letter * 10**6))) == faults.LETTERS


def test_a_file_system_error_is_the_machines_below_the_folders_of_the_suite_only(tmp_path, monkeypatch):
    monkeypatch.setattr(faults.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))

    def is_the_machines(*names):
        error = OSError(errno.EACCES, "Permission denied", *names)
        return faults.fault_of(error, tmp_path / "results") is not None

    for name in ("results/fits/c.npz", "tmp/x", "cache/y", "elsewhere/__pycache__/z.nbi"):
        assert is_the_machines(str(tmp_path / name))
    assert not is_the_machines(str(tmp_path / "elsewhere/table.csv"))
    assert not is_the_machines("/root/embeddings.npy")
    assert is_the_machines()  # nobody knows: it is tried again


def test_a_fault_at_the_third_attempt_is_the_methods_if_the_machine_is_able(tmp_path, monkeypatch):
    calls = []

    def full(*args, **kwargs):
        calls.append(1)
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(faults.Repeated, match=r"^at each of 3 attempts: .*No space left on device\. This machine"):
        faults.thrice("a cell", full, tmp_path, 1.0)
    assert len(calls) == 3
    for mem_mb, limited in ((1e9, False), (1.0, True)):  # no memory; a folder that cannot be written
        with monkeypatch.context() as patch:
            if limited:
                patch.setattr(faults.tempfile, "TemporaryFile", full)
            with pytest.raises(faults.MachineFault, match="free some space"):
                faults.thrice("a cell", full, tmp_path, mem_mb)
    calls.clear()

    def damaged():
        calls.append(1)
        raise Damaged("x.npz is damaged; run the same command again")

    with pytest.raises(faults.MachineFault, match=r"x\.npz is damaged"):
        faults.thrice("a cell", damaged, tmp_path, 1.0)
    assert len(calls) == 1  # no fit has caused it
    with pytest.raises(ValueError, match="mine"):
        faults.thrice("a cell", lambda: int("mine"), tmp_path, 1.0)
    assert faults.thrice("a cell", lambda: 5, tmp_path, 1.0) == 5


@pytest.fixture
def answered(tmp_path):
    """Writes an answer to (cell, 0) and (cell, 1), whose posteriors are there, and gives its rows."""
    (cell, *_) = [c for c in cells(files()["dpsep_uci"], "tiny") if c.method == "predict_mean"]
    for k in (0, 1):
        np.savez(tmp_path / parameter_file(cell.id, k), location=1.0)

    def rows(change=lambda answer: answer, arrays=None):
        good = {"status": "ok", "reason": "", "posterior_kind": "constant_gaussian", "diagnostics": {}, "ledger": []}
        good |= {"seconds": 1.0, "cpu_seconds": 1.0, "compile_seconds": 0.0, "peak_mb": 100.0}
        if arrays is not None:
            np.savez(tmp_path / parameter_file(cell.id, 0), **arrays)
        (tmp_path / "answer1").write_text(json.dumps(change([[cell.id, k, dict(good)] for k in (0, 1)])))
        return faults.rows_of(tmp_path / "answer1", [(cell, 0), (cell, 1)], tmp_path)

    return rows


def changed(**fields):
    return lambda answer: [[name, k, row | fields] for name, k, row in answer]


FORGED = {
    "one split less": lambda answer: answer[:1],
    "one split twice": lambda answer: [answer[0], answer[0]],
    "another split": lambda answer: [answer[0], [answer[1][0], 7, answer[1][2]]],
    "another cell": lambda answer: [answer[0], ["other", *answer[1][1:]]],
    "one more": lambda answer: [*answer, ["other", 0, answer[0][2]]],
    "no list": lambda answer: 5,
    "no fields": lambda answer: [[name, k, {}] for name, k, _ in answer],
    "an unknown status": changed(status="best"),
    "no reason": changed(status="failed"),
    "seconds that are no number": changed(seconds=float("nan")),
    "negative seconds": changed(seconds=-1.0),
    "a ledger of words": changed(ledger=["x"]),
    "a ledger with NaN": changed(ledger=[{"noise_scale": float("nan")}]),
    "a diagnostic that is a list": changed(diagnostics={"x": [1]}),
    "a posterior that is not there": lambda answer: answer,
}


@pytest.mark.parametrize("what", FORGED)
def test_an_answer_that_is_none_is_no_row(answered, tmp_path, what):
    assert [(row["split"], row["status"]) for _, row in answered()] == [(0, "ok"), (1, "ok")]
    if what == "a posterior that is not there":
        next(tmp_path.glob("*.1.npz")).unlink()
    with pytest.raises(faults.BadAnswer, match="no answer that can be used"):
        answered(FORGED[what])


def test_an_answer_runs_no_code(answered, tmp_path):
    with pytest.raises(faults.BadAnswer, match="allow_pickle"):
        answered(arrays={"location": np.array([print], dtype=object)})
    (tmp_path / "answer1").write_bytes(b"\x80\x04rubbish")
    with pytest.raises(faults.BadAnswer):
        faults.rows_of(tmp_path / "answer1", [], tmp_path)


HEAD = """
experiment: toy_experiment
title: toy
sources: []
model: {kind: bnn_regression, hidden: 3}
datasets: [wine]
protocols: {literature: {splits: 20}}
scales: {full: {}, quick: {}, tiny: {}}
answers: []
"""

#: the command line of `workflow.cell` for the one cell of the experiment.
CELL = """
import sys
from workflow.cell import main
from workflow.experiments import cells
config = "papers/toy/experiments/toy_experiment.yaml"
name = cells(config, "full")[0].id
here = ["--config", config, "--scale", "full", "--cell", name, "--data", "results/data/wine.npz", "--results"]
sys.argv[1:] = here + sys.argv[1:]
main()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = copy_project(tmp_path_factory.mktemp("faults"))
    drop_toy(project)
    only_experiment(project, HEAD + "arms: [{method: toy, protocols: [literature]}]\n")
    place_data(project, "wine")
    return project


def ask(project, *, once="", results="results", more="", options=(), limit=None, fresh=True, sleep_s=0.0):
    """Run the one cell of an experiment in which something goes wrong at the first fit.

    ``limit``: bytes of a file at most. ``fresh``: it has not gone wrong yet.
    """
    if fresh and once not in ("", "exits", "hangs"):
        (project / once).unlink(missing_ok=True)
    arm = f"{{method: toy, protocols: [literature], label: '{once}', settings: {{once: '{once}', sleep_s: {sleep_s}}}}}"
    (project / "papers/toy/experiments/toy_experiment.yaml").write_text(f"{HEAD}{more}arms: [{arm}]\n")
    # not by `preexec_fn`: that forks, which JAX forbids if an earlier test of this process has imported it
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n" if limit else ""
    command = [sys.executable, "-c", limited + CELL, str(results), *options]
    done = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True, timeout=HANGS)
    (path,) = list((project / results / "fits").glob(f"*-toy-{once.replace(' ', '_')}*.json")) or [None]
    return done, None if path is None else json.loads(path.read_text())["splits"]


def stopped_with_one_error(done, words):
    assert done.returncode == 1
    assert "Traceback" not in done.stderr.rpartition("error: ")[2]
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ")
    for word in (words, "run the same command again"):
        assert word in last


ONCE = [
    "killed",
    "no space",
    *(pytest.param(what, marks=pytest.mark.nightly) for what in ("no memory", "lost mount", "hungry")),
]


@pytest.mark.parametrize("once", ONCE)
def test_a_fault_that_is_met_once_is_no_row(project, once):
    done, splits = ask(project, once=once, more="mem_mb: 700\n" if once == "hungry" else "")
    assert done.returncode == 0, done.stderr
    assert "attempt 1 of 3: " in done.stderr
    assert [r["status"] for r in splits] == ["ok"] * 20


@pytest.mark.nightly
def test_a_machine_that_cannot_write_stops_the_job_and_the_next_call_goes_on(project):
    done, splits = ask(project, once="killed", limit=faults.POSTERIOR_BYTES // 2, results="limited")
    stopped_with_one_error(done, "ended by SIGKILL")
    assert splits is None  # no row
    done, splits = ask(project, once="killed", results="limited", fresh=False)
    assert done.returncode == 0, done.stderr
    assert [r["status"] for r in splits] == ["ok"] * 20


@pytest.mark.nightly
def test_a_full_disk_in_the_middle(project, tmp_path):
    """A disk of its own that holds about half of the splits; making room is all that is to be done."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip(
            "only root may mount a small disk; test_no_record_of_a_fit_that_the_machine_stopped stubs the write instead"
        )
    try:
        done, splits = ask(project, results=disk / "results")
        stopped_with_one_error(done, "free some space")
        assert splits is None
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        done, splits = ask(project, results=disk / "results")
        assert done.returncode == 0, done.stderr
        assert "resumes: " in done.stderr
        assert [r["status"] for r in splits] == ["ok"] * 20
        _, elsewhere = ask(project, results="elsewhere")
        same = ("split", "seed", "status", "posterior_kind", "ledger")
        assert [{k: r[k] for k in same} for r in splits] == [{k: r[k] for k in same} for r in elsewhere]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.nightly
def test_a_fit_that_ends_its_own_process_is_a_row_and_tried_again_when_asked(project):
    (project / "exits").unlink(missing_ok=True)
    done, splits = ask(project, once="exits")
    assert done.returncode == 0, done.stderr
    assert [r["status"] for r in splits] == ["failed"] + ["ok"] * 19
    assert "ended with code 3" in splits[0]["reason"]
    done, splits = ask(project, once="exits")
    assert [r["status"] for r in splits] == ["failed"] + ["ok"] * 19  # it was not asked to try again
    done, splits = ask(project, once="exits", options=["--retry", "failed", "--attempt", "1"])
    assert [r["status"] for r in splits] == ["ok"] * 20
    assert "resumes: 19 of 20" in done.stderr


@pytest.mark.nightly
def test_a_fit_that_hung_is_tried_again_by_itself(project):
    """The limit of the first call is one that slow fits reach too; that of the second none does."""
    (project / "hangs").unlink(missing_ok=True)
    done, splits = ask(project, once="hangs", more="timeout_s: 2\n")
    assert done.returncode == 0, done.stderr
    assert splits[0]["status"] == "timeout"
    assert "no answer within 10 s by the clock; raise timeout_s" in splits[0]["reason"]
    kept = sum(r["status"] == "ok" for r in splits)
    (project / "hangs").touch()  # on a busy machine the limit may have come before the fit
    done, splits = ask(project, once="hangs")
    assert [r["status"] for r in splits] == ["ok"] * 20
    assert (f"resumes: {kept} of 20" in done.stderr) is (kept > 0)


def test_a_limit_is_of_cpu_time(project):
    """A fit that waits, as on a machine with too few cores, was a timeout."""
    splits = HEAD.replace("splits: 20", "splits: 1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "HEAD", splits)
        done, found = ask(project, more="timeout_s: 2\n", sleep_s=4.0, results="waits")
    assert done.returncode == 0, done.stderr
    assert [r["status"] for r in found] == ["ok"]


def test_a_limit_begins_when_the_process_is_ready(project, monkeypatch):
    """It begins later by more than five times the limit, as on a machine where many begin at once: a timeout."""
    monkeypatch.setenv(START_S, "6")
    monkeypatch.setitem(globals(), "HEAD", HEAD.replace("splits: 20", "splits: 1"))
    done, found = ask(project, more="timeout_s: 1\n", results="begins")
    assert done.returncode == 0, done.stderr
    assert [r["status"] for r in found] == ["ok"]


@pytest.mark.nightly
def test_more_cells_than_cores_are_no_timeouts(project):
    """24 jobs at once, each of a method of its own. To start them takes longer than the limit, by the clock."""
    names = [f"toy{k}" for k in range(24)]
    files = [project / f"methods/baselines/{name}.py" for name in names]
    for name, file in zip(names, files, strict=True):
        file.write_text(TOY.replace('name = "toy"', f'name = "{name}"').replace('"Toy"', f'"{name}"'), encoding="utf-8")
    try:
        arms = "".join(f"  - {{method: {name}, protocols: [literature]}}\n" for name in names)
        config = project / "papers/toy/experiments/toy_experiment.yaml"
        config.write_text(f"{HEAD.replace('splits: 20', 'splits: 2')}timeout_s: 8\narms:\n{arms}")
        target = "results/scores/toy_experiment/wine.csv"
        done = snakemake(project, "--cores", "64", target)
    finally:
        for file in files:
            file.unlink()
    assert done.returncode == 0, done.stderr
    assert len(list((project / "results/done").glob("*toy*.fits"))) >= len(names)  # a job each
    with open(project / target, newline="") as f:
        found = [(r["method"], r["split"], r["status"]) for r in csv.DictReader(f)]
    assert {status for *_, status in found} == {"ok"}
    assert len({(method, split) for method, split, _ in found}) == 24 * 2


@pytest.mark.nightly
def test_a_cell_can_be_process_1_of_a_container(project):
    apart = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode:
        pytest.skip("only root may make a namespace of processes; nothing else takes process 1 for a lost parent")
    (project / "papers/toy/experiments/toy_experiment.yaml").write_text(
        HEAD + "arms: [{method: toy, protocols: [literature]}]\n"
    )
    command = [*apart, sys.executable, "-c", CELL, "apart"]
    done = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    (path,) = (project / "apart/fits").glob("*.json")
    assert [r["status"] for r in json.loads(path.read_text())["splits"]] == ["ok"] * 20
