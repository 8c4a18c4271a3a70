"""A copy of the project with made-up data, to run the real workflow in without touching the real results."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import datasets
from datasets import store

ROOT = Path(__file__).resolve().parents[2]
#: seconds after which a run counts as hanging: a multiple of what it takes on a loaded machine.
HANGS = 2400
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "results", ".snakemake", "tests", ".pytest_cache", ".hypothesis")


def copy_project(to: Path) -> Path:
    """Copy the sources (with compiled caches, so that nothing compiles anew)."""
    project = to / "project"
    shutil.copytree(ROOT, project, ignore=LEFT_OUT)
    return project


def place_data(project: Path, name: str, n: int = 120, d: int = 11) -> None:
    """A made-up table where the fetch rule would put the real one (the rule then has nothing to do)."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    y = 5.6 + x[:, 0] - 0.5 * np.abs(x[:, 1]) + 0.3 * rng.normal(size=n)
    columns = tuple(f"x{j}" for j in range(d))
    store.save(project / "results" / "data" / f"{name}.npz", datasets.get(name), datasets.Table(x, y, columns))


def environment() -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "DPBAYES_MIRROR")}
    return {**env, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}"}


def snakemake(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "workflow.launch", *arguments]
    env = {**environment(), **variables}
    return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=HANGS)


#: variable with the seconds that a process takes to import the toy method.
START_S = "DPBAYES_TOY_START_S"
TOY = '''
"""A toy method: predicts the training mean (dropped in by a test)."""

import errno
import os
import signal
import time
from dataclasses import dataclass

import numpy as np

import datasets
from datasets import store

from methods.contract import Fit, Method
from models.linear_regression import ConstantGaussian
from privacy.ledger import Event, Mechanism, Relation


time.sleep(float(os.environ.get("DPBAYES_TOY_START_S", "0")))


def go_wrong(fault):
    """What a machine may do to a fit, and what a fit may do to itself."""
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "exits":
        os._exit(3)
    if fault == "hangs":
        time.sleep(3600)
    if fault == "hungry":
        taken = np.ones(10**9 // 8)  # 1 GB, in use
        time.sleep(3600)
    errors = {
        "no memory": MemoryError("no memory for 1 GB"),
        "no space": OSError(errno.ENOSPC, "No space left on device"),
        "lost mount": OSError(errno.ESTALE, "Stale file handle"),
    }
    raise errors.get(fault) or ValueError(f"the toy went wrong: {fault}")


class Toy(Method):
    name = "toy"
    title = "Toy"
    reference = "a test"
    models = ("bnn_regression",)

    @dataclass(frozen=True)
    class Settings:
        sleep_s: float = 0.0  # seconds to waste, so that a test can kill the run in mid-flight
        hang: bool = False
        fail: bool = False
        nan: bool = False
        once: str = ""  # what goes wrong in the first fit only: the name of a fault below
        spend: float = 0.0  # Renyi divergence of order 2 to charge

    def fit(self, task, settings, budget, rng):
        if settings.hang:
            time.sleep(3600)
        if settings.once and not os.path.exists(settings.once):
            open(settings.once, "w").close()
            go_wrong(settings.once)
        if settings.fail:
            raise ValueError("the toy was asked to fail")
        if settings.spend:
            written = {"mechanism": Mechanism.WRITTEN_BOUND, "renyi_curve": ((2.0, settings.spend),)}
            budget.spend(Event("a draw", relation=Relation.REPLACE_ONE, sensitivity=1.0, noise_scale=0.0, **written))
        time.sleep(settings.sleep_s)
        mean = np.nan if settings.nan else task.y.mean() + 0.01 * rng.standard_normal()
        return Fit(ConstantGaussian(mean, task.y.var()), budget.ledger, {})
'''


def drop_toy(project: Path) -> None:
    (project / "methods" / "baselines" / "toy.py").write_text(TOY, encoding="utf-8")


TOY_PAPER = '''
"""A toy paper (dropped in by a test)."""

from workflow.papers import Paper

PAPER = Paper(key="toy", title="Toy", aliases=("bnn_regression",))
'''


def add_experiment(project: Path, name: str, text: str) -> Path:
    """An experiment of the toy paper; its file, relative to the project."""
    home = project / "papers" / "toy"
    (home / "experiments").mkdir(parents=True, exist_ok=True)
    (home / "__init__.py").write_text(TOY_PAPER, encoding="utf-8")
    path = home / "experiments" / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path.relative_to(project)


def only_experiment(project: Path, text: str) -> None:
    """The toy paper alone: the folders of all others are removed."""
    for path in (project / "papers").glob("*/__init__.py"):
        shutil.rmtree(path.parent)
    shutil.rmtree(project / "common_tasks")
    add_experiment(project, "toy_experiment", text)
