"""Methods that do harm (`hostile/`) leave every row of their neighbours as it is without them.

A file's first line says what it does, and which status its splits get: one word, several if it depends on the machine,
or "left out" if it is no method. Only `./bench` can leave out one that ends the process which imports it.
"""

import ast
import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from project import HANGS, ROOT, environment, place_data, snakemake

from workflow.faults import LETTERS
from workflow.score import MEASURED

HOSTILE = sorted((Path(__file__).parent / "hostile").rglob("*.py"))
#: those of every day: kinds that have taken the scores of their neighbours before.
EVERY_DAY = ("own_file", "ledger_of_rubbish", "leaves_a_child", "import_exits")
NEIGHBOURS = ("predict_mean", "ridge")
LEFT_OUT, BY_BENCH = "left out", "left out by ./bench"

EXPERIMENT = """
experiment: one
title: one
sources: []
model: {kind: bnn_regression, hidden: 3}
datasets: [wine]
protocols: {literature: {splits: 2}}
timeout_s: 6
mem_mb: 700
arms:
"""
SCALES = "scales: {full: {}, quick: {}, tiny: {}}\nanswers: []\n"

#: fits the cells of an experiment one after the other, and scores them.
FIT = """
import sys
from pathlib import Path
from workflow import cell, score
from workflow.experiments import cells

config, results = sys.argv[1:]
data = f"{results}/data/wine.npz"
for one in cells(config, "full"):
    cell.run([one], data, Path(results))
sys.argv[1:] = ["--config", config, "--scale", "full", "--dataset", "wine", "--data", data]
sys.argv += ["--results", results, "--out", "wine.csv"]
score.main()
"""


def expected(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())).partition(":")[0]


def written(folder: Path, names) -> Path:
    """The experiment with these methods; one split of those that take all the time that they may."""
    slow = {f.stem for f in HOSTILE if "timeout" in expected(f)}
    arms = "".join(
        f"  - {{method: {name}, protocols: [literature]{', splits: 1' if name in slow else ''}}}\n" for name in names
    )
    (folder / "one.yaml").write_text(f"{EXPERIMENT}{arms}{SCALES}")
    return folder / "one.yaml"


def rows_of(folder: Path, files, neighbours=NEIGHBOURS) -> dict[str, list[dict]]:
    """Score rows by method, of the neighbours and the methods of these files, without what is measured."""
    folder.mkdir()
    results = folder / "results"
    place_data(folder, "wine")
    config = written(folder, [*neighbours, *(f.stem for f in files if f.stem not in NEIGHBOURS)])
    env = {**environment(), "DPBAYES_METHODS": os.pathsep.join(map(str, files)), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", FIT, config, results]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=HANGS)
    assert done.returncode == 0, done.stderr[-5000:]
    found: dict[str, list[dict]] = {}
    with open(folder / "wine.csv", newline="", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            found.setdefault(row["method"], []).append({k: v for k, v in row.items() if k not in MEASURED})
    return found


def left_behind() -> list[str]:
    """Processes that a hostile method has left."""
    return [
        " ".join(p.info["cmdline"])
        for p in psutil.process_iter(["cmdline"])
        if "hostile child" in " ".join(p.info["cmdline"] or [])
    ]


@pytest.mark.parametrize(
    "names", [pytest.param(EVERY_DAY, id="some"), pytest.param((), id="all", marks=pytest.mark.nightly)]
)
def test_neighbours_have_the_rows_that_they_have_alone(tmp_path, names):
    files = [f for f in HOSTILE if (f.stem in names or not names) and expected(f) != BY_BENCH]
    neighbours = NEIGHBOURS[:1] if names else NEIGHBOURS
    alone = rows_of(tmp_path / "alone", [], neighbours)
    found = rows_of(tmp_path / "together", files, neighbours)
    assert {name: found[name] for name in neighbours} == alone
    assert {r["status"] for rows in alone.values() for r in rows} == {"ok"}
    wrong = {}
    for file in files:
        statuses = expected(file)
        rows = found.get(file.stem, []) if file.stem not in NEIGHBOURS else []
        splits = {row["split"] for row in rows}
        asked = {"0"} if "timeout" in statuses else {"0", "1"}
        good = splits == asked and {r["status"] for r in rows} <= set(statuses.split())
        if rows if statuses == LEFT_OUT else not good:
            wrong[file.stem] = statuses, sorted(splits), [(r["status"], r["reason"][:200]) for r in rows]
    assert wrong == {}
    assert left_behind() == []
    assert not list(tmp_path.rglob("FORGED"))
    assert not (ROOT / "FORGED").exists()
    assert all(
        len(r["reason"]) <= LETTERS + 100 and r["reason"].replace("\n", "").isprintable()
        for rows in found.values()
        for r in rows
    )


def test_there_are_at_least_49_kinds_of_harm():
    assert len(HOSTILE) >= 49
    assert len({ast.get_docstring(ast.parse(f.read_text())) for f in HOSTILE}) == len(HOSTILE)


@pytest.mark.nightly
def test_bench_goes_on_without_what_is_no_method_and_its_status_says_so(tmp_path):
    """The whole way: the launcher, Snakemake, jobs of their own. Also for processes that have left their group."""
    left_out = {"import_exits": "SystemExit: 0", "import_memory_error": "MemoryError: no memory for a table"}
    left_out["import_interrupts"] = "KeyboardInterrupt"
    left_out |= {f.stem: "it ends the process that does" for f in HOSTILE if expected(f) == BY_BENCH}
    names = ("leaves_a_daemon", "crashes_with_a_child", "own_file", *left_out)
    files = [f for f in HOSTILE if f.stem in names]
    place_data(tmp_path, "wine")
    config = written(tmp_path, [*NEIGHBOURS, *names])
    given = [f"experiments={config}", f"methods={','.join(map(str, files))}", f"results={tmp_path}/results"]
    done = snakemake(ROOT, "--cores", "1", f"{tmp_path}/results/scores/one/wine.csv", "--config", *given)
    assert done.returncode == 3, done.stderr
    for name, words in left_out.items():
        assert re.search(f"left out: .*{name}.py cannot be imported: {words}", done.stderr)
    with open(tmp_path / "results/scores/one/wine.csv", newline="") as f:
        found = {(r["method"], r["status"]) for r in csv.DictReader(f)}
    assert found == {(n, "ok") for n in (*NEIGHBOURS, "leaves_a_daemon")} | {(n, "failed") for n in names[1:3]}
    assert left_behind() == []
