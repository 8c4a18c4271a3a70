"""./bench without arguments: what it writes, what it keeps, and what it says; the costly parts are stubs."""

import json
import math
import re
import subprocess
import sys

import pytest

import datasets
from reports import scoreboard
from workflow import quickcheck, recompute
from workflow.committed import Reference
from workflow.compare import DIFFERS, EQUAL, NEW, NOT_RUN, WITHIN, Number, Row
from workflow.recompute import Found, Tables, Unit


def unit(name, seconds=1.0, methods=None, experiment="e"):
    return Unit(experiment, "wine", (name,), methods or (name,), seconds=seconds)


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """Two cells; gives (run, which cells were recomputed, what to return as verdict)."""
    done, verdicts = [], {}

    def recompute_units(reference, units, data, raw, jobs, keep, log):
        for one in units:
            name = one.cells[0]
            path = keep / f"{name}.json"
            if path.is_file():
                yield one, Found.read(path), True
                continue
            if verdicts.get(name) == "stop":
                raise KeyboardInterrupt
            done.append(name)
            number = Number(name, "", "rmse", "1", "2", math.nan, verdicts.get(name, EQUAL), "split 1 of 3")
            Found([], [number], 0.5).write(path)
            yield one, Found([], [number], 0.5), False

    monkeypatch.setattr(quickcheck, "Reference", lambda: None)
    monkeypatch.setattr(quickcheck, "BOARD", [sys.executable, "-c", "print('all 6225 numbers')"])
    monkeypatch.setattr(quickcheck, "new_cells", lambda reference: [])
    monkeypatch.setattr(Tables, "get", lambda self, name: self.results / f"{name}.npz")
    monkeypatch.setattr(quickcheck, "candidates", lambda reference: [unit("a"), unit("b"), unit("dear", 1e6)])
    monkeypatch.setattr(recompute, "recompute_units", recompute_units)
    monkeypatch.setattr(
        recompute,
        "reader_rows",
        lambda reference, unit, found: [
            Row(n.cell, "p", n.cell, "wine", n.metric, n.committed, n.here, n.verdict, n.why) for n in found.finished
        ],
    )
    return (lambda: quickcheck.main(tmp_path, 1)), done, verdicts


def test_agreement_is_written_and_said(scene, tmp_path, capsys):
    run, done, _ = scene
    assert run() == 0
    assert sorted(done) == ["a", "b"]
    sentence = "2 of 2 sampled cells recomputed on this machine agree (1 method not run)"
    text = (tmp_path / "here/report/checked.js").read_text()
    told = json.loads(re.fullmatch(r"window\.dpbayesChecked = (.*);\n", text)[1])
    assert told["sentence"] == sentence
    assert [(r["cell"], r["verdict"]) for r in told["rows"]] == [("a", EQUAL), ("b", EQUAL), ("dear", NOT_RUN)]
    assert (tmp_path / "report/checked.js").read_text() == text  # for the front page of ./bench site
    listed = json.loads((tmp_path / "here/sample.json").read_text())["rows"]
    assert listed == [{k: v for k, v in r.items() if k != "of"} for r in told["rows"]]
    page = (tmp_path / "here/report/index.html").read_text()
    for name in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert (tmp_path / "here/report" / name).is_file(), name
    head, *lines = (tmp_path / "here/sample.csv").read_text().splitlines()
    assert head == "cell,paper,method,dataset,measure,committed,here,verdict,why"
    assert len(lines) == 3
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "all 6225 numbers"  # before anything is computed
    assert out[-2:] == [f"bench: {sentence}", f"bench: one row per cell: {tmp_path / 'here/report/index.html'}"]
    assert f"bench: not run, 1 method: {quickcheck.TOO_EXPENSIVE}" in out
    assert sum("of 2 samples" in line for line in out) == 2
    assert "e, wine: a: equal (0.5 CPU s)" in (tmp_path / "here/log.txt").read_text()


def test_a_cell_that_differs_is_named_and_is_the_exit_status(scene, capsys):
    run, _, verdicts = scene
    verdicts["b"] = DIFFERS
    assert run() == 1
    out = capsys.readouterr().out
    assert "bench: differs: b: rmse is 2, committed 1" in out
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
    monkeypatch.setattr(Tables, "get", lambda self, name: "no data: wine could not be had")
    assert run() == 0
    assert done == []
    out = capsys.readouterr().out
    assert "bench: not run, 2 methods: no data: wine could not be had\n" in out
    assert f"bench: not run, 1 method: {quickcheck.TOO_EXPENSIVE}\nbench: with a network, or with DPBAYES_MIRROR" in out
    assert "no cell was recomputed on this machine" in out


