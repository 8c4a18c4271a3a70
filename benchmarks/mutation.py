"""Which faults do the tests catch? Random one-line mutants of the core, each run against the tests nearest to its line.

    python -m benchmarks.mutation                     # run every mutant of the table that has no result yet
    python -m benchmarks.mutation --rerun changed     # those whose killing test is gone, deselected or edited
    python -m benchmarks.mutation --rerun survived    # those that no test and no gate has killed
    python -m benchmarks.mutation --draw 60 --seed 1 --table other.csv    # another set of mutants

A line of code is drawn uniformly over the eligible lines of ``privacy/``, ``models/``, ``methods/``, ``evaluation/``
and the verdict rule of ``reports/``, then one of the mutations that it allows. Messages, docstrings, annotations,
decorators, assertions and ``MUTANTS`` are not eligible. The table also has 14 planted bugs, chosen by hand in all parts
of the suite; a new table takes them over.

Each mutant is written into a clone of one commit (``--commit``, HEAD unless given), never into the working tree. It
runs until something fails, in this order:

1. the test that killed it before;
2. the ``FILES`` test files that are nearest by imports;
3. the conformance and privacy suites of the ``METHODS`` nearest methods;
4. the per-commit gate of the ``GATES`` cheapest methods in experiments that reach the file, and for ``evaluation/`` and
   ``reports/`` the gate against the papers.

A failure counts only if the same test or gate passes without the mutant. A survivor is run once more with an error
raised at its line: ``executed`` is the test that this stops, or "no".

==========  ==========================================================================================
killed      a test failed (``killer``)
gate        no test failed, a sample of the gate did
limit       the tests were still running after ``--limit`` CPU seconds, and the gate saw nothing
survived    neither
gone        the line is not in this commit any more
==========  ==========================================================================================

``judgement`` of a survivor is written by hand: equivalent, with the reason, or a hole, with the test that closes it.
The raw data that a gate needs are taken from ``DPBAYES_MIRROR``.
"""

from __future__ import annotations

import argparse
import ast
import copy
import itertools
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from datasets.files import ROOT, write_csv
from workflow import arithmetic, imports

TABLE = ROOT / "benchmarks/reference/mutants.csv"
COLUMNS = ["file", "line", "operator", "original", "mutated", "result", "killer", "executed", "cpu_seconds", "commit"]
COLUMNS += ["judgement"]
SOURCES = ("privacy/**/*.py", "models/**/*.py", "methods/**/*.py", "evaluation/**/*.py")
SOURCES += ("reports/verdict*.py", "reports/evidence.py")
#: the committed table is the 60 mutants of this seed, drawn at commit f826490
SEED = 37
#: CPU seconds of the tests of one mutant
LIMIT = 120
FILES, METHODS, GATES = 12, 2, 4
#: tests of every method, run for the nearest ones alone
SUITES = ("tests/methods/test_conformance.py", "tests/audit/test_private_methods.py")
#: bytes that a process may allocate: a mutant may ask for anything
MEMORY = 8 * 2**30
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
ARITHMETIC |= {ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult}
COMPARE = {ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt)}
COMPARE |= {ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,)}
COMPARE |= {ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)}
PAIRS = (("min", "max"), ("minimum", "maximum"), ("fmin", "fmax"), ("argmin", "argmax"), ("floor", "ceil"))
PAIRS += (("any", "all"), ("nanmin", "nanmax"))
OTHER = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}


def _numbers(node: ast.AST) -> bool:
    """Is it an operation on numbers? Of texts, + and % are no arithmetic."""
    texts = (isinstance(n, ast.JoinedStr) or isinstance(getattr(n, "value", 0), str) for n in ast.walk(node))
    return type(node.op) in ARITHMETIC and not any(texts)


