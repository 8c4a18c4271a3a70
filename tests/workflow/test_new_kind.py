"""A kind of model is one file, as `./bench new kind` writes it: with a method that fits it, its cells run."""

import csv
import subprocess
import sys

import numpy as np
import pytest
from project import add_experiment, copy_project, environment, place_data

import datasets
from datasets.protocols import splits
from workflow import cli

METHOD = '''
"""The mean of the targets (dropped in by a test)."""

from methods.contract import Fit, Method
from models.one_number import OneNumberPosterior


class MeanOfTargets(Method):
    name = "mean_of_targets"
    title = "Mean of the targets"
    reference = "a test"
    models = ("one_number",)

    def fit(self, task, settings, budget, rng):
        return Fit(OneNumberPosterior(float(task.y.mean()), 0.0), budget.ledger)
'''
CONFIG = """
experiment: one_number
title: a test
sources: []
model: {kind: one_number}
intervals: true
datasets: [wine]
protocols: {literature: {splits: 2}}
arms: [{method: mean_of_targets, protocols: [literature]}]
scales: {full: {}, quick: {}, tiny: {splits: 1}}
answers: []
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = copy_project(tmp_path_factory.mktemp("new_kind"))
    assert cli.main(["new", "kind", "one_number"], project) == 0
    (project / "methods/baselines/mean_of_targets.py").write_text(METHOD)
    add_experiment(project, "one_number", CONFIG)
    place_data(project, "wine")
    return project


def run(project, *arguments):
    done = subprocess.run([sys.executable, *arguments], cwd=project, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


@pytest.mark.nightly
def test_a_cell_of_a_new_kind_is_fitted_and_scored(project):
    config = ("--config", "papers/toy/experiments/one_number.yaml", "--scale", "full")
    read = f"from workflow.experiments import cells; (c,) = cells('{config[1]}', 'full')"
    cell, *roots = run(project, "-c", f"{read}; print(c.id, *c.score_roots)")
    reached = {"methods.baselines.mean_of_targets", "models.one_number", "models.posteriors", "evaluation.scorers"}
    assert reached <= set(roots)
    run(project, "-m", "workflow.cell", *config, "--cell", cell, "--data", "results/data/wine.npz")
    place = ("--dataset", "wine", "--data", "results/data/wine.npz", "--out", "scores.csv")
    run(project, "-m", "workflow.score", *config, *place)
    with open(project / "scores.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    assert {(r["cell"], r["status"]) for r in rows} == {(cell, "ok")}
    data = datasets.load(project / "results/data/wine.npz")
    for k in (0, 1):
        found = {r["metric"]: float(r["value"]) for r in rows if r["split"] == str(k)}
        assert set(found) == {"rmse", "test_log_likelihood", "coverage_50", "coverage_90", "coverage_95"}
        train, test = splits.split("wine", "literature", len(data.y), k, data.authors_order)
        assert found["rmse"] == pytest.approx(np.sqrt(np.mean((data.y[test] - data.y[train].mean()) ** 2)))


def test_its_posterior_and_its_tiny_task_are_found(project):
    code = (
        "from models import kind, posteriors; from audit import cases as a; "
        "p = posteriors.load('one_number_posterior', {'location': 2.0, 'spread': 0.0}); "
        "print(p.location, a.tiny_task('one_number').n, "
        "a.get('mean_of_targets').supports(a.tiny_task('one_number')))"
    )
    assert run(project, "-c", code) == ["2.0", "12", "None"]
