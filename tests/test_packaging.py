"""environment.yml, pyproject.toml and constraints.txt say the same, and none of them names an index."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent


def _project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _declared():
    return {*_project()["dependencies"], *_project()["optional-dependencies"]["suite"]}


def test_the_package_needs_numpy_and_pandas_alone():
    """What runs the suite goes into the extra "suite"."""
    assert {re.split(r"[=<>! ;]", d)[0] for d in _project()["dependencies"]} == {"numpy", "pandas"}


def test_a_plain_pip_gets_what_uv_gets():
    made = subprocess.run(
        [sys.executable, "workflow/requirements.py", "pyproject.toml"], cwd=ROOT, capture_output=True, text=True
    )
    assert set(made.stdout.split("\n")) - {""} == _declared()
    assert "-r pyproject.toml --extra suite" in (ROOT / "bench").read_text()


def test_environment_and_pyproject_list_the_same_packages():
    pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"][-1]["pip"]
    assert pip[0] == "-c constraints.txt"
    assert set(pip[1:]) == _declared()


def test_every_declared_package_is_pinned():
    pinned = {re.split(r"[=<>! ;]", line)[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    names = {re.split(r"[=<>! ;\[]", d)[0] for d in _declared()}
    assert names <= pinned, f"not in constraints.txt: {sorted(names - pinned)}"


def test_no_addresses_in_the_packaging_files():
    for name in ("pyproject.toml", "constraints.txt", "environment.yml"):
        assert "://" not in (ROOT / name).read_text(), f"{name} names an address; an index is the user's own choice"


def test_the_snakefile_asks_for_the_snakemake_that_is_declared():
    declared = next(d for d in _declared() if d.startswith("snakemake"))
    least = re.search(r'^min_version\("([\d.]+)"\)$', (ROOT / "Snakefile").read_text(), re.MULTILINE)
    assert least, "Snakefile: no min_version"
    assert declared.startswith(f"snakemake>={least[1]},")


def test_workflows_hooks_and_templates_can_be_read():
    """YAML, and each workflow runs what .ci/run runs."""
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text())
        steps = [s for job in workflow["jobs"].values() for s in job["steps"]]
        assert any(s.get("run") == ".ci/run" for s in steps), path.name
    templates = {p.stem: yaml.safe_load(p.read_text()) for p in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")}
    assert {"a-number-is-wrong", "add-a-method", "add-a-paper"} <= set(templates)
    for name in set(templates) - {"config"}:
        assert templates[name]["name"]
        assert templates[name]["description"]
        ids = [part["id"] for part in templates[name]["body"]]
        assert len(ids) == len(set(ids)), name
    hooks = [h for r in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"] for h in r["hooks"]]
    assert {h["id"] for h in hooks} == {"ruff", "ruff-format", "snakefmt"}


def test_the_workflow_catalog_finds_what_it_wants():
    assert 'include: "../Snakefile"' in (ROOT / "workflow/Snakefile").read_text()
    assert set(yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]) <= {
        "mandatory-flags", "software-stack-deployment", "report",
    }  # fmt: skip
    described = (ROOT / "config/README.md").read_text()
    for key in yaml.safe_load((ROOT / "config/config.yaml").read_text()):
        assert f"| `{key}` |" in described, f"config/README.md does not describe {key}"


def test_the_cluster_plugin_is_pinned_to_what_its_test_runs_with():
    assert set(_project()["optional-dependencies"]["slurm"]) <= set((ROOT / "constraints.txt").read_text().splitlines())


def test_the_container_is_made_of_the_pinned_versions():
    text = (ROOT / "Containerfile").read_text()
    assert "-c constraints.txt" in text
    for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).is_file() for name in line.split()), line
