"""The project modules that a module imports directly or indirectly, a hash of their code, and their changes in git.

A cell depends on every project module that its adapter imports. So editing one adapter repeats only that method, and a
corrected mechanism leaves no stale number. Rules of scores and tables have these files as inputs. A rule of fits has
the hash as a parameter. The hash is of the syntax trees without docstrings: a comment, a docstring, a formatter or a
new checkout changes no number and repeats no fit. The hash does not decide whether a committed number is right:
``workflow.recompute`` recomputes it.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from datasets.files import ROOT

PACKAGES = ("datasets", "models", "privacy", "methods", "evaluation", "audit", "workflow", "reports", "papers")
PACKAGES += ("common_tasks",)


@cache
def path_of(module: str, root: Path = ROOT) -> Path | None:
    """The file of a project module, or of one from outside (``methods.outside.<name>``); None for a library's."""
    if module.startswith("methods.outside."):
        return next((p for p in outside() if p.stem == module.rpartition(".")[2]), None)
    if module.split(".")[0] not in PACKAGES:
        return None
    base = os.path.join(root, *module.split("."))
    for candidate in (f"{base}.py", os.path.join(base, "__init__.py")):
        if os.path.isfile(candidate):
            return Path(candidate)
    return None


def file_of(module: str, root: Path = ROOT) -> Path:
    """The :func:`path_of` of a project module. Raises KeyError for a library's module."""
    if (path := path_of(module, root)) is None:
        raise KeyError(f"{module} is no module of the project")
    return path


def outside() -> list[Path]:
    """Files of methods from outside the project (``methods.contract.OUTSIDE``)."""
    return [Path(p).resolve() for p in os.environ.get("DPBAYES_METHODS", "").split(os.pathsep) if p]


#: the imports of each source text, and hashes of code, by the hash of the texts. The file is next to the compiled
#: bytecode and may be deleted.
STORE = Path(__file__).resolve().parent / "__pycache__" / f"imports.{sys.implementation.cache_tag}.json"
#: above this number of hashes, those of earlier versions are dropped.
STORED = 4000


