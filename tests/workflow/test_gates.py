"""The gate sees a number that moved, and says which."""

import pandas as pd
import pytest

import datasets
from datasets import store
from datasets.files import ROOT, write_bytes
from tests.made_up_run import store_wine
from workflow import check, closure, committed, compare, gates, sample, verified
from workflow.experiments import cells
from workflow.papers import experiments as files

PAIRS = [("dpsep_uci", "predict_mean"), ("dpsep_uci", "ridge")]


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """Made-up wine, and a reference of two closed forms that was computed from it; samples run in this process."""
    data = tmp_path / "results/data/wine.npz"
    data.parent.mkdir(parents=True)
    store_wine(data)
    every = cells(files()["dpsep_uci"], "full")
    chosen = [c for c in every if c.dataset == "wine" and ("dpsep_uci", c.method) in PAIRS]
    pairs = {p: [c for c in chosen if c.method == p[1]] for p in PAIRS}
    monkeypatch.setattr(closure, "pairs", lambda: pairs)
    monkeypatch.setattr(compare, "REFERENCE", tmp_path)
    monkeypatch.setattr(sample, "REFERENCE", tmp_path)
    compare.committed.cache_clear()
    sample._splits_of.cache_clear()
    compare.short_rows.cache_clear()
    compare.seconds.cache_clear()
    monkeypatch.setattr(
        check.Checker,
        "recompute",
        lambda self, chosen, *rest: [sample.recompute(s, str(self.available(s.dataset)), ()) for s in chosen],
    )

    def write(shift=0.0):
        rows = []
        for cell in chosen:
            one = sample.Sample("dpsep_uci", "wine", (cell.id,), (cell.method,), tuple(range(cell.splits)), (), 0.0)
            rows += sample.recompute(one, str(data)).rows
        frame = pd.DataFrame(rows).astype(str)
        moved = (frame["method"] == "ridge") & (frame["metric"] == "rmse")
        frame.loc[moved, "value"] = [repr(float(v) + shift) for v in frame.loc[moved, "value"]]
        write_bytes(committed.path_of(tmp_path, "dpsep_uci"), committed.encoded(frame))
        return check.Checker(tmp_path / "results/data", 1)

    yield write
    compare.committed.cache_clear()
    sample._splits_of.cache_clear()
    compare.short_rows.cache_clear()
    compare.seconds.cache_clear()


def test_the_same_numbers_pass(scene, capsys):
    assert check.check(scene(), PAIRS) == 0
    assert "recomputed 2 cells of 2 pairs, 4 numbers; 0 pairs outside" in capsys.readouterr().out


def test_a_moved_number_is_named(scene, capsys):
    assert check.check(scene(shift=1e-6), PAIRS) == 1
    out = capsys.readouterr().out
    assert "ridge" in out
    assert "split 0: rmse is" in out


def test_a_missing_reference_is_one_clear_error(scene):
    checker = scene()
    (compare.REFERENCE / "scores/dpsep_uci.csv.gz").unlink()
    with pytest.raises(SystemExit, match=r"scores/dpsep_uci\.csv\.gz is missing; a full run"):
        check.check(checker, PAIRS)


def test_nothing_recomputed_is_a_failure(scene):
    assert check.check(scene(), []) == 1


def test_a_data_set_that_is_not_here_is_one_clear_error(scene, tmp_path, monkeypatch):
    checker, asked = scene(), []
    monkeypatch.setattr(check, "fetch", lambda name, raw, out: asked.append(name) or 0)
    there = tmp_path / "results/data/wine.npz"
    whole = there.read_bytes()
    store.save(there, datasets.get("wine"), None, "no network and no mirror")
    with pytest.raises(SystemExit, match="wine: no network and no mirror"):
        checker.available("wine")
    assert asked == ["wine"], "what could not be had then is asked for again"
    monkeypatch.setattr(check, "fetch", lambda name, raw, out: out.write_bytes(whole) and 0)
    assert checker.available("wine") == there


