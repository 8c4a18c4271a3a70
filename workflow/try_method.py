"""``./bench try NAME``: the checks of one method, and its scores compared with those of the others on the same split.

The checks are conformance, privacy (of a private method) and layers of imports, for this method only. Then the first
split of its cheapest cell is fitted at full settings and compared with committed scores of the same split.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import click

import datasets
from datasets.files import ROOT
from evaluation.metrics import main_metrics
from methods import contract
from workflow import committed, on_demand, papers, recompute
from workflow.experiments import Cell, cells, experiment_files
from workflow.quickcheck import Steps, tables_for
from workflow.recheck import number, show
from workflow.recompute import run_cell

CHECKS = {
    "conformance": "tests/methods/test_conformance.py",
    "privacy": "tests/audit/test_private_methods.py",
    "architecture": "tests/test_architecture.py",
}
#: limits: CPU seconds per test, and seconds of the fit.
TEST_SECONDS, FIT_SECONDS = 20, 30.0
#: after this many failed tests the others are not run. They fail for the same reason, and a loop costs each its limit.
MOST = 3


def known(name: str) -> str:
    """Why there is no such method, with the most similar name; empty if there is one."""
    for why in contract.broken():
        if name in why:
            return why
    if name in contract.names():
        return ""
    near = difflib.get_close_matches(name, contract.names(), n=1, cutoff=0.0)[0]
    return f"no method '{name}' in methods/<family>/; the nearest is '{near}'; `./bench new method {name}` writes one"


def run_checks(name: str, private: bool) -> list[str]:
    """The failed checks of this method: one line per check, with the line of code to correct."""
    said, cases = _tested(name, private, f"--maxfail={MOST}")
    print(f"bench: {said}", flush=True)
    return [failure_of(case) for case in cases if _failures(case)]


def checked(name: str, private: bool) -> list[dict[str, object]]:
    """One row per test of this method: check, case, passed, message (the error, or why it was skipped)."""
    modules = {file.removesuffix(".py").replace("/", "."): check for check, file in CHECKS.items()}
    out = []
    for case in _tested(name, private)[1]:
        told = " ".join(e.get("message", "") for e in [*_failures(case), *case.iter("skipped")]).split("\n")[0]
        check = modules.get(case.get("classname", ""), "")
        row = {"check": check, "case": case.get("name", ""), "passed": not _failures(case), "message": told}
        out.append(row)
    return out


def _tested(name: str, private: bool, *more: str) -> tuple[str, list[ElementTree.Element]]:
    """The last line of pytest's output for one method, and the element of each test in its report.

    Raises RuntimeError if the tests were killed, or did not run.
    """
    files = [path for what, path in CHECKS.items() if private or what != "privacy"]
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--tb=short", "--no-header"]
    environment = os.environ | {"DPBAYES_TESTED_METHOD": name, "DPBAYES_TEST_CPU_SECONDS": str(TEST_SECONDS)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tests.xml"
        command += [f"--junitxml={path}", *more, *files]
        made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if made.returncode < 0:
            by = signal.Signals(-made.returncode).name
            raise RuntimeError(
                f"the tests of {contract.module_of(name).replace('.', '/')}.py were ended by {by} (killed, or out of "
                "memory); run the command again with more memory"
            )
        cases = list(ElementTree.parse(path).iter("testcase")) if path.is_file() else []
    if not cases:
        raise RuntimeError(f"the tests did not run: {last(made.stderr) or last(made.stdout)}")
    return last(made.stdout), cases


def last(text: str) -> str:
    """The last line that says something."""
    lines = [line for line in text.splitlines() if line.strip() and "generated xml file" not in line]
    return lines[-1].strip("= ") if lines else ""


def _failures(case: ElementTree.Element) -> list[ElementTree.Element]:
    return [e for e in case if e.tag in ("failure", "error")]


def failure_of(case: ElementTree.Element) -> str:
    """A failed test as one line: name, error, and the last line of a method's file in its traceback."""
    error = _failures(case)[0]
    message = error.get("message", "").partition("\n")[0]
    places = re.findall(r"^(methods/\S+?:\d+): in", error.text or "", flags=re.MULTILINE)
    where = [*re.findall(r"\b(methods[./][\w./]+:\d+)", error.get("message", "")), *places][-1:]
    return f"{case.get('name')}: {message}" + (f"  <- {where[0]}" if where else "")


