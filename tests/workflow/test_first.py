"""./bench without arguments: what it writes, what it keeps, and what it says; the costly parts are stubs."""

import json
import re
import subprocess
import sys
from concurrent.futures import Future

import pytest

from workflow import first, spot_check
from workflow.sample import Sample
from workflow.spot_check import DIFFERS, EQUAL, NEW, NOT_RUN, Row, Unit


class Here:
    """A pool that works in this process."""

    def __init__(self, *args):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False

    def shutdown(self, **options):
        pass

    def submit(self, work, *args):
        job = Future()
        try:
            job.set_result(work(*args))
        except KeyboardInterrupt as e:
            job.set_exception(e)
        return job


def unit(name, seconds=1.0):
    return Unit("p", "wine", (name,), (name,), seconds, Sample("e", "wine", (name,), (name,), (0,), (), seconds))


class Checker:
    def __init__(self, *args):
        pass

    def exact_rows(self, one):
        return []


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """Two cells; gives (run, which cells were recomputed, what to return as verdict)."""
    done, verdicts = [], {}

    def recompute(unit, *rest):
        if verdicts.get(unit.cells[0]) == "stop":
            raise KeyboardInterrupt
        done.append(unit.cells[0])
        return [{"cell": unit.cells[0]}], [], 0.5

    def compared(checker, unit, scored):
        name = unit.cells[0]
        return [Row(name, "p", name, "wine", "rmse", "1", "2", verdicts.get(name, EQUAL), "split 1 of 3")]

    monkeypatch.setattr(first, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(first, "as_completed", list)
    monkeypatch.setattr(first, "Checker", Checker)
    monkeypatch.setattr(
        first, "report_command", lambda out: [sys.executable, "-c", f"import os; os.makedirs({str(out)!r})"]
    )
    monkeypatch.setattr(first, "new_cells", lambda checker: [])
    monkeypatch.setattr(first.Tables, "get", lambda self, name: self.results / f"{name}.npz")
    monkeypatch.setattr(spot_check, "estimates", lambda checker: {})
    monkeypatch.setattr(spot_check, "candidates", lambda checker, cost: [unit("a"), unit("b"), unit("dear", 1e6)])
    monkeypatch.setattr(spot_check, "digest", lambda checker, unit, data: unit.cells[0])
    monkeypatch.setattr(spot_check, "recompute", recompute)
    monkeypatch.setattr(spot_check, "compared", compared)
    monkeypatch.setattr(first.os, "environ", dict(first.os.environ))
    return (lambda: first.main(tmp_path, 1)), done, verdicts


def test_agreement_is_written_and_said(scene, tmp_path, capsys):
    run, done, _ = scene
    assert run() == 0
    assert sorted(done) == ["a", "b"]
    sentence = "2 of 2 sampled cells recomputed on this machine agree (1 method not run)"
    text = (tmp_path / "here/report/checked.js").read_text()
    told = json.loads(re.fullmatch(r"window\.dpbayesChecked = (.*);\n", text)[1])
    assert told["sentence"] == sentence
    assert {(r["cell"], r["verdict"]) for r in told["rows"]} == {("a", EQUAL), ("b", EQUAL), ("dear", NOT_RUN)}
    assert json.loads((tmp_path / "here/sample.json").read_text())["rows"] == told["rows"]
    head, *lines = (tmp_path / "here/sample.csv").read_text().splitlines()
    assert head == "cell,paper,method,dataset,measure,committed,here,verdict,why"
    assert len(lines) == 3
    out = capsys.readouterr().out.splitlines()
    assert out[-2:] == [f"bench: {sentence}", f"bench: the report: {tmp_path / 'here/report/index.html'}"]
    assert any("1/2" in line and "0.5 CPU s" in line for line in out)


def test_a_cell_that_differs_is_named_and_is_the_exit_status(scene, capsys):
    run, _, verdicts = scene
    verdicts["b"] = DIFFERS
    assert run() == 1
    out = capsys.readouterr().out
    assert "bench: b: rmse is 2, committed 1" in out
    assert "1 of 2 sampled cells recomputed on this machine agree; b differs" in out


def test_what_is_done_is_kept_when_it_is_stopped(scene, capsys):
    run, done, verdicts = scene
    verdicts["b"] = "stop"
    with pytest.raises(KeyboardInterrupt):
        run()
    assert done == ["a"]
    verdicts.clear()
    assert run() == 0
    assert done == ["a", "b"]
    assert "1 of 2 samples are kept from an earlier call" in capsys.readouterr().out


def test_without_data_it_says_what_is_missing_and_how_to_go_on(scene, monkeypatch, capsys):
    run, done, _ = scene
    monkeypatch.setattr(first.Tables, "get", lambda self, name: "no data: wine could not be had")
    assert run() == 0
    assert done == []
    out = capsys.readouterr().out
    assert "bench: not here: no data: wine could not be had; with a network, or with DPBAYES_MIRROR" in out
    assert "no cell was recomputed on this machine" in out


def test_a_report_that_fails_is_said_and_the_sample_goes_on(scene, monkeypatch, capsys):
    run, done, _ = scene
    monkeypatch.setattr(first, "report_command", lambda out: [sys.executable, "-c", "raise SystemExit('no sphinx')"])
    assert run() == 0
    assert len(done) == 2
    assert "bench: no report" in capsys.readouterr().out.splitlines()[-1]


def test_the_report_is_of_the_committed_reference(tmp_path):
    *_, module, flag, out = first.report_command(tmp_path)
    assert (module, flag, out) == ("reports.site", "--out", str(tmp_path))
    made = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, cwd=first.ROOT)
    assert made.returncode == 0, made.stderr
    assert "--out" in made.stdout


