"""What CONTRIBUTING.md shows is what the commands write, and it runs."""

import importlib.util
import re
import shlex
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from datasets.base import DataSet
from methods import contract
from models import kind as model_kinds
from models.kind import Kind
from privacy.budget import BudgetSpec
from reports.findings import fill, read_committed
from reports.frames import Frames
from workflow import cli

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def wrote(command: str, root: Path) -> Path:
    """The one file that a command writes below ``root``."""
    assert cli.main(shlex.split(command), root) == 0
    (path,) = (p for p in root.rglob("*") if p.is_file())
    return path


def module_of(path: Path, name: str):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look it up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


@pytest.fixture
def shown(tmp_path):
    """``shown(command)``: the block that CONTRIBUTING shows of it, checked against what it writes, as a module."""

    def load(command):
        assert f"`./bench {command}`" in TEXT
        path = wrote(command, tmp_path)
        made = path.read_text()
        assert made in [text for language, text in BLOCKS if language == "python"], (
            f"CONTRIBUTING.md: no block is what `./bench {command}` writes; put this there:\n{made}"
        )
        return module_of(path, path.stem)

    return load


def test_the_method_of_the_walk_fits_and_keeps_its_budget(shown):
    method = shown("new method my_method --kind bnn_regression --family my_family --private").MyMethod()
    task = model_kinds.kind("bnn_regression").tiny["bnn_regression"](20, 0)
    budget = BudgetSpec(epsilon=1.0, delta=1e-5).open(np.random.default_rng(0))
    fit = method.fit(task, method.Settings(), budget, np.random.default_rng(1))
    assert np.isfinite(fit.posterior.predictive(task.x).log_density(task.y)).all()
    assert len(fit.ledger) == 1


def test_the_kind_of_the_walk_can_be_stored_and_predicts(shown):
    module = shown("new kind my_model")
    assert isinstance(module.KIND, Kind)
    task = module.KIND.tiny["my_model"](20, 0)
    posterior = module.MyModelPosterior(float(task.y.mean()), 0.1)
    again = module.load(posterior.kind, posterior.parameters())
    assert again == posterior
    assert np.isfinite(again.predictive(task.x).log_density(task.y)).all()


def test_the_data_set_of_the_walk_reads_its_file(shown, tmp_path):
    module = shown("new dataset my_table")
    assert isinstance(module.DATASET, DataSet)
    file = tmp_path / "my_table.csv"
    file.write_text("target,second,first\n1,2,3\n4,5,6\n")
    table = module.parse(file)
    assert table.x.tolist() == [[3, 2], [6, 5]]
    assert table.y.tolist() == [1, 4]


def test_the_finding_of_the_walk_is_rendered(tmp_path):
    (source,) = (text for language, text in BLOCKS if not language and "{{" in text)
    (tmp_path / "my-finding.md").write_text(source, encoding="utf-8")
    text = fill(tmp_path / "my-finding.md", Frames(read_committed())).text
    assert re.search(r"Over \d+ splits SEP has a test RMSE of 0\.\d{3} on Wine", text)
    assert "{{" not in text
    assert "| SEP |" in text


def test_what_it_names_is_there():
    for module in re.findall(r"python -m ([a-z_.]+)", TEXT):
        assert importlib.util.find_spec(module), module
    named = re.findall(
        r"`((?:tests|methods|models|datasets|reports|workflow|config|docs)/[\w./]+\.(?:py|md|csv|yaml))`", TEXT
    )
    made = {"methods/my_family/my_method.py", "models/my_model.py", "datasets/my_table.py"}
    assert set(named) & made == made
    for path in set(named) - made:
        assert (ROOT / path).is_file(), path
    languages = {language for language, _ in BLOCKS}
    # tests/test_commands.py has those of the shell
    assert languages <= {"python", "toml", "sh", ""}, "a block of another language: run it here"


def test_the_entry_point_of_the_walk_is_the_one_that_is_read():
    (text,) = (text for language, text in BLOCKS if language == "toml")
    (group,) = tomllib.loads(text)["project"]["entry-points"]
    assert group == contract.GROUP
