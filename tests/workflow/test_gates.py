"""The gate sees a number that moved, and says which."""

import dataclasses

import pandas as pd
import pytest

from datasets.files import write_bytes
from tests.made_up_run import store_wine
from workflow import committed, compare, gates, imports, recompute
from workflow.committed import Reference
from workflow.compare import WITHIN, Number
from workflow.experiments import Cell, cells
from workflow.papers import experiments as files
from workflow.recompute import Found, Tables, Unit

ENTRIES = [("dpsep_uci", "predict_mean"), ("dpsep_uci", "ridge")]


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """Made-up wine, and a reference of two closed forms that was computed from it; samples run in this process."""
    data = tmp_path / "results/data/wine.npz"
    data.parent.mkdir(parents=True)
    store_wine(data)
    every = cells(files()["dpsep_uci"], "full")
    monkeypatch.setattr(gates, "own_units", list)
    monkeypatch.setattr(gates, "changed_entries", lambda reference: set())

    def recompute_units(reference, units, tables, raw, jobs, keep=None, log=None):
        for u in units:
            yield u, recompute.recompute_unit(u, str(tables(u.dataset)), str(raw), str(reference.folder)), False

    monkeypatch.setattr(gates, "recompute_units", recompute_units)

    def write(shift=0.0, entries=ENTRIES):
        rows, chosen = [], [c for c in every if c.dataset == "wine" and ("dpsep_uci", c.method) in entries]
        for cell in chosen:
            one = Unit("dpsep_uci", "wine", (cell.id,), (cell.method,), tuple(range(cell.splits)))
            rows += recompute.recompute_unit(one, str(data), "", str(tmp_path)).rows
        frame = pd.DataFrame(rows).astype(str)
        moved = (frame["method"] == "ridge") & (frame["metric"] == "rmse")
        frame.loc[moved, "value"] = [repr(float(v) + shift) for v in frame.loc[moved, "value"]]
        write_bytes(committed.path_of(tmp_path, "dpsep_uci"), committed.encoded(frame))
        reference = Reference(tmp_path)
        reference.entries = {e: tuple(c for c in chosen if c.method == e[1]) for e in entries}
        return reference

    return write


def gate(reference, only=("dpsep_uci",)):
    return gates.check(reference, only, Tables(reference.folder / "results"), 1)


def test_the_same_numbers_pass_and_the_gate_says_what_it_sees(scene, capsys):
    assert gate(scene()) == 0
    out = capsys.readouterr().out
    assert "8 numbers of 2 cells" in out
    assert "0 outside their tolerance" in out
    assert "0 of 8 are more than 1e-06 (relative) from the committed ones" in out
    assert "a relative shift of" in out
    assert "of 8 numbers that were computed a second time, 0 left their tolerance and 0 moved at all" in out


def test_a_moved_number_is_named(scene, capsys):
    assert gate(scene(shift=1e-6)) == 1
    out = capsys.readouterr().out
    (first, _) = [line for line in out.splitlines() if "split 1: rmse is" in line] + [""]
    assert "ridge" in first
    assert "scores/dpsep_uci.csv.gz; shift 1e-06, tolerance " in first


def test_a_seed_without_its_split_is_seen_at_the_drawn_split(scene, monkeypatch, capsys):
    """The first split has the same number either way, so that a gate of one split does not see it."""
    reference = scene(entries=[("dpsep_uci", "adassp")])
    right = Cell.seed
    monkeypatch.setattr(Cell, "seed", lambda self, split, role: right(self, 0, role))
    assert gate(reference) == 1
    said = [line for line in capsys.readouterr().out.splitlines() if "rmse is" in line]
    assert said
    assert not any("split 0:" in line for line in said)


def test_a_missing_reference_is_one_clear_error(scene):
    reference = scene()
    (reference.folder / "scores/dpsep_uci.csv.gz").unlink()
    reference._scores.clear()
    with pytest.raises(SystemExit, match=r"scores/dpsep_uci\.csv\.gz is missing; a full run"):
        gate(reference)


def test_nothing_recomputed_is_a_failure(scene):
    reference = scene()
    reference.entries = {}
    assert gate(reference, ()) == 1


def test_data_that_are_not_here_are_one_clear_error_before_anything_is_fitted(tmp_path):
    unit = Unit("dpsep_uci", "wine", ("c",), ("ridge",))
    with pytest.raises(SystemExit, match="wine: no data"):
        list(recompute.recompute_units(None, [unit], lambda name: "no data: no network", tmp_path, 1))