def test_a_data_set_that_cannot_be_had_gives_a_reason_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("DPBAYES_MIRROR", str(tmp_path))
    tables = first.Tables(tmp_path, first.Steps(tmp_path / "log.txt"))
    tables._offline = True
    reason = tables.get("wine")
    assert reason.startswith("no data: wine:")
    assert "Tried" not in reason
    assert not (tmp_path / "here/data/wine.npz").exists()
    assert tables.get("bernoulli_third").is_file()  # made up by its program: it needs neither


def test_a_large_download_is_not_begun(tmp_path, monkeypatch):
    monkeypatch.delenv("DPBAYES_MIRROR", raising=False)
    tables = first.Tables(tmp_path, first.Steps(tmp_path / "log.txt"))
    assert tables.get("year") == "year is a download of 211 MB"


def test_only_what_the_reference_does_not_have_is_new():
    for cell in first.new_cells(None):
        rows = spot_check.known(cell.experiment)
        methods, tables = (set(rows.scores[c]) if rows else set() for c in ("method", "dataset"))
        assert cell.method not in methods or cell.dataset not in tables


def test_a_method_that_the_reference_does_not_have_is_run_small(monkeypatch):
    class Known:
        scores = spot_check.known("dpsep_uci").scores.query("method != 'ridge'")

    monkeypatch.setattr(spot_check, "known", lambda name: Known if name == "dpsep_uci" else None)
    monkeypatch.setattr(first, "experiment_files", lambda: [p for p in FILES if p.endswith("dpsep_uci.yaml")])
    (one,) = first.new_cells(None)
    assert (one.method, one.scale, one.splits) == ("ridge", "tiny", 1)


FILES = first.experiment_files()


def test_new_cells_are_marked(tmp_path, monkeypatch):
    from workflow import once

    found = [{"metric": "rmse", "value": "0.5", "status": "ok", "reason": ""}]
    monkeypatch.setattr(once, "run_once", lambda *args: found)
    monkeypatch.setattr(first.Tables, "get", lambda self, name: tmp_path)
    steps = first.Steps(tmp_path / "log.txt")
    cell = next(c for c in first.cells(next(p for p in FILES if p.endswith("dpsep_uci.yaml")), "tiny"))
    (row,) = first.run_new([cell], first.Tables(tmp_path, steps), steps)
    assert (row.verdict, row.committed, row.here) == (NEW, "", "0.5")
    assert "scale tiny" in row.why