def test_without_the_committed_verdicts_the_sample_goes_on(scene, monkeypatch, capsys, tmp_path):
    run, done, _ = scene
    monkeypatch.setattr(quickcheck, "BOARD", [sys.executable, "-c", "raise SystemExit('no verdicts')"])
    assert run() == 0
    assert len(done) == 2
    assert "the committed verdicts cannot be shown" in capsys.readouterr().out
    assert "no verdicts" in (tmp_path / "here/log.txt").read_text()


def test_the_committed_verdicts_are_those_of_the_scoreboard():
    made = subprocess.run(quickcheck.BOARD, capture_output=True, text=True, cwd=quickcheck.ROOT, check=True)
    numbers = scoreboard.counts(scoreboard.first(scoreboard.read()))["numbers"]
    *_, last = made.stdout.splitlines()
    assert last.split()[:2] == ["all", str(numbers.sum())]
    assert len(made.stdout.splitlines()) == len(numbers) + 4


def test_the_page_has_the_worst_measure_of_each_cell_and_the_worst_cells_first():
    of = [
        line("a", EQUAL, "epsilon"), line("a", EQUAL, "coverage_50"), line("a", EQUAL, "rmse"),
        line("b", EQUAL, "rmse"), line("b", DIFFERS, "epsilon"),
        line("c", NOT_RUN, ""), line("d", WITHIN, "rmse"), line("d", EQUAL, "nll"),
    ]  # fmt: skip
    found = [(r.cell, r.verdict, r.measure, count) for r, count in quickcheck.one_per_cell(of)]
    assert found == [
        ("b", DIFFERS, "epsilon", 2), ("d", WITHIN, "rmse", 2), ("a", EQUAL, "rmse", 3), ("c", NOT_RUN, "", 1),
    ]  # fmt: skip


def test_progress_is_one_line_on_a_terminal_and_every_tenth_elsewhere(tmp_path, monkeypatch, capsys):
    steps = quickcheck.Steps(tmp_path / "log.txt")
    for k in range(1, 101):
        steps.progress(k / 100, f"{k} of 100", f"sample {k}")
    steps.end()
    assert len(capsys.readouterr().out.splitlines()) == 10
    assert (tmp_path / "log.txt").read_text().splitlines() == [f"sample {k}" for k in range(1, 101)]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for k in range(1, 101):
        steps.progress(k / 100, f"{k} of 100", f"sample {k}")
    steps.say("done")
    out = capsys.readouterr().out
    assert out.count("\n") == 2
    assert out.count("\r") == 100


def test_a_data_set_that_cannot_be_had_gives_a_reason_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("DPBAYES_MIRROR", str(tmp_path))
    tables = quickcheck.tables_for(tmp_path, quickcheck.Steps(tmp_path / "log.txt"))
    tables._unreachable |= {s.host for raw in datasets.get("wine").raw for s in raw.sources}
    reason = tables.get("wine")
    assert reason.startswith("no data: wine:")
    assert "Tried" not in reason
    assert not (tmp_path / "here/data/wine.npz").exists()
    assert tables.get("bernoulli_third").is_file()  # made up by its program: it needs neither


def test_a_large_download_is_not_begun(tmp_path, monkeypatch):
    monkeypatch.delenv("DPBAYES_MIRROR", raising=False)
    tables = quickcheck.tables_for(tmp_path, quickcheck.Steps(tmp_path / "log.txt"))
    assert tables.get("year") == "year is a download of 211 MB"


def test_only_what_the_reference_does_not_have_is_new():
    reference = Reference()
    for cell in quickcheck.new_cells(reference):
        known = reference.scores(cell.experiment) if reference.has(cell.experiment) else None
        methods, tables = (set() if known is None else set(known[c]) for c in ("method", "dataset"))
        assert cell.method not in methods or cell.dataset not in tables


FILES = quickcheck.experiment_files()


def test_a_method_that_the_reference_does_not_have_is_run_small(monkeypatch):
    reference = Reference()
    reference._scores["dpsep_uci"] = reference.scores("dpsep_uci").query("method != 'ridge'")
    monkeypatch.setattr(quickcheck, "experiment_files", lambda: [p for p in FILES if p.endswith("dpsep_uci.yaml")])
    (one,) = quickcheck.new_cells(reference)
    assert (one.method, one.scale, one.splits) == ("ridge", "tiny", 1)


