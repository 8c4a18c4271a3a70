"""From scores on disk to tables, page and committed reference, and the gate against it."""

import json
import re
import shutil

import pandas as pd
import pytest

from evaluation.summary import read_scores
from reports import build, findings, reference
from reports.config import ReportError
from workflow import committed as committed_scores
from workflow.experiments import ConfigError, load
from workflow.papers import experiments


def call(root, what, scale="full", *more):
    args = [what, "--config", str(root / "config/dpsep_uci.yaml"), "--results", str(root / "results")]
    return build.main([*args, "--scale", scale, "--reference", str(root / "reference"), *more])


@pytest.fixture(scope="session")
def committed(project):
    assert call(project, "reference") == 0
    return project


@pytest.fixture
def copy(committed, tmp_path):
    shutil.copytree(committed, tmp_path / "project")
    return tmp_path / "project"


def test_damaged_scores_are_named_and_set_aside(copy, capsys):
    path = copy / "results/scores/dpsep_uci/wine.csv"
    path.write_text("")
    assert call(copy, "all") == 1
    assert "wine.csv. Run the same command again" in capsys.readouterr().err
    assert not path.exists()


def test_a_damaged_fit_is_set_aside_with_the_scores_made_from_it(copy, capsys):
    path = copy / "results/fits/dpsep_uci-wine-authors-dp_sep-00000000.json"
    path.write_text('{"cell": ')
    assert call(copy, "all") == 1
    assert f"{path.name} is damaged and was set aside" in capsys.readouterr().err
    assert not path.exists()
    assert not (copy / "results/scores/dpsep_uci/wine.csv").exists()


def test_outputs_stand_where_they_are_promised(built):
    results = built / "results"
    for name in ("verdicts.csv", "claims.csv", "ledger.csv", "report/index.html"):
        assert (results / name).is_file()
    for stem in ("dpsep_uci_rmse", "dpsep_uci_clip"):
        assert all((results / "figures" / f"{stem}.{end}").is_file() for end in ("svg", "csv"))
    names = {p.name for p in (results / "tables").iterdir()}
    for stem in ("dpsep_uci_all_methods", "dpsep_uci_privacy", "vinaroz2023dpsep_datasets", "vinaroz2023dpsep_table3"):
        assert {f"{stem}.csv", f"{stem}.md", f"{stem}.tex"} <= names
    assert not [n for n in names if n.endswith(".tmp")]


def test_the_report_may_go_elsewhere_than_the_run(project, tmp_path):
    assert call(project, "tables", "full", "--out", str(tmp_path / "r")) == 0
    assert (tmp_path / "r" / "verdicts.csv").is_file()
    assert (tmp_path / "r" / "tables" / "vinaroz2023dpsep_table3.md").is_file()
    assert not (tmp_path / "r" / "report").exists()


def test_a_smaller_scale_is_no_reference(project, tmp_path, capsys):
    root = tmp_path / "p"
    shutil.copytree(project, root)
    shutil.rmtree(root / "reference", ignore_errors=True)  # of a test before this one
    assert call(root, "all", "tiny") == 1
    assert "scores of scale 'full' in a report of scale 'tiny'" in capsys.readouterr().err
    folder = root / "results/scores/dpsep_uci"
    wine = pd.read_csv(folder / "wine.csv", dtype=str, keep_default_na=False)
    shutil.rmtree(folder)
    folder.mkdir()
    wine.assign(scale="tiny").query("split == '0'").to_csv(folder / "wine.csv", index=False)
    # What the full run left behind stays out when the caller names the files of its own cells.
    (folder / "power.csv").write_bytes((project / "results/scores/dpsep_uci/power.csv").read_bytes())
    assert call(root, "all", "tiny") == 1
    assert "name the score files of that scale" in capsys.readouterr().err
    assert call(root, "tables", "tiny", "--scores", str(folder / "wine.csv")) == 0
    assert set(pd.read_csv(root / "results/verdicts.csv").query("n > 0")["dataset"]) == {"wine"}
    assert call(root, "reference", "tiny") == 1
    assert "only a full run becomes the reference" in capsys.readouterr().err
    assert not (root / "reference").exists()


def test_an_experiment_without_cells_at_its_scale_reads_no_old_file(project, tmp_path, capsys):
    root = tmp_path / "p"
    shutil.copytree(project, root)
    assert call(root, "tables", "quick", "--scores") == 0
    assert set(pd.read_csv(root / "results/verdicts.csv")["verdict"]) == {"not_run"}
    assert call(root, "tables", "full", "--scores") == 1
    assert "dpsep_uci: no scores" in capsys.readouterr().err
    assert call(root, "tables", "quick", "--scores", str(root / "results/scores/other/wine.csv")) == 1
    assert "no config of experiment 'other'" in capsys.readouterr().err
    assert call(root, "tables", "quick", "--scores", str(root / "results/scores/dpsep_uci/none.csv")) == 1
    assert "no scores at" in capsys.readouterr().err


