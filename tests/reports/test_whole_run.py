"""A run of whole methods in experiments against the reference: what agrees is noted, the rest is named."""

import json
import shutil
from types import SimpleNamespace

import pandas as pd
import pytest

from datasets.files import csv_text, write_bytes, write_json
from reports import build, ledger, whole_run
from reports.config import ReportError
from tests.made_up_run import store_wine
from workflow import committed, compare, recompute
from workflow.committed import Reference
from workflow.experiments import cells, experiment_files, load
from workflow.score import MEASURED

ENTRIES = [("dpsep_uci", "predict_mean"), ("dpsep_uci", "ridge")]
MANIFEST = {"scale": "full", "noise": "public", "commit": "abc"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two closed forms on made-up wine, all their splits: (cells, score rows, folder of the results)."""
    root = tmp_path_factory.mktemp("run")
    data = root / "wine.npz"
    store_wine(data)
    (config,) = (p for p in experiment_files() if load(p)["experiment"] == "dpsep_uci")
    chosen = [c for c in cells(config, "full") if c.dataset == "wine" and ("dpsep_uci", c.method) in ENTRIES]
    results, rows = root / "results", []
    for c in chosen:
        one = recompute.Unit("dpsep_uci", "wine", (c.id,), (c.method,), tuple(range(c.splits)))
        rows += recompute.recompute_unit(one, str(data), "", str(root / "reference"), results=results).rows
    return chosen, pd.DataFrame(rows).astype(str), results


@pytest.fixture
def scene(run, tmp_path, monkeypatch):
    """A copy of the run, and a reference that holds its rows."""
    chosen, scores, made = run
    reference, results = tmp_path / "reference", tmp_path / "results"
    shutil.copytree(made, results)
    scores = scores.copy()
    write_bytes(committed.path_of(reference, "dpsep_uci"), committed.encoded(scores))
    committed.write_runs({e: committed.run_of(e, {"commit": "old"}) for e in ENTRIES}, reference)
    known = Reference(reference)
    known.entries = {e: tuple(c for c in chosen if c.method == e[1]) for e in ENTRIES}
    monkeypatch.setattr(build, "Reference", lambda folder: known)
    monkeypatch.setattr(compare, "same_kernels", lambda: True)
    return SimpleNamespace(scores=scores, fits=results / "fits", reference=reference, results=results, known=known)


def agree(scene, **changes):
    given = {"scores": scene.scores, "fits": scene.fits, "manifest": MANIFEST, "known": scene.known} | changes
    found = whole_run.agree("dpsep_uci", **given, epsilon_of=lambda events, delta: None)
    return found.good, found.wrong


def noted(scene):
    rows = committed.runs(scene.reference)
    return [rows[e]["commit"] for e in ENTRIES]


def test_what_agrees_is_noted_with_the_commit_of_the_run(scene):
    assert agree(scene) == (["dpsep_uci/predict_mean", "dpsep_uci/ridge"], [])
    assert noted(scene) == ["abc", "abc"]


def test_one_number_of_one_split_that_differs_is_named_and_the_other_method_noted(scene):
    (place,) = scene.scores.index[
        (scene.scores["method"] == "ridge") & (scene.scores["split"] == "7") & (scene.scores["metric"] == "rmse")
    ][:1]
    value = float(scene.scores.loc[place, "value"])
    moved = scene.scores.copy()
    moved.loc[place, "value"] = repr(value + 1e-6)
    good, (wrong,) = agree(scene, scores=moved)
    assert good == ["dpsep_uci/predict_mean"]
    assert "split 8: rmse is" in wrong
    assert "shift 1e-06, tolerance" in wrong
    assert noted(scene) == ["abc", "old"]


def test_a_machine_with_other_kernels_is_not_noted(scene, monkeypatch):
    monkeypatch.setattr(compare, "same_kernels", lambda: False)
    assert agree(scene) == (["dpsep_uci/predict_mean", "dpsep_uci/ridge"], [])
    assert noted(scene) == ["old", "old"]


def test_rows_that_leave_the_small_difference_are_counted(scene):
    moved = scene.scores.copy()
    of = (moved["method"] == "ridge") & (moved["metric"] == "rmse") & moved["split"].isin(["7", "8"])
    steps = [1e-5 if split == "7" else 1e-7 for split in moved.loc[of, "split"]]
    moved.loc[of, "value"] = [repr(float(v) + k) for v, k in zip(moved.loc[of, "value"], steps, strict=True)]
    found = whole_run.agree(
        "dpsep_uci", moved, scene.fits, MANIFEST, scene.known, epsilon_of=lambda events, delta: None
    )
    far = sum(k == 1e-5 for k in steps)
    assert 0 < far < len(steps)
    assert (found.far, found.alarms, found.numbers) == (far, len(steps), len(scene.scores))


def test_a_row_that_is_not_there_is_named(scene):
    some = scene.scores[(scene.scores["method"] != "ridge") | (scene.scores["split"] != "3")]
    _, wrong = agree(scene, scores=some)
    assert wrong
    assert all("split 4" in w and "is committed only" in w for w in wrong)


def test_a_method_of_which_cells_are_missing_is_not_noted(scene):
    ridge = scene.scores[scene.scores["method"] == "ridge"]
    rest = pd.concat([scene.scores[scene.scores["method"] != "ridge"], ridge[ridge["cell"] != ridge["cell"].iloc[0]]])
    good, (wrong,) = agree(scene, scores=rest)
    assert good == ["dpsep_uci/predict_mean"]
    assert f"{ridge['cell'].iloc[0]} was not" in wrong
    assert noted(scene) == ["abc", "old"]


def test_a_restored_cell_says_nothing(scene):
    cell = scene.scores.loc[scene.scores["method"] == "ridge", "cell"].iloc[0]
    path = scene.fits / f"{cell}.json"
    record = json.loads(path.read_text()) | {"reused": [{"cell": cell}]}
    path.write_text(json.dumps(record))
    _, (wrong,) = agree(scene)
    assert wrong == f"dpsep_uci/ridge: {cell} was restored from the reference; run it without reuse"


def test_a_ledger_that_has_another_row_is_named(scene):
    cell = scene.scores["cell"].iloc[0]
    row = dict.fromkeys(ledger.COLUMNS, "") | {"cell": cell, "event": "e", "accountant": "a", "epsilon": "1.0"}
    committed.write_ledger(scene.reference, "dpsep_uci", pd.DataFrame([row]))
    _, (wrong,) = agree(scene)
    assert wrong == f"{cell}, e, a: in the ledger of the reference alone"


@pytest.mark.parametrize(
    ("column", "here", "was", "same"),
    [
        ("epsilon", "1.0", "1.000000001", True),
        ("epsilon", "1.0", "1.0001", False),
        ("epsilon", "", "1.0", False),
        ("epsilon", "inf", "inf", True),
        ("relation", "add_remove", "replace_one", False),
        ("steps", "40", "40", True),
        ("steps", "40", "41", False),
    ],
)
def test_facts_of_the_ledger_are_compared(column, here, was, same):
    assert whole_run._same(column, here, was) is same


@pytest.mark.parametrize(
    "change", [{"scale": "quick"}, {"noise": "secret"}, {"commit": "abc (with changes)"}, {"commit": ""}]
)
def test_only_a_full_public_run_of_a_commit_is_compared(scene, change):
    with pytest.raises(ReportError, match=next(iter(change))):
        agree(scene, manifest=MANIFEST | change)


def test_the_command_says_what_agrees(scene, capsys):
    folder = scene.results / "scores/dpsep_uci"
    folder.mkdir(parents=True)
    (folder / "wine.csv").write_text(csv_text(scene.scores))
    write_json(scene.results / "manifest.json", MANIFEST)
    words = ["agree", "--results", str(scene.results), "--reference", str(scene.reference)]
    (config,) = (p for p in experiment_files() if load(p)["experiment"] == "dpsep_uci")
    assert build.main([*words, "--config", str(config)]) == 0
    out = capsys.readouterr().out
    assert "2 methods in experiments agree with the committed scores and ledger; 0 differences" in out
    assert f"0 of {len(scene.scores)} rows leave 1e-06 (relative), 0 their tolerance" in out
    (scene.results / "manifest.json").unlink()
    assert build.main([*words, "--config", str(config)]) == 1
    assert "manifest.json is missing" in capsys.readouterr().err


def test_costs_of_a_run_replace_those_of_the_same_fits_alone(scene):
    path = committed.path_of(scene.reference, "dpsep_uci")
    before = committed.read(scene.reference, "dpsep_uci")
    now = scene.scores.assign(seconds="7.5", cpu_seconds="6.25", peak_mb="123", value="0")
    now = now[(now["method"] != "ridge") | (now["split"] != "3")]
    rows = int((now["method"] == "ridge").sum())
    assert whole_run.costs("dpsep_uci", now, ["ridge"], scene.reference) == rows
    after = committed.read(scene.reference, "dpsep_uci")
    ours = (after["method"] == "ridge") & (after["split"] != "3")
    assert ours.sum() == rows
    assert (after.loc[ours, ["seconds", "cpu_seconds", "peak_mb"]] == ["7.5", "6.25", "123"]).all(axis=None)
    pd.testing.assert_frame_equal(after[~ours], before[~ours])
    rest = [c for c in before if c not in MEASURED]
    pd.testing.assert_frame_equal(after[rest], before[rest])
    assert committed.encoded(after) == path.read_bytes()