def cheapest(name: str) -> Cell | None:
    """The cell of a method to try: on the smallest data set, at the budget nearest to epsilon = 1."""
    every = [c for path in experiment_files() for c in cells(path, "full") if c.method == name]
    every = [c for c in every if not c.setting.startswith(recompute.NOT_ORDINARY)]

    def cost(cell: Cell) -> tuple:
        about = datasets.get(cell.dataset)
        epsilon = dict(cell.budget).get("epsilon") or 1.0
        return not cell.experiment.startswith("common"), about.n_rows * about.n_inputs, abs(epsilon - 1.0), cell.id

    return min(every, key=cost, default=None)


def others(cell: Cell) -> dict[str, list[tuple[str, str, str, str]]]:
    """Metric -> (method, setting, epsilon, value) of the committed cells on the first split of the same rows."""
    if cell.experiment not in committed.experiments(papers.REFERENCE):
        return {}
    s = committed.read(papers.REFERENCE, cell.experiment)
    same = (s["dataset"] == cell.dataset) & (s["protocol"] == cell.protocol) & (s["split"] == "0") & (s["metric"] != "")
    same &= (s["method"] != cell.method) & ~s["setting"].str.startswith(recompute.NOT_ORDINARY)
    out: dict[str, list[tuple[str, str, str, str]]] = {}
    for r in s[same].to_dict("records"):
        out.setdefault(r["metric"], []).append((r["method"], r["setting"], r["epsilon"], r["value"]))
    return out


def comparison(cell: Cell, found: Sequence[dict]) -> str:
    """Scores of this method and the others, sorted by the first metric, each at the nearest budget."""
    mine = {r["metric"]: r for r in found if r["metric"]}
    committed = {m: v for m, v in others(cell).items() if m in mine}
    if not mine:
        return f"{found[0]['status']}: {found[0]['reason']}"
    first = main_metrics()
    metrics = sorted(committed or mine, key=lambda m: (m not in first, m))[:3]
    budget = dict(cell.budget).get("epsilon") or 1.0
    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for metric in metrics:
        for method, setting, epsilon, value in committed.get(metric, []):
            told = re.search(r"epsilon=([\d.]+)", setting)
            if told is None or float(told[1]) == float(budget):
                lines.setdefault((method, setting, epsilon), {})[metric] = value
    body = [[m, s, number(e), *(number(v.get(k, "")) for k in metrics)] for (m, s, e), v in lines.items()]
    own = next(iter(mine.values()))
    first = [f"> {cell.method}", cell.setting, number(own["epsilon"]), *(number(mine[k]["value"]) for k in metrics)]
    body = sorted(body, key=lambda b: (b[3] == "", float(b[3] or 0)))
    return show([["method", "setting", "epsilon", *metrics], first, *body])


@click.command()
@click.argument("name", help="a method: the name of its file in methods/<family>/")
@click.option("--results", type=click.Path(path_type=Path), default=ROOT / "results", help="folder of the run")
def command(name: str, results: Path) -> int:
    """Run the checks of one method, and show its scores next to those of the others on the same split."""
    if why := known(name):
        print(f"bench: {why}", file=sys.stderr)
        return 2
    start = time.monotonic()
    private = contract.get(name).privacy is not None
    on_demand.for_methods([(n, kind) for kind, n in contract.pairs() if n == name])
    print(f"bench: the tests of {name}: {', '.join(k for k in CHECKS if private or k != 'privacy')}", flush=True)
    try:
        wrong = run_checks(name, private)
    except RuntimeError as e:
        print(f"bench: {e}", file=sys.stderr)
        return 1
    for line in wrong:
        print(f"  {line}")
    cell = cheapest(name)
    if cell is None:
        print("bench: no experiment runs it; add an arm, or fit a kind of model of the common tasks (CONTRIBUTING.md)")
        return 1 if wrong else 0
    steps = Steps(results / "here" / "log.txt")
    data = tables_for(results, steps).get(cell.dataset)
    if isinstance(data, str):
        print(f"bench: no scores: {data}")
        return 1 if wrong else 0
    one = dataclasses.replace(cell, splits=1)
    with steps.quiet():
        found = run_cell(one, data, results / "here" / "try", FIT_SECONDS)
    print(f"bench: {cell.dataset}, split 1 of protocol {cell.protocol}, full settings, and committed scores of it")
    print(comparison(cell, found))
    print(f"bench: {len(wrong)} failed tests, {time.monotonic() - start:.0f} s")
    return 1 if wrong or found[0]["status"] != "ok" else 0