@pytest.mark.nightly
def test_reference_is_stable_and_passes_its_own_gate(committed, capsys):
    folder = committed / "reference"
    for name in ("scores/dpsep_uci.csv.gz", "verdicts.csv", "claims.csv", "ledgers/dpsep_uci.csv.gz"):
        assert (folder / name).is_file()
    assert (folder / "manifest.json").is_file()
    before = {p: p.read_bytes() for p in folder.rglob("*.csv*")}
    assert call(committed, "reference") == 0
    assert before == {p: p.read_bytes() for p in folder.rglob("*.csv*")}
    assert call(committed, "check", "full") == 0
    assert re.search(r"\d{3} verdicts agree", capsys.readouterr().out)
    assert list(pd.read_csv(folder / "claims.csv").columns) == reference.CLAIM_COLUMNS


def test_what_follows_from_committed_scores_is_made_again(copy):
    paths = [copy / "reference" / name for name in ("verdicts.csv", "claims.csv", "comparisons.csv")]
    before = [path.read_bytes() for path in paths]
    for path in paths:
        path.unlink()
    assert call(copy, "derived") == 0
    assert [path.read_bytes() for path in paths] == before


@pytest.mark.nightly
def test_order_of_rows_does_not_matter(committed, copy):
    folder = copy / "results/scores/dpsep_uci"
    for path in folder.glob("*.csv"):
        pd.read_csv(path, dtype=str, keep_default_na=False).iloc[::-1].to_csv(path, index=False)
    assert call(copy, "reference") == 0
    for name in ("scores/dpsep_uci.csv.gz", "verdicts.csv"):
        assert (copy / "reference" / name).read_bytes() == (committed / "reference" / name).read_bytes()


def test_the_gate_names_the_first_verdict_that_moved(copy, capsys):
    frame = committed_scores.read(copy / "reference", "dpsep_uci")
    hit = (frame[["dataset", "protocol", "method", "metric"]] == ["power", "authors", "ep", "rmse"]).all(axis=1)
    assert hit.any()
    frame.loc[hit, "value"] = [repr(float(v) + 1) for v in frame.loc[hit, "value"]]
    committed_scores.path_of(copy / "reference", "dpsep_uci").write_bytes(committed_scores.encoded(frame))
    assert call(copy, "check") == 1
    message = capsys.readouterr().err
    assert "source vinaroz2023dpsep, table 3, dataset power, " in message
    assert "the committed scores give" in message


def test_the_gate_sees_an_edited_verdict_and_a_lost_row(copy, capsys, monkeypatch):
    recompute, made = reference.recompute, {}  # once: the scores stay the same
    monkeypatch.setattr(reference, "recompute", lambda *given: made or made.update(recompute(*given)) or made)
    path = copy / "reference/verdicts.csv"
    text = path.read_text()
    path.write_text(text.replace(",reproduced,reproduced,", ",better,reproduced,", 1))
    assert call(copy, "check") == 1
    assert "verdict is committed as 'better'" in capsys.readouterr().err
    path.write_text("\n".join(text.splitlines()[:-1]) + "\n")
    assert call(copy, "check") == 1
    assert "rows committed" in capsys.readouterr().err
    path.unlink()
    assert call(copy, "check") == 1
    assert "not committed" in capsys.readouterr().err


@pytest.mark.nightly
def test_the_gate_fails_when_data_got_lost(copy, capsys):
    path = copy / "results/scores/dpsep_uci/wine.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    hit = frame["method"] == "vi"
    frame.loc[hit, ["split", "metric", "value", "unit"]] = ""
    frame.loc[hit, ["status", "reason"]] = ["no_data", "lost"]
    frame.drop_duplicates().to_csv(path, index=False)
    assert call(copy, "reference") == 0
    assert call(copy, "check") == 1
    assert "says no_data" in capsys.readouterr().err


def test_a_run_without_its_manifest_is_no_reference(copy, capsys):
    """Nobody could say of which commit its numbers are."""
    before = (copy / "reference/manifest.json").read_bytes()
    (copy / "results/manifest.json").unlink()
    assert call(copy, "reference") == 1
    assert "no manifest.json that names its commit" in capsys.readouterr().err
    assert (copy / "reference/manifest.json").read_bytes() == before


def test_a_run_without_a_table_of_its_config_writes_nothing(copy, capsys):
    config = copy / "config/dpsep_uci.yaml"
    config.write_text(config.read_text() + "extra: [curve.csv]\n")
    shutil.rmtree(copy / "reference/scores")
    before = {p: p.read_bytes() for p in (copy / "reference").rglob("*") if p.is_file()}
    assert call(copy, "reference") == 1
    assert "no curve.csv in" in capsys.readouterr().err
    assert before == {p: p.read_bytes() for p in (copy / "reference").rglob("*") if p.is_file()}


