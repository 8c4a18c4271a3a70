"""Which project modules a module reaches, read from its source, and a hash of what they do.

A cell depends on every project module that its adapter reaches, so that editing one adapter re-runs that method
alone and a corrected mechanism leaves no stale number. The hash is of the syntax tree without docstrings:
a comment, a docstring or the formatter moves no number and therefore re-runs nothing.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("datasets", "models", "privacy", "methods", "evaluation", "reports", "workflow")


def path_of(module: str) -> Path | None:
    """File of a project module, or None for a library's."""
    if module.split(".")[0] not in PACKAGES:
        return None
    base = ROOT.joinpath(*module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def serves(module: str, kind: str | None) -> bool:
    """Does the code of ``module`` run for a model of that kind?

    An engine that serves some kinds of model only says so in its package: ``MODELS = ("mixture_of_gaussians",)`` in
    ``methods/engines/<engine>/__init__.py``. An adapter that fits several kinds imports one engine for each, and a
    change in one of them moves no number of another kind. A kind with a folder under ``methods/kinds/`` is fitted by
    the engines of the model inside it, which those packages name and not the kind: it depends on all that it imports.
    """
    parts = module.split(".")
    if kind is None or parts[:2] != ["methods", "engines"] or len(parts) < 3:
        return True
    if (ROOT / "methods" / "kinds" / kind).is_dir():
        return True
    path = path_of(".".join(parts[:3]))
    if path is None or path.name != "__init__.py":
        return True
    for node in _tree(path).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "MODELS" for t in node.targets):
            return kind in ast.literal_eval(node.value)
    return True


def direct_imports(module: str) -> set[str]:
    """Project modules that the source of ``module`` names in an import, inside functions too."""
    path = path_of(module)
    if path is None:
        return set()
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
    found = {n for n in names if path_of(n) is not None}
    for name in list(found):  # importing a.b.c runs a/__init__ and a.b/__init__ too
        parts = name.split(".")
        found.update(p for k in range(1, len(parts)) if path_of(p := ".".join(parts[:k])) is not None)
    return found - {module}


def reached(*modules: str, kind: str | None = None) -> list[str]:
    """The modules themselves and every project module that they reach, sorted.

    With ``kind`` only those that a model of that kind needs (:func:`serves`).
    """
    seen: set[str] = set()
    todo = list(modules)
    while todo:
        module = todo.pop()
        if module in seen or path_of(module) is None or not serves(module, kind):
            continue
        seen.add(module)
        todo.extend(direct_imports(module))
    return sorted(seen)


def files(*modules: str, kind: str | None = None) -> list[str]:
    """Paths of :func:`reached`, relative to the root of the project: what a rule declares as input."""
    return [str(path_of(m).relative_to(ROOT)) for m in reached(*modules, kind=kind)]


def code_hash(*modules: str, kind: str | None = None) -> str:
    """16 hexadecimal digits over the syntax trees, without docstrings, of all modules reached."""
    digest = hashlib.sha256()
    for module in reached(*modules, kind=kind):
        digest.update(module.encode())
        digest.update(_normalised(path_of(module)).encode())
    return digest.hexdigest()[:16]


@cache
def _normalised(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree, annotate_fields=False)
