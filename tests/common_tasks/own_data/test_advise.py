"""Made-up tables, what is run of them, and the commands. About 3 CPU seconds without the runs from end to end."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

import datasets
from common_tasks import best
from common_tasks.advice.answer import NEXT, titled
from common_tasks.own_data import advise, arguments, fit, page, study, surrogates
from common_tasks.own_data.study import Study, affordable, experiment, private_methods, progress
from datasets.fetch import build
from datasets.files import ROOT
from datasets.protocols import surrogates as law
from datasets.schema import ABSENT, EMPTY, LEVELS, NUMBER, OTHER, Column, Schema
from models.kind import kind
from workflow import cli, committed, papers
from workflow.experiments import cells


def a_study(folder: Path, task: str = "regression", **more) -> Study:
    given = {"name": f"advise_{task}", "folder": folder, "task": task, "dataset": "surrogates", "epsilons": (0.5, 2.0)}
    given |= {"delta": 1e-5, "protocol": "surrogates", "splits": 8, "rows": 100, "columns": 3}
    return Study(**given | {"fit_s": 60.0, "minutes": 8.0} | more)


@pytest.mark.parametrize("task", list(surrogates.SHAPES))
def test_a_table_has_blocks_of_every_shape_and_seed(task):
    found = surrogates.data_set("surrogates", task, rows=100, columns=3, seeds=2)
    made, _ = build(found)
    blocks = 2 * len(surrogates.SHAPES[task])
    assert made.x.shape == (blocks * (100 + law.TEST), 3)
    assert found.n_splits == blocks
    assert set(surrogates.SHAPES[task]) <= set(surrogates.MEANING)
    if task == "classification":
        assert set(made.y) == {0.0, 1.0}
        shares = made.y.reshape(blocks, -1).mean(axis=1)
        rare = surrogates.SHAPES[task].index("unbalanced")
        assert abs(shares[rare] - surrogates.RARE) < 0.02
        assert abs(shares[0] - 0.5) < 0.1


def test_shapes_are_what_they_are_called():
    rng = np.random.default_rng(3)
    x = {s: surrogates.block("regression", s, 4000, 8, True, rng)[0] for s in surrogates.SHAPES["regression"]}
    eigenvalues = {s: np.linalg.eigvalsh(np.corrcoef(v.T)) for s, v in x.items()}
    assert eigenvalues["collinear"][0] < 0.05 < 0.5 < eigenvalues["linear"][0]
    # of 32,000 numbers of Student's t(3) with variance 1, about 1 in 140 is beyond 4, of the normal law 2
    assert (np.abs(x["heavy_tails"]) == 1).mean() > 0.002 > 0.0005 > (np.abs(x["linear"]) == 1).mean()


def test_known_ranges_hold_for_every_row():
    found = surrogates.data_set("surrogates", "regression", 60, 2, 2, known_ranges=True)
    made, _ = build(found)
    assert found.x_bounds == ((-1.0, 1.0),) * 2
    assert found.y_bounds == (-1.0, 1.0)
    assert max(np.abs(made.x).max(), np.abs(made.y).max()) <= 1


def test_splits_are_blocks(tmp_path):
    (tmp_path / "surrogates.py").write_text(
        advise._FILE.format(name="surrogates", task="density", rows=50, columns=2, seeds=2, known=False, code="x")
    )
    before = datasets.outside()
    datasets.take([tmp_path / "surrogates.py"])
    try:
        n = datasets.get("surrogates").n_rows
        every = [law.split("surrogates", "surrogates", n, k) for k in range(10)]
        assert all((len(a), len(b)) == (50, law.TEST) for a, b in every)
        rows = np.concatenate([np.concatenate(s) for s in every])
        np.testing.assert_array_equal(rows, np.arange(n))
        with pytest.raises(ValueError, match="block 10"):
            law.split("surrogates", "surrogates", n, 10)
    finally:
        datasets.take(before)


def planned(what: Study) -> list:
    """The cells of a study that is written, whose data set is known only meanwhile."""
    before = datasets.outside()
    datasets.take([what.folder / "surrogates.py"])
    try:
        return cells(what.config, "full")
    finally:
        datasets.take(before)


@pytest.mark.parametrize("task", list(study.KINDS))
def test_the_experiment_is_one_that_the_workflow_runs(tmp_path, task):
    what = a_study(tmp_path, task)
    left = study.write(
        what, advise._FILE.format(name="surrogates", task=task, rows=100, columns=3, seeds=2, known=False, code="x")
    )
    assert left == {}
    found = planned(what)
    private = {n for group in private_methods(what.kind) for n in group}
    assert {c.method for c in found} == private | set(study.ENDS[task])
    assert {dict(c.budget).get("epsilon") for c in found if c.method in private} == {0.5, 2.0}
    assert {c.splits for c in found} == {8}
    # what is 1 on the scale is no private method, and it is one that the suite has for this kind of model
    assert kind(what.kind).target == task
    assert what.config.stem == yaml.safe_load(what.config.read_text())["experiment"]


@pytest.mark.parametrize("minutes", [1.5, 2.0])
def test_what_is_forecast_is_no_more_than_the_minutes(tmp_path, minutes):
    """Both count the fits of both ends, and methods of one run once."""
    what = a_study(tmp_path, minutes=minutes)
    text = advise._FILE.format(
        name="surrogates", task="regression", rows=100, columns=3, seeds=2, known=False, code="x"
    )
    assert study.write(what, text)
    found = planned(what)
    weight = study.weights(found, study.seconds_a_fit(what.kind, what.rows, what.columns))
    seconds = study.RUN_S + sum(weight[c.id] * c.splits for c in found)
    assert 30 * minutes < seconds <= 60 * minutes


def test_what_does_not_fit_into_the_minutes_is_named_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(study.contract, "is_ours", lambda name: name != "mine")
    what = a_study(tmp_path, minutes=1.0, fit_s=30.0)
    groups = [["cheap"], ["dear", "reading"], ["slow"], ["unknown"], ["mine"]]
    kept, left = affordable(what, groups, {"cheap": 0.1, "dear": 5.0, "reading": 4.0, "slow": 31.0})
    assert kept == [["mine"], ["cheap"]]
    # 4 s for the job, 8 splits at two budgets of 5 s each; 20 s for the run, 24 for both ends, 4 + 5.6 for the others
    assert left["dear, reading"].startswith("about 84 CPU seconds by the committed runs; --minutes 3")
    assert left["slow"].startswith("about 31 s a fit of this size by the committed runs, over the limit; --fit-seconds")
    assert left["unknown"].startswith("about 31 s a fit of this size since no committed run says more, over the limit")


def test_nothing_that_fits_is_an_error(tmp_path):
    with pytest.raises(study.StudyError, match=r"no private method fits into 0\.1 minutes"):
        study.write(a_study(tmp_path, minutes=0.1), "")


def test_an_arm_of_readings_makes_the_run_once(tmp_path):
    config = experiment(a_study(tmp_path), [["dpvi", "na_dpvi"], ["adassp"]])
    arms = [a for a in config["arms"] if "methods" in a]
    assert [(a["methods"], a["label"]) for a in arms] == [
        (["dpvi", "na_dpvi"], "epsilon=0.5"),
        (["dpvi", "na_dpvi"], "epsilon=2"),
    ]


def test_tuned_settings_are_those_of_the_nearest_committed_size_and_epsilon():
    found = study.committed_tuning("regression", 1500, 10, (0.5, 1.0))
    assert (found.dataset, found.rows, found.columns) == ("wine", 1599, 11)
    # 0.5 is nearer to 1 than to 0.1, in logarithms
    assert found.at == {"0.5": "1", "1": "1"}
    committed = json.loads((ROOT / "common_tasks/tuned/common_linear_regression.json").read_text())["wine"]
    assert found.settings["whitened_ssp"]["0.5"] == committed["whitened_ssp"]["1"]["settings"] != {}
    assert "1599 rows, 11 columns, the nearest in size; epsilon = 1 for 0.5" in found.words
    assert study.committed_tuning("regression", 50_000, 9, (1.0,)).dataset == "protein"


def test_tuned_settings_stand_beside_the_defaults_and_cost_fits(tmp_path):
    tuning = study.Tuning(
        {"adassp": {"0.5": {}, "2": {}}, "dpvi": {"2": {"clip": 0.5}}, "dpvim": {"2": {"clip": 1}}}, "wine"
    )
    what = a_study(tmp_path, tuning=tuning, sets=("linear", "curved"), minutes=1.4)
    groups = [["dpvi", "na_dpvi"], ["adassp"]]
    arms = [a for a in experiment(what, groups)["arms"] if a.get("label", "").startswith("tuned")]
    wanted = {"method": "dpvi", "label": "tuned;epsilon=2", "protocols": ["surrogates"], "settings": {"clip": 0.5}}
    assert arms == [wanted | {"budget": {"epsilon": 2.0, "delta": 1e-5, "mode": "enforce", "ranges": "all doubles"}}]
    assert "tuned" not in experiment(what, [["adassp"]])
    # 20 s for the run, 24 for both ends, 4 for the job, 8 splits of 1.5 s at two budgets and once more: 84
    known = {"dpvi": 1.5, "na_dpvi": 1.5}
    assert affordable(what, [["dpvi", "na_dpvi"]], known)[0] == [["dpvi", "na_dpvi"]]
    assert (
        "about 41 CPU seconds" in affordable(what, [["dpvi", "na_dpvi"]], {n: 1.55 for n in known})[1]["dpvi, na_dpvi"]
    )


class Cell:
    def __init__(self, name):
        self.id = self.method = self.job = name
        self.splits = 10


def test_the_most_useful_methods_come_first_in_the_plan_and_in_the_run(tmp_path, monkeypatch):
    """By the committed probability at the nearest epsilon; without one, the cheapest."""
    what = a_study(tmp_path)
    useful = study.usefulness(what)
    frame = best.committed()
    here = frame[(frame["task"] == "linear_regression") & (frame["epsilon"] == "1") & (frame["without"] == "")]
    top = here.sort_values("probability", ascending=False)["method"].iloc[0]
    assert max(useful, key=useful.__getitem__) == top == "dp_sgd"
    groups = [["posterior_sampling_diffused"], ["adassp"], ["dp_sgd"]]
    kept, left = affordable(what, groups, {n: 0.1 for g in groups for n in g}, useful)
    assert (kept, left) == ([["dp_sgd"], ["adassp"], ["posterior_sampling_diffused"]], {})
    assert study.usefulness(a_study(tmp_path, "density")) == {}
    monkeypatch.setattr(study, "seconds_a_fit", lambda *_: {"cheap": 0.1, "dear": 9.0})
    names = ["dear", "cheap", "adassp", "dp_sgd", "predict_mean", "unknown", "exact_posterior"]
    first = study.leading(what, map(Cell, names))
    assert first == ["predict_mean", "exact_posterior", "dp_sgd", "adassp", "cheap", "dear"]


def test_a_fit_costs_the_cpu_seconds_of_the_committed_runs():
    """Those of the clock are of a busy machine, and up to four times as many for chains."""
    scores = committed.read(papers.REFERENCE, "common_linear_regression")
    mine = scores[(scores["method"] == "dp_sgld") & (scores["dataset"] == "protein")].drop_duplicates(["cell", "split"])
    table = datasets.get("protein")
    found = study.seconds_a_fit("bounded_linear_regression", table.n_rows, table.n_inputs)["dp_sgld"]
    assert found == pytest.approx(mine["cpu_seconds"].astype(float).mean())
    assert found < mine["seconds"].astype(float).mean()


def test_the_time_is_forecast_before_the_start():
    both = [Cell("a"), Cell("b")]
    said = study.forecast(both, {"a": 0, "b": 5}, {"a": 10.0, "b": 20.0}, cores=2)
    # 4 + 100 s of a, half of 4 + 200 s of b, 20 s of the run; two jobs share two processes
    assert said.startswith("15 fits of 2 methods, about 4 min of CPU time by the committed runs, so 2 min or more")


def test_the_page_fills_as_methods_finish(tmp_path, monkeypatch):
    """First when both ends of the scale are there; again when there is more, and not too often."""
    what, shown, clock = a_study(tmp_path), [], [0.0]
    monkeypatch.setattr(study.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(study.datasets, "load", lambda path: path)
    row = dict.fromkeys(study.score.COLUMNS, "") | {"status": "ok"}
    monkeypatch.setattr(study.score, "rows_of", lambda cell, fits, data: [row | {"method": cell.method, "split": 0}])
    names = ["adassp", "predict_mean", "exact_posterior", "dpvi", "last"]

    def show(frame, state):
        clock[0] += 1.0
        shown.append((sorted(frame["method"]), state))

    pages = study._Pages(what, [*map(Cell, names)], show)

    def finish(name: str, at: float) -> int:
        clock[0] = at
        (tmp_path / "fits").mkdir(exist_ok=True)
        for suffix in (".json", ".npz"):
            (tmp_path / "fits" / f"{name}{suffix}").touch()
        pages.draw()
        return len(shown)

    assert finish("adassp", 1.0) == finish("predict_mean", 2.0) == 0
    assert finish("exact_posterior", 3.0) == 1
    assert shown[0][0] == sorted(names[:3])
    assert shown[0][1].startswith("This run is not finished: 3 of 5 methods have all their scores.")
    # a page took one second: the next is due twenty seconds later
    assert finish("dpvi", 10.0) == 1
    clock[0] = 30.0
    pages.draw()
    pages.draw()
    assert len(shown) == 2
    # the page of all methods is that of the whole run
    assert finish("last", 99.0) == 2


def test_progress_says_what_is_done_and_the_time_left():
    both = [Cell("a"), Cell("b")]
    none, half = {"a": 0, "b": 0}, {"a": 10, "b": 0}
    assert progress(both, none, none, {}, 5.0).startswith("0 of 20 fits; planning")
    assert progress(both, half, none, {"a": 1.0, "b": 1.0}, 60.0) == "10 of 20 fits; about 60 s left"
    assert progress(both, {"a": 10, "b": 10}, none, {}, 60.0) == "20 of 20 fits; scoring"


def test_scores_are_by_shape_and_seed():
    shapes = surrogates.SHAPES["regression"]
    frame = pd.DataFrame({"dataset": "surrogates", "split": ["", *map(str, range(8))]})
    found = advise.by_shape(frame, "regression")
    assert list(found["dataset"]) == [*shapes, *shapes]
    assert list(found["split"]) == ["0"] * 4 + ["1"] * 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--rows", "10", "--columns", "2"], "--rows 10; give at least 50"),
        (["--rows", "100", "--columns", "0"], "--columns 0; give at least 1"),
        (["--rows", "100", "--columns", "2", "--seeds", "1"], "an interval needs at least 2"),
        (["--rows", "100000", "--columns", "50", "--seeds", "5"], "fewer --seeds, or fewer --rows"),
        (["--rows", "100", "--columns", "2", "--epsilon", "0"], "--epsilon 0 is no budget"),
        (["--columns", "2"], "Missing option '--rows', or a schema.yaml to take it from"),
        (["--rows", "100"], "Missing option '--columns', or a schema.yaml to take it from"),
        (["--rows", "100", "--columns", "a,b"], "Invalid value for '--columns': 'a,b' is no whole number"),
        (["schema.yaml", "--rows", "100"], "--rows and --columns are for use without a schema"),
        (["--rows", "1e6", "--columns", "50"], "tables of 1000000 x 50 are"),
        (["--rows", "1.5", "--columns", "2"], "Invalid value for '--rows': '1.5' is no whole number"),
        (["--rows", "many", "--columns", "2"], "Invalid value for '--rows': 'many' is no whole number"),
        (["--rows", "inf", "--columns", "2"], "Invalid value for '--rows': 'inf' is no whole number"),
        (
            ["--rows", "100", "--columns", "2", "--cores", "two"],
            "Invalid value for '--cores': 'two' is no whole number",
        ),
        (["--rows", "100", "--columns", "2", "--cores", "0"], "--cores 0; give a number above 0"),
    ],
)
def test_the_command_line_of_advise_says_it_in_one_line(given, said, capsys):
    assert cli.main(["advise", "--task", "regression", *given]) == 2
    *warning, line = capsys.readouterr().err.splitlines()
    assert all("warning: delta" in word for word in warning)
    assert said in line


def test_the_size_of_a_schema_counts_levels_as_columns(tmp_path, capsys):
    """With one level for other texts and one for gaps. No row is read."""
    columns = (
        Column("a", NUMBER, default=EMPTY), Column("sex", LEVELS, levels=("F", "M"), default=OTHER, missing=ABSENT),
        Column("y", NUMBER),
    )  # fmt: skip
    path = tmp_path / "schema.yaml"
    path.write_text(Schema(80, "y", "regression", columns).text())
    assert advise.size_of(path, "regression", None, None) == (80, 4)
    assert cli.main(["advise", str(path), "--task", "classification"]) == 1
    assert "is of the task regression; give --task regression" in capsys.readouterr().err
    columns = (Column("a", NUMBER, default=EMPTY), Column("y", LEVELS, levels=("x", "y", "z")))
    path.write_text(Schema(80, "y", "classification", columns).text())
    assert cli.main(["advise", str(path), "--task", "classification"]) == 1
    assert "the target has 3 classes: the classification of the common tasks" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "number"), [("1e6", 1_000_000), ("5000", 5000), ("2.5e3", 2500), ("1_000", 1000)])
def test_a_number_of_rows_may_be_written_with_an_exponent(given, number):
    words = ["--task", "regression", "--rows", given, "--columns", "2"]
    assert advise.command.make_context("advise", words).params["rows"] == number


def test_cores_of_the_environment_may_be_all(monkeypatch):
    monkeypatch.setenv("DPBAYES_CORES", "all")
    assert arguments.cores() >= 1


def test_an_option_takes_several_words():
    words = ["--task", "regression", "--rows", "100", "--epsilon", "0.1", "8", "--columns", "2", "--methods", "a", "b"]
    found = advise.command.make_context("advise", [*words, "--epsilon", "1"]).params
    assert (found["epsilon"], found["methods"], found["columns"]) == ((0.1, 8.0, 1.0), ("a", "b"), 2)


def test_scores_by_shape_have_a_row_per_method():
    rows = [{"title": t, "score": v, "epsilon": "1", "dataset": "heavy_tails"} for t, v in (("A", 0.1), ("B", 0.2))]
    rows += [r | {"dataset": NEXT, "score": 9.0} for r in rows]
    lines = page.by_dataset(pd.DataFrame(rows)).splitlines()
    assert [[c.strip() for c in line.split("|")[1:3]] for line in (lines[0], *lines[2:])] == [
        ["method", "heavy tails"], ["A", "0.10"], ["B", "0.20"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("task", "asked", "epsilon"), [("regression", 1.0, "1"), ("regression", 3.0, "8"), ("classification", 1.0, "1")]
)
def test_the_winner_on_real_tables_is_that_of_the_site(task, asked, epsilon):
    """At the nearest committed epsilon."""
    frame = best.committed()
    won = best.winner(frame[(frame["task"] == study.COMMON[task]) & (frame["epsilon"] == epsilon)])
    said = advise.on_real_tables(task, (asked,))
    for method in won.methods:
        assert titled(method, study.KINDS[task]) in said
    assert f"at epsilon = {epsilon}," in said
    assert ("changes for at least one table that is left out" in said) == (not won.stable)


def test_a_task_with_few_real_tables_has_no_winner_there():
    assert advise.on_real_tables("density", (1.0,)).startswith("The common tasks give no general advice for density")


def test_the_next_step_is_a_command_that_fit_takes(tmp_path):
    """A name with blanks, and a leak to accept."""
    data = pd.DataFrame({"method": ["dp_hmc", "dp_sgd"], "epsilon": "1", "settings": ["tuned", "default"]})
    found = SimpleNamespace(taken={"1": "dp_hmc"}, data=data)
    args = SimpleNamespace(task="classification", delta=1e-6)
    (said,) = arguments.next_steps(args, found, tmp_path / "it's a schema.yaml")
    said, _, command = said.partition("\n./bench fit ")
    assert said.startswith("Next, at epsilon = 1, fit ")
    assert "with tuned settings, and the command has the defaults." in said
    given = fit.command.make_context("fit", shlex.split(command)).params
    assert (str(given["file"]), given["schema"]) == ("PRIVATE.csv", tmp_path / "it's a schema.yaml")
    assert (given["accept"], given["delta"]) == (("public n",), 1e-6)
    found.taken = {"1": "dp_sgd"}
    (said,) = arguments.next_steps(args, found, "schema.yaml")
    assert fit.command.make_context("fit", shlex.split(said.partition("\n./bench fit ")[2])).params["accept"] == ()
    args.task = "density"
    assert arguments.next_steps(args, found, "schema.yaml") == []


def test_a_workflow_that_is_ended_says_so_and_names_the_log(tmp_path, monkeypatch):
    what, real = a_study(tmp_path), subprocess.Popen
    monkeypatch.setattr(study, "_done", lambda *_: {})
    monkeypatch.setattr(study, "forecast", lambda *_: "")
    monkeypatch.setattr(study, "progress", lambda *_: "")
    monkeypatch.setattr(study.subprocess, "Popen", lambda command, **more: real(["sh", "-c", "kill -9 $$"]))
    with pytest.raises(study.StudyError, match=rf"the workflow was ended by SIGKILL .*; {tmp_path}/log has"):
        study._snakemake(what, [], 1, tmp_path / "log", "./bench advise", 0, None)


def test_the_page_is_one_file_with_its_figure_inside(tmp_path):
    text = "# Title\n\nA [table](table.csv).\n\n![Words](figure.svg)\n\n| a | b |\n|:--|:--|\n| 1 | 2 |\n"
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>'
    (tmp_path / "figure.svg").write_text(svg)
    found = page.html(text, tmp_path)
    assert "<circle" in found
    assert page.LOOKS.read_text().strip() in found.partition("<body")[0]
    assert '<a class="reference external" href="table.csv">' in found
    assert "<style" in found
    assert "http-equiv" not in found.lower() or "refresh" not in found.lower()


@pytest.mark.nightly
def test_the_workflow_plans_a_study(tmp_path):
    """Its own experiment and data set, and nothing of the papers. About 8 CPU seconds."""
    what = a_study(tmp_path, only=("adassp", "dpvi", "na_dpvi"))
    study.write(
        what,
        advise._FILE.format(name="surrogates", task="regression", rows=99, columns=3, seeds=2, known=False, code="x"),
    )
    config = [f"results={tmp_path}", f"experiments={what.config}", f"datasets={tmp_path / 'surrogates.py'}"]
    command = [sys.executable, "-m", "snakemake", "-n", "--nolock", "--cores", "1", "--config", *config, "--"]
    done = subprocess.run([*command, str(what.scores)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    jobs = {p[0]: int(p[1]) for p in map(str.split, done.stdout.splitlines()) if len(p) == 2 and p[1].isdigit()}
    # one job for adassp, one for the methods that read a run of dpvi, one for each of two controls; data, scores
    assert jobs == {"fetch": 1, "fit": 4, "score": 1, "total": 6}


def run(command: str, *given: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "workflow.cli", command, *given],
        cwd=ROOT, capture_output=True, text=True, env=os.environ | {"DPBAYES_CORES": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_advise_from_end_to_end_and_again(tmp_path):
    """Two private methods that cost next to nothing. About 50 CPU seconds."""
    given = ["--task", "regression", "--rows", "60", "--columns", "2", "--seeds", "2", "--out", str(tmp_path)]
    given += ["--methods", "adassp", "sufficient_statistics_perturbation", "--known-ranges"]
    done = run("advise", *given)
    assert "Page: " in done.stdout
    assert "fits" in done.stderr
    table = pd.read_csv(tmp_path / "table.csv")
    assert set(table["method"]) == {"AdaSSP (baseline)", "Sufficient-statistics perturbation"}
    assert "<svg" in (tmp_path / "index.html").read_text()
    scores = pd.read_csv(tmp_path / "scores/advise_regression/surrogates.csv", dtype=str, keep_default_na=False)
    private = scores[scores["epsilon"] != ""]
    assert len(private["split"].unique()) == 8
    assert private["epsilon"].astype(float).max() <= 1
    before = {p: p.stat().st_mtime_ns for p in tmp_path.glob("fits/*.npz")}
    run("advise", *given)
    assert before == {p: p.stat().st_mtime_ns for p in tmp_path.glob("fits/*.npz")}
