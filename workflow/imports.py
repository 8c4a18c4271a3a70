"""Which project modules a module reaches, read from its source, and a digest of what they do.

Locally a cell depends on every project module that its adapter reaches, so that editing one adapter re-runs that method
alone and a corrected mechanism leaves no stale number (inputs of Snakemake's rules). The digest is of the syntax trees
without docstrings: a comment, a docstring, the formatter or a checkout moves no number and therefore re-runs nothing.
It does not decide whether a committed number may be restored; ``workflow.verified`` does.

Every function takes the ``root`` of a checkout, so that another commit can be read beside the working tree.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("datasets", "models", "privacy", "methods", "evaluation", "reports", "workflow", "papers", "common_tasks")


@cache
def path_of(module: str, root: Path = ROOT) -> Path | None:
    """File of a project module, or None for a library's."""
    if module.split(".")[0] not in PACKAGES:
        return None
    base = root.joinpath(*module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def _tree(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except SyntaxError:  # it can be imported by nobody, and so reaches nothing; `methods.contract.broken` names it
        return ast.Module([], [])


@cache
def direct_imports(module: str, root: Path = ROOT) -> frozenset[str]:
    """Project modules that the source of ``module`` names in an import, inside functions too."""
    path = path_of(module, root)
    if path is None:
        return frozenset()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = package.split(".")
                parent = parent[: len(parent) - node.level + 1]
                base = ".".join([*parent, base] if base else parent)
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    found = {n for n in names if path_of(n, root) is not None}
    for name in list(found):  # importing a.b.c runs a/__init__ and a.b/__init__ too
        parts = name.split(".")
        found.update(p for k in range(1, len(parts)) if path_of(p := ".".join(parts[:k]), root) is not None)
    return frozenset(found - {module})


@cache
def reached(*modules: str, root: Path = ROOT) -> tuple[str, ...]:
    """The modules themselves and every project module that they reach, sorted."""
    seen: set[str] = set()
    todo = list(modules)
    while todo:
        module = todo.pop()
        if module in seen or path_of(module, root) is None:
            continue
        seen.add(module)
        todo.extend(direct_imports(module, root))
    return tuple(sorted(seen))


def files(*modules: str) -> list[str]:
    """Paths of :func:`reached`, relative to the root of the project: what a rule declares as input."""
    return [str(path_of(m).relative_to(ROOT)) for m in reached(*modules)]


@cache
def code_hash(*modules: str, root: Path = ROOT) -> str:
    """16 hexadecimal digits over the syntax trees, without docstrings, of all modules reached."""
    digest = hashlib.sha256()
    for module in reached(*modules, root=root):
        digest.update(module.encode())
        digest.update(normalised(path_of(module, root).read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:16]


@cache
def normalised(source: str) -> str:
    """The syntax tree of a source text without docstrings and positions, as text."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # no program: its text stands for itself
        return source
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree, annotate_fields=False)