def test_new_cells_are_marked(tmp_path, monkeypatch):
    found = [{"metric": "rmse", "value": "0.5", "status": "ok", "reason": ""}]
    monkeypatch.setattr(quickcheck, "run_cell", lambda *args: found)
    monkeypatch.setattr(Tables, "get", lambda self, name: tmp_path)
    steps = quickcheck.Steps(tmp_path / "log.txt")
    cell = next(c for c in quickcheck.cells(next(p for p in FILES if p.endswith("dpsep_uci.yaml")), "tiny"))
    (row,) = quickcheck.run_new([cell], Tables(tmp_path), steps)
    assert (row.verdict, row.committed, row.here) == (NEW, "", "0.5")
    assert "scale tiny" in row.why


def chosen(units, why_not=lambda u: "", cpu=100.0):
    found, missing = quickcheck.choose(sorted(units, key=lambda u: u.seconds), why_not, cpu)
    return {u.cells[0] for u in found}, {r.method: r.why for r in missing}


def test_the_cheapest_cell_of_each_method_and_of_each_method_in_an_experiment():
    units = [unit("a1", 1, ("a",)), unit("a2", 2, ("a",)), unit("b1", 3, ("b",)), unit("a3", 4, ("a",), experiment="f")]
    assert chosen(units) == ({"a1", "b1", "a3"}, {})


def test_one_unit_speaks_for_all_its_methods():
    assert chosen([unit("ab", 1, ("a", "b")), unit("b1", 2, ("b",))])[0] == {"ab"}


def test_what_is_too_expensive_is_not_run_and_says_what_it_needs():
    found, missing = chosen([unit("a1", 1, ("a",)), unit("b1", 500, ("b",))])
    assert found == {"a1"}
    assert missing == {"b": "needs about 500 CPU s: ./bench doubt b1"}


def test_one_expensive_cell_does_not_take_the_place_of_many():
    """It would fit by its seconds, and leave too few for the papers and experiments after it."""
    cheap = [unit(f"a{k}", 10, ("a",), experiment=f"e{k}") for k in range(8)]
    found, missing = chosen([*cheap, unit("b1", 60, ("b",))])
    assert found == {u.cells[0] for u in cheap}
    assert missing == {"b": "needs about 60 CPU s: ./bench doubt b1"}


def test_the_end_of_the_command_is_one_screen():
    of = [line(f"c{k}", DIFFERS, m) for k in range(20) for m in ("rmse", "nll")]
    of += [Row(f"d{k}", "p", f"m{k}", "wine", "", "", "", NOT_RUN, f"no data: {k}") for k in range(20)]
    assert len(quickcheck.closing(of)) == 2 * (quickcheck.LISTED + 1) + 1
    assert "differs: 14 more cells in the table" in quickcheck.closing(of)


def test_if_data_are_missing_the_next_cell_is_taken():
    units = [unit("a1", 1, ("a",)), unit("a2", 2, ("a",)), unit("b1", 3, ("b",))]
    found, missing = chosen(units, lambda u: "no data: x" if u.cells[0] in ("a1", "b1") else "")
    assert found == {"a2"}
    assert missing == {"b": "no data: x"}


def test_the_sample_has_a_cell_of_every_method_or_says_why_not():
    units = quickcheck.candidates(Reference())
    found, missing = quickcheck.choose(units, lambda unit: "")
    methods = {m for u in units for m in u.methods}
    assert {m for u in found for m in u.methods} | {r.method for r in missing} == methods
    assert sum(u.seconds for u in found) <= quickcheck.CPU_SECONDS


def line(cell, verdict, measure):
    return Row(cell, "p", "m", "wine", measure, "1", "1", verdict, "")


def row(cell, verdict, method="m"):
    return Row(cell, "p", method, "wine", "rmse", "1", "1", verdict, "")


def test_the_sentence_counts_cells_not_numbers():
    some = [row("a", EQUAL), row("a", WITHIN), row("b", EQUAL)]
    assert quickcheck.sentence(some) == "2 of 2 sampled cells recomputed on this machine agree"
    wrong = [*some, row("b", DIFFERS), row("c", NOT_RUN, "dear")]
    told = "1 of 2 sampled cells recomputed on this machine agree; b differs (1 method not run)"
    assert quickcheck.sentence(wrong) == told
    assert quickcheck.sentence([row("c", NOT_RUN)]) == "no cell was recomputed on this machine"
