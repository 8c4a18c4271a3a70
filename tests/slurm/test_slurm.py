"""A tiny experiment through ``profiles/slurm`` on a Slurm of one node, and the same values as from a local run.

python -m pytest -m slurm tests/slurm        (README, "On a cluster")
"""

from __future__ import annotations

import csv
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests/workflow")]

from cluster import cluster, missing  # noqa: E402
from project import copy_project, drop_toy, environment, only_experiment, place_data  # noqa: E402

from workflow.experiments import load  # noqa: E402

#: seconds after which the run on the cluster counts as hanging: several times what it takes.
LIMIT_S = 900

EXPERIMENT = """
experiment: toy_experiment
title: toy
sources: []
model: {kind: bnn_regression, hidden: 3}
datasets: [wine]
protocols: {literature: {splits: 3}}
arms:
  - {method: toy, protocols: [literature]}
  - {method: ridge, protocols: [literature]}
  - {method: sep, protocols: [literature], settings: {epochs: 1}}
  - {method: dp_sep_corrected, protocols: [literature], budget: {delta: 1.0e-5}, budget_grid: {epsilons: [1.0, 10.0]}}
scales: {full: {}, quick: {}, tiny: {}}
answers: []
"""
TARGET = "results/scores/toy_experiment/wine.csv"
#: what a clock or the machine says of a fit.
OF_THE_MACHINE = ("seconds", "cpu_seconds", "compile_seconds", "peak_mb")


def project_at(folder: Path) -> Path:
    project = copy_project(folder)
    drop_toy(project)
    only_experiment(project, EXPERIMENT)
    place_data(project, "wine")
    return project


def rows(project: Path) -> list[dict[str, str]]:
    with open(project / TARGET, newline="", encoding="utf-8") as f:
        return [{k: v for k, v in r.items() if k not in OF_THE_MACHINE} for r in csv.DictReader(f)]


def snakemake(project: Path, env: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "snakemake", *arguments, TARGET]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    logs = [*project.glob(".snakemake/slurm_logs/**/*.log"), *project.glob("results/logs/*.log")]
    said = [f"{p.relative_to(project)}:\n{p.read_text(errors='replace')[-1500:]}" for p in logs if p.is_file()]
    assert done.returncode == 0, "\n".join([(done.stdout + done.stderr)[-4000:], *said])
    return done.stdout + done.stderr


def limits(env: dict[str, str]) -> list[tuple[str, str]]:
    """Time and memory that each job has asked Slurm for."""
    command = ["scontrol", "show", "jobs", "--oneliner"]
    told = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True).stdout
    return sorted(re.search(r" TimeLimit=(\S+) .* TRES=\S*mem=(\w+)", line).groups() for line in told.splitlines())


def test_the_experiment_can_be_read(tmp_path):
    """Without Slurm, so that a new rule of the schema is seen at once."""
    (tmp_path / "toy_experiment.yaml").write_text(EXPERIMENT, encoding="utf-8")
    assert len(load(tmp_path / "toy_experiment.yaml")["arms"]) == 5


@pytest.mark.slurm
def test_a_run_on_slurm_gives_the_values_of_a_local_run(tmp_path, capsys):
    if lacking := missing():
        pytest.skip(f"this machine has no {', '.join(lacking)}; Debian: apt-get install slurm-wlm munge")
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("no snakemake-executor-plugin-slurm; pip install '.[slurm]' -c constraints.txt")
    local, remote = project_at(tmp_path / "local"), project_at(tmp_path / "remote")
    snakemake(local, environment(), "--cores", "2")
    with cluster(tmp_path / "slurm") as variables:
        env = {**environment(), "PATH": variables["PATH"], "SLURM_CONF": variables["SLURM_CONF"]}
        # the plugin waits 40 s before it asks for the first time; here jobs take a few
        said = snakemake(remote, env, "--profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "2")
        log = (tmp_path / "slurm" / "slurmctld.log").read_text()
        asked = limits(env)
    expected = rows(local)
    assert {r["status"] for r in expected} == {"ok"}
    assert {r["method"] for r in expected} == {"toy", "ridge", "sep", "dp_sep_corrected"}
    assert rows(remote) == expected
    # It went through Slurm: one batch job for the cells of each method, and one for the scores.
    submitted = said.count("has been submitted with SLURM jobid")
    assert submitted == 5, said[-4000:]
    assert log.count("_slurm_rpc_submit_batch_job: JobId=") == submitted
    # Nothing here has committed seconds: a fit asks for the limits of its three splits (an hour each) and an overhead,
    # a job of two cells for twice that, both for 4000 MB and 500 of the parent. The scores ask as the profile says.
    assert asked == sorted([*3 * [("03:01:00", "4500M")], ("06:01:00", "4500M"), ("02:00:00", "4000M")])
    with capsys.disabled():
        print(f"\n{submitted} Slurm jobs, {len(expected)} rows equal to those of the local run")
