"""Which faults do the tests catch? Random one-line mutants of the core, each run against the tests nearest to its line.

    python -m benchmarks.mutation                                         # every mutant of the table
    python -m benchmarks.mutation --draw 60 --seed 1 --table other.csv    # another set of mutants

The committed table has 60 mutants, drawn with seed 37 by the script of commit f826490, and 14 planted bugs, chosen by
hand in all parts of the suite. A new table draws lines uniformly from ``SOURCES`` and takes the planted bugs over.

Each mutant is written into a clone of the last commit, never into the working tree. It runs until something fails.
First comes the test that killed it before, then the ``FILES`` nearest test files and the suites of every method for the
``METHODS`` nearest ones. Last comes the per-commit gate of the ``GATES`` cheapest methods in experiments that reach the
file. Nightly tests are left out. A test that fails without the mutant too ends the run. A mutant with a result of this
commit is not run again.

The results are ``killed`` by a test, seen by the ``gate`` alone, ``survived``, and ``gone``, a line that this commit
lacks. ``limit`` means that a process had used ``LIMIT`` CPU seconds and that nothing failed.
``judgement`` is written by hand: equivalent, with the reason, or a hole, with the test that closes it.
The raw data that a gate needs are taken from ``DPBAYES_MIRROR``.
"""

import argparse
import ast
import io
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pandas as pd

from datasets.files import ROOT, write_csv
from methods import contract
from workflow import environment, imports
from workflow.committed import Reference