@pytest.mark.nightly
def test_an_incomplete_run_is_no_reference(copy, capsys):
    path = copy / "results/scores/dpsep_uci/wine.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    frame[~((frame["method"] == "sep") & (frame["split"] == "3"))].to_csv(path, index=False)
    assert call(copy, "reference") == 1
    assert "has 9 splits, the config says 10" in capsys.readouterr().err
    frame[~((frame["method"] == "sep") & (frame["protocol"] == "authors"))].to_csv(path, index=False)
    assert call(copy, "reference") == 1
    assert "not complete" in capsys.readouterr().err


def test_a_run_with_other_settings_is_no_reference(base, tmp_path):
    config, scores = base
    config = config | {"model": {"hidden": {"by_dataset": {"default": 50, "year": 100}}}}
    config["protocols"] = {"authors": {"splits": 10}, "literature": {"splits": 10}}
    config["arms"] = [{"method": "sep", "protocols": ["authors"], "settings": {"epochs": 40}}]
    for dataset in config["datasets"]:
        cell = f"dpsep_uci-{dataset}-authors-sep-"
        values = {"settings": {"epochs": 40}, "model": {"hidden": 100 if dataset == "year" else 50}}
        (tmp_path / f"{cell}.json").write_text(json.dumps(values))
    reference.check_full(config, scores, tmp_path)
    (tmp_path / f"{cell}.json").write_text(json.dumps({"settings": {"epochs": 2}, "model": {"hidden": 100}}))
    with pytest.raises(ReportError, match=r"settings\.epochs = 2, the config says 40"):
        reference.check_full(config, scores, tmp_path)


def test_numbers_may_differ_in_their_last_digits_only():
    assert reference._same("0.1", "0.10000000000000001", "mean")
    assert not reference._same("0.1", "0.1000001", "mean")
    assert not reference._same("0.1", "", "mean")
    assert not reference._same("3", "3.0", "table")


def test_committed_scores_are_those_of_the_run_with_floats_as_repr(committed):
    scores = committed_scores.read(committed / "reference", "dpsep_uci")
    assert all(repr(float(v)) == v for v in scores["value"])
    run = read_scores(committed / "results/scores/dpsep_uci")
    pd.testing.assert_frame_equal(scores, reference.sorted_scores(run))


@pytest.mark.nightly
def test_a_reference_above_its_limit_is_refused_and_leaves_the_old_one(copy, monkeypatch, capsys):
    size = sum(p.stat().st_size for p in (copy / "reference").rglob("*") if p.is_file())
    before = {p: p.read_bytes() for p in (copy / "reference").rglob("*.csv*")}
    monkeypatch.setattr(reference, "LIMIT_BYTES", size)
    assert call(copy, "reference") == 0  # what is written anew counts once
    monkeypatch.setattr(reference, "LIMIT_BYTES", size - 1)
    assert call(copy, "reference") == 1
    assert "scores/dpsep_uci.csv.gz would make the reference" in capsys.readouterr().err
    assert before == {p: p.read_bytes() for p in (copy / "reference").rglob("*.csv*")}


def test_config_errors_name_file_and_key(tmp_path):
    with pytest.raises(ConfigError, match="no experiment file"):
        load(tmp_path / "x.yaml")
    (tmp_path / "x.yaml").write_text("experiment: x\n")
    with pytest.raises(ConfigError, match=r"x.yaml: \(top\): 'title' is a required property"):
        load(tmp_path / "x.yaml")


def test_committed_experiments_are_those_of_their_config():
    """Splits, epochs, widths and every other setting of each committed row are what its experiment file says.

    The id of a cell holds a hash of all of them, so equal ids at scale full are equal settings.
    """
    from workflow.experiments import cells

    for name in reference.experiments():
        path = experiments()[name]
        expected = {c.id: c for c in cells(str(path), "full")}
        rows = committed_scores.read(reference.FOLDER, name)
        assert set(rows["cell"]) == set(expected)
        assert set(rows["scale"]) == {"full"}
        for cell, group in rows.groupby("cell"):
            if not set(group["status"]) <= {"no_data", "not_supported"}:
                assert group.loc[group["split"] != "", "split"].nunique() == expected[cell].splits, cell


@pytest.mark.slow
def test_the_committed_reference_passes_the_gate():
    """What `python -m reports.build check` does, which .ci/run calls by itself."""
    if reference.experiments():
        assert sum(reference.check(experiments()).values()) > 0
    else:
        assert not (reference.FOLDER / "verdicts.csv").exists()  # verdicts without their scores cannot be checked
        assert findings.render() == []