def changed(node: ast.AST, **fields) -> ast.AST:
    made = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def variants(node: ast.AST):
    """(operator, node that takes its place) of each mutation of one node."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and _numbers(node):
        yield "arithmetic", changed(node, op=ARITHMETIC[type(node.op)]())
    if isinstance(node, ast.Compare):
        for other in COMPARE[type(node.ops[0])]:
            yield "comparison", changed(node, ops=[other(), *node.ops[1:]])
    if isinstance(node, ast.BoolOp):
        yield "comparison", changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "constant", changed(node, value=not node.value)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield "off by one", changed(node, value=node.value + 1)
    if isinstance(node, ast.Constant) and type(node.value) is float:
        yield "constant", changed(node, value=2.0 * node.value if node.value else 1.0)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand
    if isinstance(node, (ast.Assign, ast.Return)) and isinstance(node.value, ast.BinOp) and _numbers(node.value):
        yield "sign", changed(node, value=ast.UnaryOp(ast.USub(), node.value))
    if isinstance(node, ast.Call):
        for k, (a, b) in enumerate(itertools.pairwise(node.args)):
            if all(isinstance(v, (ast.Name, ast.Attribute, ast.UnaryOp)) and ast.unparse(v) != "rng" for v in (a, b)):
                yield "swapped argument", changed(node, args=[*node.args[:k], b, a, *node.args[k + 2 :]])
    if isinstance(node, ast.Name) and node.id in OTHER:
        yield "min/max", changed(node, id=OTHER[node.id])
    if isinstance(node, ast.Attribute) and node.attr in OTHER:
        yield "min/max", changed(node, attr=OTHER[node.attr])
    stored = isinstance(node, ast.Assign) and all(isinstance(t, (ast.Attribute, ast.Subscript)) for t in node.targets)
    if stored or isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "dropped statement", ast.Pass()


def eligible(node: ast.AST):
    """All nodes below ``node`` that may be mutated."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.Raise, ast.Assert, ast.JoinedStr)):
                continue
            if isinstance(child, ast.Assign) and getattr(child.targets[0], "id", "") in ("MUTANTS", "__all__"):
                continue
            if isinstance(child, ast.Call) and re.search(r"warn|log(ger|ging)|print", ast.unparse(child.func)):
                continue
            yield child
            yield from eligible(child)


def mutations(source: str) -> dict[int, list[tuple[str, str, str]]]:
    """Line number -> (operator, line, mutated line), both without indentation; of one source text."""
    lines, found = source.splitlines(), {}
    for node in eligible(ast.parse(source)):
        if getattr(node, "lineno", None) is None or node.lineno != node.end_lineno:
            continue
        raw = lines[node.lineno - 1].encode()
        for operator, made in variants(node):
            text = ast.unparse(ast.fix_missing_locations(made))
            text = f"({text})" if isinstance(made, (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp)) else text
            line = (raw[: node.col_offset] + text.encode() + raw[node.end_col_offset :]).decode()
            found.setdefault(node.lineno, []).append((operator, raw.decode().strip(), line.strip()))
    return found


def draw(root: Path, count: int, seed: int) -> pd.DataFrame:
    """``count`` random mutants and the planted ones, without results."""
    rng, rows = random.Random(seed), []
    texts = {p.relative_to(root).as_posix(): p.read_text() for glob in SOURCES for p in sorted(root.glob(glob))}
    of = {name: mutations(text) for name, text in texts.items()}
    for name, line in rng.sample([(file, line) for file in sorted(of) for line in sorted(of[file])], count):
        operator = rng.choice(sorted({operator for operator, *_ in of[name][line]}))
        operator, original, mutated = rng.choice([found for found in of[name][line] if found[0] == operator])
        rows.append((name, line, operator, original, mutated))
    planted = pd.read_csv(TABLE, dtype=str, keep_default_na=False).query("operator.str.startswith('planted')")
    return (
        pd.concat([pd.DataFrame(rows, columns=COLUMNS[:5]), planted[COLUMNS[:5]]]).reindex(columns=COLUMNS).fillna("")
    )


