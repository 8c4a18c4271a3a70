"""What the guides of docs/ show is what the commands write, and it runs."""

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
from privacy.accountants.epsilon import epsilon_of
from privacy.budget import BudgetSpec
from reports.findings import fill, read_committed
from reports.frames import Frames
from workflow import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8")
    for p in (
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("tutorials/*.md")),
        *sorted((ROOT / "docs").glob("how-to/*.md")),
    )
}
TEXT = "\n".join(PAGES.values())
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
METHOD = "new method my_method --kind bnn_regression --family my_family"


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    heads = re.findall(r"^#+ +(.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}


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
    """``shown(command)``: the block that a guide shows of it, checked against what it writes, as a module."""

    def load(command):
        assert re.search(rf"(`|\$ )\./bench {command}(`|\n)", TEXT)
        path = wrote(command, tmp_path)
        made = path.read_text()
        assert made in [text for language, text in BLOCKS if language == "python"], (
            f"docs/: no block is what `./bench {command}` writes; put this there:\n{made}"
        )
        return module_of(path, path.stem)

    return load


def test_the_first_method_of_the_tutorial_fits(shown):
    method = shown(METHOD).MyMethod()
    task = model_kinds.kind("bnn_regression").tiny["bnn_regression"](20, 0)
    fit = method.fit(task, method.Settings(), BudgetSpec().open(np.random.default_rng(0)), np.random.default_rng(1))
    assert np.isfinite(fit.posterior.predictive(task.x).log_density(task.y)).all()
    assert len(fit.ledger) == 0


def test_the_private_method_of_the_tutorial_fits_and_keeps_its_budget(shown):
    method = shown(f"{METHOD} --private").MyMethod()
    task = model_kinds.kind("bnn_regression").tiny["bnn_regression"](20, 0)
    budget = BudgetSpec(epsilon=1.0, delta=1e-5).open(np.random.default_rng(0))
    fit = method.fit(task, method.Settings(), budget, np.random.default_rng(1))
    assert np.isfinite(fit.posterior.predictive(task.x).log_density(task.y)).all()
    assert len(fit.ledger) == 1


def test_the_second_class_of_the_tutorial_fits_the_common_task(shown, tmp_path):
    """The file of the private method, with the import and the class that the tutorial adds."""
    shown(f"{METHOD} --private")
    (path,) = tmp_path.rglob("my_method.py")
    blocks = [text for language, text in BLOCKS if language == "python"]
    (more,) = (text for text in blocks if text.startswith("from methods._shared.frames"))
    (second,) = (text for text in blocks if text.startswith("class MyMethodLinear"))
    first = re.sub(r"^from methods\._shared\.frames.*\n", more, path.read_text(), flags=re.MULTILINE)
    path.write_text(f"{first}\n\n{second}")
    method = module_of(path, "my_method").MyMethodLinear()
    task = model_kinds.kind("bounded_linear_regression").tiny["bounded_linear_regression"](40, 0)
    budget = BudgetSpec(epsilon=1.0, delta=1e-5).open(np.random.default_rng(0))
    fit = method.fit(task, method.Settings(), budget, np.random.default_rng(1))
    assert np.isfinite(fit.posterior.predictive(task.x, np.random.default_rng(2)).log_density(task.y)).all()
    assert epsilon_of(fit.ledger, 1e-5).epsilon <= 1 + 1e-6


def test_the_fits_of_the_guide_run_as_they_are(tmp_path, monkeypatch, capsys):
    """On a table of scikit-learn, and on one that is written here: about 3 CPU seconds."""
    monkeypatch.chdir(tmp_path)
    people = [
        f"{20 + k % 50},{k % 7},{'FM'[k % 2]},{('none', 'part', 'full')[k % 3]},{('no', 'yes')[k % 2]}"
        for k in range(3000)
    ]
    Path("people.csv").write_text("\n".join(["age,hours,sex,work,answer", *people]))
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGES["docs/how-to/fit-a-private-posterior.md"], re.M | re.S)
    assert [len(block.replace("\n\n", "\n").splitlines()) <= 12 for block in blocks] == [True, True]
    for block in blocks:
        exec(block, {})
    said = capsys.readouterr().out
    assert "The intervals count the privacy noise." in said
    assert "The ranges of 2 columns were not stated." in said
    assert (tmp_path / "people-fit/guarantee.json").is_file()


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
    file.write_text("first,second,target\n" + "3,2,1\n6,5,4\n" * 50)
    table = module.parse(file)
    assert table.x.tolist() == [[3, 2], [6, 5]] * 50
    assert table.y.tolist() == [1, 4] * 50


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
    for file in [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        named = re.findall(
            r"`((?:tests|methods|models|datasets|reports|workflow|config|docs)/[\w./]+\.(?:py|md|csv|yaml))`",
            file.read_text(encoding="utf-8"),
        )
        assert [path for path in named if not (ROOT / path).is_file()] == [], file
    languages = {language for language, _ in BLOCKS}
    # tests/test_commands.py has those of the shell
    assert languages <= {"python", "toml", "sh", "text", "yaml", ""}, "a block of another language: run it here"


def test_every_link_leads_somewhere():
    """Of ARCHITECTURE, CONTRIBUTING, CHANGELOG, three folders and docs/: the file is there, and the heading in it."""
    for file in [
        *ROOT.glob("[ACP]*.md"),
        ROOT / "config/README.md",
        ROOT / "datasets/README.md",
        ROOT / "papers/README.md",
        *(ROOT / "docs").rglob("*.md"),
    ]:
        text = re.sub(r"```.*?```", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = link.partition("#")
            target = file.parent / path if path else file
            assert "://" in link or target.exists(), f"{file}: {link}"
            if anchor and "://" not in link:
                assert anchor in anchors(target.read_text(encoding="utf-8")), f"{file}: {link}"


def test_every_page_is_listed_in_the_index():
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    listed = set(re.findall(r"\]\(([\w/-]+\.md)(?:#[^)]*)?\)", index))
    assert {p for p in pages if not p.startswith("decisions/")} <= listed


def test_every_kind_of_model_is_in_the_reference():
    text = (ROOT / "docs/reference/kinds-of-model.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)`", text, re.MULTILINE) != []
    assert set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE)) == set(model_kinds.kinds())


def test_the_entry_point_of_the_walk_is_the_one_that_is_read():
    (text,) = (text for language, text in BLOCKS if language == "toml")
    (group,) = tomllib.loads(text)["project"]["entry-points"]
    assert group == contract.GROUP
