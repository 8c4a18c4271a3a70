"""Mutants: one-line patches of adapters and their numerics that break privacy, to show that the checks catch them.

Broken noise, a wrong sensitivity or a wrong number of steps needs no patch, because ``privacy.faults`` breaks the
budget instead. The patches of a method are at the end of its file or in ``methods/<family>/_mutants.py``.

A mutant is the source text of a module with one pattern replaced. It is loaded under another name from a temporary
folder, so modules that are already imported do not change. The unpatched module is loaded in the same way. If a check
passes there and fails on the mutant, the patch is the reason.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """A patch that replaces matches of the regular expression ``pattern`` in ``module`` by ``replacement``.

    ``module`` : the name of a module, which is patched from its top. None is the adapter's own file, which is patched
    from the adapter's class on, because a file may hold several.
    ``count`` : how many matches are replaced (0: all). ``unless`` : lines that match it are not changed.
    ``via`` : modules between the adapter and ``module``, which are loaded again so that they import the patched one.
    """

    name: str
    pattern: str
    replacement: str
    module: str | None = None
    count: int = 1
    unless: str = r"(?!)"
    what: str = ""
    via: tuple[str, ...] = ()


class DoesNotApply(ValueError):
    """The pattern does not occur in the source."""


def patched(source: str, mutant: Mutant, first: str = "") -> str:
    """The source with the patch. Matches from the class ``first`` on come first. Raises :class:`DoesNotApply`."""
    head = re.search(rf"^class {re.escape(first)}\b", source, re.M) if first else None
    begin = head.start() if head else 0
    matches = [m for m in re.finditer(mutant.pattern, source) if not re.search(mutant.unless, _line(source, m))]
    chosen = sorted(matches, key=lambda m: (m.start() < begin, m.start()))[: mutant.count or None]
    if not chosen:
        raise DoesNotApply(f"mutant '{mutant.name}': /{mutant.pattern}/ does not occur")
    out = source
    for match in sorted(chosen, key=lambda m: -m.start()):
        out = out[: match.start()] + match.expand(mutant.replacement) + out[match.end() :]
    compile(out, mutant.name, "exec")
    return out


def _line(source: str, match: re.Match) -> str:
    """The lines of the source that contain a match."""
    end = source.find("\n", match.end())
    return source[source.rfind("\n", 0, match.start()) + 1 : end if end >= 0 else None]


@contextmanager
def loaded(method: object, mutant: Mutant | Sequence[Mutant] | None, alias: str = "mutant") -> Iterator[Any]:
    """A context manager that yields a copy of the adapter ``method`` with the patches applied to its source.

    Its module is loaded under another name. If a patch is for another module, that one is loaded under an alias too,
    and the adapter's text imports the alias. None loads the unpatched source in the same way.
    """
    adapter, cls = type(method).__module__, type(method).__name__
    mutants = [] if mutant is None else [mutant] if isinstance(mutant, Mutant) else list(mutant)
    sources: dict[str, str] = {adapter: _source(adapter)}
    for m in mutants:
        home = m.module or adapter
        for between in (home, *m.via):
            sources.setdefault(between, _source(between))
        sources[home] = patched(sources[home], m, "" if m.module else cls)
    names = {module: f"{alias}_{abs(hash((module, sources[module]))):x}" for module in sources}
    before = set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        try:
            for module, text in sources.items():
                for other, new in names.items():
                    text = _redirect(text, other, new)
                path = Path(folder) / f"{names[module]}.py"
                path.write_text(text, encoding="utf-8")
            sys.path.insert(0, folder)
            module = _load(names[adapter], Path(folder) / f"{names[adapter]}.py")
            yield getattr(module, cls)()
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if name.startswith(f"{alias}_"):
                    del sys.modules[name]


def kills(
    method: object, mutant: Mutant | Sequence[Mutant] | None, check: Callable[[object], Mapping[str, str]]
) -> dict[str, str]:
    """The checks that the mutant fails: name -> what was found. If there are none, the mutant survives.

    ``method`` is the adapter object. ``check`` takes its patched copy and returns "" or what was found for each check,
    as ``privacy.audit.checks`` does.
    """
    with loaded(method, mutant) as broken:
        return {name: text for name, text in check(broken).items() if text}


def _source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.origin:
        raise ModuleNotFoundError(f"no source file for module '{module}'")
    return Path(spec.origin).read_text(encoding="utf-8")


def _redirect(text: str, old: str, new: str) -> str:
    """The text with imports of module ``old`` changed to ``new``: ``import a.b as``, ``from a.b import``, ``from a
    import b``."""
    package, _, leaf = old.rpartition(".")
    text = re.sub(rf"\bfrom {re.escape(old)} import\b", f"from {new} import", text)
    text = re.sub(rf"\bimport {re.escape(old)} as\b", f"import {new} as", text)
    if not package:
        return text

    def one_line(match: re.Match) -> str:
        names = [n.strip() for n in match[2].split(",")]
        mine = [n for n in names if n.split(" as ")[0] == leaf]
        rest = [n for n in names if n not in mine]
        lines = [f"from {package} import {', '.join(rest)}"] if rest else []
        lines += [f"import {new} as {n.split(' as ')[-1]}" for n in mine]
        return "\n".join(match[1] + line for line in lines)

    return re.sub(rf"^([ \t]*)from {re.escape(package)} import ([\w ,]+)$", one_line, text, flags=re.M)


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