def nearest(root: Path, module: str) -> tuple[list[str], list[str]]:
    """(test files, names of methods), the nearest to ``module`` first, by the number of imports between them."""
    every = {_module(p, root): p for package in imports.PACKAGES for p in (root / package).rglob("*.py")}
    importers: dict[str, list[str]] = {}
    for name in every:
        for target in imports.direct_imports(name, root):
            importers.setdefault(target, []).append(name)
    away, todo = {module: 0}, [module]
    for name in todo:  # grows on the way
        for above in sorted(importers.get(name, [])):
            if above not in away:
                away[above] = away[name] + 1
                todo.append(above)
    methods: dict[str, int] = {}
    for name, path in every.items():
        if name in away and re.fullmatch(r"methods\.\w+\.[a-z]\w*", name):
            for found in re.findall(r'^    name = "(\w+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
                methods[found] = min(away[name], methods.get(found, 99))
    ranked = []
    for path in (root / "tests").rglob("test_*.py"):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()
        named = {
            n for _, base, names in imports.imports_in(text.encode()) for n in (base, *(f"{base}.{k}" for k in names))
        }
        steps = [away[n] for n in named & away.keys()]
        steps += [1 + far for method, far in methods.items() if f'"{method}"' in text]
        if steps and name not in SUITES:
            own = path.stem == "test_" + module.rpartition(".")[2].lstrip("_")
            shared = len(set(name.split("/")) & {part.lstrip("_") for part in module.split(".")})
            ranked.append((not own, min(steps), -shared, name))
    ours = module.rpartition(".")[0]
    return [name for *_, name in sorted(ranked)], sorted(methods, key=lambda m: (methods[m], ours not in m, m))


def _module(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Clone:
    """A clone of one commit in a temporary folder, in which one line at a time is broken."""

    def __init__(self, commit: str, folder: Path, limit: float):
        self.root, self.limit, self.stamp = folder / "clone", limit, 1_000_000_000
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(ROOT), str(self.root)], check=True)
        subprocess.run(["git", "checkout", "-q", "--detach", commit], cwd=self.root, check=True)
        (self.root / ".venv").symlink_to((ROOT / ".venv").resolve())
        self.commit = imports.head(self.root)[:12]
        self.environment = os.environ | arithmetic.environment() | {"NUMBA_CACHE_DIR": str(folder / "numba")}
        self.environment |= {"JAX_COMPILATION_CACHE_DIR": str(folder / "jax")}
        self.passes: dict[tuple[str, ...], bool] = {}  # does it without a mutant?

    def write(self, path: Path, text: str) -> None:
        """Each text has a time of its own: compiled bytecode and kernels are known by the time of their source."""
        path.write_text(text, encoding="utf-8")
        self.stamp += 10
        os.utime(path, (self.stamp, self.stamp))

    def call(self, words: list[str], seconds: float, **more: str) -> tuple[int, str, float]:
        """Exit status (negative: killed, by its limit), output and CPU seconds of a command."""

        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

        start = _cpu()
        process = subprocess.Popen(
            [sys.executable, *words], cwd=self.root, env=self.environment | more, text=True, preexec_fn=limits,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            text, _ = process.communicate(timeout=6 * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
        return process.returncode, text, _cpu() - start

    def clean(self, path: Path, source: str, words: list[str]) -> bool:
        """Does a command that failed end well without the mutant? If not, it says nothing about any mutant."""
        if (key := tuple(words)) not in self.passes:
            mutated = path.read_text(encoding="utf-8")
            self.write(path, source)
            self.passes[key] = self.call(words, 600)[0] in (0, 5)  # a conftest.py that can be imported has no tests
            self.write(path, mutated)
        return self.passes[key]

    def tests(self, plan: list[tuple[list[str], str]], path: Path, source: str) -> tuple[str, str, float]:
        """(result, test, CPU seconds) of parts of the suite, one after the other, up to the first failure."""
        spent, options, left_out = 0.0, ["-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "--tb=no"], []
        plan = list(plan)
        while plan:
            names, method = plan[0]
            more = {"DPBAYES_TESTED_METHOD": method} if method else {}
            words = [*options, "-x", "-v", *left_out, *names]
            code, text, seconds = self.call(words, max(self.limit - spent, 1.0), **more)
            spent += seconds
            found = re.search(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)(?: - |$)", text, re.MULTILINE)
            found = found or re.search(r"^ImportError while loading conftest '.*?/(tests/\S+)'", text, re.MULTILINE)
            if code in (1, 2, 4) and found:
                killer = found[1]
                if self.clean(path, source, [*options, killer]):
                    return "killed", killer, spent
                left_out += ["--deselect", killer]
                continue
            if code in (-signal.SIGXCPU, -signal.SIGKILL) or spent >= self.limit:
                last = re.findall(r"^(tests/\S+::\S+)", text, re.MULTILINE)
                return "limit", last[-1] if last else " ".join(names), spent
            if code not in (0, 5):
                raise RuntimeError(f"pytest ended with {code}: {text[-2000:]}")
            plan.pop(0)
        return "survived", "", spent

    def gate(self, module: str, path: Path, source: str) -> tuple[str, float]:
        """(what the gate that failed names, CPU seconds); empty if none did. The cheapest ``GATES`` that reach it."""
        from workflow.committed import Reference

        reference, entries = Reference(), []
        for (experiment, method), (cell, *_) in reference.entries.items():
            if module in imports.reached(*cell.score_roots, "workflow.experiments", root=self.root):
                spent = reference.seconds(experiment)
                seconds = min(
                    (spent[c.id] for c in reference.entries[experiment, method] if c.id in spent), default=1e9
                )
                entries.append((seconds, f"{experiment}/{method}"))
        calls = [["-m", "workflow.gates", "check", "--jobs", "1", "--only", e] for _, e in sorted(entries)[:GATES]]
        if module.split(".")[0] in ("evaluation", "reports"):
            calls.append(["-m", "reports.build", "check"])
        spent = 0.0
        for words in calls:
            shutil.rmtree(self.root / "results/here", ignore_errors=True)
            code, _, seconds = self.call(words, self.limit)
            spent += seconds
            if code > 0 and self.clean(path, source, words):
                return " ".join(words[1:]), spent
        return "", spent

    def run(self, row: pd.Series) -> dict[str, str]:
        """Result of one mutant."""
        moved = (imports.git("ls-files", f"*/{Path(row.file).name}", root=self.root) or "").splitlines()
        for path in (self.root / name for name in (row.file, *moved)):
            source = path.read_text(encoding="utf-8") if path.is_file() else ""
            lines = source.splitlines()
            if places := [k for k, text in enumerate(lines) if text.strip() == row.original]:
                break
        else:
            return dict.fromkeys(("killer", "executed", "cpu_seconds"), "") | {"result": "gone", "commit": self.commit}
        place = min(places, key=lambda k: abs(k + 1 - int(row.line)))
        module, environment = _module(path, self.root), dict(self.environment)
        files, methods = nearest(self.root, module)
        plan = [([row.killer], "")] if row.killer.startswith("tests/") and self.collects([row.killer]) else []
        plan += [(files[:FILES], "")] if files else []
        plan += [(list(SUITES), method) for method in methods[:METHODS]]
        if re.search(r"\bnumba\b|compiled", source):  # kernels of other files hold a copy of a kernel that they call
            self.environment["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(dir=self.root.parent)
        try:
            indent = lines[place][: -len(row.original)]
            self.write(path, "\n".join([*lines[:place], indent + row.mutated, *lines[place + 1 :]]) + "\n")
            result, killer, seconds = self.tests(plan, path, source)
            out = {"result": result, "killer": killer, "executed": "", "commit": self.commit}
            if result != "killed":
                found, more = self.gate(module, path, source)
                seconds += more
                out |= {"result": "gate", "killer": found} if found else {}
                self.write(path, raised(source, place + 1))
                state, test, _ = self.tests(plan, path, source)
                out["executed"] = test if state == "killed" else "no"
            return out | {"cpu_seconds": f"{seconds:.0f}"}
        finally:
            self.environment = environment
            self.write(path, source)

    def collects(self, tests: list[str]) -> set[str]:
        """Those of these tests that a default run has."""
        files = sorted({name for test in tests if (self.root / (name := test.split("::")[0])).is_file()})
        text = self.call(["-m", "pytest", "--collect-only", "-q", "-p", "no:xdist", *files], 600)[1] if files else ""
        listed = set(text.splitlines())  # a killer without "::" is a file that could not even be imported
        return (listed | {name.split("::")[0] for name in listed}) & set(tests)


def raised(source: str, line: int) -> str:
    """The source with an error raised where the statement of ``line`` begins."""
    found = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.stmt) and n.lineno <= line <= n.end_lineno]
    at = max(found, key=lambda n: (n.lineno, n.col_offset))
    lines = source.splitlines()
    lines.insert(at.lineno - 1, " " * at.col_offset + 'raise RuntimeError("reached")')
    return "\n".join(lines) + "\n"


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def summary(table: pd.DataFrame) -> str:
    """Counts of results, of the random mutants and of the planted ones."""
    planted = table["operator"].str.startswith("planted")
    counts = [(name, of["result"].replace("", "not run").value_counts()) for name, of in
              (("random", table[~planted]), ("planted", table[planted]))]  # fmt: skip
    return "\n".join(f"{name}: {', '.join(f'{k} {n}' for n, k in of.items())}" for name, of in counts)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--draw", type=int, metavar="COUNT", help="write a new table of mutants, without results")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--commit", default="HEAD", help="what is mutated and tested; changes in the tree are not seen")
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds of the tests of a mutant")
    parser.add_argument("--rerun", choices=["changed", "survived"])
    args = parser.parse_args(argv)
    if args.draw is not None:
        write_csv(args.table, draw(ROOT, args.draw, args.seed))
    table = pd.read_csv(args.table, dtype=str, keep_default_na=False)
    with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as folder:
        clone = Clone(args.commit, Path(folder), args.limit)
        killers = table.loc[table["result"] == "killed", "killer"]
        todo = table["result"] == ""
        if args.rerun == "survived":
            todo |= table["result"].isin(["survived", "limit"])
        if args.rerun == "changed":
            there = clone.collects(list(killers))
            for k, test in killers.items():
                since = [table.loc[k, "commit"], clone.commit, "--", test.split("::")[0]]
                todo[k] |= test not in there or bool(imports.git("diff", "--name-only", *since, root=clone.root))
        for done, k in enumerate(table.index[todo], 1):
            for name, value in clone.run(table.loc[k]).items():
                table.loc[k, name] = value
            write_csv(args.table, table)
            r = table.loc[k]
            print(
                f"{done}/{todo.sum()} {r.file}:{r.line} {r.operator}: {r.result} {r.cpu_seconds} s {r.killer}",
                flush=True,
            )
    print(summary(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
