"""What changed in the code since a commit, as statements that a sample must have executed.

A changed line is one that git shows as new inside a function whose syntax tree changed. A function whose tree stood in
any file of that commit was moved, not changed; neither that it was private there (``_name``) nor of which module a name
is an attribute (``module.name``) makes a difference to that. Blocks that only raise cannot
move a number without moving a status, and what stands outside of functions runs when the file is imported: neither
needs to be executed by a sample. Where lines were only taken away, the function itself must be entered.
"""

from __future__ import annotations

import ast
import copy
import io
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from datasets.files import ROOT
from workflow.imports import PACKAGES, normalised

#: commits that are searched for the code of a row without a commit, newest first.
SEARCHED = 100
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.M)


@dataclass(frozen=True)
class Changed:
    """Changed lines of one function."""

    path: str
    function: str
    lines: frozenset[int]


def git(*arguments: str, root: Path = ROOT) -> str | None:
    """Output of a git command; None where it fails or there is no git."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def clean(paths: list[str], root: Path = ROOT) -> str:
    """The commit at hand if none of ``paths`` differs from it, else an empty text."""
    head = git("rev-parse", "HEAD", root=root)
    dirty = git("status", "--porcelain", "--", *paths, root=root)
    return "" if head is None or dirty is None or dirty.strip() else head.strip()


def known(commit: str, root: Path = ROOT) -> bool:
    """Is that commit in the repository?"""
    return bool(commit) and git("cat-file", "-e", f"{commit}^{{commit}}", root=root) is not None


def recent(root: Path = ROOT) -> list[str]:
    """Commits that touch the code, newest first."""
    found = git("log", f"-{SEARCHED}", "--format=%H", "--", *PACKAGES, root=root)
    return found.split() if found else []


@contextmanager
def checkout(commit: str, root: Path = ROOT) -> Iterator[Path]:
    """The code of a commit in a temporary folder."""
    there = set((git("ls-tree", "--name-only", commit, root=root) or "").splitlines())  # later packages are not
    wanted = [package for package in PACKAGES if package in there]
    packed = subprocess.run(["git", "archive", commit, "--", *wanted], cwd=root, capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            # our own archive; early releases of Python 3.11 have no filters
            archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        yield Path(folder)


@cache
def since(commit: str, root: Path = ROOT) -> dict[str, tuple[Changed, ...]]:
    """Path -> changed functions, for every Python file that differs from ``commit`` in what it does."""
    names = git("diff", "-M", "--name-status", commit, "--", *PACKAGES, root=root)
    if names is None:
        raise ValueError(f"git shows no difference to {commit}; is this a full clone?")
    before = {}
    for line in names.splitlines():
        kind, old, *new = line.split("\t")
        before[new[0] if new else old] = None if kind == "A" else old
    unknown = git("ls-files", "--others", "--exclude-standard", "--", *PACKAGES, root=root) or ""
    before |= dict.fromkeys(unknown.splitlines())
    out = {}
    was = _everywhere(commit, root)
    for path, old in before.items():
        if not path.endswith(".py") or not (root / path).is_file():
            continue
        source = (root / path).read_text(encoding="utf-8")
        earlier = "" if old is None else git("show", f"{commit}:{old}", root=root) or ""
        if normalised(source) == normalised(earlier):
            continue
        lines = None
        if old is not None:
            lines = _new_lines(git("diff", "-M", "-U0", commit, "--", *{old, path}, root=root) or "", path)
        if found := functions(path, source, earlier, lines, was):
            out[path] = found
    return out


@cache
def _everywhere(commit: str, root: Path = ROOT) -> frozenset[str]:
    """Trees of all functions of a commit, as :func:`_moved` writes them."""
    with checkout(commit, root) as folder:
        texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))]
    return frozenset(_moved(node) for text in texts for _, node in _functions(ast.parse(text)))


def _new_lines(diff: str, path: str) -> set[int]:
    """Line numbers that a diff without context adds to ``path``; where it only takes lines away, the next one."""
    part = diff.partition(f"\n+++ b/{path}\n")[2].partition("\ndiff --git ")[0]
    lines: set[int] = set()
    for first, count in _HUNK.findall(part):
        start, size = int(first), 1 if count == "" else int(count)
        lines.update(range(start, start + size) if size else (start, start + 1))
    return lines


def functions(
    path: str, source: str, earlier: str, lines: set[int] | None, elsewhere: Collection[str] = ()
) -> tuple[Changed, ...]:
    """Functions of ``source`` whose tree is not in ``earlier``, with those of ``lines`` (None: all) that stand in them.

    Nor among those ``elsewhere`` (:func:`_moved`). A function inside a function belongs to the outer one.
    """
    old = {name: _plain(node) for name, node in _functions(ast.parse(earlier))}
    out = []
    for name, node in _functions(ast.parse(source)):
        if old.get(name) == _plain(node) or _moved(node) in elsewhere:
            continue
        quiet = {
            k for part in ast.walk(node) for block in _blocks(part) if _raises(block) for s in block for k in _span(s)
        }
        quiet |= {k for part in ast.walk(node) if _documentation(part) for k in _span(part)}
        mine = set(_span(node)) if lines is None else lines & set(_span(node))
        out.append(Changed(path, name, frozenset(mine - quiet)))
    return tuple(out)


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        else:
            yield from _functions(node, prefix)


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """The statements that a node holds, block by block."""
    found = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
    return [block for block in found if isinstance(block, list) and block and isinstance(block[0], ast.stmt)]


def _raises(block: list[ast.stmt]) -> bool:
    """Does a block of plain statements do nothing but prepare an error and raise it?"""
    plain = all(isinstance(s, ast.Assign | ast.Raise) or _documentation(s) for s in block)
    return plain and isinstance(block[-1], ast.Raise)


def _plain(node: ast.AST) -> str:
    return normalised(ast.unparse(node))


class _Unhoused(ast.NodeTransformer):
    """Names without leading underscores, and without the module that they are an attribute of."""

    def __init__(self, modules: Collection[str]):
        self.modules = modules

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name(node.id.lstrip("_") or "_", node.ctx), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        name = node.attr.lstrip("_") or "_"
        if isinstance(node.value, ast.Name) and node.value.id in self.modules:
            return ast.copy_location(ast.Name(name, node.ctx), node)
        return ast.copy_location(ast.Attribute(self.visit(node.value), name, node.ctx), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = node.name.lstrip("_") or "_"
        return node


def _moved(node: ast.AST) -> str:
    """The tree of a function, wherever it stands. What nothing in it binds and is used as ``name.x`` is a module."""
    copied = copy.deepcopy(node)
    bound = {n.id for n in ast.walk(copied) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    bound |= {a.arg for a in ast.walk(copied) if isinstance(a, ast.arg)}
    free = {n.id for n in ast.walk(copied) if isinstance(n, ast.Name)} - bound
    return normalised(ast.unparse(_Unhoused(frozenset(free)).visit(copied)))


def _span(node: ast.AST) -> range:
    return range(node.lineno, node.end_lineno + 1)


def _documentation(node: ast.AST) -> bool:
    """A text that stands for itself: a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