TABLE = ROOT / "benchmarks/reference/mutants.csv"
MUTANT = ["file", "line", "operator", "original", "mutated"]
COLUMNS = [*MUTANT, "result", "killer", "cpu_seconds", "commit", "judgement"]
SOURCES = [f"{folder}/**/*.py" for folder in ("privacy", "models", "methods", "evaluation")]
SOURCES += ["reports/verdict*.py", "reports/evidence.py"]
SUITES = ["tests/methods/test_conformance.py", "tests/audit/test_private_methods.py"]
PYTEST = ["pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "-x", "--tb=no", "-q"]
FILES, METHODS, GATES = 12, 2, 4
#: seconds of the processor and of the clock, and bytes, that a process may use
LIMIT, CLOCK, MEMORY = 120, 1200, 8 * 2**30
#: words of a line, and their replacements
SWAPS = "+ -,* /,< <=,> >=,== !=,+= -=,and or,True False,min max,minimum maximum,argmin argmax,floor ceil,any all"
OTHER = {a: b for pair in map(str.split, SWAPS.split(",")) for a, b in (pair, pair[::-1])} | {"**": "*", "//": "*"}


def left_out(node: ast.AST) -> list[ast.AST]:
    """The parts of this node that are not mutated: messages, annotations, decorators, assertions and ``MUTANTS``."""
    mutants = "MUTANTS" in map(ast.unparse, getattr(node, "targets", ()))
    if mutants or isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
        return [node]
    if isinstance(node, ast.Call) and re.search(r"warn|log(ger|ging)|print", ast.unparse(node.func)):
        return node.args
    parts = [getattr(node, "annotation", None), getattr(node, "returns", None), *getattr(node, "decorator_list", ())]
    return [part for part in parts if part]


def mutations(source: str) -> dict[int, list[tuple[str, str, str]]]:
    """Line number -> (operator, line, mutated line) of one source text, both lines without indentation."""
    lines, found, tree = source.splitlines(), {}, ast.parse(source)
    nodes = [n for of in ast.walk(tree) for n in left_out(of)]
    spans = [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in nodes]

    def add(operator: str, row: int, start: int, end: int, text: str) -> None:
        line = lines[row - 1]
        if line.isascii() and not any(first <= (row, start) < last for first, last in spans):
            found.setdefault(row, []).append((operator, line.strip(), (line[:start] + text + line[end:]).strip()))

    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        word, where = token.string, (*token.start, token.end[1])
        if word in OTHER:
            add(f"{word} to {OTHER[word]}", *where, OTHER[word])
        if token.type == tokenize.NUMBER:
            value = ast.literal_eval(word)
            add("number", *where, repr(value + 1 if type(value) is int or not value else 2 * value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and len(node.args) > 1 and node.args[0].lineno == node.args[1].end_lineno:
            a, b = node.args[:2]
            text = f"{ast.unparse(b)}, {ast.unparse(a)}"
            add("swapped arguments", a.lineno, a.col_offset, b.end_col_offset, text)
        dropped = isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
        if dropped and node.lineno == node.end_lineno:
            add("dropped statement", node.lineno, node.col_offset, node.end_col_offset, "pass")
    return found


def mutated(source: str, line: int, original: str, text: str) -> str | None:
    """The source with ``text`` in place of the ``original`` nearest to ``line``, or None if there is none."""
    lines = source.splitlines()
    if not (places := [k for k, of in enumerate(lines) if of.strip() == original]):
        return None
    place = min(places, key=lambda k: abs(k + 1 - line))
    lines[place] = lines[place].replace(original, text)
    return "\n".join(lines) + "\n"


def another(source: str, line: int, original: str, text: str) -> bool:
    """Whether the mutant is a valid and different program. For example, * before an argument cannot become /."""
    with suppress(SyntaxError):
        return ast.dump(ast.parse(mutated(source, line, original, text))) != ast.dump(ast.parse(source))
    return False


def draw(root: Path, count: int, seed: int) -> pd.DataFrame:
    """``count`` random mutants and the planted ones, without results."""
    rng, paths = Random(seed), [path for glob in SOURCES for path in sorted(root.glob(glob))]
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    lines = [(file, line, found) for file in texts for line, found in sorted(mutations(texts[file]).items())]
    drawn = [(file, line, *rng.choice(found)) for file, line, found in rng.sample(lines, min(2 * count, len(lines)))]
    rows = [row for row in drawn if another(texts[row[0]], row[1], *row[3:])][:count]
    planted = pd.read_csv(TABLE, dtype=str, keep_default_na=False).query("operator.str.startswith('planted')")
    return pd.concat([pd.DataFrame(rows, columns=MUTANT), planted[MUTANT]]).reindex(columns=COLUMNS).fillna("")


def nearest(root: Path, module: str) -> tuple[list[str], list[str]]:
    """(test files, methods) that reach ``module``: its own first, then those that reach the fewest modules."""
    methods = {name: contract.module_of(name) for name in contract.names()}
    own, tests = f"/test_{module.rpartition('.')[2].lstrip('_')}.py", {}
    for path in root.glob("tests/**/test_*.py"):
        text = path.read_text(encoding="utf-8")
        found = imports.imports_in(text.encode())
        starts = {f"{of}.{name}".rstrip(".") for _, of, names in found for name in ("", *names)}
        starts |= {methods[word] for word in re.findall(r'"(\w+)"', text) if word in methods}
        tests[path.relative_to(root).as_posix()] = sorted(starts)

    def best(candidates: dict[str, list[str]]) -> list[str]:
        reach = {name: imports.reached(*starts, root=root) for name, starts in candidates.items()}
        near = [name for name in reach if module in reach[name] and name not in SUITES]
        return sorted(near, key=lambda name: (not name.endswith(own), len(reach[name]), name))

    return best(tests)[:FILES], best({name: [start] for name, start in methods.items()})[:METHODS]


def gates(root: Path, module: str, reference: Reference) -> list[list[str]]:
    """Commands of the per-commit gate that reach ``module``, the cheapest first."""
    found = []
    for (experiment, method), cells in reference.entries.items():
        if module in imports.reached(*cells[0].score_roots, "workflow.experiments", root=root):
            spent = reference.seconds(experiment)
            found.append((min((spent[c.id] for c in cells if c.id in spent), default=1e9), f"{experiment}/{method}"))
    calls = [["workflow.gates", "check", "--jobs", "1", "--only", entry] for _, entry in sorted(found)[:GATES]]
    return [*calls, ["reports.build", "check"]] if module.startswith(("evaluation", "reports")) else calls


def steps(root: Path, row: pd.Series, module: str, reference: Reference) -> Iterator[list[str]]:
    """The commands against which a mutant is run, in their order."""
    if row.result == "gate":
        yield row.killer.split()
    if (root / row.killer.partition("::")[0]).is_file():
        yield [*PYTEST, row.killer]
    files, methods = nearest(root, module)
    if files:
        yield [*PYTEST, *files]
    yield from ([*PYTEST, *SUITES, "-k", name] for name in methods)
    yield from gates(root, module, reference)


def call(root: Path, kernels: str, words: list[str]) -> tuple[int, str]:
    """Exit status and output of ``python -m WORDS`` in the clone. From 124 on, or negative, a limit ended it."""
    limits = ["timeout", str(CLOCK), "prlimit", f"--cpu={LIMIT}", f"--data={MEMORY}"]
    variables = os.environ | environment.variables() | {"NUMBA_CACHE_DIR": kernels}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:  # a pipe would wait for what a process leaves behind
        command = [*limits, sys.executable, "-m", *words]
        done = subprocess.run(command, cwd=root, env=variables, stdout=output, stderr=output)
        output.seek(0)
        return done.returncode, output.read()


def run(root: Path, row: pd.Series, reference: Reference) -> dict[str, str]:
    """Result of one mutant in the clone ``root``. Raises RuntimeError if what fails also does so without the mutant."""
    path, module = root / row.file, row.file.removesuffix(".py").replace("/", ".")
    source = path.read_text(encoding="utf-8") if path.is_file() else ""
    if (text := mutated(source, int(row.line), row.original, row.mutated)) is None:
        return {"result": "gone", "killer": "", "cpu_seconds": ""}
    # kernels of other files hold a copy of a kernel that they call
    kernels = tempfile.mkdtemp(dir=root.parent) if re.search("numba|compiled", source) else str(root.parent / "numba")
    start, found = sum(os.times()[2:4]), {"result": "survived", "killer": ""}
    path.write_text(text, encoding="utf-8")
    try:
        for words in steps(root, row, module, reference):
            code, text = call(root, kernels, words)
            failed = re.search(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)(?: - |$)|^ImportError.*/(tests/\S+)'", text, re.M)
            if code < 0 or code >= 124:
                found["result"] = "limit"
            elif code and words[0] != PYTEST[0]:
                found = {"result": "gate", "killer": " ".join(words)}
            elif code and failed:
                found = {"result": "killed", "killer": failed[1] or failed[2]}
                words = [*PYTEST, found["killer"]]
            if found["killer"]:
                break
    finally:
        path.write_text(source, encoding="utf-8")
    # 5: a conftest.py that can be imported has no tests
    if found["killer"] and call(root, kernels, words)[0] not in (0, 5):
        raise RuntimeError(f"{found['killer']} fails without the mutant, too: it says nothing about mutants")
    return found | {"cpu_seconds": f"{sum(os.times()[2:4]) - start:.0f}"}


def main(argv: list[str] | None = None) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.mutation", description=__doc__, formatter_class=raw)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--draw", type=int, metavar="COUNT", help="write a new table of mutants, without results")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    if args.draw is not None:
        write_csv(args.table, draw(ROOT, args.draw, args.seed))
    table, reference = pd.read_csv(args.table, dtype=str, keep_default_na=False), Reference()
    with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as folder:
        root = Path(folder) / "clone"
        subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(root)], check=True)
        (root / ".venv").symlink_to((ROOT / ".venv").resolve())
        commit = imports.head(root)[:12]
        for k, row in table[table["commit"] != commit].iterrows():
            for name, value in (run(root, row, reference) | {"commit": commit}).items():
                table.loc[k, name] = value
            write_csv(args.table, table)
            told = table.loc[k]
            print(f"{told.file}:{told.line} {told.operator}: {told.result} {told.killer}", flush=True)
    planted = table["operator"].str.startswith("planted").map({True: "planted", False: "random"})
    print(pd.crosstab(planted, table["result"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