def test_an_interrupted_check_keeps_what_it_found(scene, tmp_path):
    reference = scene()
    (one, *_) = gates.choose(reference, ENTRIES, "abc")
    wine = tmp_path / "results/data/wine.npz"
    found = recompute.recompute_unit(one, str(wine), "", str(tmp_path))
    found.write(tmp_path / "kept.json")
    assert Found.read(tmp_path / "kept.json") == found
    reference.cells |= {c.id: c for of in reference.entries.values() for c in of}
    name = recompute.digest(reference, one, wine)
    assert name == recompute.digest(reference, one, wine)
    assert name != recompute.digest(reference, dataclasses.replace(one, splits=(0,)), wine)


def test_a_word_that_names_nothing_is_refused(scene):
    reference = scene()
    assert gates.selected(reference, ["dpsep_uci/ridge"])[0] == ENTRIES[1:]
    assert gates.selected(reference, ["dpsep_uci"])[0] == ENTRIES
    with pytest.raises(SystemExit, match="dpsep_uci/rigde: no such EXPERIMENT"):
        gates.selected(reference, ["dpsep_uci/rigde"])


def test_a_refusal_is_recomputed_as_one(scene, tmp_path):
    """A method that gives its reason and no fit is no failure: the reference says the same."""
    scene()
    chosen = cells(files()["common_linear_regression"], "full")
    refused = next(c for c in chosen if (c.dataset, c.method) == ("wine", "posterior_sampling_direct"))
    one = Unit(refused.experiment, "wine", (refused.id,), (refused.method,), (0, 1))
    rows = recompute.recompute_unit(one, str(tmp_path / "results/data/wine.npz"), "", str(tmp_path)).rows
    assert [(r["split"], r["status"]) for r in rows] == [(0, "not_supported"), (1, "not_supported")]


def test_a_number_that_moves_between_two_computations_is_a_false_alarm():
    first = Number("c", "0", "rmse", "9", "1.0", 0.1, "differs", "")
    second = dataclasses.replace(first, here="1.2")
    (one,) = gates.repeated([first], [second])
    assert (one.committed, one.here, one.verdict) == ("1.0", "1.2", "differs")
    (one,) = gates.repeated([first], [dataclasses.replace(first, here="1.05")])
    assert one.verdict == "within"
    assert gates.repeated([first], [dataclasses.replace(first, split="1")]) == []


def test_the_second_split_follows_the_last_commit(scene, monkeypatch, capsys):
    monkeypatch.setattr(imports, "head", lambda: "0123456789abcdef")
    gate(scene())
    assert "drawn from commit 0123456789ab" in capsys.readouterr().out


def test_a_whole_run_of_a_papers_own_program_is_compared_value_by_value(tmp_path, monkeypatch, capsys):
    was = pd.DataFrame({"name": ["a", "b"], "mean": ["0.5", ""], "runs": ["1 2 3", ""]})
    home = tmp_path / "papers/p/reference/scores"
    home.mkdir(parents=True)
    was.to_csv(home / "t.csv.gz", index=False)
    monkeypatch.setattr(compare, "ROOT", tmp_path)
    monkeypatch.setattr(gates.papers, "programs", lambda: ["p"])
    assert gates.check_programs(tmp_path / "results") == 1  # nothing was run

    def compared(frame):
        folder = tmp_path / "results/p/scores"
        folder.mkdir(parents=True, exist_ok=True)
        frame.to_csv(folder / "t.csv.gz", index=False)
        return gates.check_programs(tmp_path / "results")

    assert compared(was) == 0
    assert compared(was.assign(runs=["1 2 3.0000001", ""])) == 0
    assert compared(was.assign(runs=["1 2 3.1", ""])) == 1
    assert (
        "t.csv.gz, row 1: runs is 3.1, committed 3 in papers/p/reference/scores; shift 0.1" in capsys.readouterr().out
    )
    assert compared(was.assign(runs=["1 2", ""])) == 1
    assert compared(was.assign(name=["a", "c"])) == 1
    assert compared(was[:1]) == 1
    (tmp_path / "results/p/scores/t.csv.gz").rename(tmp_path / "results/p/scores/u.csv.gz")
    assert gates.check_programs(tmp_path / "results") == 1


def test_an_infinite_epsilon_does_not_hide_the_smallest_shift_that_is_seen(capsys):
    numbers = [Number("c", "0", "rmse", "2.0", "2.0", 0.002, WITHIN, "")] * 3
    gates.report([*numbers, Number("d", "", "epsilon", "inf", "inf", float("inf"), WITHIN, "")])
    told = capsys.readouterr()
    assert "0.001 would have been seen in 95 % of these numbers, of 0.001 in all (c, rmse)" in told.out + told.err