def test_an_interrupted_check_keeps_what_it_found(scene, tmp_path):
    checker = scene()
    (one, *_) = checker.samples(PAIRS, None)
    found = sample.recompute(one, str(checker.available("wine")))
    found.write(tmp_path / "kept.json")
    again = sample.Found.read(tmp_path / "kept.json", one)
    assert (again.rows, again.executed, again.seconds) == (found.rows, found.executed, found.seconds)
    name = checker.name_of(one, checker.available("wine"), ())
    assert name == checker.name_of(one, checker.available("wine"), ())
    assert name != checker.name_of(one, checker.available("wine"), (ROOT / "privacy/budget.py",))


def test_a_word_that_names_no_pair_is_refused():
    assert gates.selected(PAIRS, ["dpsep_uci/ridge"]) == PAIRS[1:]
    assert gates.selected(PAIRS, ["dpsep_uci"]) == PAIRS
    with pytest.raises(SystemExit, match="dpsep_uci/rigde: no such EXPERIMENT"):
        gates.selected(PAIRS, ["dpsep_uci/rigde"])


def test_every_pair_of_the_config_has_a_sample_and_every_short_run_its_row(tmp_path):
    """At once the proof that no method is left out."""
    checker = check.Checker(tmp_path, 1)
    golden = {key[:2] for key in compare.short_rows()}
    small = checker.samples(list(checker.pairs), None)
    large = checker.samples(list(checker.pairs), dict.fromkeys(checker.pairs, 3))
    for chosen in (small, large):
        assert {(s.experiment, m) for s in chosen for m in s.methods} == set(checker.pairs)
        assert {(s.experiment, m) for s in chosen for m in s.methods if s.short} == golden
    assert {s.splits for s in small if not s.short and len(s.splits) < 5} == {(0,)}


@pytest.mark.parametrize("rotating", [None, 3])
def test_which_short_run_is_repeated_does_not_hang_on_what_fits_cost(tmp_path, monkeypatch, rotating):
    checker, caps = check.Checker(tmp_path, 1), compare.bands()["short"]
    golden = {key[:3] for key in compare.short_rows()}

    def short_runs():
        turns = None if rotating is None else dict.fromkeys(checker.pairs, rotating)
        chosen = [s for s in checker.samples(list(checker.pairs), turns) if s.short]
        cells = [sample.shortened(checker.cells[name], caps) for s in chosen for name in s.cells]
        return {(c.experiment, c.method, c.id) for c in cells}

    assert golden == short_runs()
    real, dear = compare.seconds, compare.bands()["dear_seconds"]

    def told(experiment):
        """Other costs, on the same side of the limit."""
        cost = {cell: seconds * (1 + int(cell[-2:], 16) % 5) for cell, seconds in real(experiment).items()}
        return {cell: s if real(experiment)[cell] > dear else min(s, dear) for cell, s in cost.items()}

    monkeypatch.setattr(check, "seconds", told)
    assert golden == short_runs()


def test_a_refusal_is_recomputed_as_one(scene, tmp_path):
    """A method that gives its reason and no fit is no failure: the reference says the same."""
    chosen = cells(files()["common_linear_regression"], "full")
    refused = next(c for c in chosen if (c.dataset, c.method) == ("wine", "posterior_sampling_direct"))
    one = sample.Sample(refused.experiment, "wine", (refused.id,), (refused.method,), (0, 1), (), 0.0)
    rows = sample.recompute(one, str(tmp_path / "results/data/wine.npz")).rows
    assert [(r["split"], r["status"]) for r in rows] == [(0, "not_supported"), (1, "not_supported")]


def test_status_lists_what_is_not_verified(monkeypatch, capsys):
    rows = {PAIRS[1]: dict.fromkeys(verified.COLUMNS, "") | {"status": "stale", "reason": "rmse moved"}}
    monkeypatch.setattr(closure, "states", lambda: {PAIRS[0]: verified.VERIFIED, PAIRS[1]: verified.STALE})
    monkeypatch.setattr(verified, "read", lambda: rows)
    assert gates.status() == 1
    assert "dpsep_uci/ridge: stale (rmse moved)" in capsys.readouterr().out