def imports_in(source: bytes) -> list[tuple[int, str, list[str]]]:
    """(level, module, names) of every import in a source text, also inside functions; no names for ``import a``.

    Only statements are visited, because an import is never part of an expression.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:  # it can be imported by nobody, and so reaches nothing; `methods.contract.broken` names it
        return []
    imports: list[tuple[int, str, list[str]]] = []
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            imports.extend((0, alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imports.append((node.level, node.module or "", [alias.name for alias in node.names]))
    return imports


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below ``node``."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        below = getattr(node, field, ())
        for child in below if isinstance(below, list) else ():  # the body of a lambda is an expression
            yield child
            yield from _statements(child)


class _Remembered:
    """Values by the hash of the texts that they follow from, kept in this process and on disk."""

    def __init__(self, path: Path):
        self.path, self.changed = path, False
        try:
            self.known = dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):  # none yet, or damaged: the sources are read
            self.known = {}

    def of(self, make: Callable[..., Any], *texts: bytes) -> Any:
        """``make()``, or the stored value for the same texts. JSON must be able to hold it."""
        digest = hashlib.sha256(make.__name__.encode())
        for text in texts:
            digest.update(len(text).to_bytes(8, "little") + text)
        key = digest.hexdigest()[:32]
        if key not in self.known:
            self.known[key] = make(*texts)
            self.changed = True
        return self.known[key]

    def keep(self) -> None:
        """Write new values. Nothing is written if Python may not write bytecode, or if the disk refuses."""
        if not self.changed or sys.dont_write_bytecode:
            return
        self.changed = False
        recent = dict(list(self.known.items())[-STORED:])
        half = self.path.with_suffix(f".{os.getpid()}")
        try:
            self.path.parent.mkdir(exist_ok=True)
            half.write_text(json.dumps(recent), encoding="utf-8")
            half.replace(self.path)
        except OSError:
            half.unlink(missing_ok=True)


@cache
def _remembered() -> _Remembered:
    memory = _Remembered(STORE)
    atexit.register(memory.keep)
    return memory


@cache
def direct_imports(module: str, root: Path = ROOT) -> frozenset[str]:
    """Project modules that the source of ``module`` imports, also inside functions."""
    path = path_of(module, root)
    if path is None:
        return frozenset()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for level, base, imported in _remembered().of(imports_in, path.read_bytes()):
        if level:
            parent = package.split(".")
            parent = parent[: len(parent) - level + 1]
            base = ".".join([*parent, base] if base else parent)
        names.add(base)
        names.update(f"{base}.{name}" for name in imported)
    modules = {n for n in names if path_of(n, root) is not None}
    for name in list(modules):  # importing a.b.c runs a/__init__ and a.b/__init__ too
        parts = name.split(".")
        modules.update(p for k in range(1, len(parts)) if path_of(p := ".".join(parts[:k]), root) is not None)
    return frozenset(modules - {module})


@cache
def reached(*modules: str, root: Path = ROOT) -> tuple[str, ...]:
    """The modules and every project module that they import directly or indirectly, sorted."""
    seen: set[str] = set()
    todo = list(modules)
    while todo:
        module = todo.pop()
        if module in seen or path_of(module, root) is None:
            continue
        seen.add(module)
        todo.extend(direct_imports(module, root))
    return tuple(sorted(seen))


@cache
def libraries(*modules: str, root: Path = ROOT) -> frozenset[str]:
    """Top names of all modules from outside the project that :func:`reached` modules import, also inside functions."""
    sources = (file_of(m, root).read_bytes() for m in reached(*modules, root=root))
    found = (imports_in(source) for source in sources)
    tops = {base.partition(".")[0] for of in found for level, base, _ in of if not level}
    return frozenset(tops - {*PACKAGES, ""})


@cache
def libraries_of(module: str, name: str, root: Path = ROOT) -> frozenset[str]:
    """:func:`libraries` of one class of a module: of the imports that its source uses, and of its own.

    A file may hold a method for several kinds of model, of which only one is a network. The whole file then has more
    imports than the method needs.
    """
    tree = ast.parse(file_of(module, root).read_bytes())
    local, bound = {}, {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            local[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            local |= {t.id: node for t in targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(a.asname or a.name).partition(".")[0]: (node, a) for a in node.names}
    used: set[str] = set()
    imported: list[tuple[ast.stmt, ast.alias]] = []
    todo = [name]
    while todo:
        word = todo.pop()
        if word in used:
            continue
        used.add(word)
        if word in bound:
            imported.append(bound[word])
        for node in ast.walk(local[word]) if word in local else ():
            if isinstance(node, ast.Name):
                todo.append(node.id)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                imported += [(node, a) for a in node.names]
    names: set[str] = set()
    for node, alias in imported:
        base = getattr(node, "module", None)
        names |= {alias.name} if base is None else {base, f"{base}.{alias.name}"}
    ours = {n for n in names if path_of(n, root) is not None}
    return frozenset({n.partition(".")[0] for n in names} - {*PACKAGES}) | libraries(*sorted(ours), root=root)


def files(*modules: str) -> list[str]:
    """Paths of :func:`reached` relative to the root, as inputs of a rule."""
    return list(_files(*modules))


@cache
def _files(*modules: str) -> tuple[str, ...]:
    return tuple(_relative(m) for m in reached(*modules))


@cache
def _relative(module: str) -> str:
    path = file_of(module)
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


@cache
def code_hash(*modules: str, root: Path = ROOT) -> str:
    """16 hexadecimal digits of a hash of the syntax trees, without docstrings, of all modules :func:`reached`."""
    parts = ((module.encode(), file_of(module, root).read_bytes()) for module in reached(*modules, root=root))
    return _remembered().of(hash_of, *(text for part in parts for text in part))


def hash_of(*texts: bytes) -> str:
    """The digits of :func:`code_hash` for (module, source, module, source, ...)."""
    digest = hashlib.sha256()
    for module, source in zip(texts[::2], texts[1::2], strict=True):
        digest.update(module)
        digest.update(normalised(source.decode("utf-8")).encode())
    return digest.hexdigest()[:16]


@cache
def normalised(source: str) -> str:
    """The syntax tree of a source text as text, without docstrings and positions."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # no program: its text stands for itself
        return source
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree, annotate_fields=False)


def git(*arguments: str, root: Path = ROOT) -> str | None:
    """The output of a git command. None if it fails or there is no git."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def head(root: Path = ROOT) -> str:
    """The last commit; empty outside of a checkout."""
    return (git("rev-parse", "HEAD", root=root) or "").strip()


def base(root: Path = ROOT) -> str:
    """The merge base with the default branch of ``origin``.

    It is the last commit if there is no such remote, or if a shallow clone has no common commit. Outside git it is
    empty.
    """
    for branch in ("origin/HEAD", "origin/main", "origin/master"):
        if found := git("merge-base", "HEAD", branch, root=root):
            return found.strip()
    return head(root)


def differing(*folders: str, root: Path = ROOT) -> frozenset[str]:
    """Python files below ``folders`` whose code differs from :func:`base`, relative to ``root``.

    Changes of comments, docstrings or layout do not count. New files count, and deleted ones too.
    """
    commit = base(root)
    if not commit:
        return frozenset()
    listed = git("diff", "--name-only", "--no-renames", commit, "--", *folders, root=root) or ""
    listed += git("ls-files", "--others", "--exclude-standard", "--", *folders, root=root) or ""
    out = set()
    for path in listed.splitlines():
        before = git("show", f"{commit}:{path}", root=root)
        now = (root / path).read_text(encoding="utf-8") if (root / path).is_file() else None
        same = before is not None and now is not None and normalised(before) == normalised(now)
        if path.endswith(".py") and not same:
            out.add(path)
    return frozenset(out)
