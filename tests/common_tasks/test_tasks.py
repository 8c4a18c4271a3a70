"""A method dropped into methods/ that supports linear regression appears in the common tasks by itself."""

import csv
from pathlib import Path

import pytest
import yaml

from methods import contract
from tests.workflow.project import copy_project, place_data, snakemake

TOY = '''
"""A toy method: a private mean of the targets (dropped in by a test)."""

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit
from methods._shared.frames import InFrame, left_for
from models.linear_regression import ConstantGaussian
from privacy.ledger import Relation


class Toy(InFrame):
    name = "toy"
    title = "Toy"
    reference = "a test"
    models = ("bounded_linear_regression",)
    privacy = Relation.ADD_REMOVE

    @dataclass(frozen=True)
    class Settings:
        """None."""

    def fit_unit(self, task, settings, budget, rng):
        """Sensitivity 1: a target is in [-1, 1], and one row adds one target."""
        mechanism = budget.gaussian(
            "sum of the targets",
            sensitivity=1.0,
            noise_multiplier=left_for(budget, "sum of the targets", self.privacy),
            relation=self.privacy,
            proof="methods.baselines.toy.Toy.fit_unit",
        )
        mean = float(mechanism.release(np.array([task.y.sum()]))[0]) / task.public.n
        return Fit(ConstantGaussian(mean, 0.1), budget.ledger)
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The project with one family, its exact posterior, and the toy."""
    project = copy_project(tmp_path_factory.mktemp("common"))
    (project / "methods/baselines/toy.py").write_text(TOY)
    for name in set(contract.names("bounded_linear_regression")) - {"exact_posterior"}:
        Path(project, *contract.module_of(name).split(".")).with_suffix(".py").unlink()
    kept = project / "common_tasks/experiments/common_linear_regression.yaml"
    config = yaml.safe_load(kept.read_text())
    for path in (project / "common_tasks/experiments").glob("*.yaml"):
        if path != kept:
            path.unlink()
    for path in (project / "papers").glob("*/experiments/*.yaml"):
        path.unlink()
    left_out = ("extra", "tuned")
    config = {k: v for k, v in config.items() if k not in left_out} | {"arms": []}
    del config["scales"]["tiny"]["unlisted"]
    kept.write_text(yaml.safe_dump(config))
    place_data(project, "wine")
    done = snakemake(project, "--cores", "2", "common_tasks", "--config", "scale=tiny")
    assert done.returncode == 0, done.stderr[-3000:]
    return project


@pytest.mark.nightly
def test_a_toy_adapter_appears_by_itself_at_every_budget(project):
    folder = project / "results/parts/common_tasks"
    with open(folder / "tables/common_linear_regression.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    toy = {r["setting"] for r in rows if r["method"] == "toy" and r["metric"] == "rmse" and float(r["mean"]) > 0}
    assert toy == {"epsilon=1"}  # the others are left to the full scale
    assert {"exact_posterior", "toy"} <= {r["method"] for r in rows}
    assert "Toy" in (folder / "tables/common_matrix.md").read_text()
    privacy = (folder / "tables/common_privacy.md").read_text()
    assert "Toy" in privacy
    assert "holds" in privacy


@pytest.mark.nightly
def test_its_budget_is_used_and_kept(project):
    with open(project / "results/scores/common_linear_regression/wine.csv", newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["method"] == "toy"]
    assert {r["status"] for r in rows} == {"ok"}
    for r in rows:
        assert 0.9 < float(r["epsilon"]) <= 1.0
        assert r["relation"] == "add_remove"
