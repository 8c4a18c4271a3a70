"""Seconds and megabytes of planning 10,000 cells: a copy of the project with a synthetic experiment.

    python -m benchmarks.many_cells [METHODS DATASETS [BUDGETS]]        (default: 100 50 2)

Methods and data sets are made up too, one file each, as a contributor would add them. The budgets of a method on a data
set share a job. It prints the rows of ``benchmarks.plan_run``: start, parse and dry run, once each.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.plan_run import ROOT, measure

LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "results", ".snakemake", "tests", "reference", ".pytest_cache")

METHOD = '''
"""A method that a benchmark made up."""

from dataclasses import dataclass

from methods.contract import Method


class MadeUp(Method):
    name = "{name}"
    title = "{name}"
    reference = "a benchmark"
    models = ("bnn_regression",)

    @dataclass(frozen=True)
    class Settings:
        level: float = 1.0

    def fit(self, task, settings, budget, rng):
        raise NotImplementedError
'''

DATA = '''
"""A data set that a benchmark made up."""

from dataclasses import replace

from datasets.wine import DATASET as WINE

DATASET = replace(WINE, name="{name}")
'''

EXPERIMENT = """
experiment: many_cells
title: made up
sources: []
model: {{kind: bnn_regression, hidden: 3}}
datasets: [{datasets}]
protocols: {{literature: {{splits: 20}}}}
arms:
{arms}
scales: {{full: {{}}, quick: {{}}, tiny: {{}}}}
answers: []
"""


def write(project: Path, methods: int, datasets: int, budgets: int) -> None:
    """Add the files of ``methods`` x ``datasets`` x ``budgets`` cells, and take the other experiments out."""
    names = [f"made_up_{k:03d}" for k in range(methods)]
    tables = [f"table_{k:03d}" for k in range(datasets)]
    for name in names:
        (project / "methods/made_up").mkdir(exist_ok=True)
        (project / "methods/made_up" / f"{name}.py").write_text(METHOD.format(name=name), encoding="utf-8")
    for name in tables:
        (project / "datasets" / f"{name}.py").write_text(DATA.format(name=name), encoding="utf-8")
    for old in project.glob("common_tasks/experiments/*.yaml"):
        old.unlink()
    for paper in {found.parent for found in project.glob("papers/*/__init__.py")}:
        shutil.rmtree(paper)
    arms = [
        f'  - {{method: {name}, label: "level={k + 1}", protocols: [literature], settings: {{level: {k + 1}.0}}}}'
        for name in names
        for k in range(budgets)
    ]
    text = EXPERIMENT.format(datasets=", ".join(tables), arms="\n".join(arms))
    (project / "common_tasks/experiments/many_cells.yaml").write_text(text, encoding="utf-8")


def main() -> None:
    methods, datasets, budgets = [int(a) for a in sys.argv[1:]] + [100, 50, 2][len(sys.argv) - 1 :]
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        shutil.copytree(ROOT, project, ignore=LEFT_OUT)
        write(project, methods, datasets, budgets)
        print(f"{methods} methods x {datasets} data sets x {budgets} settings = {methods * datasets * budgets} cells")
        for name, seconds, megabytes in measure("full", project, rounds=0):
            print(f"{name:24s} {seconds:7.1f} CPU s {megabytes:7.0f} MB", flush=True)


if __name__ == "__main__":
    main()
